"""The JSON types that a tool's schema gives an argument."""

from __future__ import annotations

import pytest

from deltaparse.stream.reading.tool_calls.schema import ALL_TYPES, argument_types

DEFINED = {
    "text": {"type": "string"},
    "a/b~c": {"type": "array"},
    "round": {"$ref": "#/$defs/round"},
    "pair": {"anyOf": [{"$ref": "#/$defs/text"}, {"$ref": "#/$defs/a~1b~0c"}]},
}


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({"type": "integer"}, {"number"}),
        ({"type": ["integer", "null"]}, {"number", "null"}),
        ({"type": "string", "nullable": True}, {"string", "null"}),
        ({"type": "string", "nullable": False}, {"string"}),
        ({"enum": ["x", 1, 1.5, None, True, [], {}]}, ALL_TYPES),
        ({"enum": ["x", None]}, {"string", "null"}),
        ({"enum": [1, [2]]}, {"number", "array"}),
        ({"const": {}}, {"object"}),
        ({"const": False}, {"boolean"}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"string", "null"}),
        ({"oneOf": [{"type": "array"}, {"const": 1}]}, {"array", "number"}),
        ({"allOf": [{"type": ["string", "null"]}, {"enum": ["x"]}]}, {"string"}),
        ({"type": ["string", "number"], "enum": [1]}, {"number"}),
        ({"$ref": "#/$defs/text"}, {"string"}),
        ({"$ref": "#/$defs/a~1b~0c"}, {"array"}),
        ({"$ref": "#/$defs/pair"}, {"string", "array"}),
        ({"$ref": "#/$defs/pair", "type": ["array", "null"]}, {"array"}),
        ({"$ref": "#"}, {"object"}),
    ],
)
def test_the_types_of_an_argument(schema, types):
    parameters = {"type": "object", "$defs": DEFINED, "properties": {"a": schema}}

    assert argument_types(parameters, "a") == types


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        [],
        {},
        {"type": "date"},
        {"type": None},
        {"type": "string", "const": 1},
        {"enum": []},
        {"anyOf": []},
        {"anyOf": [{"type": "string"}, {}]},
        {"$ref": "#/$defs/round"},
        {"$ref": "#/$defs/none"},
        {"$ref": "#/$defs/text/type/deeper"},
        {"$ref": "other.json#/$defs/text"},
    ],
)
def test_a_schema_that_does_not_say_allows_all_types(schema):
    parameters = {"$defs": DEFINED, "properties": {"a": schema}}

    assert argument_types(parameters, "a") == ALL_TYPES


def test_an_argument_that_is_not_named_is_what_others_may_be():
    parameters = {"properties": {"a": {"type": "string"}}, "additionalProperties": {"const": 1}}

    assert argument_types(parameters, "a") == {"string"}
    assert argument_types(parameters, "b") == {"number"}
    assert argument_types({"properties": {}, "additionalProperties": False}, "b") == ALL_TYPES
    assert argument_types("no schema", "b") == ALL_TYPES
