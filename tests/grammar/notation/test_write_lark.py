"""Tests of Lark in llguidance's dialect."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse.grammar import (
    chars,
    except_chars,
    literal,
    repeat,
    schema_rules,
    seq,
    text_until,
    to_lark,
    token,
)

from ..machines import Lark, accepts, grammar_of


@settings(max_examples=30)
@given(st.lists(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5), st.booleans())
def test_each_character_is_itself(members, negated):
    kind = chars(*members)
    engine = Lark(grammar_of(token(except_chars(kind) if negated else kind)))
    fixed = Lark(grammar_of(literal("".join(members))))
    assert fixed.accepts("".join(members))
    for char in [*members, "a", "-", "é", "\0", "😀"]:
        assert engine.accepts(char) == ((char in members) != negated)


@settings(max_examples=30)
@given(
    st.text("ab<", min_size=1, max_size=4),
    st.text("ab<", min_size=1, max_size=3),
    st.text("ab<", max_size=9),
)
def test_raw_text(marker, other, text):
    for until in (text_until(marker), text_until(marker, other)):
        grammar = grammar_of(seq(literal("!"), until, literal("?")))
        for one in (text, text + marker):
            assert Lark(grammar).accepts(f"!{one}?") == accepts(grammar, f"!{one}?")


def test_how_it_looks():
    assert to_lark(
        grammar_of(seq(literal('"'), token(repeat(chars("az"), 2, 9)), text_until("</")))
    ) == (
        'start: "\\"" TOKEN-1 TOKEN-2\n'
        "TOKEN-1: /[a-z]/{2,9}\n"
        "TOKEN-2: /(?s:.*)\\x{3c}\\x{2f}/"
        " & ~/(?s:.*)(?:(?:\\x{3c}\\x{2f})(?s:.))(?s:.*)/\n"
    )


def test_nested_counts_are_written_in_groups():
    grammar = grammar_of(token(repeat(repeat(chars("a"), 2, 3), 2, 2)))
    assert [Lark(grammar).accepts("a" * size) for size in range(3, 8)] == [
        False,
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("size", [10, 1_000, 50_000])
def test_long_texts(size):
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array"}}}
    engine = Lark(schema_rules(schema).grammar())
    assert engine.accepts(json.dumps({"a": "x" * size, "b": [1, "é"] * (size // 50)}))


def test_sampled_calls_are_valid():
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1, "maxLength": 8},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "unit": {"enum": ["c", "f"]},
        },
        "required": ["city", "days"],
    }
    engine = Lark(schema_rules(schema).grammar())
    values = [json.loads(engine.sampled(random.Random(seed))) for seed in range(30)]
    assert all(1 <= value["days"] <= 14 and 1 <= len(value["city"]) <= 8 for value in values)
    assert {value.get("unit") for value in values} == {None, "c", "f"}
