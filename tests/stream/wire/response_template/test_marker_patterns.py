"""Tests of patterns for markers in response templates."""

from __future__ import annotations

import re

import pytest

from deltaparse.stream.wire.response_template.marker_patterns import (
    any_of,
    bare,
    core,
    cores,
    joined,
    optional,
)


def test_core_matches_exactly_except_line_breaks():
    pattern = core("\n<|a|>\nb? \n")
    assert re.fullmatch(pattern, "<|a|>\nb?")
    assert re.fullmatch(pattern, "<|a|>b?")
    assert not re.fullmatch(pattern, "<|a|>\n\nb?")
    assert not re.fullmatch(pattern, "\n<|a|>\nb?")
    assert core(" \n") == ""


@pytest.mark.parametrize(
    ("marker", "texts", "others"),
    [
        ("\n <a>\t", ["\n <a>\t", "<a>", "\n<a>", " <a>\t"], [" \n<a>", "<a>\n", "\n\n<a>"]),
        ("<a>", ["<a>"], ["\n<a>", "<a> "]),
        ("\n ", ["\n ", "", " ", "\n"], [" \n", "x"]),
        (".", ["."], ["a"]),
    ],
)
def test_bare_marker_has_optional_whitespace_characters(marker, texts, others):
    assert all(re.fullmatch(bare(marker), text) for text in texts)
    assert not any(re.fullmatch(bare(marker), text) for text in others)


@pytest.mark.parametrize("marker", ["\n <a>\t\n", "\n\n", "<a>  ", " \n \n"])
def test_bare_marker_matches_all_of_its_whitespace(marker):
    assert re.match(bare(marker), marker + " \n").end() == len(marker)


def test_combined_patterns():
    assert cores(["\n<a>", "<a> ", " ", "", "<b|>"]) == ["<a>", r"<b\|>"]
    assert joined(["<a>", "<b>", ""]) == r"<a>\s*<b>\s*"
    assert any_of(["<a>"]) == "<a>"
    assert any_of(["a", "abc", "ab"]) == "(?:abc|ab|a)"
    assert re.fullmatch(optional("ab"), "")
    assert re.fullmatch(optional("ab") + "c", "abc")
    assert not re.fullmatch(optional("ab"), "b")
