"""Tests of intersections and differences of expressions."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deltaparse.grammar import GrammarRules, Literal, chars, choice, optional, repeat, seq
from deltaparse.grammar.rules.rules import ANY_CHAR, NOTHING
from deltaparse.grammar.text.intersection import both, matches
from deltaparse.grammar.text.patterns import pattern_text

from ..machines import accepts

LETTERS = st.text("abcx", max_size=8)
EXPRESSIONS = st.recursive(
    st.sampled_from([*map(Literal, ("a", "ab", "cab")), chars("ac"), ANY_CHAR]),
    lambda inner: st.one_of(
        st.builds(seq, inner, inner),
        st.builds(choice, inner, inner),
        st.builds(optional, inner),
        st.builds(repeat, inner, st.integers(0, 2), st.none() | st.integers(2, 4)),
    ),
    max_leaves=6,
)


def fits(expr, text):
    return expr != NOTHING and accepts(GrammarRules({"root": expr}), text)


@given(EXPRESSIONS, LETTERS)
def test_a_text_is_read(expr, text):
    assert matches(expr, text) == fits(expr, text)


@given(
    st.lists(EXPRESSIONS, min_size=1, max_size=2),
    st.lists(EXPRESSIONS, max_size=2),
    st.lists(LETTERS, min_size=1, max_size=9),
)
def test_both_matches_all_wanted_and_excludes_unwanted(wanted, unwanted, texts):
    found = both(wanted, unwanted)
    assume(found is not None)
    for text in texts:
        right = all(fits(one, text) for one in wanted) and not any(
            fits(one, text) for one in unwanted
        )
        assert fits(found, text) == right


@given(EXPRESSIONS, st.lists(LETTERS, min_size=1, max_size=9))
def test_double_complement_equals_the_expression(expr, texts):
    everything = repeat(ANY_CHAR)
    found = both([everything], [expr])
    assume(found is not None)
    again = both([everything], [found])
    assume(again is not None)
    assert [fits(again, text) for text in texts] == [fits(expr, text) for text in texts]


@pytest.mark.parametrize("pattern", ["(a|b)*a(a|b){9}$", "^(a{1,99}b){1,99}$", "^(a?b?c?){30}x$"])
def test_too_large_result_is_not_returned(pattern):
    assert both([pattern_text(pattern), repeat(ANY_CHAR, 0, 90)]) is None
