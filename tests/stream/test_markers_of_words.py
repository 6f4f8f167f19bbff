"""Markers that are words, at the start of a line in the format: within a line they are text."""

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
"""A line each for the name and the arguments."""

THINKS = LINES.replace(
    reasoning={"mode": "TAG_BASED", "start": "<think>", "end": "\nAnswer: "},
    content={"mode": "ALWAYS_WRAPPED", "start": "Answer: "},
)
"""The answer begins with a word too, which ends reasoning."""

ANYWHERE = LINES.replace(tools={"content_separator": ""})
CALL = 'Action: f\nAction Input: {"a": 1}\n'
MADE = [("f", '{"a": 1}')]

in_line = st.lists(
    st.sampled_from(["The best ", "Action: ", "Action:", "Answer: ", "go ", "1. ", "it's", "{}"]),
    max_size=5,
).map(lambda words: "So " + "".join(words) + ".")
"""A line that begins with another word than a marker."""


@given(lines=st.lists(in_line, min_size=1, max_size=3), called=st.booleans(), data=st.data())
def test_in_a_line_they_are_text(lines, called, data):
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


def test_a_call_begins_a_line_of_the_turn():
    for before, content in (("", ""), ("So.\n", "So."), ("So.\n\n", "So.\n")):
        parser = fed(LINES, before + CALL + "\n" + CALL + TURN.ends[0])
        assert (calls(parser), parser.message.content) == (MADE * 2, content)
    parser = fed(LINES, "The best Action: go<|end|>")
    assert (calls(parser), parser.message.content) == ([], "The best Action: go")


@pytest.mark.parametrize("ends", ["<|end|>", "ction: "])
def test_what_looks_like_a_call_in_a_line_is_text(ends):
    text = "The best " + CALL
    assert fed(LINES.replace(turn={"ends": (ends,)}), text).message.content == text


def test_a_marker_that_is_text_in_a_line_may_hold_the_end_of_the_turn():
    fmt = LINES.replace(turn={"ends": ("ction: ",)})
    assert fed(fmt, "The best Action: ").message.content == "The best A"


def test_a_call_begins_a_line_where_the_format_has_an_empty_one_before_it():
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
def test_reasoning_may_begin_with_a_call(reasoning, opened):
    parser = fed(LINES.replace(reasoning=reasoning), opened + CALL)
    assert (calls(parser), parser.message.reasoning_content) == (MADE, "")


def test_a_call_in_reasoning_begins_a_line_too():
    parser = fed(THINKS, f"<think>An Action: go, then\n{CALL}")
    assert (calls(parser), kinds(parser)) == (MADE, [])
    assert parser.message.reasoning_content == "An Action: go, then"


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_behind_a_draft_words_in_a_line_are_reasoning(reason):
    fmt = LINES.replace(reasoning={"mode": "TAG_BASED", "start": "<think>", "end": "</think>"})
    text = f"One:\n{CALL}no, the Action: go"
    parser = fed(fmt, f"<think>{text}</think>So.", reason)
    assert (calls(parser), parser.message.reasoning_content) == ([], text)
    assert parser.message.content == "So."
    assert [one.name for one in parser.attempts] == ["f"]


def test_where_the_format_has_no_line_break_before_them_they_count_anywhere():
    parser = fed(ANYWHERE, f"So {CALL}<|end|>")
    assert calls(parser) == MADE


def test_a_word_behind_a_marker_begins_no_call_by_itself():
    fmt = ANYWHERE.replace(tools={"per_call_start": "<call>"}, function={"name_prefix": "call: "})
    parser = fed(fmt, "The best call: go<|end|>")
    assert (calls(parser), parser.message.content) == ([], "The best call: go")
    assert calls(fed(fmt, "<call>" + CALL.replace("Action:", "call:", 1))) == MADE
