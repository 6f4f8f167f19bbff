"""Surrogates are found, escaped and replaced, and other text is unchanged."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from deltaparse.partial import escape_surrogates, is_whole, replace_surrogates

WHOLE = st.text(max_size=8)
HALVES = st.characters(categories=["Cs"])
SPOILED = st.lists(WHOLE | HALVES, max_size=6).map("".join)


@given(WHOLE)
def test_a_text_without_them_stays_as_it_is(text):
    assert is_whole(text)
    assert escape_surrogates(text) == replace_surrogates(text) == text


@given(SPOILED, HALVES, SPOILED)
def test_a_text_with_one_cannot_be_encoded(before, half, after):
    assert not is_whole(before + half + after)


@given(SPOILED)
def test_each_is_replaced_by_one_character(text):
    replaced = replace_surrogates(text)

    assert is_whole(replaced)
    assert len(replaced) == len(text)
    for old, new in zip(text, replaced, strict=True):
        assert new == (old if is_whole(old) else "\ufffd")


@given(SPOILED)
def test_escaped_it_is_the_same_json(text):
    written = json.dumps(text, ensure_ascii=False)
    escaped = escape_surrogates(written)

    assert is_whole(escaped)
    assert json.loads(escaped) == json.loads(json.dumps(text))
