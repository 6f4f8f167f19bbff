"""In which style of messages a template shows calls, and what is said where it shows none."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, analyze
from deltaparse.analyzer.phases.tool_calls import showing_calls
from deltaparse.analyzer.probes import CONTENT
from deltaparse.analyzer.renderer import Renderer

PROMPT = "{% if add_generation_prompt %}<assistant>{% endif %}"
CALLS = "{% for c in m.tool_calls or [] %}[{{ c.function.name }}]{% endfor %}"
PLAIN = "<{{ m.role }}>{{ m.content }}</{{ m.role }}>"


def turns(body: str) -> str:
    return "{% for m in messages %}" + body + "{% endfor %}" + PROMPT


@pytest.mark.parametrize(
    ("condition", "content"),
    [("m.content is none", None), ("m.content", CONTENT), ("m.content == ''", "")],
)
def test_the_style_is_the_one_in_which_calls_are_shown(condition, content):
    source = turns(PLAIN + "{% if " + condition + " %}" + CALLS + "{% endif %}")
    style = showing_calls(Renderer(ChatTemplate(source))).style
    assert style.content == content


def test_a_template_that_shows_one_of_the_tools_does_not_support_them():
    shown = "{% if tools %}{{ tools[0] | tojson }}{% endif %}"
    every = "{% if tools %}{{ tools | tojson }}{% endif %}"
    assert not analyze(shown + turns(PLAIN)).tools.supports_tools
    assert analyze(every + turns(PLAIN)).tools.supports_tools


def test_calls_outside_of_the_turn_are_said_to_be_there():
    source = turns(CALLS + PLAIN)
    (issue,) = [issue for issue in analyze(source).issues if "tool calls" in issue]
    assert "outside of the assistant's turn" in issue
    assert "<assistant>" in issue
