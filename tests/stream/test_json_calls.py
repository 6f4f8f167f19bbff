"""`calls="json"`: calls as bare JSON, which a server makes the model write by constraint."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import (
    ContentDelta,
    MalformedOutput,
    Policies,
    StreamParser,
    ToolCallDelta,
    ToolGate,
    UsageError,
    aiter_deltas,
    get_format,
    iter_deltas,
    parse,
)

from ..strategies.requests import policies, reasons
from ..strategies.wire_by_hand import cuts_of
from ..strategies.wire_families import header_words
from ..strategies.wire_json_calls import soups, written
from ..support import cuts, joined
from .invariants import check_1_and_2, check_3, check_4, check_5, run

QWEN, CODER, HARMONY = get_format("qwen25"), get_format("qwen3_coder"), get_format("gpt_oss")
GLIMMER = get_format("muse_glimmer")
NANO = get_format("nemotron3_nano")
F = '{"name": "f", "arguments": {"a": 1}}'
G = '{"name": "g", "parameters": {}}'
NAMED = {"type": "function", "function": {"name": "f"}}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"name": "f", "parameters": CITY}, {"name": "g"}]


def made(message):
    """Return the name, arguments and completeness of each call."""
    return [(call.name, call.arguments, call.complete) for call in message.tool_calls]


def kinds(parser):
    return [issue.kind for issue in parser.issues]


def read(text, fmt=QWEN, reason="stop", **kw):
    """Return a finished parser after a comparison of one chunk with single characters."""
    whole = run(fmt, [text], reason, calls="json", **kw)[0]
    parser = run(fmt, list(text), reason, calls="json", **kw)[0]
    assert (parser.message, parser.issues) == (whole.message, whole.issues)
    assert (parser.finish_reason, parser.attempts) == (whole.finish_reason, whole.attempts)
    return parser


@given(data=st.data(), case=written())
def test_written_calls_round_trip(data, case):
    parser, deltas = run(case.fmt, data.draw(cuts(case.text)), **case.options)
    content, reasoning, calls = joined(deltas)
    assert (content, reasoning) == ("", case.reasoning)
    assert [call[1:] for call in calls] == list(case.calls)
    assert all(call.complete for call in parser.message.tool_calls)
    assert [tried.status for tried in parser.attempts] == ["complete"] * len(calls)
    assert parser.finish_reason == "tool_calls"
    assert set(kinds(parser)) - {"repeated_marker"} == ({"stray_marker"} if case.strays else set())


@given(data=st.data(), case=written(), reason=st.sampled_from(["stop", "length", None]))
def test_invariants_hold_for_written_calls(data, case, reason):
    text = case.text[: data.draw(st.integers(0, len(case.text)) | st.just(len(case.text)))]
    cut = (list(text), data.draw(cuts(text)))
    check_1_and_2(case.fmt, text, cut, reason, **case.options)
    check_3(case.fmt, text, **case.options)
    check_4(run(case.fmt, list(text), reason, **case.options)[1])
    check_5(parse(text, case.fmt, finish_reason=reason, **case.options))


@given(data=st.data(), case=soups(), reason=reasons, policies=policies)
def test_invariants_hold_for_any_text(data, case, reason, policies):
    fmt, text, kw = case
    kw = {**kw, "policies": policies}
    check_1_and_2(fmt, text, (list(text), data.draw(cuts(text))), reason, **kw)
    check_3(fmt, text, **kw)
    check_4(run(fmt, list(text), reason, **kw)[1])
    check_5(parse(text, fmt, finish_reason=reason, **kw))


@given(case=soups(), at=st.integers(0, 60), reason=reasons)
def test_no_word_is_lost(case, at, reason):
    fmt, text, kw = case
    text = f"{text[:at]}ΔΘ{text[at:]}"
    parser, deltas = run(fmt, [text], reason, **kw)
    content, reasoning, calls = joined(deltas)
    found = content + reasoning + "".join("".join(call) for call in calls)
    assert "ΔΘ" in found + "".join(issue.detail for issue in parser.issues) + header_words(
        fmt, text
    )


@given(case=written(), reason=st.sampled_from(["length", None]))
def test_truncation_never_completes_a_call(case, reason):
    for cut in cuts_of(case.text, case.head):
        parser = run(case.fmt, [case.text[:cut]], reason, **case.options)[0]
        calls = parser.message.tool_calls
        assert len(calls) <= len(case.calls)
        for call, (name, text) in zip(calls, case.calls, strict=False):
            assert call.name == name
            assert text.startswith(call.arguments)
            assert call.complete is (text == call.arguments)
            assert call.healed().keys() <= json.loads(text).keys()
        whole = all(call.complete for call in calls) and "truncated_call" not in kinds(parser)
        assert whole or parser.finish_reason == "length"
        assert (parser.message.content or "").strip() == ""


@given(case=written())
def test_last_marks_the_end_of_the_arguments(case):
    parser = StreamParser(case.fmt, **case.options)
    seen = ""
    for char in case.text:
        for delta in parser.feed(char):
            if isinstance(delta, ToolCallDelta):
                seen += delta.arguments
                assert delta.last is (seen == case.calls[delta.index][1])
                seen = "" if delta.last else seen
    assert seen == ""


@pytest.mark.parametrize("end", ["", "<|im_end|>"])
@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (F, [("f", '{"a": 1}')]),
        (f"[{F}]", [("f", '{"a": 1}')]),
        (f"[{F}, {G}]", [("f", '{"a": 1}'), ("g", "{}")]),
        (f" \n[\n{F}\n,\t{G} ]\n", [("f", '{"a": 1}'), ("g", "{}")]),
        (f"<think>\nhm\n</think>\n\n{F}", [("f", '{"a": 1}')]),
        ('{"parameters": {"a":1.50}, "name": "f"}', [("f", '{"a":1.50}')]),
        ('{"name": "f", "arguments": {"a": "</tool_call>"}}', [("f", '{"a": "</tool_call>"}')]),
    ],
)
def test_json_objects_and_lists_are_calls(text, calls, end):
    parser = read(text + end)
    assert made(parser.message) == [(*call, True) for call in calls]
    assert (parser.message.content, kinds(parser)) == ("", [])
    assert parser.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("fmt", "text", "strays"),
    [
        (QWEN, f"<tool_call>{F}</tool_call>", 2),
        (QWEN, f"<tool_call>\n[{F}]\n</tool_call>\n<|im_end|>", 2),
        (QWEN, f"<tool_call>{F}", 1),
        (QWEN, f"{F}\n</tool_call>", 1),
        (QWEN, f"```json\n{F}\n```", 2),
        (QWEN, f"```\n[{F}]```\n", 2),
        (QWEN, f"<tool_call>\n```json\n{F}\n```\n</tool_call>", 4),
        (CODER, f"<tool_call>\n{F}\n</function>\n</tool_call>", 3),
        (get_format("mistral"), f"[TOOL_CALLS][{F}]</s>", 1),
        (get_format("llama3_json"), f"<|python_tag|>{F}<|eot_id|>", 1),
        (get_format("command_r_plus"), f"Action:\n```json\n[{F}]\n```", 2),
        (HARMONY, f"<|channel|>final<|message|>```json\n{F}\n```<|return|>", 2),
        (
            get_format("minimax_m3"),
            f"]<]minimax[>[<tool_call>\n{F}]<]minimax[>[</tool_call>",
            2,
        ),
        (GLIMMER, f"<|message|><atem:function_calls>\n{F}\n</atem:function_calls><|eot|>", 2),
    ],
)
def test_markers_around_the_json_are_dropped_and_reported(fmt, text, strays):
    parser = read(text, fmt)
    assert made(parser.message) == [("f", '{"a": 1}', True)]
    assert (parser.message.content, set(kinds(parser))) == ("", {"stray_marker"})
    assert sum(len(issue.detail.split("'")[1].split()) for issue in parser.issues) == strays


@pytest.mark.parametrize(("fmt", "head"), [(QWEN, ""), (HARMONY, "<|channel|>final<|message|>")])
@pytest.mark.parametrize("cut", [",", ", ", " \n, \n"])
def test_trailing_comma_of_a_truncated_list_is_markup(fmt, head, cut):
    parser = read(f"{head}[{F}{cut}", fmt)
    assert (parser.message.content, kinds(parser)) == ("", ["cut_marker"])
    more = read(f"{head}{F}{cut}and so on", fmt)
    assert more.message.content == f"{cut}and so on"


def test_several_calls_in_markers_of_their_own():
    parser = read(f"<tool_call>\n{F}\n</tool_call>\n<tool_call>\n{G}\n</tool_call>")
    assert made(parser.message) == [("f", '{"a": 1}', True), ("g", "{}", True)]
    assert kinds(parser) == ["stray_marker"] * 4


@pytest.mark.parametrize(
    ("fmt", "text"),
    [
        (QWEN, "Sure, here it is."),
        (QWEN, f"Sure: {F}"),
        (QWEN, f"Sure: `{F}`"),
        (QWEN, f"Sure:\n```json\n{F}\n```"),
        (QWEN, '{"temperature": 20}'),
        (QWEN, "[1, 2]"),
        (QWEN, '{"temperature": 20} or so'),
        (QWEN, f'<tool_call>{{"x": 1}}</tool_call>\n {F}'),
        (HARMONY, '<|channel|>final<|message|>{"temperature": 20} or so'),
        (QWEN, '"text"'),
        (QWEN, "```python\nf(a=1)\n```"),
        (CODER, "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>"),
        (get_format("pythonic"), "[f(a=1)]"),
        (HARMONY, f"<|channel|>final<|message|>Sure: {F}"),
    ],
)
def test_text_other_than_a_call_is_content_and_reported(fmt, text):
    parser = read(text, fmt, tool_choice="required")
    assert parser.message.content == text.removeprefix("<|channel|>final<|message|>")
    assert made(parser.message) == []
    assert kinds(parser) == ["stray_text", "missing_call"]
    assert parser.finish_reason == "stop"


@pytest.mark.parametrize(
    "rest",
    [
        " and more",
        " 5",
        ", 5]",
        f', {{"x" {G}}}]',
        f', {{"x": 1}}, {G}]',
        ', {"x": 1}]',
        "]}",
        '\n{"a": 1}',
    ],
)
def test_text_after_an_emitted_call_does_not_retract_it(rest):
    for begun in (F, f"[{F}"):
        parser = StreamParser(QWEN, calls="json")
        first = parser.feed(begun)
        assert first[-1].last
        for delta in parser.feed(rest) + parser.finish("stop"):
            assert isinstance(delta, ContentDelta)
            assert delta.text in rest
        assert made(parser.message) == [("f", '{"a": 1}', True)]
        assert set(kinds(parser)) <= {"text_after_tool_call", "repaired_arguments"}
        assert kinds(parser) != [] or rest.strip("]") == ""


def test_text_after_a_call_follows_the_policy():
    policies = Policies(text_after_tool_call="drop")
    parser = read(f"{F} and more", policies=policies)
    assert (parser.message.content, kinds(parser)) == ("", ["text_after_tool_call"])


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ('{"city": "NYC"}', "f", '{"city": "NYC"}'),
        ("{}", "f", "{}"),
        ('{"name": "f", "arguments": {"city": "NYC"}}', "f", '{"city": "NYC"}'),
        ('{"parameters": {"city": "NYC"}, "name": "f"}', "f", '{"city": "NYC"}'),
        ('[{"name": "f", "parameters": {"city": "NYC"}}]', "f", '{"city": "NYC"}'),
        ('{"name": "g", "arguments": {}}', "g", "{}"),
        ('{"name": "Bob", "city": "NYC"}', "f", '{"name": "Bob", "city": "NYC"}'),
        ('{"arguments": {"city": "NYC"}}', "f", '{"arguments": {"city": "NYC"}}'),
        ('{"name": 5, "arguments": {}}', "f", '{"name": 5, "arguments": {}}'),
        ('{"name": "f", "arguments": 5}', "f", '{"name": "f", "arguments": 5}'),
        ('{"name": "f", "name": "f"}', "f", '{"name": "f", "name": "f"}'),
    ],
)
@pytest.mark.parametrize("tools", [TOOLS, None], ids=["tools", "no tools"])
def test_named_function_may_have_bare_arguments(text, name, arguments, tools):
    parser = read(text, tools=tools, tool_choice=NAMED)
    same = (name, arguments) if tools or name == "f" else ("f", text)
    assert made(parser.message) == [(*same, True)]
    assert kinds(parser) == (["wrong_tool"] if same[0] == "g" else [])


@pytest.mark.parametrize(
    ("own", "text", "alone"),
    [
        (["name"], '{"name": "Bob", "arguments": {}}', True),
        (["name"], '{"name": "f"}', True),
        (["name"], '{"name": "f", "age": 3}', True),
        (["name"], '{"name": "f", "arguments": {"name": "Bob"}}', False),
        (["arguments"], '{"arguments": {"x": 1}}', True),
        (["arguments"], '{"arguments": {"x": 1}, "name": "f"}', True),
        (["arguments"], '{"name": "f", "arguments": {"arguments": {}}}', False),
        (["name", "arguments"], '{"name": "f", "arguments": {"x": 1}}', True),
        (["name", "arguments"], '{"name": "f", "parameters": {"name": "Bob"}}', False),
        (["city"], '{"name": "f"}', False),
        ([], '{"name": "f", "arguments": {}}', False),
    ],
)
@pytest.mark.parametrize("place", ["properties", "allOf", "$ref"])
def test_schema_distinguishes_bare_arguments_from_a_call(own, text, alone, place):
    schema = {"properties": {key: {} for key in own}}
    if place == "allOf":
        schema = {"allOf": [schema]}
    if place == "$ref":
        schema = {"$defs": {"it": schema}, "$ref": "#/$defs/it"}
    tools = [{"name": "f", "parameters": schema}]
    (call,) = read(text, tools=tools, tool_choice=NAMED).message.tool_calls
    inner = json.loads(text)
    whole = inner if alone else inner.get("arguments", inner.get("parameters", {}))
    assert (call.name, json.loads(call.arguments), call.complete) == ("f", whole, True)


def test_bare_arguments_stream_verbatim():
    tools = [{"name": "f", "parameters": {"properties": {"name": {}, "text": {}}}}]
    for text in ('{"text": "a long st', '{"name": "Bob, a long st'):
        parser = StreamParser(QWEN, calls="json", tools=tools, tool_choice=NAMED)
        seen = "".join(delta.arguments for char in text for delta in parser.feed(char))
        assert seen == text


def test_only_the_first_object_may_be_bare_arguments():
    parser = read('{"city": "NYC"} {"city": "LA"}', tools=TOOLS, tool_choice=NAMED)
    assert made(parser.message) == [("f", '{"city": "NYC"}', True)]
    assert (parser.message.content.strip(), kinds(parser)) == (
        '{"city": "LA"}',
        ["text_after_tool_call"],
    )
    parser = read('[{"city": "NYC"}]', tools=TOOLS, tool_choice=NAMED)
    assert (made(parser.message), parser.message.content) == ([], '[{"city": "NYC"}]')


@pytest.mark.parametrize(
    ("text", "calls", "attempts"),
    [
        ("[", [], [("", "truncated")]),
        ('{"na', [], [("", "truncated")]),
        ('[{"name": "f", "argu', [("f", "", False)], [("f", "truncated")]),
        ('{"name": "f", "arguments": {"a": ', [("f", '{"a": ', False)], [("f", "truncated")]),
        ('{"name": "f", "arguments": {"a": 1}', [("f", '{"a": 1}', True)], [("f", "complete")]),
        (f"[{F}, {{", [("f", '{"a": 1}', True)], [("f", "complete"), ("", "truncated")]),
    ],
)
@pytest.mark.parametrize("reason", ["length", None])
def test_truncated_call_is_not_content(text, calls, attempts, reason):
    parser = read(text, reason=reason)
    assert made(parser.message) == calls
    assert [(tried.name, tried.status) for tried in parser.attempts] == attempts
    assert parser.message.content == ""
    cut = {"truncated"} & {status for _, status in attempts}
    assert ("truncated_call" in kinds(parser)) is bool(cut)
    assert parser.finish_reason == ("length" if cut or reason else "tool_calls")


def test_the_rules_of_the_request_apply():
    parser = read(f"[{F}, {G}]", tools=TOOLS[1:], parallel_tool_calls=False)
    assert kinds(parser) == ["unknown_tool", "extra_call"]
    assert [call.name for call in parser.message.tool_calls] == ["f", "g"]
    policies = Policies(unknown_tool="text")
    parser = read(F, tools=TOOLS[1:], policies=policies)
    assert (made(parser.message), parser.message.content) == ([], F)
    with pytest.raises(MalformedOutput):
        read(F, tools=TOOLS[1:], policies=Policies(unknown_tool="error"))
    assert kinds(read("[]")) == ["no_calls"]


@pytest.mark.parametrize("opening", ["", "<think>\n", "<think>\nhm\n"])
def test_prompt_determines_if_reasoning_is_open(opening):
    header = "<|im_start|>assistant\n"
    for text in (f"so\n</think>\n{F}", f"\n</think>\n\n[{F}]", f"[1] {{x}}\n</think>{F}"):
        before = "" if opening else "<think>\n"
        parser = read(before + text, NANO, prompt=header + opening)
        assert made(parser.message) == [("f", '{"a": 1}', True)]
        assert parser.message.reasoning_content.strip() == text.partition("</think>")[0].strip()
    parser = read(F, NANO, prompt=f"{header}<think></think>")
    assert (made(parser.message), kinds(parser)) == ([("f", '{"a": 1}', True)], [])


@pytest.mark.parametrize(
    ("reason", "policy", "calls"),
    [
        ("stop", "defer", 1),
        ("length", "defer", 0),
        (None, "defer", 0),
        ("stop", "call", 1),
        (None, "call", 1),
        ("stop", "reasoning", 0),
    ],
)
def test_call_in_place_of_opened_reasoning_follows_the_policy(reason, policy, calls):
    policies = Policies(tool_in_reasoning=policy)
    parser = read(f"\n[{F}]", NANO, reason, policies=policies)
    assert len(parser.message.tool_calls) == calls
    assert parser.message.content == ""
    assert ("tool_in_reasoning" in kinds(parser)) is (policy != "reasoning")
    assert parser.message.reasoning_content == ("" if calls else f"\n[{F}]")


def test_draft_in_reasoning_is_not_a_call():
    for draft in (F, f"<tool_call>{F}</tool_call>"):
        parser = read(f"{draft} or so</think>{G}", NANO)
        assert made(parser.message) == [("g", "{}", True)]
        assert parser.message.reasoning_content == f"{draft} or so"
        assert [tried.status for tried in parser.attempts] == ["in_reasoning", "complete"]


@pytest.mark.parametrize(
    "before",
    [
        "",
        "<|channel|>final<|message|>",
        "<|channel|>commentary<|message|>",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant",
        "<|channel|>analysis<|message|>hm<|end|>",
    ],
)
@pytest.mark.parametrize("end", ["", "<|return|>", "<|end|>", "<|call|>", "\n<|return|>"])
def test_channel_message_to_the_user_has_the_calls(before, end):
    parser = read(f"{before}[{F}, {G}]{end}", HARMONY)
    assert made(parser.message) == [("f", '{"a": 1}', True), ("g", "{}", True)]
    assert parser.message.reasoning_content == ("hm" if "hm" in before else "")
    assert (parser.message.content, kinds(parser)) == ("", [])


def test_channel_message_to_a_function_is_a_call():
    text = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>'
    assert made(read(text, HARMONY).message) == [("f", '{"a": 1}', True)]


@pytest.mark.parametrize("text", [f"Hi<|return|>{F}", f"Hi<|im_end|>{F}"])
def test_call_after_the_end_of_the_turn_is_not_executable(text):
    parser = read(text, HARMONY if "return" in text else QWEN, tools=TOOLS)
    assert "text_after_end" in kinds(parser)
    assert not ToolGate(TOOLS).decide(parser).executable


@pytest.mark.parametrize("space", [1, 300, 1000])
def test_whitespace_before_json_is_not_reported(space):
    for fmt in (QWEN, HARMONY):
        parser = read(" " * space + F, fmt)
        assert made(parser.message) == [("f", '{"a": 1}', True)]
        assert (parser.message.content.strip(), kinds(parser)) == ("", [])


def test_call_started_in_the_prompt_is_emitted_completely():
    prompt = f"<|im_start|>assistant\n[{F[:22]}"
    parser, deltas = run(QWEN, list(F[22:] + "]"), calls="json", prompt=prompt)
    assert made(parser.message) == [("f", '{"a": 1}', True)]
    assert joined(deltas)[2][0][1:] == ("f", '{"a": 1}')


@pytest.mark.parametrize(
    "kw",
    [
        {"tools": []},
        {"tools": [{"type": "web_search"}]},
        {"tool_choice": "none"},
        {"tools": TOOLS, "tool_choice": {"type": "none"}},
    ],
)
def test_json_calls_without_callable_tools_are_rejected(kw):
    with pytest.raises(UsageError, match='calls="json"'):
        StreamParser(QWEN, calls="json", **kw)


@pytest.mark.parametrize("word", ["JSON", "", None, True, "auto"])
def test_unknown_value_of_calls_is_rejected(word):
    with pytest.raises(UsageError, match='calls must be "format" or "json"'):
        StreamParser(QWEN, calls=word)


async def test_json_calls_are_supported_by_all_entry_points():
    async def chunks():
        for char in F:
            yield char

    expected = parse(F, QWEN, calls="json")
    assert made(expected) == [("f", '{"a": 1}', True)]
    deltas = iter_deltas(list(F), QWEN, calls="json")
    later = aiter_deltas(chunks(), QWEN, calls="json")
    assert list(deltas) == [delta async for delta in later]
    assert deltas.parser.message == later.parser.message == expected
    parser = StreamParser(QWEN, calls="json", record=True)
    parser.feed(F[:20])
    for copy in (parser.fork(), StreamParser.restore(parser.snapshot())):
        copy.feed(F[20:])
        copy.finish("stop")
        assert copy.message == expected


def test_json_calls_win_over_a_response_schema():
    assert made(read(F, response_schema={"type": "object"}).message) == [("f", '{"a": 1}', True)]


CITIES = [
    ('{"city": "NYC"}', True),
    ('{"name": "f", "arguments": {"city": "NYC"}}', True),
    ('```json\n{"city": "NYC"}\n```', True),
    ('<think>\nhm\n</think>\n<tool_call>{"name": "f", "parameters": {"city": "NYC"}}', True),
    ('{"city": 5}', False),
    ('{"city": "NYC', False),
    ('{"name": "rm", "arguments": {"city": "NYC"}}', False),
    ('Sure. <tool_call>{"city": "NYC"}</tool_call>', False),
    ('{"city": "NYC"}<|im_end|>x', False),
    ('{"name": "f", "name": "g", "arguments": {"city": "NYC"}}', False),
]


@pytest.mark.parametrize(("text", "passes"), CITIES)
def test_gate_decides_on_json_calls(text, passes):
    schema = {**CITY, "additionalProperties": False, "required": ["city"]}
    tools = [{"name": "f", "parameters": schema}]
    parser = read(text, tools=tools, tool_choice=NAMED)
    decision = ToolGate(tools).decide(parser)
    assert decision.executable is passes
    assert [call.normalized()["arguments"] for call in decision.calls] == (
        [{"city": "NYC"}] if passes else []
    )


@pytest.mark.parametrize("tail", ["<", "<|", "<|end", "<|end|><|ret"])
@pytest.mark.parametrize("calls", ["json", "format"])
def test_truncated_marker_after_a_channel_call_is_not_content(calls, tail):
    fmt = get_format("gpt_oss")
    call = '{"name": "f", "arguments": {"a": 1}}'
    if calls == "format":
        call = '<|channel|>commentary to=functions.f<|message|>{"a": 1}'
    message = parse(call + tail, fmt, calls=calls, tools=[{"name": "f"}], finish_reason="length")
    assert [part.arguments for part in message.parts] == ['{"a": 1}']
    assert [issue.kind for issue in message.issues] == ["cut_marker"]


@pytest.mark.parametrize("fence", ["`", "``"])
@pytest.mark.parametrize("header", ["", "<|channel|>final<|message|>"])
def test_truncated_fence_after_a_channel_call_is_not_content(header, fence):
    call = header + '```json\n{"name": "f", "arguments": {}}'
    kw = {"calls": "json", "tools": [{"name": "f"}], "finish_reason": "length"}
    message = parse(call + fence, get_format("gpt_oss"), **kw)
    assert [part.arguments for part in message.parts] == ["{}"]
    assert [issue.kind for issue in message.issues] == ["stray_marker", "cut_marker"]
