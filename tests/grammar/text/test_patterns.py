"""Tests of patterns and formats of strings."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from deltaparse.grammar.text.patterns import NotRegular, lengths, pattern_text
from deltaparse.grammar.text.string_formats import FORMATS, format_text

from ...strategies.schemas import PATTERNS
from ..machines import Sampler, accepts, grammar_of

ATOMS = st.sampled_from(
    ["a", "b", ".", "\\d", "[ab]", "[^a]", "[a-c-]", "\\.", "\\x61", "\\u0062", "[\\]\\\\]"]
)
PARTS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"])).map(
            lambda case: f"(?:{case[0]}){case[1]}"
        ),
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=2).map(lambda parts: f"({'|'.join(parts)})"),
    ),
    max_leaves=5,
)


@given(
    PARTS, st.sampled_from(["", "^"]), st.sampled_from(["", "$"]), st.text("abc1.]\\", max_size=5)
)
def test_patterns_match_the_same_texts_as_python(pattern, start, end, text):
    pattern = f"{start}{pattern}{end}"
    grammar = grammar_of(pattern_text(pattern))
    assert accepts(grammar, text) == bool(re.search(pattern, text, re.ASCII))


@given(st.sampled_from(PATTERNS) | PARTS, st.integers())
def test_generated_strings_match_the_pattern(pattern, seed):
    text = Sampler(grammar_of(pattern_text(pattern))).text(random.Random(seed))
    assert re.search(pattern, text)
    low, high = lengths(pattern_text(pattern))
    assert low <= len(text) <= (len(text) if high is None else high)


@pytest.mark.parametrize(
    "pattern",
    ["(?=a)", "(?<n>a)", "(a)\\1", "a^", "$a", "(^a)", "\\p{L}", "\\bx", "[", "(", ")", "a**", "*",
     "a{9999}", "a{2,1}", "[b-a]", "\\", "[[a]]", "x" * 2_000,
     "(" * 50 + ")" * 50, "\\u12", "{1}", "a{x}"],
)  # fmt: skip
def test_unsupported_patterns_are_refused(pattern):
    with pytest.raises(NotRegular):
        pattern_text(pattern)


@given(st.sampled_from(sorted(FORMATS)), st.integers())
def test_generated_strings_conform_to_their_format(name, seed):
    text = Sampler(grammar_of(format_text(name)), 1_000).text(random.Random(seed))
    checker = Draft202012Validator.FORMAT_CHECKER
    assert checker.conforms(text, name), text


@given(st.dates())
def test_every_day_is_a_date(day):
    assert accepts(grammar_of(format_text("date")), str(day))


@pytest.mark.parametrize(
    "text", ["2023-02-29", "1900-02-29", "0000-01-01", "2024-04-31", "2024-13-01", "24-01-01"]
)
def test_no_other_day_is(text):
    assert not accepts(grammar_of(format_text("date")), text)
    assert accepts(grammar_of(format_text("date")), "2000-02-29")
