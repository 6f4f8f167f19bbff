"""What stands round calls that are written as Python writes them."""

from __future__ import annotations

import pytest

from deltaparse import analyze

CALL = (
    "{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson }}"
    "{% if not loop.last %}, {% endif %}{% endfor %})"
)


def template(before: str, behind: str) -> str:
    calls = "{% for c in m.tool_calls %}" + CALL
    calls += "{% if not loop.last %}, {% endif %}{% endfor %}"
    return (
        "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<|{{ m.role }}|>"
        "{{ m.content or '' }}{% if m.tool_calls %}" + before + calls + behind + "{% endif %}"
        "<|end|>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )


@pytest.mark.parametrize(
    ("before", "behind", "listed", "start", "end"),
    [
        ("<|c|>[", "]<|d|>", True, "<|c|>", "<|d|>"),
        ("<|c|>[", "<|d|>", False, "<|c|>[", "<|d|>"),  # a bracket that nothing closes
        ("<|c|>", "]<|d|>", False, "<|c|>", "]<|d|>"),  # or nothing opens
        ("[", "]<|d|>", True, "", "<|d|>"),
        ("", "<|d|>", False, "", ""),  # what nothing began ends the turn
    ],
)
def test_brackets_and_markers_round_the_calls(before, behind, listed, start, end):
    fmt = analyze(template(before, behind))
    tools = fmt.tools
    assert tools.format == "PYTHONIC"
    assert (tools.array_wrapped, tools.section_start, tools.section_end) == (listed, start, end)
    if not (start or listed):
        assert any("<|d|>" in text for text in fmt.turn.ends)
