"""Calls that are truncated or broken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deltaparse import Policies, StreamParser, get_format
from deltaparse.partial import Window
from deltaparse.stream.message.policy_sink import Sink
from deltaparse.stream.message.request_rules import Rules
from deltaparse.stream.reading.reading import Reading
from deltaparse.stream.reading.tool_calls.call import Call
from deltaparse.stream.reading.tool_calls.ending import CUT, settle
from deltaparse.stream.wire.marker_tables import marker_tables

from ....strategies.wire_by_hand import KEYED, LIST, TAGS, UNMARKED, calls, fed

STRICT = Policies(malformed_arguments="strict")
HEAD = '<call>\n{"name": "f"'
F = [{"name": "f"}]


@pytest.mark.parametrize(
    ("fmt", "text", "options", "kind", "detail"),
    [
        (
            TAGS,
            HEAD + ', "arguments": {"a": <|end|>',
            {},
            "truncated_call",
            "'<' begins no value in the call of 'f'; not emitted: ''",
        ),
        (
            TAGS,
            HEAD + ', "arguments": {"a": x</call>',
            {"policies": STRICT},
            "malformed_arguments",
            "'x' begins no value in the call of 'f'; not emitted: 'x'",
        ),
        (
            get_format("olmo3"),
            "<function_calls>f(a=(1</function_calls>",
            {},
            "malformed_arguments",
            "'<' after a value, not emitted: 1; in the call of 'f'; not emitted: ''",
        ),
        (
            TAGS,
            '{"name": "f", "arguments": {"a": x} y',
            {"calls": "json", "policies": STRICT},
            "malformed_arguments",
            "'x' begins no value in the call of 'f'; the text after it is content",
        ),
        (
            UNMARKED,
            '{"name": "f", "parameters": {"a": x} y',
            {"tools": F, "policies": STRICT},
            "malformed_arguments",
            "'x' begins no value in the call of 'f'; the text after it is content",
        ),
    ],
)
def test_broken_call_reports_removed_text(fmt, text, options, kind, detail):
    parser = fed(fmt, text, **options)
    assert (parser.issues[0].kind, parser.issues[0].detail) == (kind, detail)
    assert [one.complete for one in parser.message.tool_calls] == [False]
    assert parser.attempts[0].status == ("truncated" if kind == "truncated_call" else "broken")


@pytest.mark.parametrize(
    ("text", "detail", "span"),
    [
        ("<|end|>", "the brackets of the call of 'f' were closed: no comma", (42, 42)),
        ("</call>!", "the brackets of the call of 'f' were closed: no comma", (42, 42)),
        (', "x": [1{', "'{' after value in the call of 'f'; not emitted: '{'", (0, 52)),
    ],
)
def test_text_after_arguments_is_repaired(text, detail, span):
    parser = fed(TAGS, HEAD + ', "arguments": {"a": 1}' + text, "length")
    (call,) = parser.message.tool_calls
    assert (call.complete, call.repaired) == (True, True)
    issue = parser.issues[0]
    assert (issue.kind, issue.detail, issue.span) == ("repaired_arguments", detail, span)


def test_brackets_are_not_closed_in_a_broken_call():
    named = {"type": "function", "function": {"name": "f"}}
    parser = fed(TAGS, '{<call>"a": 1}', calls="json", tools=F, tool_choice=named)
    assert parser.issues[0].kind == "malformed_arguments"
    assert [call.complete for call in parser.message.tool_calls] == [False]


IN_LIST = UNMARKED.replace(tools={"array_wrapped": True})
OBJECT = '[{"name": "f", "parameters": {}}, {"x": 1} '
BROKEN = '{"name": "f", "parameters": {"a": x} '


@pytest.mark.parametrize(
    ("fmt", "options", "begun"),
    [
        (IN_LIST, {}, OBJECT),
        (UNMARKED, {"calls": "json"}, OBJECT),
        (UNMARKED, {"policies": STRICT}, BROKEN),
        (UNMARKED, {"policies": STRICT, "calls": "json"}, BROKEN),
    ],
)
def test_prompt_text_after_a_call_is_not_emitted(fmt, options, begun):
    prompt = f"<|start|>model\n{begun}<|en"
    assert fed(fmt, "y", prompt=prompt, tools=F, **options).message.content == "y"


@pytest.mark.parametrize("policy", ["strict", "text"])
@pytest.mark.parametrize(
    ("fmt", "text"), [(IN_LIST, OBJECT), (UNMARKED, BROKEN)], ids=["no call", "a broken call"]
)
def test_text_after_a_broken_call_is_not_buffered(fmt, text, policy):
    parser = StreamParser(fmt, tools=F, policies=Policies(malformed_arguments=policy))
    parser.feed(text + "y")
    for _ in range(9):
        parser.feed("more " * 9 + "<")
        assert parser.held < 9


def test_closer_of_dropped_calls_is_not_text():
    section = '<|calls|>[{"f": {}}]<|/calls|>'
    drop = Policies(extra_calls="drop")
    parser = fed(KEYED, section * 2, parallel_tool_calls=False, policies=drop)
    assert (calls(parser), parser.message.content) == ([("f", "{}")], "")


@pytest.mark.parametrize("begun", ['{"na', '{"parameters": {"a": 1'])
def test_object_truncated_before_its_name(begun):
    whole = '{"name": "f", "parameters": {}}'
    for before, status in (("", []), (whole, ["complete", "truncated"])):
        parser = fed(UNMARKED, before + begun, "length", tools=F)
        assert [attempt.status for attempt in parser.attempts] == status
        assert parser.message.content == begun


def test_call_without_arguments_is_completed_by_its_last_delta():
    parser = StreamParser(TAGS)
    made = parser.feed(HEAD + "\n</call>") + parser.finish("stop")
    assert calls(parser) == [("f", "{}")]
    assert [delta.last for delta in made][-1:] == [True]
    assert not any(delta.last for delta in made[:-1])
    assert made[-1].arguments or any(delta.arguments == "{}" for delta in made)


def test_text_after_broken_json_is_content():
    text = '{"name": "f", "arguments": {"a": x} y'
    drop = Policies(malformed_arguments="text", text_after_tool_call="drop")
    parser = fed(TAGS, text, calls="json", policies=drop)
    assert (parser.message.content, calls(parser)) == (text, [])
    assert "text_after_tool_call" not in [one.kind for one in parser.issues]


def test_truncated_python_call_reports_buffered_text():
    fmt = get_format("pythonic")
    parser = fed(fmt, "[f(a=b", "length", tools=F)
    said = [one.detail for one in parser.issues if one.kind == "truncated_call"]
    assert any("'f'" in detail and "b" in detail.partition("not emitted")[2] for detail in said)


def test_buffered_text_of_a_truncated_call():
    window = Window("f(a=", closed=True)
    sink = Sink(Rules(Policies()))
    reading = Reading(window, sink, marker_tables(TAGS, calls=True))
    call = Call(reading, reading.checkpoint())
    call.called("f", 0)
    with pytest.raises(StopIteration) as ended:
        next(settle(reading, call, replace(CUT, held="'x'")))
    assert ended.value.value is True
    assert ["not emitted: 'x'" in issue.detail for issue in sink.issues] == [True, False]
    assert {issue.kind for issue in sink.issues} == {"truncated_call"}


def test_truncated_call_reports_unemitted_text():
    parser = fed(TAGS, HEAD + ', "arguments": [1, 2, tru', "length")
    (issue,) = parser.issues
    assert issue.detail.endswith("not emitted: '[1, 2, tru'")


@pytest.mark.parametrize(
    ("fmt", "options"), [(UNMARKED, {"tools": F}), (TAGS, {"calls": "json", "tools": F})]
)
def test_arguments_without_an_object_are_reported(fmt, options):
    name = fmt.tools.arguments_field
    text = f'{{"name": "f", "{name}": "[1"x}} y'
    parser = fed(fmt, text, policies=STRICT, **options)
    said = [one.detail for one in parser.issues if one.kind == "malformed_arguments"]
    assert said
    assert "not emitted: '[1" in said[0]


def test_objects_after_text_calls_are_content():
    text = '[CALLS][{"name": "f", "arguments": {}}, {"x": 1} y'
    policies = Policies(unknown_tool="text", text_after_tool_call="drop")
    parser = fed(LIST, text, tools=[{"name": "g"}], policies=policies)
    assert (calls(parser), parser.message.content) == ([], text)


def test_unnamed_call_has_no_malformed_arguments():
    text = '<call>\n{"arguments": [1, 2]}\n</call>'
    parser = fed(TAGS, text)
    assert (calls(parser), parser.message.content, parser.issues) == ([], text, [])


def test_list_arguments_are_reported_completely():
    parser = StreamParser(TAGS)
    for char in HEAD + ', "arguments": [1, 2]}\n</call>':
        parser.feed(char)
    parser.finish("stop")
    (issue,) = parser.issues
    assert issue.detail == "the arguments of 'f' are not an object: '[1, 2]'"


@pytest.mark.parametrize("end", ["<|im_end|>", "\n<|im_end|>", "<|im_end|>\n"])
def test_turn_end_is_not_reported_as_removed(end):
    text = "<tool_call>\n<function=f>\n<parameter=a>\nx\n</par"
    qwen = get_format("qwen3_coder")
    longer = qwen.replace(turn={"ends": ("<|im_end|>", "<|im_end|>\n<|more|>")})
    for fmt, reason in ((qwen, "length"), (qwen, "stop"), (longer, "length"), (longer, "stop")):
        parser = fed(fmt, text + end, reason)
        assert [call.complete for call in parser.message.tool_calls] == [False]
        (issue,) = parser.issues
        assert issue.detail == "the output ends in the call of 'f'; not emitted: ''"
        assert issue.span == (len(text), len(text))
