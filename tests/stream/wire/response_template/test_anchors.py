"""Tests of splitting anchors of response templates into parts."""

from __future__ import annotations

import re

import pytest

from deltaparse import FormatError
from deltaparse.stream.wire.response_template.anchors import (
    AnchorPart,
    PartKind,
    is_conditional,
    literals,
    read_anchor,
)

SPACE = AnchorPart(PartKind.SPACE)


def text(said):
    return AnchorPart(PartKind.TEXT, said)


def parts(pattern):
    return read_anchor({"open_pattern": pattern}, "open", "x")


@pytest.mark.parametrize(
    "space", [r"\s", r"\n", " ", r"\ ", r"[ \n]", r"[\s]", r"[\n ]", r"[ \t]", "\n"]
)
def test_repeated_whitespace_is_space(space):
    assert parts(f"{space}*<a>{space}+") == [[SPACE, text("<a>"), SPACE]]


def test_single_whitespace_is_optional():
    assert parts(r"\s*\s+<a>\s\n*") == [[SPACE, text("<a>"), SPACE]]
    assert parts(r"<a>\s<b>\s") == [[text("<a>"), SPACE, text("<b>"), SPACE]]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"<a>\n\t\r\f", "<a>\n\t\r\f"),
        (r"<\|a\|>\.", "<|a|>."),
        ("é ", "é "),
        ("(?i)<|", "<"),
    ],
)
def test_literal_text_is_text(pattern, said):
    assert parts(pattern)[0] == [text(said)]


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        (r"<a>\d", r"this has '\\\\d'"),
        (r"<a>[ab]", "this has '\\[ab\\]'"),
        (r"<a>.", "this has '.'"),
        (r"<a>b+", "this has 'b' with '\\+'"),
        (r"<a>(?:b|c)?", "this has a group '\\(\\?:' with '\\?'"),
        (r"<a>(?:(?P<x>b))?", "this has a group '\\(\\?:' with '\\?'"),
        (r"<a>(?:b)*", "this has a group '\\(\\?:' with '\\*'"),
        ("(?i)a", "letters in either case"),
        ("(?i)A", "letters in either case"),
        ("(", "is not a pattern"),
        (3, "a pattern is a str"),
    ],
)
def test_unsupported_pattern_raises(pattern, says):
    with pytest.raises(FormatError, match=f"^x.open_pattern: .*{says}"):
        parts(pattern)


def test_conditions_are_recognized():
    edge, ahead = AnchorPart(PartKind.EDGE), AnchorPart(PartKind.AHEAD)
    behind = AnchorPart(PartKind.EDGE, "<x>")
    assert parts(r"(?<=<x>\s*)<y>") == [[behind, text("<y>")]]
    assert parts(r"(?<=\A\s*)<y>") == [[edge, text("<y>")]]
    assert parts(r"(?<=a|b)<y>") == [[AnchorPart(PartKind.EDGE, "(?<="), text("<y>")]]
    assert parts(r"(?<=(?P<x>b))<y>") == [[AnchorPart(PartKind.EDGE, "(?<="), text("<y>")]]
    assert parts(r"(?<=\A\s*<x>)<y>") == [[behind, text("<y>")]]
    assert parts(r"<y>(?=<x>)") == [[text("<y>"), ahead]]
    assert parts(r"^<y>\Z") == [[edge, text("<y>"), edge]]
    for pattern in (r"(?<=<x>\s*)<y>", r"\s*\A\s*<y>", "(?=<)<y>"):
        assert is_conditional(parts(pattern)[0])
    for pattern in (r"<y>(?=<x>)", r"<y>", r"\s*\Z", r"(?=<y>)"):
        assert not is_conditional(parts(pattern)[0])


@pytest.mark.parametrize("given", ["", [""], ["<a>", ""], ["<a>", 1], 3, ("<a>",), None])
def test_invalid_anchor_raises(given):
    with pytest.raises(FormatError, match=r"x\.open must be a string or a list of strings"):
        read_anchor({"open": given}, "open", "x")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"\s*<a>|\[b\]\s*", ["<a>", "[b]"]),
        (r"<a>|\Z", ["<a>"]),
        (r"<a>|(?<=<x>)<y>", ["<a>"]),
        (r"(?:<a>|<b>)(?=<c>)", ["<a>", "<b>"]),
    ],
)
def test_the_texts_that_close(pattern, found):
    assert literals({"close_pattern": pattern}, "close", "x") == found


@pytest.mark.parametrize(
    ("key", "pattern", "says"),
    [
        ("close", r"<a>(?:<b>)?", "close has more than one text"),
        ("close", r"<a>(?P<name>b)", "close has more than one text"),
        ("close", r"<a>\s*<b>", "close has more than one text"),
        ("open", r"<a>|\Z", "open_pattern can match without a text"),
    ],
)
def test_anchor_without_exactly_one_text_raises(key, pattern, says):
    with pytest.raises(FormatError, match=re.escape(says)):
        literals({f"{key}_pattern": pattern}, key, "x")


def test_conditional_opening_pattern_is_a_text():
    assert literals({"open_pattern": r"(?<=<x>)<y>"}, "open", "x") == ["<y>"]
    assert literals({"open": ["<a>", "<b>"]}, "open", "x") == ["<a>", "<b>"]
