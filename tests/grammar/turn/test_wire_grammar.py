"""Tests that the parser reads back all turns of the grammar."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse import ReasoningMode, gbnf

from ...strategies.typed_calls import cases
from ...strategies.wire_json_and_tags import write
from ..machines import Lark, Sampler, accepts
from ..reading_back import check_back


@settings(max_examples=40)
@given(cases())
def test_written_turns_are_accepted(case):
    fmt, tools, turn = case
    text = write(fmt, turn)
    grammar = gbnf(fmt, tools, tool_choice="required")
    assert grammar.not_expressed == ()
    assert accepts(grammar.rules, text)
    assert not accepts(grammar.rules, text[:-1])


@settings(max_examples=50)
@given(cases(), st.integers())
def test_grammar_samples_parse_back(case, seed):
    fmt, tools, _ = case
    for choice in ("auto", "required"):
        grammar = gbnf(fmt, tools, tool_choice=choice)
        text = Sampler(grammar.rules).text(random.Random(seed))
        if choice == "auto" and fmt.reasoning.mode is ReasoningMode.DELIMITER:
            text = f"x{fmt.reasoning.end}{text}"
        check_back(fmt, tools, text)


@settings(max_examples=10)
@given(cases(), st.integers())
def test_engine_samples_parse_back(case, seed):
    fmt, tools, turn = case
    grammar = gbnf(fmt, tools, tool_choice="required")
    engine = Lark(grammar.rules)
    text = write(fmt, turn)
    assert engine.accepts(text)
    assert not engine.accepts(text[:-1])
    written = engine.sampled(random.Random(seed), size=70)
    if written is not None:
        assert accepts(grammar.rules, written)
        check_back(fmt, tools, written)
