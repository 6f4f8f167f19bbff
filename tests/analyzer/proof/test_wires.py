"""What a model writes where a history has a turn."""

from __future__ import annotations

import pytest

from deltaparse import WireFormat
from deltaparse.analyzer.proof.wires import _behind, _says_else


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
def test_whether_something_stands_between_the_markers_of_reasoning(body, says):
    assert _says_else("<t>\n", "\n</t>", body) is says
    assert not _says_else("", "</t>", body)


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
def test_what_is_not_yet_in_the_prompt(so_far, body, left):
    assert _behind(so_far, body, WireFormat()) == left


def test_a_turn_without_the_end_of_reasoning_does_not_begin_in_the_prompt():
    fmt = WireFormat().replace(reasoning={"mode": "DELIMITER", "end": "</t>\n"})
    assert _behind("", "why", fmt) is None
    assert _behind("", "why</t>", fmt) == "why</t>"
