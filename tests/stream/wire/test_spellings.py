"""Markers and the white space at their edges."""

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
"""What stands for a special token."""


@given(before=st.text(" \n\t", max_size=3), core=st.text("<a>", max_size=3), behind=st.text(" \n"))
def test_a_marker_is_a_core_between_white_space(before, core, behind):
    marker = before + core + behind
    assert spellings(marker) == [before[cut:] + core for cut in range(len(before) + 1) if core]
    assert stripped([marker, "", "<b> "]) == {"<b>", core} - {""}
    if core:
        assert (leading(marker), trailing(marker)) == (before, behind)


@pytest.mark.parametrize(
    ("marker", "has"),
    [("<call>", True), ("<1>", True), ("a", True), ("<|>", False), ("", False), (TOKEN, True)],
)
def test_what_has_a_word(marker, has):
    assert has_word(marker) is has


@pytest.mark.parametrize(
    ("marker", "prose"),
    [
        *(("Action: ", True), ("\nAction:\n", True), ("1. It's *so*", True)),
        *(("---", False), ("1.", False), ("\n", False), ("<call>", False), ("a\nb", False)),
    ],
)
def test_what_is_prose(marker, prose):
    assert is_prose(marker) is prose


@pytest.mark.parametrize(
    ("marker", "core"),
    [
        *((">>>all\n", ">>>all\n"), ("\n>all \n", ">all "), (">a\n", ">a\n"), ("1\n", "1\n")),
        *(("<call>\n", "<call>"), ("\nto=", "to="), ("all", "all"), (" ", "")),
    ],
)
def test_a_word_ends_where_white_space_follows_it(marker, core):
    assert word_core(marker) == core


def test_a_token_is_about_as_long_as_its_text():
    assert length("<call>") == len("<call>")
    assert length("｜") == 1
    one, two = length(TOKEN), length(f"<{TOKEN}{TOKEN}>")
    assert two - 2 == 2 * one > 2 * len("<|end|>")


def test_where_tags_begin():
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
def test_a_marker_without_its_attribute(marker, without):
    assert without_attribute(marker) == without
