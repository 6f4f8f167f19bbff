"""The transformation of llama.cpp: its patterns, and its inexact results."""

from __future__ import annotations

import pytest
import regex
from hypothesis import assume, given
from hypothesis import strategies as st

from deltaparse.partial import Found, Held, UsageError, reversed_partial_pattern, search

from ...corpus import needs_corpus, rows
from ...strategies.random_patterns import TEXTS


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("abc", "^((?:(?:c)?b)?a)"),
        ("ab?", "^((?:b?)?a)"),
        ("a{2,}", "^((?:a+)?a)"),
        ("a{0,2}b", "^((?:(?:b)?a?)?a?)"),
        ("a{1,2}", "^((?:a?)?a)"),
        ("(ab|c)d*", "^((?:d*)?(?:(?:b)?a|c))"),
        ("(?<name>a)b", "^((?:b)?(?:a))"),
        (r"\{[ab]", r"^((?:[ab])?\{)"),
    ],
)
def test_reversed(pattern, expected):
    assert reversed_partial_pattern(pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "copies"),
    [
        ("(?:ab){%d}", 2),
        ("(?:a|b){%d}", 2),
        ("(?:a{2}){%d}", 2),
        ("(?:a{1,2}){%d}", 2),
        ("(?:a{2,}){%d}", 2),
        ("(?:a*){%d}", 1),
        ("(?:a?){%d}", 1),
        ("(?:a{0}){%d}", 1),
        ("(?:){%d}", 1),
        ("a{%d}", 1),
        ("a{2,%d}", 1),
        ("a{%d,}", 1),
    ],
)
def test_no_more_is_written_out_than_a_thousand_items(pattern, copies):
    assert reversed_partial_pattern(pattern % (1000 // copies))
    many = 1000 // copies + 1
    with pytest.raises(UsageError, match=f"needs {many * copies} copies of items"):
        reversed_partial_pattern(pattern % many)


@needs_corpus
def test_reversed_cases_of_llamacpp():
    checked = [row for row in rows("regex/llamacpp_reversed_patterns.jsonl") if row["expected"]]

    for row in checked:
        assert reversed_partial_pattern(row["pattern"]) == row["expected"]
    assert checked


@pytest.mark.parametrize(
    "pattern", ["^a", "a$", "(?=a)b", "(?<!a)b", r"(a)\1", "(?>a)b", "a{9999}"]
)
def test_unsupported_patterns_cannot_be_reversed(pattern):
    with pytest.raises(UsageError):
        reversed_partial_pattern(pattern)


@given(st.lists(st.sampled_from(["a", "b", "[ab]", "c"]), min_size=1, max_size=5), TEXTS)
def test_reversed_pattern_agrees_for_plain_patterns(parts, text):
    pattern = "".join(parts)
    found = search(pattern, text)
    assume(not isinstance(found, Found))
    backwards = regex.match(reversed_partial_pattern(pattern), text[::-1])

    assert len(text) - (backwards.end(1) if backwards else 0) <= found.start


def test_reversed_is_not_exact():
    backwards = regex.match(reversed_partial_pattern("bc|aba"), "ab"[::-1])

    assert backwards[1] == "b"
    assert search("bc|aba", "ab") == Held(0)
