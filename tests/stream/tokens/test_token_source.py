"""Token sources of vocabularies."""

from __future__ import annotations

from deltaparse.stream.tokens.token_source import Special, SpelledTokens


def test_ids_by_spelling_may_have_any_order():
    tokens = SpelledTokens({"b": 7, "a": 0, "c": 3}, {9: Special("<s>")}, str.encode)
    assert {id: tokens.bytes_of(id) for id in tokens.ids} == {0: b"a", 3: b"c", 7: b"b", 9: b"<s>"}
    assert tokens.bytes_of(1) is None


def test_spellings_in_order_may_have_gaps():
    tokens = SpelledTokens(["a", None, "c"], {}, str.encode)
    assert {id: tokens.bytes_of(id) for id in tokens.ids} == {0: b"a", 2: b"c"}


def test_surrogate_in_a_special_token_has_bytes():
    assert Special("a\ud800").bytes == b"a\xed\xa0\x80"
