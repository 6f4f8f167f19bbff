"""Comparing renderings: the parts add up, and no marker is cut in two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse.analyzer.diff import (
    after,
    begins_with_marker,
    between,
    common_prefix,
    common_suffix,
    first_marker,
    last_marker,
    segments,
    split,
)

texts = st.text("<[>]ab |\n", max_size=20)


@given(texts, texts)
def test_the_parts_add_up(left, right):
    parts = split(left, right)
    assert parts.prefix + parts.left + parts.suffix == left
    assert parts.prefix + parts.right + parts.suffix == right


@given(texts)
def test_segments_add_up(text):
    assert "".join(part.text for part in segments(text)) == text


@pytest.mark.parametrize(
    ("left", "right", "prefix", "suffix"),
    [
        ("<|end|><|a|>", "<|end|><|b|>", "<|end|>", ""),
        ("x<|start_a|>y", "x<|start_b|>y", "x", "y"),
        ("[/INST]", "[/RESULTS]", "", ""),
        ("a <b", "a <c", "a <", ""),
        ("<a>same</a>", "<a>same</a>", "<a>same</a>", ""),
        ("1\n<t>", "2\n<t>", "", "\n<t>"),
        ("<|a|>x", "<|a y", "", ""),
        ("<a|b>", "c|b>", "", ""),
        ("c|b>", "d|b>", "", "|b>"),
        ("ab", "ab", "ab", ""),
        ("axa", "aya", "a", "a"),
    ],
)
def test_borders_are_moved_out_of_markers(left, right, prefix, suffix):
    parts = split(left, right)
    assert (parts.prefix, parts.suffix) == (prefix, suffix)


def test_text_between_markers_is_a_segment():
    parts = [(part.text, part.marker) for part in segments("<a>x<b>y[c]")]
    assert parts == [("<a>", True), ("x", False), ("<b>", True), ("y", False), ("[c]", True)]


def test_more_than_two_texts():
    assert common_prefix("<a><b>1", "<a><b>2", "<a><c>") == "<a>"
    assert common_suffix("1<a>", "2<a>", "<a>") == "<a>"


def test_segments_are_markers_with_the_space_after_them_and_text_between():
    parts = [(part.text, part.marker) for part in segments("a <b>\n[C] d {[1, 2]} <x y")]
    assert parts == [
        ("a ", False),
        ("<b>\n", True),
        ("[C] ", True),
        ("d {[1, 2]} <x y", False),
    ]


@given(st.lists(st.text("ab", max_size=9), min_size=1, max_size=4), st.text("ab", max_size=9))
def test_common_prefix_and_suffix_are_the_longest(texts, before):
    texts = [before + text for text in texts]
    prefix = common_prefix(*texts)
    assert all(text.startswith(prefix) for text in texts)
    following = {text[len(prefix) : len(prefix) + 1] for text in texts}
    assert len(following) > 1 or following == {""}
    assert common_suffix(*(text[::-1] for text in texts)) == prefix[::-1]


@pytest.mark.parametrize("length", range(12))
def test_common_prefix_may_have_any_length(length):
    alike = "a" * length
    for left, right in (("", ""), ("", "b"), ("c", "b"), ("c" * 9, "b"), ("", "b" * 9)):
        assert common_prefix(alike + left, alike + right) == alike
        assert common_suffix(left + alike, right + alike) == alike
    assert common_prefix() == ""


@pytest.mark.parametrize(
    ("text", "first", "begins", "last"),
    [
        ("", "", False, ""),
        (" \n", "", False, ""),
        ("<a>", "<a>", True, "<a>"),
        (" \n<a> b <c>\n", "<a>", True, "<c>\n"),
        ("a <b>", "a", False, "<b>"),
        ("<a> b", "<a>", True, ""),
        ("<a><b>", "<a>", True, "<b>"),
        ("a <b> c <d> e", "a", False, ""),
    ],
)
def test_the_markers_at_the_ends_of_a_text(text, first, begins, last):
    assert first_marker(text) == first
    assert begins_with_marker(text) is begins
    assert last_marker(text) == last


def test_text_after_and_between_probes():
    assert after("a X b X c", "X") == " c"
    assert between("a X b X c Y d Y", "X", "Y") == " c "
    assert between("a Y b X c", "X", "Y") is None
    assert between("a Y b", "X", "Y") is None
    assert between(None, "X", "Y") is None
