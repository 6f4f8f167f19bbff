"""Several pairs of reasoning markers in one format. The start marker selects the end marker."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import FormatError, ReasoningFormat, WireFormat, parse
from deltaparse.grammar import gbnf

from ...strategies.wire_json_and_tags import json_formats, tagged_formats, turns, write
from ...support import as_joined, cuts
from ..invariants import run

OTHERS = ("<|plan|>\n", "\n<|/plan|>", "<|deep|>", "<|/deep|>\n")


def with_others(fmt):
    """Return the format with additional pairs of markers."""
    return fmt.replace(reasoning={"alternatives": OTHERS})


has_start = (json_formats() | tagged_formats()).filter(lambda fmt: fmt.reasoning.start)


@given(fmt=has_start.map(with_others), data=st.data())
def test_each_pair_is_read_and_ends_of_other_pairs_are_text(fmt, data):
    turn = data.draw(turns(fmt))
    start, end = data.draw(st.sampled_from(fmt.reasoning.pairs))
    strange = data.draw(st.sampled_from([closed for _, closed in fmt.reasoning.pairs]))
    thought = "so" + (strange if strange.strip() != end.strip() else "") + "it is"
    one = fmt.replace(reasoning={"start": start, "end": end, "alternatives": ()})
    text = write(one, replace(turn, reasoning=thought)) if turn.reasoning else write(fmt, turn)
    got = as_joined(run(fmt, data.draw(cuts(text)))[0].message)
    assert got[:2] == (turn.content, thought if turn.reasoning else "")
    assert [call[1] for call in got[2]] == [name for name, _ in turn.calls]


@given(fmt=has_start.map(with_others), data=st.data())
def test_pair_opened_by_the_prompt_selects_the_end_marker(fmt, data):
    start, end = data.draw(st.sampled_from(fmt.reasoning.pairs))
    header = fmt.turn.headers[0]
    message = parse(f"so be it{end}Dry.", fmt, prompt=header + start, tools=[])
    assert (message.reasoning_content, message.content) == ("so be it", "Dry.")


@pytest.mark.parametrize(("start", "end"), [("<a>", "</a>"), ("<b>", "</b>")])
def test_grammar_closes_reasoning_from_the_prompt(start, end):
    reasoning = ReasoningFormat(
        mode="TAG_BASED", start="<a>", end="</a>", alternatives=("<b>", "</b>")
    )
    tools = {"format": "JSON_NATIVE", "name_field": "name", "arguments_field": "arguments"}
    fmt = WireFormat(reasoning=reasoning).replace(tools={**tools, "per_call_start": "<c>"})
    fmt = fmt.replace(turn={"headers": ("<m>",), "generation_prompt": "<m>"})
    made = gbnf(fmt, [{"name": "f"}], tool_choice="required", prompt=f"<m>{start}")
    alone = fmt.replace(reasoning={"start": start, "end": end, "alternatives": ()})
    assert made == gbnf(alone, [{"name": "f"}], tool_choice="required", prompt=f"<m>{start}")


@pytest.mark.parametrize("alternatives", [("<b>",), ("<b>", " ")])
def test_alternatives_are_pairs(alternatives):
    with pytest.raises(FormatError, match="pairs of markers"):
        WireFormat(
            reasoning=ReasoningFormat(
                mode="TAG_BASED", start="<a>", end="</a>", alternatives=alternatives
            )
        )
