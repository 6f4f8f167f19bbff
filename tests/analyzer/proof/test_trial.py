"""One turn of the proof: what is compared, and how."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, WireFormat
from deltaparse.analyzer.probes import call
from deltaparse.analyzer.proof.conversations import SHORT, Turn
from deltaparse.analyzer.proof.trial import _alike, beside, difference
from deltaparse.analyzer.proof.wires import Wire
from deltaparse.analyzer.renderer import CallStyle, Renderer


@pytest.mark.parametrize(
    ("got", "want", "elements", "alike"),
    [
        (" a\n", "a", False, True),
        ("a b", "ab", False, False),
        ([1], [2], True, False),
        ([], "", True, True),
        ({}, [], True, True),
        ([], "", False, False),
        ({"a": None, "b": 1}, {"b": 1}, True, True),
        ({"a": None, "b": 1}, {"b": 1}, False, False),
        ({"a": [{"b": {}}]}, {"a": [""]}, True, False),
    ],
)
def test_what_is_alike(got, want, elements, alike):
    assert _alike(got, want, elements=elements) is alike
    assert _alike(want, got, elements=elements) is alike


def test_content_stands_beside_calls_only_where_the_template_needs_it():
    render = Renderer(ChatTemplate("x"))
    needs = render.styled(CallStyle(content="words"))
    calls = Turn("a call", calls=(call(),))
    thought = Turn("reasoning", reasoning="a thought")
    assert beside(calls, render) is calls
    assert beside(calls, needs).content == SHORT
    assert beside(thought, needs) is thought


def test_what_is_wrong_with_what_comes_back():
    fmt = WireFormat()

    def wrong(turn, **wire):
        given = {"prompt": "", "text": "", "end": "", "content": "", "reasoning": "", "calls": 0}
        return difference(turn, Wire(**given | wire), fmt, tools=False, streamed=True)

    said = Turn("content", "words")
    assert "does not show it" in wrong(said, text="other")
    assert wrong(said, text="words", content="words") == ""
    assert wrong(said, text="words", content="others").startswith("content ")
    assert wrong(Turn("nothing")) == ""
