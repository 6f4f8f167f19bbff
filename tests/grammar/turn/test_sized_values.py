"""Tests of length limits between markers: enforced if countable, otherwise reported."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator

from deltaparse import gbnf, get_format, list_formats
from deltaparse.grammar import NotExpressed

from ..machines import Lark, Sampler, accepts, llguidance, read_gbnf
from ..reading_back import check_back

TAGGED = [
    name
    for name in list_formats()
    if get_format(name).tools.format.name == "TAG_WITH_TAGGED"
    and get_format(name).derived.has_calls
]
OBJECT = {"type": "object", "properties": {"t": {"type": "integer"}}, "required": ["t"]}
LIST = {"type": "array", "items": {"type": "string"}}
SHORT = {"type": "string", "maxLength": 3}
SCHEMAS = {
    "or object": {"anyOf": [OBJECT, SHORT]},
    "or list": {"anyOf": [{"type": "string", "minLength": 1, "maxLength": 9}, LIST, OBJECT]},
    "or object, a shape": {"anyOf": [OBJECT, {"type": "string", "pattern": "^[^a-q]{1,4}$"}]},
    "or number": {"anyOf": [{"type": "number"}, SHORT]},
    "or limited number": {"anyOf": [{"type": "integer", "minimum": 50}, SHORT]},
    "most": {"type": "string", "maxLength": 9},
    "least": {"type": "string", "minLength": 2},
    "both": {"type": "string", "minLength": 2, "maxLength": 5},
    "shape": {"type": "string", "pattern": "^[^a]*$"},
    "or null": {"type": ["string", "null"], "maxLength": 6},
}


def tool(schema):
    parameters = {"type": "object", "properties": {"q": schema}, "required": ["q"]}
    return {"type": "function", "function": {"name": "look_up", "parameters": parameters}}


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("name", TAGGED)
def test_written_values_are_valid(name, schema):
    fmt, tools = get_format(name), [tool(SCHEMAS[schema])]
    grammar = gbnf(fmt, tools, tool_choice="required")
    again = read_gbnf(grammar.text)
    engine = Lark(grammar.rules) if llguidance() is not None else None
    for seed in range(3):
        text = Sampler(grammar.rules).text(random.Random(seed))
        assert accepts(grammar.rules, text)
        assert accepts(again, text)
        assert engine is None or engine.accepts(text)
        check_back(fmt, tools, text) if not grammar.not_expressed else None


@pytest.mark.skipif(llguidance() is None, reason="llguidance is not installed")
@pytest.mark.parametrize("length", [0, 1, 2, 5, 6, 9, 10])
@pytest.mark.parametrize("schema", ["most", "least", "both"])
def test_engines_and_rules_count_alike(schema, length):
    fmt, tools = get_format("qwen3_coder"), [tool(SCHEMAS[schema])]
    grammar = gbnf(fmt, tools, tool_choice="required")
    value = ("</paé😀<\n" * 2)[:length]
    text = (
        "<tool_call>\n<function=look_up>\n<parameter=q>\n"
        f"{value}\n</parameter>\n</function>\n</tool_call>"
    )
    right = Draft202012Validator(SCHEMAS[schema]).is_valid(value)
    assert accepts(grammar.rules, text) is right
    assert accepts(read_gbnf(grammar.text), text) is right
    assert Lark(grammar.rules).accepts(text) is right
    if right:
        message = check_back(fmt, tools, text)
        assert json.loads(message.tool_calls[0].arguments) == {"q": value}


@pytest.mark.skipif(llguidance() is None, reason="llguidance is not installed")
@pytest.mark.parametrize(
    ("schema", "value", "right"),
    [
        ("or object", '{"t": 1}', True),
        ("or object", '{"t": "x"}', False),
        ("or object", "abc", True),
        ("or object", " a{", True),
        ("or object", "abcd", False),
        ("or object", "", True),
        ("or object", "{", False),
        ("or object", " {}", False),
        ("or object", "[1]", True),
        ("or list", '["aaaaaaaaaaa", "b"]', True),
        ("or list", '{"t": 12345678}', True),
        ("or list", "[", False),
        ("or object, a shape", '{"t": 1}', True),
        ("or object, a shape", "x{y", True),
        ("or object, a shape", "{y", False),
        ("or object, a shape", "\n{y", False),
        ("or number", "1234.5", True),
        ("or number", "xyz", True),
        ("or number", "wxyz", False),
    ],
)
def test_strings_are_distinguished_from_other_types(schema, value, right):
    fmt, tools = get_format("qwen3_coder"), [tool(SCHEMAS[schema])]
    grammar = gbnf(fmt, tools, tool_choice="required")
    text = (
        "<tool_call>\n<function=look_up>\n<parameter=q>\n"
        f"{value}\n</parameter>\n</function>\n</tool_call>"
    )
    assert grammar.not_expressed == ()
    assert accepts(grammar.rules, text) is right
    assert accepts(read_gbnf(grammar.text), text) is right
    assert Lark(grammar.rules).accepts(text) is right
    if right:
        check_back(fmt, tools, text)


def test_string_readable_as_a_number_is_reported():
    grammar = gbnf("qwen3_coder", [tool(SCHEMAS["or limited number"])])
    assert grammar.not_expressed == (NotExpressed("look_up#/properties/q", "type"),)


def test_a_marker_may_begin_with_a_bracket():
    fmt = get_format("qwen3_coder")
    fmt = replace(fmt, arguments=replace(fmt.arguments, value_suffix="[end]"))
    grammar = gbnf(fmt, [tool(SCHEMAS["or list"])], tool_choice="required")
    assert grammar.not_expressed == (NotExpressed("look_up#/properties/q", "type"),)
    text = "<tool_call>\n<function=look_up>\n<parameter=q>\nx[end]</function>\n</tool_call>"
    assert accepts(grammar.rules, text)


def test_length_too_large_to_count_is_reported():
    fmt = get_format("qwen3_coder")
    grammar = gbnf(fmt, [tool({"type": "string", "minLength": 1, "maxLength": 5_000})])
    assert grammar.not_expressed == (NotExpressed("look_up#/properties/q", "maxLength"),)
