"""Calls in JSON, taken out of what stands round them."""

from __future__ import annotations

import json

import pytest

from deltaparse.analyzer.phases.json_calls import (
    JsonInText,
    _holds_argument,
    _inner_list,
    _json_with,
    _markers,
    _python_at,
)
from deltaparse.analyzer.probes import ARGUMENT, VALUE


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('x {"a": ["me"]} y', JsonInText("x ", '{"a": ["me"]}', " y", {"a": ["me"]})),
        ('["you"] ["me"]', JsonInText('["you"] ', '["me"]', "", ["me"])),
        ("{'a': 'me'}!", JsonInText("", "{'a': 'me'}", "!", {"a": "me"}, python=True)),
        ("me", None),
        ("{} me", None),
        ("{me", None),
        ("{}me", None),
        ("{", None),
    ],
)
def test_the_outermost_value_that_holds_a_text(text, found):
    assert _json_with(text, "me") == found


@pytest.mark.parametrize(
    ("text", "value", "end"),
    [("{'a': None}x", {"a": None}, 11), ("", None, 0), ("?", None, 0), ("{'a'", None, 0)],
)
def test_a_value_as_python_writes_it(text, value, end):
    assert _python_at(text, 0) == (value, end)


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        ({ARGUMENT: VALUE}, True),
        (json.dumps({ARGUMENT: VALUE}), True),
        (ARGUMENT, False),
        (json.dumps([ARGUMENT]), False),
        ({ARGUMENT: ""}, False),
        ("", False),
    ],
)
def test_arguments_are_an_object_or_its_text(value, holds):
    assert _holds_argument(value) is holds


@pytest.mark.parametrize(
    ("value", "inner"),
    [
        ({"calls": [1]}, [1]),
        ({"calls": {"a": 1}}, None),
        ({"calls": {"a": [1]}}, None),
        ({"a": 1, "b": [1]}, None),
        ([[1]], None),
    ],
)
def test_the_list_that_is_the_one_member_of_an_object(value, inner):
    found = _inner_list(JsonInText("<", json.dumps(value), ">", value))
    assert (found and found.value) == inner
    if found:
        assert (found.before, found.text, found.after) == ('<{"calls": ', "[1]", "}>")
    assert _inner_list(JsonInText("", json.dumps(value), "", value, python=True)) is None


def test_markers_round_an_array_are_those_of_the_section():
    made = _markers("<", None, ">", in_array=True)
    assert (made.section_start, made.section_end, made.per_call_start) == ("<", ">", "")
    made = _markers("<", None, ">", in_array=False)
    assert (made.per_call_start, made.per_call_end, made.section_start) == ("<", ">", "")
