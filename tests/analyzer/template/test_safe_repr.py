"""Tests of printable values: without addresses, and unchanged if they have none."""

from __future__ import annotations

import pytest

from deltaparse.analyzer.template.safe_repr import shown, without_addresses


def odd():
    yield


ODD = odd()


@pytest.mark.parametrize(
    "value",
    [
        *("a", 1, 2.5, True, None, range(3), int),
        *([], ["a", None], ("a", [1]), {"a": {"b": None}}, {1, "a"}),
        *({"a": 1}.items(), {"a": 1}.keys(), {"a": 1}.values()),
    ],
)
def test_printable_values_are_unchanged(value):
    assert shown(value) is value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ODD, "'<generator>'"),
        (len, "'<builtin_function_or_method>'"),
        ([1, ODD], "[1, '<generator>']"),
        ([ODD, 1], "['<generator>', 1]"),
        (("a", [ODD]), "('a', ['<generator>'])"),
        ({ODD}, "{'<generator>'}"),
        ({"a": ODD, "b": 1}, "{'a': '<generator>', 'b': 1}"),
        ({"a": 1, ODD: [None]}, "{'a': 1, '<generator>': [None]}"),
        ({"a": ODD}.values(), "'<dict_values>'"),
        ({ODD: 1}.keys(), "'<dict_keys>'"),
        ({"a": ODD}.items(), "'<dict_items>'"),
    ],
)
def test_values_without_a_text_are_shown_as_their_type(value, text):
    assert repr(shown(value)) == text


def test_error_contains_no_address():
    said = f"{ODD!r} and {odd!r} cannot be added"
    assert without_addresses(said) == "<generator object odd> and <function odd> cannot be added"
