"""Tests of markers and their outer whitespace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse.stream.wire.spellings import (
    has_word,
    is_prose,
    leading,
    length,
    spellings,
    stripped,
    tag_starts,
    trailing,
    without_attribute,
    word_core,
)

TOKEN = "\udbc0"
"""A placeholder for a special token."""


@given(before=st.text(" \n\t", max_size=3), core=st.text("<a>", max_size=3), behind=st.text(" \n"))
def test_marker_is_a_core_between_whitespace(before, core, behind):
    marker = before + core + behind
    assert spellings(marker) == [before[cut:] + core for cut in range(len(before) + 1) if core]
    assert stripped([marker, "", "<b> "]) == {"<b>", core} - {""}
    if core:
        assert (leading(marker), trailing(marker)) == (before, behind)


@pytest.mark.parametrize(
    ("marker", "has"),
    [("<call>", True), ("<1>", True), ("a", True), ("<|>", False), ("", False), (TOKEN, True)],
)
def test_has_word_finds_letters_digits_and_tokens(marker, has):
    assert has_word(marker) is has


@pytest.mark.parametrize(
    ("marker", "prose"),
    [
        *(("Action: ", True), ("\nAction:\n", True), ("1. It's *so*", True)),
        *(("---", False), ("1.", False), ("\n", False), ("<call>", False), ("a\nb", False)),
    ],
)
def test_is_prose_accepts_words_on_one_line(marker, prose):
    assert is_prose(marker) is prose


@pytest.mark.parametrize(
    ("marker", "core"),
    [
        *((">>>all\n", ">>>all\n"), ("\n>all \n", ">all "), (">a\n", ">a\n"), ("1\n", "1\n")),
        *(("<call>\n", "<call>"), ("\nto=", "to="), ("all", "all"), (" ", "")),
    ],
)
def test_word_core_keeps_whitespace_after_a_word(marker, core):
    assert word_core(marker) == core


def test_length_of_a_token_is_about_that_of_its_text():
    assert length("<call>") == len("<call>")
    assert length("｜") == 1
    one, two = length(TOKEN), length(f"<{TOKEN}{TOKEN}>")
    assert two - 2 == 2 * one > 2 * len("<|end|>")


def test_tag_starts_returns_offsets_of_tags():
    assert tag_starts("a<b>c[d] <e f>< g>") == [1, 5, 9]
    assert tag_starts(f"a{TOKEN}b") == [1]
    assert tag_starts("none") == []


@pytest.mark.parametrize(
    ("marker", "without"),
    [
        ('" string="true">', '">'),
        ("' string='true'>", "'>"),
        ('<a b="c" d="e">', '<a d="e">'),
        ("<a>", ""),
        ("", ""),
    ],
)
def test_without_attribute_removes_the_first_attribute(marker, without):
    assert without_attribute(marker) == without
