"""Raw text up to a marker, as an automaton."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import UsageError
from deltaparse.grammar import GrammarRules, text_until, until_rules

from ..machines import accepts

MARKERS = st.text("ab<", min_size=1, max_size=5)


@given(MARKERS, st.lists(MARKERS, max_size=2), st.lists(st.sampled_from("ab<é")), st.booleans())
def test_it_is_the_first_marker(marker, others, chars, closed):
    text = "".join(chars) + marker * closed
    rules = until_rules(text_until(marker, *others), "root", "root-")
    first = text.find(marker) == len(text) - len(marker) and text.endswith(marker)
    expected = first and not any(
        other in (text[:-1] if marker.endswith(other) else text) for other in others
    )
    assert accepts(GrammarRules(rules), text) == expected
    assert accepts(GrammarRules({"root": text_until(marker, *others)}), text) == expected


def test_a_state_for_each_character():
    assert list(until_rules(text_until("</arg>"), "text", "text-s")) == [
        "text", *(f"text-s{i}" for i in range(1, 6))
    ]  # fmt: skip


@pytest.mark.parametrize("markers", [("",), ("a", ""), ("a" * 1_001,)])
def test_bad_markers(markers):
    with pytest.raises(UsageError):
        text_until(*markers)
