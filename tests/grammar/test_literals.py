"""Tests that the parser reads each offered spelling of a literal as the intended value."""

from __future__ import annotations

import json
import random

import pytest

from deltaparse import gbnf, get_format, list_formats, parse
from deltaparse.testing import Sampler

VALUES = [None, True, False, "None", "True", "False", "null", "true", "false", [None, True]]
DEFS = {"null": {"enum": ["null"]}, "text": {"type": "string"}}
SCHEMAS = [
    *(({"const": value}, [value]) for value in VALUES),
    *(({"enum": [value, 1]}, [value, 1]) for value in VALUES),
    ({"anyOf": [{"const": "None"}, {"type": "boolean"}]}, ["None", True, False]),
    ({"anyOf": [{"const": "True"}, {"const": False}]}, ["True", False]),
    ({"type": ["boolean", "null"]}, [True, False, None]),
    ({"type": "array", "items": {"enum": ["null", True]}, "maxItems": 1}, [[], ["null"], [True]]),
    ({"type": "string", "enum": ["null"], "nullable": True}, ["null"]),
    ({"$ref": "#/$defs/null", "nullable": True}, ["null"]),
    ({"$ref": "#/$defs/text", "nullable": True, "enum": ["null"]}, ["null"]),
]


@pytest.mark.parametrize("name", [n for n in list_formats() if get_format(n).derived.has_calls])
def test_sampled_literals_of_each_format_are_read_as_meant(name):
    properties = {f"a{i}": schema for i, (schema, _) in enumerate(SCHEMAS)}
    parameters = {"type": "object", "properties": properties, "required": [*properties]}
    tools = [{"name": "f", "parameters": {**parameters, "$defs": DEFS}}]
    rules = gbnf(name, tools, tool_choice="required", parallel_tool_calls=False).rules
    for seed in range(4):
        text = Sampler(rules).text(random.Random(seed))
        message = parse(text, name, tools=tools, tool_choice="required", finish_reason="stop")
        assert [call.complete for call in message.tool_calls] == [True]
        values = json.loads(message.tool_calls[0].arguments)
        for i, (_, meant) in enumerate(SCHEMAS):
            assert json.dumps(values[f"a{i}"]) in map(json.dumps, meant)


@pytest.mark.parametrize("schema", [SCHEMAS[-3][0], SCHEMAS[-2][0], SCHEMAS[-1][0]])
def test_nullable_string_is_fully_expressed(schema):
    parameters = {"type": "object", "properties": {"a": schema}, "$defs": DEFS}
    assert gbnf("qwen3_coder", [{"name": "f", "parameters": parameters}]).not_expressed == ()


def test_python_words_are_accepted_in_formats_with_python_literals():
    tools = [{"name": "f", "parameters": {"properties": {"a": {"type": ["boolean", "null"]}}}}]
    for name in list_formats():
        fmt = get_format(name)
        if fmt.arguments.python_literals:
            text = gbnf(name, tools).text
            assert all(f'"{word}' in text for word in ("None", "null", "True", "true"))


def test_an_enum_string_of_open_brackets_is_no_error():
    enum = {"enum": ["[" * 100_000, 1]}
    assert gbnf("qwen3_coder", [{"name": "f", "parameters": {"properties": {"a": enum}}}])
