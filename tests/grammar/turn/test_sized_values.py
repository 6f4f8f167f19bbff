"""Bounds of strings between markers: held to where rules can count, and otherwise said."""

from __future__ import annotations

import json
import random

import pytest
from jsonschema import Draft202012Validator

from deltaparse import gbnf, get_format, list_formats
from deltaparse.grammar import NotExpressed

from ..machines import Lark, Sampler, accepts, llguidance, read_gbnf
from ..reading_back import check_back

TAGGED = [
    name
    for name in list_formats()
    if get_format(name).tools.format.name == "TAG_WITH_TAGGED" and get_format(name).facts.has_calls
]
SCHEMAS = {
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
def test_what_is_written_is_valid(name, schema):
    fmt, tools = get_format(name), [tool(SCHEMAS[schema])]
    grammar = gbnf(fmt, tools, tool_choice="required")
    again = read_gbnf(grammar.text)
    for seed in range(6):
        text = Sampler(grammar.rules).text(random.Random(seed))
        assert accepts(grammar.rules, text)
        assert accepts(again, text)
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


def test_what_cannot_be_counted_is_said():
    fmt = get_format("qwen3_coder")
    grammar = gbnf(fmt, [tool({"type": "string", "minLength": 1, "maxLength": 5_000})])
    assert grammar.not_expressed == (NotExpressed("look_up#/properties/q", "maxLength"),)
