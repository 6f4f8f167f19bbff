"""The push parser itself: arguments, state, bytes, and what happens when it breaks."""

from __future__ import annotations

import pytest

from deltaparse import StreamParser, UsageError, WireFormat, parse
from deltaparse.stream import grammar
from deltaparse.stream import parser as parser_module

from .samples import BARE, CALL, TAGS, WRAPPED, fed
from .wire import joined


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tools": ["f"]}, "a tool is"),
        ({"tools": [{"function": {}}]}, "a tool is"),
        ({"tool_choice": "maybe"}, "tool_choice"),
        ({"tool_choice": {"function": {"name": "x"}}, "tools": [{"name": "f"}]}, "not one of"),
        ({"reasoning": "loud"}, "separate"),
        ({"prompt": None}, "prompt is"),
    ],
)
def test_bad_arguments_are_refused_at_once(options, says):
    with pytest.raises(UsageError, match=says):
        StreamParser(TAGS, **options)


def test_a_format_must_be_one():
    with pytest.raises(UsageError, match="analyze"):
        StreamParser("hermes")


def test_feed_takes_text_or_bytes_before_the_end():
    parser = StreamParser(TAGS)
    with pytest.raises(UsageError, match="str or bytes"):
        parser.feed(7)
    parser.finish("stop")
    with pytest.raises(UsageError, match="after finish"):
        parser.feed("x")
    with pytest.raises(UsageError, match="reason"):
        StreamParser(TAGS).finish("because")


def test_where_names_the_state():
    parser = StreamParser(TAGS)
    assert parser.where().startswith("assistant_turn")
    parser.feed('<call>{"name": "f", "arguments": {"a')
    assert parser.where().endswith(
        "json_calls > call_object > members > json_arguments > mended_json"
    )
    assert "mended_json" in repr(parser)
    parser.finish("length")
    assert parser.where() == "end"


@pytest.mark.parametrize(
    ("text", "reason", "finish_reason"),
    [
        ("hi", "stop", "stop"),
        ("hi", None, "stop"),
        ("hi", "length", "length"),
        (CALL, "stop", "tool_calls"),
        (CALL, "tool_calls", "tool_calls"),
        (CALL, None, "tool_calls"),
        (CALL, "length", "length"),
        (CALL[:-20], None, "length"),
        ('<call>{"name": "f", "arguments": {"a', None, "length"),
    ],
)
def test_the_finish_reason(text, reason, finish_reason):
    assert fed(TAGS, text, reason).finish_reason == finish_reason


def test_ids_are_a_function_of_the_output_and_the_prompt():
    first = parse(CALL, TAGS, prompt="<|start|>model\n").tool_calls[0].id
    assert first == parse(CALL, TAGS, prompt="<|start|>model\n").tool_calls[0].id
    assert first != parse(CALL, TAGS, prompt="again: <|start|>model\n").tool_calls[0].id
    assert len({call.id for call in parse(CALL * 5, TAGS).tool_calls}) == 5


@pytest.mark.parametrize(
    ("reasoning", "content"),
    [
        ("separate", "yz"),
        ("inline", "<think>a</think>y<think>b</think>z"),
        ("raw", "<plan>a</plan>y<plan>b</plan>z"),
    ],
)
def test_where_reasoning_goes(reasoning, content):
    text = "<plan>a</plan><answer>y</answer><plan>b</plan>z"
    message = fed(WRAPPED, text, reasoning=reasoning).message
    assert message.content == content
    assert message.reasoning_content == ("ab" if reasoning == "separate" else "")


def test_inline_reasoning_that_the_prompt_opened_has_both_tags():
    message = fed(
        TAGS, "a</think>b", prompt="<|start|>model\n<think>\n", reasoning="inline"
    ).message
    assert message.content == "<think>a</think>b"
    assert fed(TAGS, "<think></think>b", reasoning="inline").message.content == "b"


def test_raw_output_is_untouched():
    text = "<think>\na\n</think>\n\n  b"
    assert fed(TAGS, text, reasoning="raw").message.content == text


def test_text_that_nothing_waits_for_does_not_resume_the_sub_parsers(monkeypatch):
    resumes = []
    resume = StreamParser._resume
    monkeypatch.setattr(
        parser_module.StreamParser, "_resume", lambda self: resumes.append(1) or resume(self)
    )
    parser = StreamParser(TAGS)
    parser.feed("start")
    for _ in range(1000):
        parser.feed("plain text, ")
    assert len(resumes) <= 2
    parser.feed('<call>{"name": "f", "arguments": {"code": "x')
    before = len(resumes)
    for _ in range(1000):
        parser.feed("print(x) ")
    assert len(resumes) <= before + 1


def test_a_bug_of_ours_loses_no_output(monkeypatch):
    def breaks(*_):
        raise ZeroDivisionError

    parser = StreamParser(TAGS)
    parser.feed("one ")
    monkeypatch.setattr(grammar, "tool_calls", breaks)
    content = joined(parser.feed(f"two {CALL} three"))[0]
    content += joined(parser.feed(" four") + parser.finish("stop"))[0]
    assert content == f"two {CALL} three four"
    assert [issue.kind for issue in parser.issues] == ["internal_error"]


def test_an_unfinished_parser_can_be_dropped():
    parser = StreamParser(TAGS)
    parser.feed("<think>x")
    del parser


def test_a_format_without_headers_finds_an_opened_section_only():
    fmt = TAGS.replace(turn={"headers": ()})
    prompt = "<|user|>What is <call>?<|model|><think>\n"
    assert fed(fmt, "a</think>b", prompt=prompt).message.reasoning_content == "a"
    assert fed(fmt, "a</think>b", prompt="<|model|>").message.content == "a</think>b"
    assert fed(WireFormat(), "a", prompt="anything").message.content == "a"


def test_the_end_of_a_header_is_enough_of_a_prompt():
    fmt = BARE.replace(turn={"headers": ("<|eot|><|head|>model\n",)})
    text = '{"name": "f", "parameters": {}}'
    assert fed(fmt, text, prompt="<|head|>model\n").finish_reason == "tool_calls"


def test_the_span_of_an_issue_is_where_it_stands():
    text = f"Hi.\n{CALL}"
    parser = fed(TAGS, text, tools=[{"name": "g"}])
    (issue,) = parser.issues
    assert text[slice(*issue.span)] == '"f"'
