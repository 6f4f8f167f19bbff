"""Tests of JSON Schema as rules: matches are valid, and ordered valid values match."""

from __future__ import annotations

import json
import random
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from deltaparse import UsageError
from deltaparse.grammar import COMPACT, DUMPS, EITHER, schema_rules, to_gbnf, to_lark

from ...strategies.schemas import CASES, SPELLINGS
from ..machines import Gbnf, Lark, Sampler, accepts


def valid(schema, value):
    return Draft202012Validator(
        schema, format_checker=Draft202012Validator.FORMAT_CHECKER
    ).is_valid(value)


def fits(schema, *texts, **options):
    grammar = schema_rules(schema, **options).grammar()
    return [accepts(grammar, text) for text in texts]


@given(CASES, st.data(), SPELLINGS)
def test_valid_values_match_the_rules(case, data, spelling):
    schema, values = case
    value = data.draw(values)
    assert valid(schema, value)
    assert accepts(schema_rules(schema).grammar(), spelling(value))


@given(CASES, st.integers())
def test_sampled_texts_are_valid(case, seed):
    found = schema_rules(case[0])
    text = Sampler(found.grammar()).text(random.Random(seed))
    assert accepts(found.grammar(), text)
    if not found.not_expressed:
        assert valid(case[0], json.loads(text))


@given(CASES, CASES, st.data())
def test_values_of_another_schema_match_only_if_valid(case, other, data):
    found = schema_rules(case[0])
    value = data.draw(other[1])
    fitting = accepts(found.grammar(), json.dumps(value))
    assert not fitting or found.not_expressed or valid(case[0], value)


@given(CASES, st.data())
def test_broken_text_does_not_fit(case, data):
    schema, values = case
    text = json.dumps(data.draw(values))
    grammar = schema_rules(schema).grammar()
    at = data.draw(st.integers(0, len(text)))
    broken = (
        text[:at]
        + data.draw(st.sampled_from(["", "}", '"', ",", "1", "\\", "\n\n\n"]))
        + text[at + 1 :]
    )
    fitting = accepts(grammar, broken) and not schema_rules(schema).not_expressed
    assert not fitting or valid(schema, json.loads(broken))
    assert text[-1].isdigit() or not accepts(grammar, text[:-1])


@settings(max_examples=20)
@given(CASES, st.data(), SPELLINGS, st.integers())
def test_the_engines_agree(case, data, spelling, seed):
    found = schema_rules(case[0])
    grammar = found.grammar()
    lark = Lark(grammar)
    text = spelling(data.draw(case[1]))
    sampled = Sampler(grammar).text(random.Random(seed))
    at = data.draw(st.integers(0, len(text)))
    for one in (text, sampled, text[:at], text[:at] + "}" + text[at:]):
        assert lark.accepts(one) == accepts(grammar, one), one
    written = lark.sampled(random.Random(seed))
    if written is not None:
        assert accepts(grammar, written)
        assert found.not_expressed or valid(case[0], json.loads(written))


@settings(max_examples=20)
@given(CASES, st.data(), SPELLINGS, st.integers())
def test_xgrammar_agrees(case, data, spelling, seed):
    grammar = schema_rules(case[0]).grammar()
    engine = Gbnf(grammar)
    text = spelling(data.draw(case[1]))
    sampled = Sampler(grammar).text(random.Random(seed))
    at = data.draw(st.integers(0, len(text)))
    for one in (text, sampled, text[:at], text[:at] + "}" + text[at:]):
        assert engine.accepts(one) == accepts(grammar, one), one


TREE = {
    "type": "object",
    "properties": {
        "value": {"type": "integer"},
        "children": {"type": "array", "items": {"$ref": "#"}},
    },
    "required": ["value"],
    "additionalProperties": False,
}


def test_recursive_schema():
    texts = [
        '{"value": 1}',
        '{"value": 1, "children": [{"value": 2, "children": []}]}',
        '{"children": []}',
    ]
    assert fits(TREE, *texts) == [True, True, False]
    assert [Lark(schema_rules(TREE).grammar()).accepts(text) for text in texts] == [
        True,
        True,
        False,
    ]


