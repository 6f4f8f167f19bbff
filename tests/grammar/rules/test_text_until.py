"""Tests of raw text up to a marker, as an automaton."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deltaparse import UsageError
from deltaparse.grammar import NOTHING, GrammarRules, text_until, until_rules

from ..machines import accepts

MARKERS = st.text("ab<", min_size=1, max_size=5)


@given(MARKERS, st.lists(MARKERS, max_size=2), st.lists(st.sampled_from("ab<é")), st.booleans())
def test_text_ends_at_the_first_marker(marker, others, chars, closed):
    text = "".join(chars) + marker * closed
    rules = until_rules(text_until(marker, *others), "root", "root-")
    first = text.find(marker) == len(text) - len(marker) and text.endswith(marker)
    expected = first and not any(
        other in (text[:-1] if marker.endswith(other) else text) for other in others
    )
    assert accepts(GrammarRules(rules), text) == expected
    assert accepts(GrammarRules({"root": text_until(marker, *others)}), text) == expected


@given(
    MARKERS,
    st.lists(MARKERS, max_size=2),
    st.lists(st.sampled_from("ab<é"), max_size=9),
    st.integers(0, 4),
    st.none() | st.integers(0, 4),
)
def test_characters_are_counted(marker, others, chars, least, more):
    most = None if more is None else least + more
    until = text_until(marker, *others, least=least, most=most)
    rules = until_rules(until, "root", "root-")
    for text in ("".join(chars) + marker, "".join(chars)):
        expected = accepts(GrammarRules({"root": until}), text)
        assert accepts(GrammarRules(rules), text) == expected
        length = len(text) - len(marker)
        unsized = accepts(GrammarRules({"root": text_until(marker, *others)}), text)
        assert expected == (unsized and least <= length and (most is None or length <= most))


@given(MARKERS, st.lists(MARKERS, max_size=2), st.integers(0, 3), st.none() | st.integers(3, 5))
def test_counted_rules_have_finite_matches(marker, others, least, most):
    assume(not any(other in marker[:-1] for other in others))
    rules = until_rules(text_until(marker, *others, least=least, most=most), "root", "root-")
    assert all(body != NOTHING for body in rules.values())


def test_a_state_for_each_character():
    assert list(until_rules(text_until("</arg>"), "text", "text-s")) == [
        "text", *(f"text-s{i}" for i in range(1, 6))
    ]  # fmt: skip


@pytest.mark.parametrize("markers", [("",), ("a", ""), ("a" * 1_001,)])
def test_bad_markers(markers):
    with pytest.raises(UsageError):
        text_until(*markers)
