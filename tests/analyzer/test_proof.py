"""The proof finds a format that is wrong."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, ReasoningFormat, analyze
from deltaparse.analyzer.frame import find_frame
from deltaparse.analyzer.proof import TURNS, disproofs
from deltaparse.analyzer.reasoning import find_reasoning
from deltaparse.analyzer.render import Renderer

from . import templates


def proof(source, fmt):
    render = Renderer(ChatTemplate(source))
    frame = find_frame(render)
    return disproofs(render, frame, find_reasoning(render, frame), fmt)


def test_a_right_format_is_proved_on_every_turn_the_template_renders():
    proved, failed = proof(templates.TOOLS_ONLY, analyze(templates.TOOLS_ONLY))
    assert failed == []
    assert proved == [turn.label for turn in TURNS]


@pytest.mark.parametrize(
    ("change", "label"),
    [
        ({"tools": {"section_start": "<acts>"}}, "a call"),
        ({"tools": {"arguments_field": "inputs"}}, "a call"),
        ({"content": {"start": "<says>"}}, "content"),
        ({"reasoning": ReasoningFormat()}, "reasoning and a call"),
        ({"turn": {"ends": ("</b>",)}}, "content"),
    ],
)
def test_a_wrong_format_is_not(change, label):
    source = templates.TOOLS_ONLY
    fmt = analyze(source).replace(**change)
    proved, failed = proof(source, fmt)
    assert label not in proved
    assert any(text.startswith(label) for text in failed)
