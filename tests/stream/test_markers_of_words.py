"""Word markers at the start of a line; within a line they are text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..strategies.wire_by_hand import TURN, UNMARKED, calls, fed, kinds
from ..support import cuts, joined
from .invariants import check_1_and_2, check_3, run

LINES = UNMARKED.replace(
    tools={
        "format": "TAG_WITH_JSON",
        "name_field": "",
        "arguments_field": "",
        "content_separator": "\n",
    },
    function={"name_prefix": "Action: ", "name_suffix": "\nAction Input: ", "close": "\n"},
)
"""A format with one line for the name and one for the arguments."""

THINKS = LINES.replace(
    reasoning={"mode": "TAG_BASED", "start": "<think>", "end": "\nAnswer: "},
    content={"mode": "ALWAYS_WRAPPED", "start": "Answer: "},
)
"""A format whose answer starts with a word, which ends reasoning."""

ANYWHERE = LINES.replace(tools={"content_separator": ""})
CALL = 'Action: f\nAction Input: {"a": 1}\n'
MADE = [("f", '{"a": 1}')]

in_line = st.lists(
    st.sampled_from(["The best ", "Action: ", "Action:", "Answer: ", "go ", "1. ", "it's", "{}"]),
    max_size=5,
).map(lambda words: "So " + "".join(words) + ".")
"""Lines that do not start with a marker."""


@given(lines=st.lists(in_line, min_size=1, max_size=3), called=st.booleans(), data=st.data())
def test_word_markers_within_a_line_are_content(lines, called, data):
    text = "\n".join(lines)
    for fmt, wire, thought in (
        (LINES, text, ""),
        (THINKS, f"<think>{text}\nAnswer: {text}", text),
    ):
        whole = wire + f"\n{CALL}" * called + data.draw(st.sampled_from(["", "<|end|>"]))
        parser, deltas = run(fmt, data.draw(cuts(whole)))
        content, reasoning, _ = joined(deltas)
        assert (content, reasoning) == (text, thought)
        assert calls(parser) == MADE * called
        assert parser.issues == []
        check_1_and_2(fmt, whole, (list(whole), data.draw(cuts(whole))))
        check_3(fmt, whole)


def test_call_starts_at_a_line():
    for before, content in (("", ""), ("So.\n", "So."), ("So.\n\n", "So.\n")):
        parser = fed(LINES, before + CALL + "\n" + CALL + TURN.ends[0])
        assert (calls(parser), parser.message.content) == (MADE * 2, content)
    parser = fed(LINES, "The best Action: go<|end|>")
    assert (calls(parser), parser.message.content) == ([], "The best Action: go")


@pytest.mark.parametrize("ends", ["<|end|>", "ction: "])
def test_call_syntax_within_a_line_is_content(ends):
    text = "The best " + CALL
    assert fed(LINES.replace(turn={"ends": (ends,)}), text).message.content == text


def test_rejected_word_marker_may_contain_a_turn_end():
    fmt = LINES.replace(turn={"ends": ("ction: ",)})
    assert fed(fmt, "The best Action: ").message.content == "The best A"


def test_empty_line_before_a_call_is_optional():
    fmt = LINES.replace(tools={"content_separator": "\n\n"})
    for gap in ("\n", "\n\n"):
        parser = fed(fmt, f"So.{gap}{CALL}")
        assert (calls(parser), parser.message.content.strip()) == (MADE, "So.")


@pytest.mark.parametrize(
    ("reasoning", "opened"),
    [
        ({"mode": "TAG_BASED", "start": "<think>\n", "end": "</think>"}, "<think>\n"),
        ({"mode": "DELIMITER", "end": "</think>"}, ""),
    ],
)
def test_reasoning_may_start_with_a_call(reasoning, opened):
    parser = fed(LINES.replace(reasoning=reasoning), opened + CALL)
    assert (calls(parser), parser.message.reasoning_content) == (MADE, "")


def test_call_in_reasoning_starts_at_a_line():
    parser = fed(THINKS, f"<think>An Action: go, then\n{CALL}")
    assert (calls(parser), kinds(parser)) == (MADE, [])
    assert parser.message.reasoning_content == "An Action: go, then"


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_word_markers_in_a_line_after_a_draft_are_reasoning(reason):
    fmt = LINES.replace(reasoning={"mode": "TAG_BASED", "start": "<think>", "end": "</think>"})
    text = f"One:\n{CALL}no, the Action: go"
    parser = fed(fmt, f"<think>{text}</think>So.", reason)
    assert (calls(parser), parser.message.reasoning_content) == ([], text)
    assert parser.message.content == "So."
    assert [one.name for one in parser.attempts] == ["f"]


def test_word_marker_without_a_line_break_counts_anywhere():
    parser = fed(ANYWHERE, f"So {CALL}<|end|>")
    assert calls(parser) == MADE


def test_word_after_a_marker_does_not_start_a_call_alone():
    fmt = ANYWHERE.replace(tools={"per_call_start": "<call>"}, function={"name_prefix": "call: "})
    parser = fed(fmt, "The best call: go<|end|>")
    assert (calls(parser), parser.message.content) == ([], "The best call: go")
    assert calls(fed(fmt, "<call>" + CALL.replace("Action:", "call:", 1))) == MADE
