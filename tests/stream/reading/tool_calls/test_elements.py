"""Arguments with their names as closers, and values of elements."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import parse
from deltaparse.stream.wire.tag_markers import TaggedMarkers

from ....strategies.call_patterns import read
from ....strategies.wire_by_hand import ELEMENTS


def call_of(arguments):
    written = "".join(element(*argument) for argument in arguments.items())
    return f'<jobs><job of="f">{written}</job></jobs>'


def element(name, value):
    inner = "".join(element(*item) for item in value.items()) if isinstance(value, dict) else value
    return f"<{name}>{inner}</{name}>"


@given(
    values=st.dictionaries(
        st.sampled_from(["a", "job", "b", "entry"]),
        st.sampled_from(["x", "</", "</b", "</other>", "a</a", "1 < 2 </ 3", "<i>y</i>z"]),
        min_size=1,
    ),
    size=st.integers(1, 40),
)
def test_value_ends_at_its_own_name_only(values, size):
    tools = [
        {
            "name": "f",
            "parameters": {
                "type": "object",
                "properties": {key: {"type": "string"} for key in values},
            },
        }
    ]
    parser = read(ELEMENTS, call_of(values), size, tools=tools)
    (call,) = parser.message.tool_calls
    assert call.complete
    assert json.loads(call.arguments) == values


@pytest.mark.parametrize("name", ["k" * 100, "k" * 254, "job"])
def test_name_may_have_the_length_of_a_marker(name):
    (call,) = parse(call_of({name: "x"}), ELEMENTS, finish_reason="stop").tool_calls
    assert json.loads(call.arguments) == {name: "x"}


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_too_long_name_breaks_the_call(size):
    parser = read(ELEMENTS, call_of({"a": "1", "k" * 300: "x"}), size)
    (call,) = parser.message.tool_calls
    assert not call.complete
    assert {issue.kind for issue in parser.issues} == {"malformed_arguments"}


def test_element_names_compile_no_patterns(monkeypatch):
    parse(call_of({"a": {"b": "x"}}), ELEMENTS, finish_reason="stop")
    monkeypatch.setattr(TaggedMarkers, "__init__", None)
    names = {f"k{at}": {f"m{at}": "x"} for at in range(600)}
    (call,) = parse(call_of(names), ELEMENTS, finish_reason="stop").tool_calls
    assert json.loads(call.arguments) == names


@pytest.mark.parametrize("cut", range(1, 5))
def test_truncated_closing_element_leaves_the_call_open(cut):
    text = call_of({"name": "x"})
    text = text[: text.rindex("</name>") + 2 + cut]
    (call,) = parse(text, ELEMENTS, finish_reason="length").tool_calls
    assert not call.complete
    assert call.healed() == {"name": "x"}