def test_members_keep_their_order_and_any_optional_one_may_be_missing():
    schema = {"properties": {"a": {}, "b": {}, "c": {}}, "required": ["b"]}
    texts = [
        '{"b":1}',
        '{"a":1,"b":1}',
        '{"b":1,"c":1}',
        '{"a":1,"b":1,"c":1}',
        '{"a":1}',
        "{}",
        '{"b":1,"a":1}',
        '{"b":1,"d":1}',
    ]
    assert fits(schema, *texts) == [True] * 4 + [False] * 4
    assert fits(
        schema, '{"b":1,"d":1}', '{"b":1,"c":1,"d":1,"e":1}', '{"b":1,"b":1}', standard=True
    ) == [True, True, False]


@pytest.mark.parametrize(
    ("spacing", "expected"),
    [(COMPACT, [True, False, False]), (DUMPS, [False, True, False]), (EITHER, [True, True, False])],
)
def test_white_space(spacing, expected):
    value = {"a": [1, 2], "b": {}}
    schema = {"type": "object"}
    texts = json.dumps(value, separators=(",", ":")), json.dumps(value), json.dumps(value, indent=1)
    assert fits(schema, *texts, spacing=spacing) == expected
    assert fits(schema, *texts) == [True] * 3


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "array", "uniqueItems": True}, [("#", "uniqueItems")]),
        ({"properties": {"a/b": {"format": "uri"}}}, [("#/properties/a~1b", "format")]),
        ({"type": "string", "pattern": "^(?=a)"}, [("#", "pattern")]),
        ({"type": "string", "pattern": "^ab*$", "maxLength": 9}, []),
        ({"type": "string", "pattern": "^(ab|c)*$", "maxLength": 999}, [("#", "maxLength")]),
        ({"type": "string", "pattern": "^a{3}$", "maxLength": 9}, []),
        ({"type": "string", "maxLength": 100_000}, [("#", "maxLength")]),
        ({"type": "number", "multipleOf": 0.5}, [("#", "multipleOf")]),
        ({"type": "string", "multipleOf": 0.5}, []),
        ({"not": {"type": "null"}}, [("#", "not")]),
        ({"if": {}, "then": {}, "else": {}}, [("#", "if")]),
        ({"$ref": "https://example.com/a"}, [("#", "$ref")]),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, []),
        ({"oneOf": [{"type": "string"}, {"type": "string", "maxLength": 1}]}, [("#", "oneOf")]),
        ({"oneOf": [{"properties": {"k": {"const": i}}, "required": ["k"]} for i in (1, 2)]}, []),
        ({"allOf": [{"pattern": "a"}, {"pattern": "b"}]}, [("#", "pattern")]),
        ({"minLenght": 1, "x-mine": 1, "title": "t"}, [("#", "minLenght")]),
        ({"items": {"$ref": "#/$defs/s"}, "$defs": {"s": {"not": True}}}, [("#/$defs/s", "not")]),
        ({"patternProperties": {"a": True}}, []),
        ({"patternProperties": {"(?=a)": True}}, [("#", "patternProperties")]),
        ({"propertyNames": {"pattern": "^a"}}, []),
        ({"propertyNames": {"not": {"const": "a"}}}, [("#", "propertyNames")]),
        ({"unevaluatedProperties": False, "allOf": [{"properties": {"a": True}}]}, []),
        ({"unevaluatedProperties": False, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
         [("#", "unevaluatedProperties")]),
        ({"minProperties": 2}, [("#", "minProperties")]),
        ({"minProperties": 1, "maxProperties": 3}, []),
    ],
)  # fmt: skip
def test_unexpressed_keywords_are_reported(schema, expected):
    assert list(schema_rules(schema).not_expressed) == expected


