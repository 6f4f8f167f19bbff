"""Content: markers, and text that looks like a marker."""

from __future__ import annotations

import pytest

from ...strategies.wire_by_hand import CALL, LIST, TAGS, UNMARKED, calls, fed, kinds

LINES = TAGS.replace(reasoning={"start": "\n<think>\n"})


@pytest.mark.parametrize(
    ("text", "content", "reasoning"),
    [
        ('"\n<think>\na\n</think>\n\nb', '"b', "a"),
        ("'<think>' b", "'<think>' b", ""),
    ],
)
def test_quoted_reasoning_start_is_text(text, content, reasoning):
    parser = fed(LINES, text)
    assert parser.message.content == content
    assert parser.message.reasoning_content == reasoning


def test_reasoning_end_in_content_is_reported_as_content():
    (issue,) = fed(TAGS, "a</think>b").issues
    assert (issue.kind, issue.span) == ("orphan_marker", (1, 9))
    assert issue.detail.startswith("'</think>' does not end reasoning, and is content; ")


@pytest.mark.parametrize("space", [0, 1, 256, 257, 1000])
def test_turn_end_allows_limited_whitespace(space):
    gap = " " * space
    for behind, is_text in (("<|end|>", space > 256), ("more", True)):
        parser = fed(TAGS, f"a<|end|>{gap}{behind}")
        kept = f"<|end|>{gap}{behind.removesuffix('<|end|>')}" if is_text else ""
        assert parser.message.content == "a" + kept
        assert kinds(parser) == ["text_after_end"] * is_text


@pytest.mark.parametrize("space", ["\n", " \n"])
def test_turn_end_after_whitespace_is_reported_once(space):
    text = f"a{space}<|end|>b"
    parser = fed(TAGS.replace(turn={"ends": (f"{space}<|end|>",)}), text)
    assert parser.message.content == text
    start = text.index("<")
    assert [(one.kind, one.span) for one in parser.issues] == [
        ("text_after_end", (start, start + len("<|end|>")))
    ]


def test_whitespace_before_a_text_turn_end_is_kept():
    fmt = TAGS.replace(turn={"ends": ("\n<call",)}, tools={"content_separator": ""})
    parser = fed(fmt, f"a\n{CALL}b")
    assert (parser.message.content, calls(parser)) == ("a\nb", [("f", '{"a": 1}')])


BARE = '{"name": "f", "parameters": {"a": 1}}'
BEGUN = '[CALLS][{"name": "f", "arguments": {"a": 1}, "id": "x"}'


@pytest.mark.parametrize(
    ("fmt", "text", "cut", "tried"),
    [
        # A prefix that may also be a turn end is one, unless the response was truncated.
        (TAGS, CALL, "<", ["length"]),
        (TAGS, CALL, "<ca", ["stop", "length"]),
        (TAGS, CALL, "</", []),
        (TAGS, CALL, "<|e", []),
        (UNMARKED, BARE, "<|e", []),
        (UNMARKED, BARE, "; ", ["length"]),
        (LIST, BEGUN, " ,", ["length"]),
    ],
)
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_truncated_call_marker_is_an_attempt(fmt, text, cut, tried, reason):
    parser = fed(fmt, text + cut, reason, tools=[{"name": "f"}])
    assert (calls(parser), parser.message.content) == ([("f", '{"a": 1}')], "")
    (issue,) = parser.issues
    assert issue.kind == "cut_marker"
    told = [(one.name, one.span, one.status, one.detail) for one in parser.attempts[1:]]
    assert told == [("", issue.span, "truncated", issue.detail)] * (reason in tried)
