"""Tests of repaired arguments from clients."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse.stream import ToolCall
from deltaparse.stream.message.healed_arguments import healed_arguments

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(given=JSON | st.text().map(lambda text: "{" + text))
def test_healed_arguments_are_always_an_object(given):
    assert isinstance(json.loads(healed_arguments(given)), dict)


@given(value=st.dictionaries(st.text(), JSON), data=st.data())
def test_objects_are_unchanged_and_their_prefixes_are_healed(value, data):
    text = json.dumps(value)
    assert healed_arguments(text) is text
    assert json.loads(healed_arguments(value)) == value
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    call = ToolCall("", "", cut, complete=False)
    assert json.loads(healed_arguments(cut)) == call.healed()


@pytest.mark.parametrize(
    ("arguments", "healed"),
    [
        ('{"a":1}', '{"a":1}'),
        ('{"a": "é', '{"a": "é"}'),
        ('{"a": 12', "{}"),
        ('{"a": 1} and more', '{"a": 1}'),
        (r'"{\"a\": 1}"', '{"a": 1}'),
        (r'"{\"a\": \"b', '{"a": "b"}'),
        (r'"\"{}\""', "{}"),
        ("[1]", "{}"),
        ("text", "{}"),
        ("", "{}"),
        (None, "{}"),
        (5, "{}"),
        ([{"a": 1}], "{}"),
        ({"a": "é"}, '{"a": "é"}'),
    ],
)
def test_any_arguments_become_an_object(arguments, healed):
    assert healed_arguments(arguments) == healed


def test_deep_arguments_are_healed_in_bounds():
    deep = '{"a": ' * 5000 + '"b'
    assert healed_arguments(deep).count("{") == 513
