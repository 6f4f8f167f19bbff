"""Content: what is left of a turn without its reasoning."""

from __future__ import annotations

import pytest

from deltaparse import ReasoningFormat
from deltaparse.analyzer.phases.content import without_reasoning


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>\nwhy</think>\n<say>", "<say>"),
        ("<think>\nwhy</think> <say>", " <say>"),
        ("<think>\n<say>", "<say>"),
        ("\n<think> <say> ", "<say> "),
        (" <say> ", " <say> "),
        (" <say><think>", " <say><think>"),
        ("", ""),
    ],
)
def test_a_section_of_reasoning_is_taken_out(text, left):
    reasoning = ReasoningFormat(start="<think>\n", end="</think>\n")
    assert without_reasoning(text, reasoning) == left
