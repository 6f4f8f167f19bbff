"""Tests of the expected output for turns of a history."""

from __future__ import annotations

import pytest

from deltaparse import WireFormat
from deltaparse.analyzer.probes import call
from deltaparse.analyzer.proof.conversations import Turn
from deltaparse.analyzer.proof.expected_output import (
    RenderedTurn,
    _after_prompt,
    _has_reasoning,
    wire_for,
)
from deltaparse.analyzer.proof.proved_turn import Wire


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("<t>why</t>", True),
        ("<t>\n</t>why", False),
        ("<t>why", False),
        ("why</t>", False),
        ("", False),
    ],
)
def test_reasoning_between_its_markers_is_detected(body, says):
    assert _has_reasoning("<t>\n", "\n</t>", body) is says
    assert not _has_reasoning("", "</t>", body)


@pytest.mark.parametrize(
    ("so_far", "body", "left"),
    [
        ("<t>", "<t>why", "why"),
        ("\n<t>\n", "  <t>why", "why"),
        ("", "why", "why"),
        (" ", "why", None),
        ("<t>", "why", None),
    ],
)
def test_part_of_the_turn_after_the_prompt(so_far, body, left):
    assert _after_prompt(so_far, body, WireFormat()) == left


def test_a_turn_without_the_end_of_reasoning_does_not_begin_in_the_prompt():
    fmt = WireFormat().replace(reasoning={"mode": "DELIMITER", "end": "</t>\n"})
    assert _after_prompt("", "why", fmt) is None
    assert _after_prompt("", "why</t>", fmt) == "why</t>"
    tags = fmt.replace(reasoning={"mode": "TAG_BASED", "start": "<t>"})
    assert _after_prompt("", "why", tags) == "why"


def wire_of(turn, body, prompt, answer=None, behind=None, **reasoning):
    """Return the only wire of a turn."""
    turns = {"headers": ("<a>",), "ends": ("</a>",)}
    marks = {"mode": "TAG_BASED", "start": "<t>", "end": "</t>"} | reasoning
    fmt = WireFormat().replace(turn=turns, reasoning=marks)
    calls = len(turn.calls)
    answer = body if answer is None else answer
    wire = wire_for(RenderedTurn(turn, body, "</a>", answer, calls), prompt, fmt, behind)
    assert (wire.end, wire.calls) == ("</a>", calls)
    return wire


SAID = Turn("content", "words")
BOTH = Turn("reasoning and content", "words", "why")
CALLED = Turn("content and a call", "words", calls=(call(),))


@pytest.mark.parametrize(
    ("turn", "body", "prompt", "wanted"),
    [
        # Text of the prompt is not repeated.
        (SAID, "words", "<a>", ("<a>", "words", "words", "")),
        (SAID, "words", None, ("<a>", "words", "words", "")),
        (BOTH, "<t>why</t>words", "<a>", ("<a>", "<t>why</t>words", "words", "why")),
        (BOTH, "<t>why</t>words", "<a><t>", ("<a><t>", "why</t>words", "words", "why")),
        (BOTH, "<t> why</t>words", "<a><t>\n", ("<a><t>\n", " why</t>words", "words", "why")),
        (BOTH, "why</t>words", "<a><t>", ("<a><t>", "why</t>words", "words", "why")),
        (BOTH, "<T>why</t>words", "<a><t>", ("<a><t>", "why</t>words", "words", "why")),
        (SAID, "<t></t>words", "<a><t>", ("<a><t>", "</t>words", "words", "")),
        (SAID, "<t></t>words", "<a><t></t>", ("<a><t></t>", "words", "words", "")),
        # A pair of markers with different whitespace is recognized.
        (SAID, "words", "<a><t></t>", ("<a><t></t>", "words", "words", "")),
        (SAID, "<t>\n</t>words", "<a><t></t>", ("<a><t></t>", "words", "words", "")),
        (BOTH, "words", "<a><t></t>", ("<a><t></t>", "words", "words", "")),
        # A prompt with text outside of the history is replaced.
        (BOTH, "<t>why</t>words", "<a><t></t>", ("<a>", "<t>why</t>words", "words", "why")),
        (BOTH, "<t>WHY</t>words", "<a><t></t>", ("<a>", "<t>WHY</t>words", "words", "")),
        # Content rendered as reasoning.
        (CALLED, "<t>words</t>call", "<a>", ("<a>", "<t>words</t>call", "", "words")),
    ],
)
def test_wire_of_turns_with_reasoning_markers(turn, body, prompt, wanted):
    wire = wire_of(turn, body, prompt)
    assert (wire.prompt, wire.text, wire.content, wire.reasoning) == wanted
    assert not wire.put_back


@pytest.mark.parametrize(
    ("turn", "body", "prompt", "text", "reasoning"),
    [
        (BOTH, "words", "<a>", "<t>why</t>words", "why"),
        (BOTH, "words", "<a><t>", "why</t>words", "why"),
        (BOTH, "<t></t>words", "<a>", "<t>why</t>words", "why"),
        (SAID, "words", "<a><t>", "So be it</t>words", "So be it"),
        (SAID, "<t>words", "<a><t>", "So be it</t>words", "So be it"),
    ],
)
def test_dropped_reasoning_is_inserted(turn, body, prompt, text, reasoning):
    wire = wire_of(turn, body, prompt)
    assert wire == Wire(prompt, text, "</a>", "words", reasoning, 0, put_back=True)


