"""Tests of descriptions of the first difference."""

from __future__ import annotations

import pytest

from deltaparse.analyzer.proof.mismatch import LONGEST_QUOTE, calls_part, texts_part


@pytest.mark.parametrize(
    ("got", "want", "elements", "words"),
    [
        ({"a": 1}, {"a": 1}, False, ""),
        ({"a": 1, "b": "x"}, {"a": 1, "b": "y"}, False, "argument 'b' 'x', not 'y'"),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}, False, "argument 'a.b.c' 1, not 2"),
        ({"a": {}}, {"a": {"b": 1}}, False, "missing argument 'a.b'"),
        ({"a": {"c": 1, "d": 1}}, {"a": {"b": 1}}, False, "missing argument 'a.b', but 'a.c'"),
        ({"a": {"b": 1}}, {"a": {}}, False, "unexpected argument 'a.b'"),
        ({"a": "1"}, {"a": 1}, False, "argument 'a' '1', not 1"),
        ({"a": " x"}, {"a": "x"}, False, "argument 'a' ' x', not 'x'"),
        ({"a": [1]}, {"a": [2]}, True, "argument 'a' [1], not [2]"),
        ({"a": {"b": 1}}, {"a": "x"}, False, "argument 'a' {'b': 1}, not 'x'"),
        (
            {"a": f"{'x' * 80}1"},
            {"a": f"{'x' * 80}2"},
            False,
            f"argument 'a' ...'{'x' * 20}1', not ...'{'x' * 20}2'",
        ),
        ("{a", {"a": 1}, False, "arguments '{a', not {'a': 1}"),
        ({"a": []}, {"a": ""}, True, ""),
        ({"a": {}}, {"a": []}, True, ""),
        ({"a": []}, {"a": ""}, False, "argument 'a' [], not ''"),
        ({"a": None, "b": 1}, {"b": 1}, True, ""),
        ({"a": None, "b": 1}, {"b": 1}, False, "unexpected argument 'a'"),
        ({"b": 1}, {"a": None, "b": 1}, False, "missing argument 'a'"),
        ({"a": [{"b": {}}]}, {"a": [""]}, True, "argument 'a' [{'b': ''}], not ['']"),
    ],
)
def test_the_first_value_that_differs_is_shown(got, want, elements, words):
    alike = ("g", {"z": [1]})
    assert calls_part([("f", got)], [("f", want)], elements=elements) == words
    assert calls_part([alike, ("f", got)], [alike, ("f", want)], elements=elements) == words
    assert bool(calls_part([("f", want)], [("f", got)], elements=elements)) is bool(words)


def test_calls_may_differ_in_their_names_or_in_their_number():
    one, other = ("f", {}), ("g", {})
    assert calls_part([one], [other], elements=False) == "a call of 'f', not 'g'"
    assert calls_part([one, other], [one], elements=False) == "2 calls, not 1"
    assert calls_part([], [one], elements=False) == "0 calls, not 1"
    assert calls_part([one], [one, other, one], elements=False) == "1 call, not 3"
    assert calls_part([one, other], [one, other], elements=False) == ""


def test_long_texts_are_shown_from_their_first_difference():
    assert texts_part("a b", "ab") == "'a b', not 'ab'"
    assert texts_part(" a\n", "a") == texts_part("a", " a\n") == ""
    short = "x" * (LONGEST_QUOTE - 1)
    assert texts_part(short + "1", short + "2") == f"'{short}1', not '{short}2'"
    alike = "x" * LONGEST_QUOTE
    assert texts_part(alike + "1", alike + "2") == (f"...'{alike[:20]}1', not ...'{alike[:20]}2'")
    assert texts_part("1" + alike, "2") == f"'1{alike[1:]}'..., not '2'"
    assert texts_part(alike, alike + "2") == f"...'{alike[:20]}', not ...'{alike[:20]}2'"
    assert texts_part(alike + "2", alike) == f"...'{alike[:20]}2', not ...'{alike[:20]}'"
