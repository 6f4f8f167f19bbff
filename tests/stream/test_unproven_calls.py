"""Unproven calls, with and without tools: calls and similar text."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deltaparse import (
    CodeFormat,
    MalformedOutput,
    Policies,
    StreamParser,
    get_format,
    list_formats,
    parse,
)
from deltaparse.stream.tokens.traced_parser import TracedParser

from ..strategies.token_texts import Text
from ..strategies.unproven_texts import answers, looks_like_calls
from ..strategies.wire_by_hand import UNMARKED, calls, fed, kinds
from ..support import as_joined, cuts, joined
from .invariants import check_1_and_2, check_3, run

FORMATS = [name for name in list_formats() if get_format(name).derived.unproven_calls]
JSON, PYTHON, RECIPIENTS = map(get_format, ("llama3_json", "pythonic", "functionary_v32"))
LISTED = UNMARKED.replace(tools={"array_wrapped": True})
ENDED = PYTHON.replace(tools={"section_end": "</calls>"})
PLAIN = PYTHON.replace(tools={"array_wrapped": False})
# Formats with known call syntax only.
NO_ENDS = [fmt.replace(turn={"ends": (), "headers": ()}) for fmt in (PYTHON, LISTED)]
ALL = [*map(get_format, FORMATS), LISTED, PLAIN, *NO_ENDS]
OTHERS = [{"name": "look_up"}, {"name": "zz"}]
F = [{"name": "f"}]


def ends(fmt):
    """Draw the end of the turn: empty, or one of its end-of-turn markers."""
    return st.sampled_from(["", *fmt.turn.ends])


def opening(fmt):
    """Return the start marker of content, if the format requires one."""
    return fmt.content.start.removeprefix(">>>")


def test_the_formats():
    assert FORMATS == [
        "functionary_v32", "llama3_json", "llama4_json", "llama4_pythonic", "pythonic",
    ]  # fmt: skip


# Text


@pytest.mark.parametrize("reason", ["stop", "length", None])
@given(fmt=st.sampled_from(ALL), text=answers(), data=st.data())
def test_call_syntax_next_to_other_text_is_content(reason, fmt, text, data):
    wire = opening(fmt) + text + data.draw(ends(fmt))
    for tools in (None, OTHERS):
        for chunks in ([wire], list(wire), data.draw(cuts(wire))):
            parser, deltas = run(fmt, chunks, reason, tools=tools)
            assert joined(deltas) == (text, "", [])
            assert {issue.kind for issue in parser.issues} <= {"unknown_tool"}
            assert parser.finish_reason == (reason if reason == "length" else "stop")
            assert {one.status for one in parser.attempts} <= {"not_a_call", "unknown_tool"}


@given(fmt=st.sampled_from(ALL), text=looks_like_calls, data=st.data())
def test_calls_of_other_names_are_text(fmt, text, data):
    wire = opening(fmt) + text + data.draw(ends(fmt))
    parser, deltas = run(fmt, data.draw(cuts(wire)), tools=OTHERS)
    assert joined(deltas) == (text, "", [])
    assert {issue.kind for issue in parser.issues} <= {"unknown_tool"}


@given(fmt=st.sampled_from(ALL), text=looks_like_calls | answers(), data=st.data())
def test_invariants_hold_for_text_similar_to_calls(fmt, text, data):
    tools = data.draw(st.sampled_from([None, F, OTHERS, [{"name": "my-app"}, {"name": "x"}]]))
    reason = data.draw(st.sampled_from(["stop", "length", None]))
    check_1_and_2(fmt, text, (list(text), data.draw(cuts(text))), reason, tools=tools)
    check_3(fmt, text, tools=tools)


@given(fmt=st.sampled_from(ALL), text=looks_like_calls | answers(), data=st.data())
def test_without_tools_a_call_fills_its_part_or_is_content(fmt, text, data):
    message = parse(text, fmt, finish_reason="stop")
    assert not message.tool_calls or message.content == ""
    assert message.tool_calls or message.content == text
    assert all(call.complete for call in message.tool_calls)


@pytest.mark.parametrize(
    ("fmt", "text"),
    [
        (PYTHON, "get_weather() takes a city."),
        (PYTHON, 'get_weather(city="Paris")'),
        (PYTHON, '[get_weather(city="Paris")] is what you want.'),
        (PYTHON, '[get_weather(city="Paris")'),
        (PYTHON, '[get_weather(city="Paris"), get_weather(city=oops)]'),
        (PYTHON, '[get_weather(city="Paris")],'),
        (PYTHON, '[get_weather(city="Paris")]\n[1]'),
        (PYTHON, "[f() for x in y]"),
        (ENDED, '[get_weather(city="Paris")] is what'),
        (ENDED, '[get_weather(city="Paris")]</calls> is what'),
        (PLAIN, "get_weather() takes a city."),
        (PLAIN, "print()\nThis prints an empty line."),
        (JSON, '{"name": "my-app", "parameters": {"a": 1}}\n\nSave it.'),
        (JSON, 'Save this:\n{"name": "my-app", "parameters": {"a": 1}}'),
        (JSON, '{"name": "my-app", "parameters": {}, "version": "1.0"}'),
        (JSON, '{"name": "my-app", "version": "1.0", "parameters": {}}'),
        (JSON, '{"parameters": {}, "version": "1.0", "name": "my-app"}'),
        (JSON, '{"name": "my-app", "parameters": {}, "parameters": {}}'),
        (JSON, '{"name": "my-app", "arguments": {}}'),
        (JSON, '{"name": "my-app", "parameters": "{}"}, and'),
        (JSON, '{"name": "my-app", "parameters": {}'),
        (JSON, '{"name": "my-app", "parameters": {"a": tru}}'),
        (JSON, '[{"name": "my-app", "parameters": {}}]'),
        (JSON, '```json\n{"name": "my-app", "parameters": {}}\n```'),
        (LISTED, '{"name": "my-app", "parameters": {}}'),
        (LISTED, '[{"name": "my-app", "parameters": {}}, {"a": 1}]'),
        (RECIPIENTS, '>>> f()\n{"a": 1}'),
        (RECIPIENTS, '>>> x\n{"a": 1}'),
        (RECIPIENTS, '>>> x\n{"a": 1}\n>>> len(x)\n1'),
        (RECIPIENTS, '>>>x\n{"a": 1}\n>>>y\n2'),
        (RECIPIENTS, ">>>x = {}\n>>>x\n{}"),
        (RECIPIENTS, '>>> f()\n>>>x\n{"a": 1}\n>>> 1'),
        (RECIPIENTS, '>>>x\n{"a": 1}\n\nThat is x.'),
        (RECIPIENTS, ">>>x\n{'a': 1}"),
        (RECIPIENTS, '>>> x\n"a"'),
    ],
)
def test_text_without_tools(fmt, text):
    for reason in ("stop", "length", None):
        parser = fed(fmt, text, reason)
        assert (calls(parser), parser.message.content, parser.issues) == ([], text, [])


@pytest.mark.parametrize(
    ("fmt", "before", "text"),
    [
        (PYTHON, "", "[g(a=1)]"),
        (PYTHON, "", "g() takes f(a=1)"),
        (PYTHON, "[f(a=1)", ", g(a=1), f(a=f(a=1))]"),
        (PYTHON, "f(a=1)", "; g(a=1); f(a=1)"),
        (PYTHON, "", "[g(a=1), f(a=1)]"),
        (JSON, "", '{"name": "g", "parameters": {"name": "f", "parameters": {}}}'),
        (JSON, "", '{"type": "function", "parameters": {"a": 1}, "name": "g"} and more'),
        (JSON, "", '{"name": "g", "parameters": {}}; {"name": "f", "parameters": {}}'),
        (LISTED, "", '[{"name": "g", "parameters": {"name": "f", "parameters": {}}}]'),
        (
            LISTED,
            '[{"name": "f", "parameters": {"a": 1}}',
            ', {"name": "g", "parameters": {"name": "f", "parameters": {}}}]',
        ),
        (RECIPIENTS, "", '>>>g\n{"a": 1}'),
        (RECIPIENTS, "", '>>> x\n{"a": 1}\n'),
        (RECIPIENTS, 'f\n{"a": 1}', '>>>g\n{"a": 1}'),
    ],
)
def test_text_from_an_unknown_name_on_is_content(fmt, before, text):
    """Report the name once. After it, only a marker may start a call."""
    parser = fed(fmt, before + text + fmt.turn.ends[0], tools=F)
    made = [("f", '{"a": 1}')] if before else []
    assert calls(parser) == made
    assert parser.message.content == text
    assert kinds(parser) == ["unknown_tool"] + ["text_after_tool_call"] * len(made)
    assert parser.attempts[-1].status == "unknown_tool"
    with pytest.raises(MalformedOutput):
        parse(before + text, fmt, tools=F, policies=Policies(unknown_tool="error"))
    for choice in ("text", "pass"):
        policies = Policies(unknown_tool=choice)
        assert fed(fmt, before + text, tools=F, policies=policies).message.content == text


def test_text_without_a_known_tool_streams():
    text = '{"name": "my-app", "parameters": {"a": "'
    parser = StreamParser(JSON, tools=F)
    parser.feed(text)
    for at in range(1, 100):
        parser.feed("x")
        assert len(parser.message.content) == len(text) + at


def test_without_tools_text_is_released_if_it_fits_no_call():
    for fmt, text, held in (
        (JSON, '{"name": "my-app", "parameters": {}, "version": 1', 36),
        (PYTHON, "[f(a=1), g(b=oops(", len("[f(a=1), g(b=")),
        (PYTHON, "f(a=1) is", len("f(a=1)")),
        (RECIPIENTS, '>>>x\n{"a": 1}\n\nThat', len('>>>x\n{"a": 1}')),
    ):
        parser = StreamParser(fmt)
        emitted = [len(parser.message.content) for char in text if parser.feed(char) is not None]
        assert emitted[-1] == len(text)
        assert max(at for at, so_far in enumerate(emitted) if not so_far) >= held - 3


# Calls


def test_content_after_ended_calls_has_its_own_span():
    text = "[f(a=1)]</calls></calls> x"
    parser = TracedParser(ENDED)
    parser.feed(text)
    parser.finish("stop")
    assert (parser.message.content, len(parser.message.tool_calls)) == (" x", 1)
    assert [span for span in parser.role_spans if span.role == "content"] == [
        (text.index(" x"), len(text), "content")
    ]


@pytest.mark.parametrize("size", [1, 2, 10])
def test_call_may_end_with_the_first_characters_of_a_response(size):
    header, text = JSON.turn.headers[0], '{"name": "f", "parameters": {"a": 1}}'
    parser = fed(JSON, text[-size:], prompt=header + text[:-size])
    assert calls(parser) == [("f", '{"a": 1}')]


@st.composite
def written_calls(draw, fmt):
    """Draw a run of calls in the format, and the calls."""
    names = st.sampled_from(["f", "look_up", "my-app"])
    values = st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 9), max_size=2)
    made = draw(st.lists(st.tuples(names, values), min_size=1, max_size=3))
    if fmt.tools.format == "PYTHONIC":
        texts = [f"{name}({', '.join(f'{k}={v}' for k, v in args.items())})" for name, args in made]
    elif fmt.tools.format == "JSON_NATIVE":
        texts = [json.dumps({"name": name, "parameters": args}) for name, args in made]
    else:
        texts = [f">>>{name}\n{json.dumps(args)}" for name, args in made]
        return "".join(texts).removeprefix(">>>"), made
    joined_up = ", ".join(texts) if fmt.tools.array_wrapped else "; ".join(texts)
    return (f"[{joined_up}]" if fmt.tools.array_wrapped else joined_up), made


@pytest.mark.parametrize("reason", ["stop", "length", None])
@given(fmt=st.sampled_from(ALL), data=st.data())
def test_calls_that_fill_their_part_are_calls_with_tools_or_without(reason, fmt, data):
    text, made = data.draw(written_calls(fmt))
    wire = text + data.draw(ends(fmt))
    tools = data.draw(st.sampled_from([None, [{"name": name} for name, _ in made]]))
    assume(tools or reason != "length" or wire.strip() != text)
    parser, deltas = run(fmt, data.draw(cuts(wire)), reason, tools=tools)
    assert joined(deltas) == as_joined(parser.message)
    assert [(name, json.loads(given)) for name, given in calls(parser)] == made
    assert (parser.message.content, parser.issues) == ("", [])
    assert all(call.complete for call in parser.message.tool_calls)
    assert {one.status for one in parser.attempts} == {"complete"}


@given(fmt=st.sampled_from(ALL), data=st.data(), follows=st.sampled_from(["", " ", " and so on"]))
def test_10_truncated_part_without_tools_is_content(fmt, data, follows):
    text, _ = data.draw(written_calls(fmt))
    parser, _ = run(fmt, data.draw(cuts(text + follows)), "length")
    assert (parser.message.content, calls(parser)) == (text + follows, [])


@pytest.mark.parametrize(
    ("begun", "more"),
    [
        ("[f(a=1)]", "\n"),
        ("[f(a=1), g(", "b=2)]"),
        ("[f(a=1)", ", g(b=2)]"),
        ("[f(a=1), ", "g(b=2)]"),
    ],
)
def test_calls_that_ended_in_the_prompt_are_not_emitted(begun, more):
    prompt = "".join(get_format("pythonic").turn.headers[:1]) + begun
    for tools in (None, [{"name": "f"}, {"name": "g"}]):
        parser = StreamParser("pythonic", prompt=prompt, tools=tools)
        deltas = parser.feed(more) + parser.finish("stop")
        expected = [("g", '{"b": 2}')] * ("g" in begun + more)
        assert (calls(parser), parser.message.content) == (expected, "")
        assert joined(deltas) == as_joined(parser.message)


@given(fmt=st.sampled_from(ALL), data=st.data())
def test_a_call_of_a_tool_streams(fmt, data):
    text, made = data.draw(written_calls(fmt))
    parser = StreamParser(fmt, tools=[{"name": name} for name, _ in made])
    begun = [len(parser.message.tool_calls) for char in text if parser.feed(char) is not None]
    assert begun[-1] == len(made)
    assert fmt.tools.format != "PYTHONIC" or begun.index(1) <= len("[my-app(a=1")


def test_a_call_is_a_part_between_markers():
    fmt = PYTHON.replace(
        reasoning={"mode": "TAG_BASED", "start": "<think>", "end": "</think>"},
    )
    text = "<think>Maybe [g()].</think>\n\n[f(a=1)]<think>So</think>[f(a=2)] there<|eot_id|>"
    parser = fed(fmt, text)
    assert calls(parser) == [("f", '{"a": 1}')]
    assert parser.message.content == "[f(a=2)] there"
    assert parser.message.reasoning_content == "Maybe [g()].So"


def test_truncated_marker_after_a_call_is_markup():
    parser = fed(PYTHON, "[f(a=1)] <|eot", "length", tools=F)
    assert (calls(parser), kinds(parser)) == ([("f", '{"a": 1}')], ["cut_marker"])
    # A stop string may have removed the rest of the marker.
    parser = fed(PYTHON, "[f(a=1)] <|eot", "stop")
    assert (calls(parser), kinds(parser)) == ([("f", '{"a": 1}')], ["cut_marker"])


@given(fmt=st.sampled_from(ALL), data=st.data())
def test_10_truncation_never_makes_a_call_of_possible_text(fmt, data):
    text, _ = data.draw(written_calls(fmt))
    text += data.draw(st.sampled_from([" ", *fmt.turn.ends, ">>>"]))
    more = data.draw(st.sampled_from(["x", "\n", ")", "[", "<"]))
    for cut in range(len(text)):
        made = parse(text[:cut], fmt, finish_reason="length").tool_calls
        assert made == parse(text[:cut] + more, fmt).tool_calls[: len(made)]


@pytest.mark.parametrize("reason", [None, "length"])
@pytest.mark.parametrize(
    ("fmt", "text"),
    [
        (PYTHON, "[f(a=1)] <|eot"),
        (get_format("functionary_v32"), "f\n{}>>"),
        (get_format("functionary_v32"), "f\n{}>>>g\n{}>"),
    ],
)
def test_truncated_marker_after_an_unproven_call_is_content(fmt, text, reason):
    assert parse(text + "x", fmt).tool_calls == []
    message = parse(text, fmt, finish_reason=reason)
    assert (message.tool_calls, message.content) == ([], text)


def test_call_started_in_the_prompt_continues_in_the_response():
    prompt = "<|start_header_id|>assistant<|end_header_id|>\n\n"
    for begun, rest in (("[", "f(a=1)]"), ("[f(", "a=1)]"), ("[f(a=1", ")]")):
        for tools in (None, F):
            parser = fed(PYTHON, rest, prompt=prompt + begun, tools=tools)
            assert (calls(parser), parser.message.content) == ([("f", '{"a": 1}')], "")
    for tools in (None, F):
        # A call that is complete in the prompt was already made.
        assert fed(PYTHON, "", prompt=prompt + "[f(a=1)]", tools=tools).message.parts == []
    parser = fed(PYTHON, "a=1)] is one", prompt=prompt + "[f(")
    assert (calls(parser), parser.message.content) == ([], "a=1)] is one")


def test_marker_of_code_proves_a_call_of_any_name():
    text = '<|python_tag|>{"name": "g", "parameters": {"a": 1}}'
    parser = fed(JSON, text, tools=F)
    assert (calls(parser), kinds(parser)) == ([("g", '{"a": 1}')], ["unknown_tool"])
    assert calls(fed(JSON, text + " x")) == [("g", '{"a": 1}')]


def test_with_a_schema_of_the_answer_or_no_tools_all_is_text():
    for fmt in ALL:
        for text in ("[f()]", '{"name": "f", "parameters": {}}'):
            assert parse(opening(fmt) + text, fmt, tools=[]).content == text
            assert parse(opening(fmt) + text, fmt, tool_choice="none").content == text
            schema = parse(opening(fmt) + text, fmt, tools=F, response_schema={})
            assert schema.content == text


def test_calls_may_follow_content_with_a_start_marker():
    text = 'all\nSo:\n>>> x\n{"a": 2}\n>>>f\n{"a": 1}'
    parser = fed(RECIPIENTS, text)
    assert (calls(parser), parser.message.content) == ([], text.removeprefix("all\n"))
    parser = fed(RECIPIENTS, f'{text}>>>all\nYes>>>f\n{{"a": 1}}<|eot_id|>')
    assert calls(parser) == [("f", '{"a": 1}')]
    assert parser.message.content == text.removeprefix("all\n") + "Yes"


# Buffered text, and attempts that were not calls.

CALL_OF_F = '{"name": "f", "parameters": {}}'


def test_rejected_call_is_recorded_as_an_attempt():
    for text, names in ((CALL_OF_F + " x", ["f"]), ('{"x": 1}', [])):
        parser = fed(UNMARKED, text)
        assert parser.message.content == text
        noted = [one.name for one in parser.attempts if one.name]
        assert noted == names
        assert {one.status for one in parser.attempts} <= {"not_a_call"}
        said = [one.detail for one in parser.attempts]
        assert said == ["the part contains more than calls in the format's spelling"] * len(said)


def test_marker_of_code_after_a_call_starts_another_part():
    parser = fed(JSON, CALL_OF_F + "<|python_tag|>")
    assert calls(parser) == [("f", "{}")]
    assert parser.message.content == "<|python_tag|>"


def test_call_that_fills_its_part_has_token_roles():
    texts = ['{"name": "', "f", '", "parameters": ', '{"a": 1}', "}", "<|eot_id|>"]
    parser = Text(JSON, ["<|eot_id|>"], texts).read()
    roles = ["marker", "name", "marker", "arguments", "marker"]
    assert parser.roles == [*roles, "end"]
    parser = Text(JSON, ["<|eot_id|>"], [*texts[:-1], "; ", *texts]).read()
    assert [call.tokens for call in parser.message.tool_calls] == [(0, 4), (6, 10)]


@pytest.mark.parametrize("begun", ["", "\n", "\nx", "f\n", "f\n{"])
def test_text_after_a_non_call_in_the_prompt_is_content(begun):
    prompt = RECIPIENTS.turn.generation_prompt + begun
    parser = fed(RECIPIENTS, "hello", prompt=prompt)
    assert (parser.message.content, parser.issues) == ("hello", [])


def test_text_after_a_non_call_in_the_prompt_is_not_buffered():
    parser = StreamParser(RECIPIENTS, prompt=RECIPIENTS.turn.generation_prompt + 'f\n{"a')
    assert joined(parser.feed("\n")).content == "\n"


@pytest.mark.parametrize("begun", ["", CALL_OF_F, CALL_OF_F + ";", CALL_OF_F + "; "])
def test_truncated_separator_after_calls_makes_them_content(begun):
    fmt = UNMARKED.replace(tools={"separator": "; <and>"})
    rest = f"{CALL_OF_F}; <".removeprefix(begun)
    parser = fed(fmt, rest, prompt=fmt.turn.headers[0] + begun)
    assert (calls(parser), parser.message.content) == ([], rest)


def test_call_end_may_look_like_a_separator():
    fmt = RECIPIENTS.replace(function={"name_suffix": "("}, arguments={"end": ");"})
    assert calls(fed(fmt, 'f({"a": 1});>>>f({"a": 1});')) == [("f", '{"a": 1}')] * 2


def test_closer_of_tagged_calls_ends_their_part():
    fmt = RECIPIENTS.replace(function={"close": "<end>"})
    parser = fed(fmt, 'f\n{"a": 1}<end> is it')
    assert (calls(parser), parser.message.content) == ([("f", '{"a": 1}')], " is it")


@pytest.mark.parametrize("space", ["", "\n"])
def test_marker_of_code_proves_a_call_without_its_whitespace(space):
    fmt = UNMARKED.replace(code=CodeFormat(start="\n<|code|>", function="python"))
    parser = StreamParser(fmt)
    parser.feed(f"a{space}<|code|>x")
    assert calls(parser) == [("python", '{"code": "x')]


def test_emitted_calls_are_not_buffered():
    parser = StreamParser(UNMARKED, collect=False)
    parser.feed(CALL_OF_F + "<|end|><|start|>model\n")
    for _ in range(100):
        parser.feed("text " * 10)
        assert parser.held < 100


def test_text_after_a_rejected_call_is_not_buffered():
    parser = StreamParser(UNMARKED, collect=False)
    for _ in range(50):
        parser.feed('{"name": "f", "x": 1} text text ')
        assert parser.held < 100


def test_part_may_be_calls_after_a_part_of_text():
    fmt = UNMARKED.replace(reasoning={"mode": "TAG_BASED", "start": "<think>", "end": "</think>"})
    parser = fed(fmt, f"{CALL_OF_F} x<think>r</think>{CALL_OF_F}")
    assert calls(parser) == [("f", "{}")]
    assert parser.message.content == CALL_OF_F + " x"


@pytest.mark.parametrize("end", [",", ", ", ",\n", ";", "; \n"])
def test_trailing_separator_makes_a_part_content(end):
    assert fed(UNMARKED, CALL_OF_F + end).message.content == CALL_OF_F + end


def test_rejected_call_omits_its_start_in_the_prompt():
    prompt = '<|start|>model\n{"na'
    text = 'me": "f", "x": 1} y'
    parser = fed(UNMARKED, text + "\nmore", prompt=prompt)
    assert (parser.message.content, calls(parser)) == (text + "\nmore", [])


def test_whitespace_before_the_name_is_optional():
    fmt = RECIPIENTS.replace(function={"name_prefix": "\n>>>"})
    assert calls(fed(fmt, '>>>f\n{"a": 1}')) == [("f", '{"a": 1}')]


@pytest.mark.parametrize("begun", ["<", "<|en", ""])
def test_marker_prefix_in_the_prompt_is_not_emitted(begun):
    parser = fed(UNMARKED, "x", prompt='<|start|>model\n{"x": 1} ' + begun)
    assert parser.message.content == "x"


@pytest.mark.parametrize("start", ["<code>", "<code>\n"])
def test_code_after_its_marker_needs_no_proof(start):
    parser = StreamParser(UNMARKED.replace(code=CodeFormat(start=start, function="f")))
    parser.feed(f"{start}x = 1")
    assert [call.arguments for call in parser.message.tool_calls] == ['{"code": "x = 1']