@pytest.mark.parametrize(
    ("turn", "start", "body", "text", "reasoning"),
    [
        (SAID, "", "words", "</t>words", ""),
        (BOTH, "", "why</t>words", "why</t>words", "why"),
        (BOTH, "", "why: words", "why: words", "why"),
        (CALLED, "\n", "\nwords, call", "</t>\nwords, call", ""),
    ],
)
def test_delimiter_comes_first(turn, start, body, text, reasoning):
    wire = wire_of(turn, body, "<a>", mode="DELIMITER", start=start)
    assert (wire.text, wire.content, wire.reasoning) == (text, "words", reasoning)
    assert not wire.put_back


def test_white_space_round_the_end_of_reasoning_may_differ():
    wire = wire_of(SAID, "<t></t>words", "<a><t>", end="</t>\n")
    assert (wire.text, wire.reasoning, wire.put_back) == ("</t>words", "", False)


def test_content_is_as_it_is_shown_in_the_turn():
    turn, body = Turn("content", " words "), "words!"
    assert wire_of(turn, body, "<a>", "words!</a>words").content == "words"


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        ("</a>some words &lt;b&gt;", "some words <b>"),
        ("</a>some <b>", ""),
        ("", ""),
    ],
)
def test_content_after_the_turn_end_may_be_escaped(answer, content):
    turn = Turn("content and a call", "some words <b>", calls=(call(),))
    assert wire_of(turn, "call", "<a>", "call" + answer).content == content


@pytest.mark.parametrize(
    ("turn", "body", "prompt", "wanted"),
    [
        (BOTH, "<t>WHY</t>words", "<a>", ("<a>", "<t>WHY</t>words", "words", "")),
        (BOTH, "words", "<a><x>", ("<a>", "words", "words", "")),
        (BOTH, "<t> why: words", "<a><t>", ("<a><t>", " why: words", "words", "why")),
        (BOTH, "why words", "<a><t></t>", ("<a>", "why words", "words", "why")),
        (SAID, "words", "Well?<a>", ("Well?<a>", "words", "words", "")),
        (SAID, "<t>\nx</t>words", "<a><t></t>", ("<a>", "<t>\nx</t>words", "words", "")),
        (SAID, " <t></t>words", "<a><t> </t>", ("<a><t> </t>", "words", "words", "")),
        (
            Turn("all", "words", "why", (call(),)),
            "<t>words</t>why",
            "<a>",
            ("<a>", "<t>words</t>why", "words", "why"),
        ),
    ],
)
def test_rendered_reasoning_is_unchanged(turn, body, prompt, wanted):
    wire = wire_of(turn, body, prompt)
    assert (wire.prompt, wire.text, wire.content, wire.reasoning) == wanted
    assert not wire.put_back


@pytest.mark.parametrize(
    ("body", "prompt", "text"),
    [
        ("words", "<a>\n", "<t>why</t>words"),
        ("words", "Well?<a>\n", "<t>why</t>words"),
        ("x<t>WHY</t>words", "<a><t>", "why</t>words"),
    ],
)
def test_dropped_reasoning_is_inserted_after_the_prompt(body, prompt, text):
    wire = wire_of(BOTH, body, prompt)
    assert wire == Wire(prompt, text, "</a>", "words", "why", 0, put_back=True)


@pytest.mark.parametrize(
    ("body", "prompt", "reasoning", "text"),
    [
        ("<t></t>words", "<a><t>\n</t>\n", {"end": "</t>\n"}, "words"),
        ("<t></t>words", "<a><t>\n\n</t>", {"start": "<t>\n"}, "words"),
        ("<t>x</t>words", "<a><t></t>\n", {"end": "</t>\n"}, "<t>x</t>words"),
    ],
)
def test_empty_pair_in_the_prompt_ignores_whitespace(body, prompt, reasoning, text):
    wire = wire_of(SAID, body, prompt, **reasoning)
    assert (wire.prompt, wire.text) == (prompt if text == "words" else "<a>", text)


def test_text_after_the_prompt_is_unchanged():
    wire = wire_of(BOTH, " <t>\nwhy</t>words", "<a><t>\n", behind="why</t>words")
    assert (wire.text, wire.content, wire.reasoning) == ("why</t>words", "words", "why")


def test_missing_delimiter_after_the_prompt_is_inserted():
    wire = wire_of(SAID, "words", "<a>", behind="words", mode="DELIMITER", start="")
    assert (wire.text, wire.content, wire.reasoning) == ("</t>words", "words", "")


def test_prompt_absent_from_the_history_is_replaced_by_the_header():
    fmt = WireFormat().replace(turn={"headers": ("<a>",)})
    wire = wire_for(RenderedTurn(SAID, "\nwords", "", "words", 0), "Well?<a>x", fmt)
    assert (wire.prompt, wire.text) == ("<a>", "\nwords")


def test_without_headers_a_turn_has_no_prompt():
    wire = wire_for(RenderedTurn(SAID, "words", "", "words", 0), None, WireFormat())
    assert (wire.prompt, wire.text) == ("", "words")


@pytest.mark.parametrize(("start", "end"), [("\n", "</t>"), ("<t>", "\n"), ("<t>", "")])
def test_white_space_is_no_marker_of_reasoning(start, end):
    assert not _has_reasoning(start, end, "<t>\nwhy</t>\n")


def test_content_after_an_empty_turn_may_be_escaped():
    turn = Turn("content", "some words <b>")
    assert wire_of(turn, "", "<a>", "</a>some words &lt;b&gt;").content == turn.content