@pytest.mark.parametrize(
    ("schema", "at", "what"),
    [
        ({"type": "strin"}, "#/type", "must be one of"),
        ({"properties": {"a": {"minLength": -1}}}, "#/properties/a/minLength", "non-negative"),
        ({"properties": {"a~": 3}}, "#/properties", "must be an object of schemas"),
        ({"items": {"enum": 1}}, "#/items/enum", "must be a list"),
        ({"$ref": "#/$defs/x"}, "#/$defs/x", "unresolvable"),
        ({"$ref": "#"}, "#", "no finite text"),
        ({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, "#", "refers only to itself"),
        ({"allOf": [{"$ref": "#"}, {"type": "null"}]}, "#/allOf/0", "contains itself"),
        (False, "#", "no finite text"),
        ({"properties": {"next": {"$ref": "#"}}, "required": ["next"]}, "#", "no finite text"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "#", "no finite text"),
        ({"const": float("nan")}, "#/const", "must be a JSON value"),
        ({"const": {1: 2}}, "#/const", "must be a JSON value"),
        ("string", "#", "a schema must be"),
        ({"const": "\ud800"}, "#/const", "valid Unicode"),
    ],
)  # fmt: skip
def test_invalid_schema_error_begins_with_its_pointer(schema, at, what):
    with pytest.raises(UsageError, match=what) as error:
        schema_rules(schema)
    assert str(error.value).startswith(f"{at}: ")


def nested(depth, wrap):
    schema = {}
    for _ in range(depth):
        schema = wrap(schema)
    return schema


def circle():
    schema = {}
    schema["items"] = schema
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        nested(5_000, lambda inner: {"items": inner}),
        circle(),
        {"allOf": [{"anyOf": [{"maxLength": i * j} for i in range(9)]} for j in range(9)]},
        {"enum": list(range(200_000))},
        {"properties": {f"{'k' * 40}{i}": True for i in range(3_000)}},
        {"prefixItems": [{"type": "string", "format": "date-time"}] * 1_000},
        {"allOf": [{"properties": {"a": {"$ref": "#/$defs/b"}}}, {"$ref": "#/$defs/b"}],
         "$defs": {"b": {"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#/$defs/c"}]}}},
                   "c": {"properties": {"a": {"properties": {"a": {"$ref": "#"}}}}}}},
    ],
)  # fmt: skip
def test_a_hostile_schema_ends_soon(schema):
    with suppress(UsageError):
        schema_rules(schema)


def test_schemas_are_joined():
    schema = {
        "allOf": [
            {"$ref": "#/$defs/named"},
            {"properties": {"size": {"minimum": 1}}, "required": ["size"]},
        ],
        "$defs": {
            "named": {"properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}
        },
    }
    assert fits(
        schema, '{"size": 1}', '{"name": "n", "size": 5}', '{"size": 0}', '{"name": "n"}'
    ) == [True, True, False, False]


def test_undescribed_keys():
    long = "k" * 200

    def with_key(key):
        return {"properties": {"ab": {"type": "null"}, key: True}, "additionalProperties": True}

    assert to_gbnf(schema_rules(with_key("k" * 1_000)).grammar())
    schema = with_key(long)
    keys = ["a", "abc", "b", "", "\\u0061", "k" * 39]
    assert fits(schema, *(f'{{"{key}": 1}}' for key in keys)) == [True] * 4 + [False, True]
    assert fits(schema, '{"ab": 1}', f'{{"{long}": 1}}', f'{{"{long}x": 1}}') == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("engine", [Lark, Gbnf])
def test_undescribed_keys_in_the_engines(engine):
    schema = {"properties": {"ab": {"type": "null"}}, "additionalProperties": True}
    grammar = engine(schema_rules(schema).grammar())
    found = [grammar.accepts(f'{{"{key}": 1}}') for key in ("a", "abc", "b", "ab")]
    assert found == [True, True, True, False]


def test_deep_schemas():
    schema = nested(60, lambda inner: {"items": inner, "minItems": 1})
    grammar = schema_rules(schema).grammar()
    assert accepts(grammar, "[" * 61 + "]" * 61)
    assert to_gbnf(grammar)
    assert to_lark(grammar)


def test_older_spellings():
    assert fits(
        {"items": [{"type": "null"}], "additionalItems": False}, "[]", "[null]", "[1]", "[null,1]"
    ) == [True, True, False, False]
    assert fits({"type": "integer", "minimum": 3, "exclusiveMinimum": True}, "3", "4") == [
        False,
        True,
    ]
    assert fits({"type": "string", "nullable": True}, "null", '""', "1") == [True, True, False]


def test_a_part_of_a_document_and_shared_rules():
    document = {
        "properties": {"a": {"$ref": "#/$defs/d"}, "b": {"type": "string"}},
        "$defs": {"d": {"enum": [1]}},
    }
    first = schema_rules(document, at="#/properties/a")
    second = schema_rules(document, at="#/properties/b", rules=first.rules)
    assert accepts(first.grammar(), "1")
    assert accepts(second.grammar(), '"x"')
    assert second.rules is first.rules
