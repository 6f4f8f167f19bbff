"""Markers as patterns of a response template."""

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


def test_a_core_is_matched_to_the_letter_but_for_its_line_ends():
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
def test_bare_markers_have_each_character_of_their_white_space_or_not(marker, texts, others):
    assert all(re.fullmatch(bare(marker), text) for text in texts)
    assert not any(re.fullmatch(bare(marker), text) for text in others)


@pytest.mark.parametrize("marker", ["\n <a>\t\n", "\n\n", "<a>  ", " \n \n"])
def test_a_bare_marker_takes_all_of_its_white_space(marker):
    assert re.match(bare(marker), marker + " \n").end() == len(marker)


def test_several_patterns():
    assert cores(["\n<a>", "<a> ", " ", "", "<b|>"]) == ["<a>", r"<b\|>"]
    assert joined(["<a>", "<b>", ""]) == r"<a>\s*<b>\s*"
    assert any_of(["<a>"]) == "<a>"
    assert any_of(["a", "abc", "ab"]) == "(?:abc|ab|a)"
    assert re.fullmatch(optional("ab"), "")
    assert re.fullmatch(optional("ab") + "c", "abc")
    assert not re.fullmatch(optional("ab"), "b")
