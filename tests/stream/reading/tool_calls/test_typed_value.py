"""Conversion of one tagged value to JSON, for any text and any chunks."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaparse.stream.reading.tool_calls.typed_value import Value
from deltaparse.stream.reading.tool_calls.typed_value import is_json as is_a_value
from deltaparse.stream.wire.argument_types import ALL_TYPES, type_of

from ....support import cuts, is_json, json_texts, nearly_json

PARTS = ["{", "}", "[", "]", "(", ")", '"', "'", ",", ": ", "1", "-", ".5", "e", " ", "\n", "x"]
PARTS += ["true", "True", "nu", "null", "None", "\\", "é", '{"a": 1}', "{'a': True}", "[1, 2]"]
texts = nearly_json() | st.lists(st.sampled_from(PARTS), max_size=8).map("".join)
whole_texts = (json_texts() | nearly_json().filter(is_json)).filter(
    lambda text: text.strip()[0] != '"'
)
types = st.just(ALL_TYPES) | st.frozensets(st.sampled_from(sorted(ALL_TYPES)), min_size=1)


def written(chunks, types, *, python=False):
    """Return the JSON of a value and the noted repairs."""
    out, notes = [], []
    value = Value(out.append, notes.append, dict.fromkeys(types), python=python)
    for chunk in chunks:
        value.write(chunk)
    value.end()
    return "".join(out), notes


@given(text=texts, types=types, python=st.booleans())
@example("[1, ", frozenset({"array"}), False)
@example("[1] x", frozenset({"array"}), False)
@example("", frozenset({"number"}), False)
def test_value_becomes_json_of_one_of_its_types(text, types, python):
    made, notes = written([text], types, python=python)

    assert is_json(made)
    kind = type_of(json.loads(made))
    assert ("argument_type" in notes) == (kind == "string" and "string" not in types)
    # A value that cannot be a string may become null.
    assert kind in types or kind == "string" or (kind == "null" and "string" not in types)
    if types == {"string"}:
        assert json.loads(made) == text


@given(text=texts, types=types, python=st.booleans(), data=st.data())
def test_chunks_do_not_change_the_json(text, types, python, data):
    cut = data.draw(cuts(text))

    assert written(cut, types, python=python) == written([text], types, python=python)


@given(value=whole_texts, types=types)
def test_json_of_one_of_the_types_is_unchanged(value, types):
    kind = type_of(json.loads(value))

    assert written([value], types | {kind}) == (value.strip(), [])


@pytest.mark.parametrize(
    ("text", "kinds", "made", "notes"),
    [
        ("None", {"string", "null"}, "null", ["python_literals"]),
        ("True", {"boolean"}, "true", ["python_literals"]),
        ("True", {"boolean", "string"}, "true", ["python_literals"]),
        ("False", {"boolean", "string"}, "false", ["python_literals"]),
        ("NaN", {"string", "null"}, '"NaN"', []),
        ("NaN", {"number", "string"}, '"NaN"', []),
        ("NaN", {"number"}, "null", ["non_finite"]),
        ("NaN", {"number", "string", "null"}, "null", ["non_finite"]),
        ('"x"', {"string", "number"}, '"\\"x\\""', []),
        ('"x"', ALL_TYPES, '"x"', []),
        ("1", {"string", "null"}, '"1"', []),
        ("null", {"number"}, "null", []),
        ("true\n", {"boolean", "string"}, "true", []),
        ("false", {"boolean", "string"}, "false", []),
        ("null", {"null", "string"}, "null", []),
        ("Infinity", {"number", "string", "null"}, "null", ["non_finite"]),
        ("-Infinity", {"number", "string", "null"}, "null", ["non_finite"]),
        ("[1]", {"array", "string"}, "[1]", []),
        ("(1, 2)", {"array", "string"}, "[1, 2]", ["python_literals"]),
        ("'x'", ALL_TYPES, '"x"', ["python_literals"]),
        ('{"a": 1}', {"object", "string"}, '{"a": 1}', []),
        ("[1]", {"array"}, "[1]", []),
        ('{"a": 1}', {"object"}, '{"a": 1}', []),
        ("true", {"boolean"}, "true", []),
    ],
)
def test_words_are_converted_by_type(text, kinds, made, notes):
    for chunks in ([text], list(text)):
        assert written(chunks, kinds) == (made, notes)


@pytest.mark.parametrize(
    ("text", "kinds", "made"),
    [
        ("1", {"number": frozenset({1}), "string": None}, "1"),
        ("2", {"number": frozenset({1}), "string": None}, '"2"'),
        ("2", {"number": frozenset({1}), "string": frozenset({"x"})}, "2"),
        ("1", {"number": None, "string": frozenset({"1"})}, "1"),
        ("True", {"boolean": None, "string": frozenset({"True"})}, '"True"'),
        ("True", {"boolean": None, "string": frozenset({"x"})}, "true"),
        ("9" * 18, {"number": frozenset({10**18 - 1}), "string": None}, "9" * 18),
        ('"x"', dict.fromkeys(ALL_TYPES) | {"string": frozenset({"x"})}, '"x"'),
    ],
)
def test_values_of_the_schema_decide_the_type(text, kinds, made):
    out = []
    value = Value(out.append, lambda _: None, kinds)
    value.write(text)
    value.end()
    assert "".join(out) == made


def test_string_only_value_starts_before_its_text():
    out = []
    value = Value(out.append, lambda _: None, {"string": None})
    assert out == ['"']
    value.write("")
    value.end()
    assert "".join(out) == '""'


def test_is_a_value_checks_json_against_types():
    assert is_a_value("1", {"number": None})
    assert is_a_value("null", {"number": None})
    assert not is_a_value("1", {"boolean": None})
    assert not is_a_value("1x", {"number": None})


def test_string_starts_once_other_types_are_excluded():
    out = []
    value = Value(out.append, lambda _: None, {"number": None, "string": None})
    for chunk in ("1", " "):
        value.write(chunk)
        assert (out, value.string.sink) == ([], None)
    value.write("2")
    assert out == ['"1 2']
    assert value.string.sink == out.append  # later text goes to the sink directly


def test_whitespace_and_empty_chunks_around_a_number_are_ignored():
    assert written([" ", "1", "", "2", " "], {"number", "string"}) == ("12", [])


def test_string_does_not_wait_for_other_types():
    out = []
    Value(out.append, lambda _: None, {"boolean": None, "string": None}).write("1")
    assert out == ['"1']


def test_python_literal_is_noted_in_other_formats():
    for python in (False, True):
        noted = [] if python else ["python_literals"]
        assert written(["True"], {"boolean"}, python=python) == ("true", noted)
