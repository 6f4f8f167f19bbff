"""Tests of the JSON types of arguments according to a schema."""

from __future__ import annotations

import pytest

from deltaparse.stream.wire.argument_types import (
    ALL_TYPES,
    ANY,
    INTEGER,
    argument_names,
    argument_types,
    item_types,
    pointed,
    schema_of_argument,
    types_named,
    words_for,
)

from ...hangs import no_hang

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
def test_types_of_an_argument(schema, types):
    parameters = {"type": "object", "$defs": DEFINED, "properties": {"a": schema}}

    assert set(argument_types(parameters, "a")) == types


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
def test_schema_without_types_allows_all_types(schema):
    parameters = {"$defs": DEFINED, "properties": {"a": schema}}

    assert argument_types(parameters, "a") == ANY


def test_unnamed_argument_has_the_types_of_additional_properties():
    parameters = {"properties": {"a": {"type": "string"}}, "additionalProperties": {"const": 1}}

    assert argument_types(parameters, "a") == {"string": None}
    assert argument_types(parameters, "b") == {"number": {1}}
    assert argument_types({"properties": {}, "additionalProperties": False}, "b") == ANY
    assert argument_types("no schema", "b") == ANY


def test_combined_parameter_schemas_are_followed():
    defined = {
        "both": {"allOf": [{"properties": {"a": {"type": "string"}}}, {"$ref": "#/$defs/other"}]},
        "other": {"anyOf": [{"properties": {"b": {"type": "integer"}}}, {"properties": {}}]},
    }
    parameters = {"$ref": "#/$defs/both", "properties": {"c": {"const": "x"}}, "$defs": defined}

    assert argument_types(parameters, "a") == {"string": None}
    assert argument_types(parameters, "b") == {"number": {INTEGER}}
    assert argument_types(parameters, "c") == {"string": {"x"}}
    assert argument_types(parameters, "d") == ANY


def test_patterns_are_not_run_on_names():
    parameters = {"patternProperties": {"^(a*)*$": {}}, "additionalProperties": {"const": 1}}

    assert argument_types(parameters, "a" * 50 + "b") == ANY


def test_recursive_schema_is_read():
    node = {"type": ["string", "null"]}
    node["anyOf"] = [node, {"type": "string"}]

    assert argument_types({"properties": {"a": node}}, "a") == {"string": None}


def test_references_are_followed_in_linear_time():
    twice = {
        f"d{at}": {key: [{"$ref": f"#/$defs/d{at + 1}"}] * 2 for key in ("anyOf", "allOf", "oneOf")}
        for at in range(60)
    }
    defined = {**twice, "d30": {"anyOf": [{"$ref": "#/$defs/d0"}, {"type": "string"}]}}
    parameters = {"$defs": defined, "properties": {"a": {"$ref": "#/$defs/d0"}}}

    assert argument_types(parameters, "a") == {"string": None}


def test_too_long_chain_of_references_allows_all_types():
    chain = {f"d{at}": {"$ref": f"#/$defs/d{at + 1}"} for at in range(9_999)}
    parameters = {
        "$defs": {**chain, "d9999": {"type": "string"}},
        "properties": {"a": {"$ref": "#/$defs/d0"}, "b": {"$ref": "#/$defs/d9990"}},
    }

    assert argument_types(parameters, "a") == ANY
    assert argument_types(parameters, "b") == {"string": None}


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ("#", {"a b": [{"": 1}], "c/d": 2, "e~f": 3, "g": {"h": 4}, "g/h": 5}),
        ("#/a%20b/0/", 1),
        ("#/a b/0/", 1),
        ("#/c~1d", 2),
        ("#/c%2Fd", 2),
        ("#/e%7E0f", 3),
        ("#/g%2Fh", 4),
        ("#/g~1h", 5),
    ],
)
def test_json_pointers_are_resolved(reference, value):
    document = {"a b": [{"": 1}], "c/d": 2, "e~f": 3, "g": {"h": 4}, "g/h": 5}

    assert pointed(document, reference) == value


@pytest.mark.parametrize("reference", ["", "#a", "a#/g", "#/", "#/a b/-1", "#/a b/1", "#/g/h/i"])
def test_unresolvable_reference_raises(reference):
    with pytest.raises(LookupError):
        pointed({"a b": [{"": 1}], "g": {"h": 4}, "/g": 5}, reference)


@pytest.mark.parametrize("kind", ["string", "number", "boolean", "null", "array", "object"])
def test_type_words_are_case_insensitive_and_unambiguous(kind):
    words = words_for(kind)
    assert words[0] == kind
    assert {word for word in words if set(types_named(f" {word.upper()}")) != {kind}} == set()
    assert sum(map(len, map(words_for, ALL_TYPES))) == len(OWN_WORDS) + len(ALL_TYPES)
    assert types_named("date") == {}


OWN_WORDS = ("integer", "int", "float", "double", "str", "text", "list", "tuple", "dict", "map")
OWN_WORDS += ("json", "bool", "none")
"""Words other than the types of JSON."""


