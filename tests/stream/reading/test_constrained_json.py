"""JSON calls in a message: the text around them, and the end of the message."""

from __future__ import annotations

import pytest

from deltaparse import Issue, StreamParser
from deltaparse.stream.wire.spellings import MOST_SPACE

from ...strategies.wire_by_hand import TAGS, calls, fed
from ...strategies.wire_channels import HARMONY

HEAD = "<|channel|>final<|message|>"
CALL = '{"name": "f", "parameters": {"a": 1}}'
FAR = " " * 600
LONG = " " * (MOST_SPACE + 1)
BEGIN, END = len(HEAD), len(HEAD + CALL)


@pytest.mark.parametrize("before", ["", "  ", FAR], ids=["", "near", "far"])
@pytest.mark.parametrize(
    ("text", "content", "issue"),
    [
        ("", "", None),
        (" \n", "", None),
        (" \n<|end|>", "", None),
        (" \nx<|end|>", " \nx", ("text_after_tool_call", 0, 3, "kept as content")),
        (" \nx", " \nx", ("text_after_tool_call", 0, 3, "kept as content")),
        (
            "\n<|en",
            "",
            (
                "cut_marker",
                1,
                5,
                "the output ends in a truncated marker, which is not emitted: '<|en'",
            ),
        ),
        ("\n```  \n<|end|>", "", ("stray_marker", 0, 4, "not emitted after the call: '```'")),
        ("\n```", "", ("stray_marker", 0, 4, "not emitted after the call: '```'")),
        (",<|end|>", ",", ("text_after_tool_call", 0, 1, "kept as content")),
        (" ; <|end|>", " ; ", ("text_after_tool_call", 0, 3, "kept as content")),
        (",", ",", ("text_after_tool_call", 0, 1, "kept as content")),
        (FAR + "<|end|>", FAR, ("text_after_tool_call", 0, 600, "kept as content")),
        (LONG + "<|end|>", LONG, ("text_after_tool_call", 0, len(LONG), "kept as content")),
    ],
)
def test_text_after_the_call(before, text, content, issue):
    parser = fed(HARMONY, HEAD + before + CALL + text, calls="json")
    assert calls(parser) == [("f", '{"a": 1}')]
    # Whitespace beyond the buffer limit is text.
    got = parser.message.content or ""
    assert got.lstrip(" ") == content.lstrip(" ")
    assert len(got) <= len(before + content)
    assert bool(got) == bool(content or before == FAR)
    made = [one for one in parser.issues if one.kind != "stray_text"]
    if issue is None:
        assert made == []
    else:
        kind, start, end, detail = issue
        at = END + len(before)
        assert [(one.kind, one.detail) for one in made] == [(kind, detail)]
        assert (at + start) <= made[0].span[0] <= made[0].span[1] == at + end


@pytest.mark.parametrize("said", ["hello <|en", "<|en", "``"])
def test_text_without_a_call_keeps_its_whitespace(said):
    for before in ("", "  ", FAR):
        text = f"{before}{said}"
        parser = fed(HARMONY, HEAD + text, calls="json")
        assert parser.message.content == text
        span = (BEGIN + len(before), BEGIN + len(text))
        assert parser.issues == [Issue("stray_text", span, "kept as content")]
        assert parser.attempts == []


@pytest.mark.parametrize("end", ["", "<|end|>"])
def test_whitespace_in_place_of_a_call_is_content(end):
    parser = fed(HARMONY, f"{HEAD}  {end}", calls="json")
    assert (parser.message.content, parser.issues) == ("  ", [])


def test_truncated_separator_is_content():
    fmt = HARMONY.replace(tools={"separator": "\n---\n"})
    assert fed(fmt, HEAD + CALL + "\n--", calls="json").message.content == "\n--"


def test_message_after_the_calls_is_read():
    text = HEAD + CALL + "\n<|end|><|start|>assistant" + HEAD + "x<|return|>"
    parser = fed(HARMONY, text, calls="json")
    assert calls(parser) == [("f", '{"a": 1}')]
    assert parser.message.content == "x"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"name": "f", "arguments": {}}', True),
        ('[ {"name": "f", "arguments": {}}]', True),
        ('{ "name": "f", "arguments": {}}', True),
        ("{x} said", False),
        ("[1] said", False),
        (" \n said", False),
        ('x" said', False),
        ('[""] said', False),
    ],
)
def test_json_in_opened_reasoning_may_be_a_call(text, read):
    parser = fed(TAGS, text, calls="json", prompt="<|start|>model\n<think>\n")
    assert bool(calls(parser)) == read
    assert (parser.message.reasoning_content or "") == ("" if read else text)
    assert bool(parser.attempts) == read


def test_whitespace_between_messages_is_reported():
    text = HEAD + "x<|end|>" + FAR + CALL
    parser = fed(HARMONY, text, calls="json")
    assert calls(parser) == [("f", '{"a": 1}')]
    assert [one.kind for one in parser.issues] == ["stray_text", "text_after_end"]


def test_message_end_is_not_a_truncated_marker():
    both = '[{"name": "f", "arguments": {"a": 1}}, {"name": "g", "parameters": {}{}}]'
    parser = fed(HARMONY, HEAD + both + "<|return|>", calls="json")
    assert [call.name for call in parser.message.tool_calls] == ["f", "g"]
    assert "cut_marker" not in [one.kind for one in parser.issues]


@pytest.mark.parametrize("before", ["", CALL + "\n```\n", CALL + " x"])
def test_read_text_is_not_kept(before):
    parser = StreamParser(HARMONY, calls="json", collect=False)
    parser.feed(HEAD + before)
    for _ in range(1000):
        parser.feed(" " * 8 if not before else "text and ")
        assert parser.held < 1000


def test_call_in_reasoning_excludes_leading_whitespace():
    text = f"  {CALL}  x</think> b"
    parser = fed(TAGS, text, calls="json", prompt="<|start|>model\n<think>\n")
    (tried,) = parser.attempts
    assert (tried.status, text[slice(*tried.span)]) == ("in_reasoning", CALL)
