"""Tools, and texts of their grammars, parsed back."""

from __future__ import annotations

import json

from jsonschema import Draft202012Validator

from deltaparse import StreamParser

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "weather of a place",
            "parameters": {
                "type": "object",
                "properties": {
                    "location": {"type": "string", "description": "where"},
                    "days": {"type": "integer", "minimum": 1, "maximum": 14},
                    "unit": {"enum": ["celsius", "fahrenheit"], "type": "string"},
                    "hourly": {"type": "boolean"},
                    "note": {"type": ["string", "null"]},
                    "near": {
                        "type": "object",
                        "properties": {"km": {"type": "number"}, "of": {"type": "string"}},
                    },
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["location"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "a fact",
            "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
        },
    },
]


def read(fmt, tools, text, *, whole=True, **options):
    """Return the calls in a text, and the issues."""
    parser = StreamParser(fmt, tools=tools, **options)
    for chunk in [text] if whole else text:
        parser.feed(chunk)
    parser.finish("stop")
    return parser.message, other_issues(parser)


def other_issues(parser):
    """Return the issues except repeated ids, which a grammar cannot exclude."""
    return [issue for issue in parser.issues if issue.kind != "repeated_id"]


def check_back(fmt, tools, text):
    """Check that a text of the grammar parses into valid calls only."""
    message, issues = read(fmt, tools, text, whole=True)
    assert read(fmt, tools, text, whole=False) == (message, issues)
    assert issues == []
    assert message.content == ""
    assert message.tool_calls
    functions = [tool.get("function", tool) for tool in tools]
    schemas = {function["name"]: function.get("parameters") for function in functions}
    for call in message.tool_calls:
        assert call.complete
        schema = schemas[call.name] or {"properties": {}, "additionalProperties": False}
        Draft202012Validator(schema).validate(json.loads(call.arguments))
    return message
