"""Texts in messages are quoted whole, or their two ends."""

from __future__ import annotations

import pytest

from deltaparse.analyzer.abbreviate import quoted, value_of


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("abcdef", 8, "'abcdef'"),
        ("abcdefg", 8, "'abc...efg'"),
        ("abcdefg", 9, "'abcdefg'"),
        ("abcdefgh", 9, "'abc...fgh'"),
    ],
)
def test_a_long_text_is_cut_in_the_middle(text, most, shown):
    assert quoted(text, most) == shown


def test_arguments_that_are_no_json_are_their_text():
    assert value_of('{"a": 1}') == {"a": 1}
    assert value_of('{"a": 1') == '{"a": 1'
