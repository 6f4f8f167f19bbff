"""Completeness of calls: a truncated call is never complete, in any family.

The last bracket of the arguments completes a JSON call. The closer of the function or call
completes a call in tags or Python. The end of the code completes a code call. The delta of that
moment has `last=True`.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import (
    ArgumentsFormat,
    ContentDelta,
    FunctionFormat,
    Policies,
    ReasoningFormat,
    StreamParser,
    ToolCallDelta,
    ToolFormat,
    ToolsFormat,
    TurnFormat,
    WireFormat,
    get_format,
    parse,
)

from ..strategies.call_patterns import FAMILIES as PATTERNS
from ..strategies.requests import options, reasons
from ..strategies.wire_by_hand import LIST, TAGS
from ..support import joined
from .invariants import in_families, run

Q = get_format("qwen3_coder")
GLM = get_format("glm45")
HERMES = get_format("hermes")
WHOLE = ("complete", "repaired")
THINKS = HERMES.replace(
    reasoning=ReasoningFormat(mode="TAG_BASED", start="<think>", end="</think>")
)
QWEN = "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n"


def made(message):
    """Return the name, arguments and completeness of each call."""
    return [(call.name, call.arguments, call.complete) for call in message.tool_calls]


def kinds(parser):
    return [issue.kind for issue in parser.issues]


def finished(fmt, text, reason=None, **kw):
    return run(fmt, [text], reason, **kw)[0]


@in_families()
@given(data=st.data(), reason=st.sampled_from([None, "length"]))
def test_10_truncation_never_completes_a_call(family, data, reason):
    fmt, _, wire = data.draw(family.written)
    tools = family.tools[0]
    whole = parse(wire, fmt, finish_reason="stop", tools=tools).tool_calls
    for cut in range(len(wire)):
        calls = parse(wire[:cut], fmt, finish_reason=reason, tools=tools).tool_calls
        for call, same in zip(calls, whole, strict=False):
            assert not call.complete or call.arguments == same.arguments, wire[:cut]


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("reason", [None, "length"])
def test_10_truncation_never_drops_an_argument(name, reason):
    pattern = PATTERNS[name]
    one, two = pattern.write(k="a", v='"b"'), pattern.write(k="ab", v='"c"')
    for text in (one, one + two):
        whole = parse(text, pattern.format, finish_reason="stop").tool_calls
        for cut in range(len(text)):
            calls = parse(text[:cut], pattern.format, finish_reason=reason).tool_calls
            for call, same in zip(calls, whole, strict=False):
                assert not call.complete or call.arguments == same.arguments, text[:cut]


@in_families()
@given(data=st.data(), kw=options, reason=reasons)
def test_last_marks_the_delta_that_completes_a_call(family, data, kw, reason):
    fmt, text = data.draw(family.texts)
    parser = StreamParser(fmt, **kw)
    sizes = data.draw(st.integers(1, 9))
    seen, last = {}, set()
    chunks = [text[at : at + sizes] for at in range(0, len(text), sizes)]
    for deltas in (*map(parser.feed, chunks), parser.finish(reason)):
        for delta in deltas:
            if isinstance(delta, ToolCallDelta):
                assert delta.index not in last
                assert delta.arguments or delta.name
                seen[delta.index] = seen.get(delta.index, "") + delta.arguments
                if delta.last:
                    last.add(delta.index)
                    assert isinstance(json.loads(seen[delta.index]), dict)
    calls = parser.message.tool_calls
    assert last == {index for index, call in enumerate(calls) if call.complete}


@pytest.mark.parametrize(
    ("fmt", "text", "complete"),
    [
        (Q, QWEN, {None: False, "stop": False, "length": False}),
        (Q, QWEN + "</func", {None: False, "stop": False, "length": False}),
        (Q, QWEN + "</function>", {None: True, "stop": True, "length": True}),
        (Q, QWEN + "<tool_call>", {None: False, "stop": False, "length": False}),
        (Q, QWEN + "<|im_end|>", {None: False, "stop": False, "length": False}),
        (
            GLM,
            "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n",
            {None: False, "stop": True, "length": False},
        ),
        (
            GLM,
            "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_c",
            {None: False, "stop": True, "length": False},
        ),
        (
            HERMES,
            '<tool_call>{"name": "f", "arguments": {"a": 1}',
            dict.fromkeys([None, "length"], True),
        ),
        (HERMES, '<tool_call>{"name": "f"', dict.fromkeys([None, "stop", "length"], False)),
        (get_format("llama4_pythonic"), "[f(a=1)", dict.fromkeys([None, "stop", "length"], True)),
        (get_format("llama4_pythonic"), "[f(a=1", dict.fromkeys([None, "stop", "length"], False)),
        (
            get_format("llama3_json"),
            "<|python_tag|>print(1)",
            {None: False, "stop": True, "length": False},
        ),
    ],
)
def test_completeness_depends_on_the_finish_reason(fmt, text, complete):
    for reason, expected in complete.items():
        tools = [{"name": "f"}] if fmt.tools.format == "PYTHONIC" else None
        parser = finished(fmt, text, reason, tools=tools)
        (call,) = parser.message.tool_calls
        assert call.complete is expected, reason
        length = reason == "length" or not expected
        assert parser.finish_reason == ("length" if length else "tool_calls")
        assert ("truncated_call" in kinds(parser)) is not expected


def test_last_for_arguments_as_text_is_at_the_end_of_the_string():
    fmt = TAGS.replace(tools={"arguments_as_text": True})
    text = '<call>{"name": "f", "arguments": "{\\"a\\": 1}"}</call>'
    parser = StreamParser(fmt)
    before = text.index('"}</call>')
    deltas = [delta for char in text[:before] for delta in parser.feed(char)]
    assert joined(deltas)[2][0][2] == '{"a": 1'
    assert [(delta.arguments, delta.last) for delta in parser.feed('"')] == [("}", True)]


@pytest.mark.parametrize("member", ["args", "parameters", "input"])
def test_other_keys_of_the_arguments_are_read_and_reported(member):
    parser = finished(HERMES, f'<tool_call>{{"name": "f", "{member}": {{"a": 1}}}}</tool_call>')
    assert made(parser.message) == [("f", '{"a": 1}', True)]
    assert kinds(parser) == ["odd_member"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ('{"function": "f", "arguments": {"a": 1}}', "of 'f', the key of the name is 'function'"),
        (
            '{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}',
            "the key of the function is",
        ),
        ('{"function": "f", "args": {"a": 1}}', "'function', the key of the arguments is 'args'"),
    ],
)
def test_name_under_another_key_is_read_and_reported(call, said):
    parser = finished(HERMES, f"<tool_call>{call}</tool_call>")
    assert made(parser.message) == [("f", '{"a": 1}', True)]
    (issue,) = parser.issues
    assert issue.kind == "odd_member"
    assert said in issue.detail


def test_first_of_several_argument_members_is_used():
    text = '<tool_call>{"name": "f", "args": {"a": 1}, "arguments": {"b": 2}}</tool_call>'
    parser = finished(HERMES, text)
    assert made(parser.message) == [("f", '{"a": 1}', True)]
    assert kinds(parser) == ["odd_member", "unused_member"]


def test_call_without_arguments_gets_an_empty_object():
    parser = finished(HERMES, '<tool_call>{"name": "f"}</tool_call>')
    assert made(parser.message) == [("f", "{}", True)]
    assert kinds(parser) == ["missing_arguments"]


@in_families()
@given(data=st.data())
def test_call_started_in_the_prompt_is_emitted_completely(family, data):
    fmt, _, wire = data.draw(family.written)
    tools = family.tools[0]
    whole = parse(wire, fmt, finish_reason="stop", tools=tools).tool_calls
    for cut in range(0, len(wire), 3):
        prompt = (fmt.turn.headers or ("",))[0] + wire[:cut]
        parser, deltas = run(fmt, list(wire[cut:]), "stop", tools=tools, prompt=prompt)
        calls = parser.message.tool_calls
        assert [(call.name, call.arguments, call.complete) for call in calls] == [
            (call.name, call.arguments, call.complete) for call in whole[len(whole) - len(calls) :]
        ]
        assert [call[2] for call in joined(deltas)[2]] == [call.arguments for call in calls]


def test_second_call_of_a_section_in_the_prompt_is_complete():
    fmt = WireFormat(
        turn=TurnFormat(headers=("<|model|>",)),
        tools=ToolsFormat(
            format=ToolFormat.TAG_WITH_TAGGED,
            section_start="<calls>",
            section_end="</calls>",
            separator=", ",
        ),
        function=FunctionFormat(name_suffix=":"),
        arguments=ArgumentsFormat(name_prefix="<", name_suffix=">", value_suffix="</>"),
    )
    wire = "<|model|><calls>f:, f:<key>b</></calls>"
    for cut in range(wire.index("<key"), wire.index("</calls")):
        parser, _ = run(fmt, list(wire[cut:]), "stop", prompt=wire[:cut])
        assert made(parser.message) == [("f", '{"key": "b"}', True)], wire[:cut]


def test_first_delta_has_the_arguments_of_the_prompt():
    prompt = HERMES.turn.generation_prompt + '<tool_call>\n{"name": "f", "arguments": {"a"'
    parser = StreamParser(HERMES, prompt=prompt)
    first, second = parser.feed(": 1}")
    assert (first.name, first.arguments, second.arguments, second.last) == (
        "f",
        '{"a"',
        ": 1}",
        True,
    )


@pytest.mark.parametrize("reason", [None, "length"])
@pytest.mark.parametrize(
    ("fmt", "text"),
    [
        (get_format("mistral_small"), "[TOOL_CALLS]"),
        (get_format("mistral_small"), "[TOOL_CALLS]f"),
        (get_format("mistral_small"), "[TOOL_CALLS]f[AR"),
        (Q, "<tool_call>\n<fun"),
        (Q, "<tool_call>\n<function=f"),
        (LIST, "[CALLS]"),
        (LIST, '[CALLS][{"na'),
    ],
)
def test_truncated_head_is_markup(fmt, text, reason):
    for size in (1, len(text)):
        chunks = [text[at : at + size] for at in range(0, len(text), size)]
        parser, _ = run(fmt, ["So. ", *chunks], reason)
        assert parser.message.content.strip() == "So."
        assert kinds(parser) == ["truncated_call"]


@pytest.mark.parametrize("reason", [None, "stop", "length"])
@pytest.mark.parametrize(
    "rest", ["</tool", "\n</tool_call", "</tool_call>\n<tool_c", "</tool_call>\n<"]
)
def test_truncated_marker_after_a_call_is_markup(rest, reason):
    text = '<tool_call>{"name": "f", "arguments": {}}' + rest
    for chunks in ([text], list(text)):
        parser, _ = run(HERMES, chunks, reason)
        assert made(parser.message) == [("f", "{}", True)]
        assert (parser.message.content, kinds(parser)) == ("", ["cut_marker"])


@pytest.mark.parametrize("before", ["", "<think>"])
def test_partial_marker_before_a_turn_end_is_content(before):
    text = before + '<tool_call>{"name": "f", "arguments": {}}</tool_call></tool<|im_end|>'
    for chunks in ([text], list(text)):
        parser, _ = run(THINKS, chunks, "stop")
        assert made(parser.message) == [("f", "{}", True)]
        assert parser.message.content == "</tool"


@pytest.mark.parametrize("reason", [None, "stop", "length"])
@pytest.mark.parametrize("text", ["a <", "a <tool_c", "1 <"])
def test_prose_that_ends_with_a_marker_prefix_is_content(text, reason):
    parser, deltas = run(HERMES, list(text), reason)
    assert "".join(delta.text for delta in deltas if isinstance(delta, ContentDelta)) == text
    assert parser.issues == []


@in_families()
@given(data=st.data(), kw=options, reason=reasons)
def test_each_started_call_has_an_attempt(family, data, kw, reason):
    fmt, text = data.draw(family.texts)
    first = None
    for chunks in ([text], list(text)):
        parser, _ = run(fmt, chunks, reason, **kw)
        attempts = parser.attempts
        shown = {(call.name, call.complete) for call in parser.message.tool_calls}
        tried = {
            (attempt.name, attempt.status not in ("truncated", "broken")) for attempt in attempts
        }
        assert shown <= tried
        assert all(start <= end for start, end in (attempt.span for attempt in attempts))
        assert first is None or attempts == first
        first = attempts


@in_families()
@given(data=st.data(), json=st.booleans(), reason=reasons)
def test_repaired_calls_have_repaired_attempts(family, data, json, reason):
    fmt, text = data.draw(family.texts)
    for chunks in ([text], list(text)):
        parser, _ = run(fmt, chunks, reason, **({"calls": "json"} if json else {}))
        tried = [one.status == "repaired" for one in parser.attempts if one.status in WHOLE]
        assert tried == [one.repaired for one in parser.message.tool_calls if one.complete]


FAULTS = {
    "none": '{"name": "f", "arguments": {"a": 1}}',
    "bracket behind": '{"name": "f", "arguments": {"a": 1}}}',
    "comma": '{"name": "f", "arguments": {"a": 1,}}',
    "unknown": '{"name": "g", "arguments": {"a": True}}',
}


@given(st.lists(st.tuples(st.sampled_from(sorted(FAULTS)), st.sampled_from(["", "\n", " so "]))))
def test_repair_belongs_to_one_call_only(written):
    calls = [FAULTS[fault] for fault, _ in written]
    text = "".join(
        f"<tool_call>{call}</tool_call>{behind}"
        for call, (_, behind) in zip(calls, written, strict=True)
    )
    expected = [fault in ("bracket behind", "comma") for fault, _ in written if fault != "unknown"]
    # A call turned into content must not change the call before it.
    policies = Policies(unknown_tool="text")
    for chunks in ([text], list(text)):
        parser, _ = run(HERMES, chunks, "stop", tools=[{"name": "f"}], policies=policies)
        assert [call.repaired for call in parser.message.tool_calls] == expected
        tried = [one for one in parser.attempts if one.name == "f"]
        assert [one.status == "repaired" for one in tried] == expected


@pytest.mark.parametrize(
    ("text", "kw", "expected"),
    [
        ('<tool_call>{"name": "f", "arguments": {}}</tool_call>', {}, [("f", "complete")]),
        ('<tool_call>{"name": "f", "arguments": {}}}</tool_call>', {}, [("f", "repaired")]),
        ('<tool_call>{"name": "f", "arguments": {"a": True}}</tool_call>', {}, [("f", "repaired")]),
        ('<tool_call>{"name": "f", "arguments": {"a": x}}</tool_call>', {}, [("f", "broken")]),
        ('<tool_call>{"name": "f", "arguments": 5}</tool_call>', {}, [("f", "broken")]),
        ('<tool_call>{"name": "f", "arguments": {"a": ', {}, [("f", "truncated")]),
        ('<tool_call>{"na', {}, [("", "truncated")]),
        (
            '<tool_call>{"name": "f", "arguments": {"a": True}}</tool_call>',
            {"tools": [{"name": "g"}]},
            [("f", "unknown_tool")],
        ),
        ("<tool_call> here it is", {}, [("", "not_a_call")]),
        (
            '<think><tool_call>{"name": "f", "arguments": {"a": </tool_call></think>no',
            {},
            [("f", "in_reasoning")],
        ),
        ("Hi", {}, []),
    ],
)
def test_attempts_have_a_status(text, kw, expected):
    fmt = HERMES.replace(reasoning={"mode": "TAG_BASED", "start": "<think>", "end": "</think>"})
    for chunks in ([text], list(text)):
        parser, _ = run(fmt, chunks, "length", **kw)
        assert [(tried.name, tried.status) for tried in parser.attempts] == expected


@pytest.mark.parametrize("reason", ["stop", "length", None])
@pytest.mark.parametrize(
    ("fmt", "text"),
    [
        ("mistral", '[TOOL_CALLS][{"name": "f", "arguments": {}}'),
        ("granite", '<|tool_call|>[{"name": "f", "arguments": {}}'),
        ("apertus", '<|tools_prefix|>[{"f": {}}'),
        ("lfm2", "<|tool_call_start|>[f()"),
    ],
)
@pytest.mark.parametrize("separator", [",", " , ", ",\n  "])
def test_list_truncated_after_a_separator_is_reported(fmt, text, separator, reason):
    for chunks in ([text + separator], list(text + separator)):
        parser, _ = run(get_format(fmt), chunks, reason)
        assert (parser.message.content, parser.finish_reason) == (
            "",
            "tool_calls" if reason == "stop" else "length",
        )
        issues = [(issue.kind, issue.span) for issue in parser.issues]
        assert issues == [("cut_marker", (len(text), len(text + separator)))]