def test_each_type_word_maps_to_its_type():
    words = {
        "string": "string str text",
        "number": "number integer int float double",
        "array": "array list tuple",
        "object": "object dict map json",
        "boolean": "boolean bool",
        "null": "null none",
    }
    for kind, named in words.items():
        assert [set(types_named(word)) for word in named.split()] == [{kind}] * len(named.split())
        assert words_for(kind) == sorted(named.split(), key=words_for(kind).index)
    assert types_named("") == {}


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"enum": [[1], {}]}, {"array": None, "object": None}),
        ({"enum": ["x", 1], "allOf": [{"enum": [1, 2]}]}, {"number": {1}}),
        ({"enum": [1, 2], "allOf": [{"enum": [2, 3]}]}, {"number": {2}}),
        ({"enum": [1, 1.5], "allOf": [{"type": "integer"}]}, {"number": {1}}),
        ({"type": "integer", "enum": [1, 1.5]}, {"number": {1}}),
        ({"type": "string", "enum": ["x"]}, {"string": {"x"}}),
    ],
)
def test_allowed_values_by_type(schema, kinds):
    found = argument_types({"properties": {"a": schema}}, "a")
    assert found == {kind: values and frozenset(values) for kind, values in kinds.items()}


def test_schema_used_twice_gives_the_same_types():
    text = {"$ref": "#/$defs/text"}
    either = {"anyOf": [text, {"type": "null"}]}
    schema = {"$defs": DEFINED, "properties": {"a": {"allOf": [text, either]}}}
    assert argument_types(schema, "a") == {"string": None}


def test_item_types_of_a_list():
    assert item_types({"items": {"type": "string"}}) == {"string": None}
    assert item_types({"items": {"enum": [1]}}) == {"number": {1}}
    assert item_types({}) == item_types(None) == ANY


@pytest.mark.parametrize(
    ("key", "part"),
    [("$ref", "#/$defs/x"), ("allOf", [{"$ref": "#/$defs/x"}])]
    + [(key, [{"$ref": "#/$defs/x"}]) for key in ("anyOf", "oneOf")],
)
def test_combined_schemas_restrict_own_properties(key, part):
    schema = {
        "$defs": {"x": {"properties": {"a": {"enum": ["x"]}}}},
        "properties": {"a": {"type": ["string", "null"]}},
        key: part,
    }
    assert argument_types(schema, "a") == {"string": {"x"}}


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"anyOf": [True, {"type": "string"}]}, ANY),
        ({"allOf": [True, {"type": "string"}]}, {"string": None}),
        ({"type": [["string"]]}, ANY),
        ({"type": []}, ANY),
        ({"enum": ["x"], "allOf": [{"type": "string"}]}, {"string": {"x"}}),
        (
            {"enum": ["x", 1], "allOf": [{"type": ["string", "number"]}]},
            {"string": {"x"}, "number": {1}},
        ),
        ({"enum": [1], "allOf": [{"enum": [2]}]}, ANY),
        ({"type": "string", "nullable": True}, {"string": None, "null": None}),
    ],
)
def test_combined_schemas_intersect_types_and_values(schema, kinds):
    assert argument_types({"properties": {"a": schema}}, "a") == kinds


def test_argument_names_of_combined_schemas():
    more = {"properties": {"b": {}}}
    assert argument_names({"properties": {"a": {}}, "$ref": "#"}) == {"a"}
    assert argument_names({"properties": {"a": {}}, "allOf": [more]}) == {"a", "b"}
    assert argument_names({"properties": {"a": {}}, "allOf": [{}]}) == {"a"}
    assert argument_names({"allOf": [True]}) is None
    assert argument_names({"properties": {}}) == set()


def test_unnamed_member_has_the_schema_of_additional_properties():
    others = {"type": "string"}
    schema = {"properties": {"a": {}}, "additionalProperties": others}
    assert schema_of_argument(schema, "a") == {}
    assert schema_of_argument(schema, "b") is others
    assert schema_of_argument({}, "b") is None


@pytest.mark.parametrize("reference", ["x/g", "g", "#/text/0"])
def test_reference_outside_the_document_or_into_a_string_raises(reference):
    with pytest.raises(LookupError):
        pointed({"g": {"h": 4}, "text": "xyz"}, reference)


def doubled(n, last):
    """Return a chain of definitions, each of which combines the previous one with itself."""
    defs = {"d0": last}
    for i in range(1, n + 1):
        defs[f"d{i}"] = {"allOf": [{"$ref": f"#/$defs/d{i - 1}"}, {"$ref": f"#/$defs/d{i - 1}"}]}
    return defs


def test_argument_names_of_doubling_references_in_linear_time():
    defs = doubled(40, {"properties": {"a": {"type": "string"}}})
    with no_hang():
        names = argument_names({"$defs": defs, "$ref": "#/$defs/d40"})
    assert names == {"a"}


def test_too_many_combined_values_allow_all_types():
    enum = {"enum": [f"v{i}" for i in range(1_000)]}
    parts = [{"anyOf": [{"$ref": "#/$defs/e"}, {"const": f"w{i}"}]} for i in range(1_000)]
    schema = {"$defs": {"e": enum}, "properties": {"a": {"allOf": parts}}}
    with no_hang():
        assert argument_types(schema, "a") == ANY
    few = {**schema, "properties": {"a": {"allOf": parts[:9]}}}
    assert argument_types(few, "a")["string"] == {*enum["enum"]}


def test_values_of_many_schemas_in_linear_time():
    schema = {"properties": {"a": {"anyOf": [{"const": f"v{i}"} for i in range(20_000)]}}}
    with no_hang():
        assert len(argument_types(schema, "a")["string"]) == 20_000
