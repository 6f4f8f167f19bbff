"""Tests of the common keys of calls in JSON."""

from __future__ import annotations

import json

import pytest

from ...strategies.wire_by_hand import TAGS, fed, kinds

FMT = TAGS.replace(tools={"name_field": "tool", "arguments_field": "values"})
FUNCTION = {"tool": "f", "values": {"a": 1}}


def written(call):
    return f"<call>\n{json.dumps(call)}\n</call>"


@pytest.mark.parametrize(
    ("key", "others", "value"),
    [
        ("name", {"values": {"a": 1}}, "f"),
        *((key, {"tool": "f"}, {"a": 1}) for key in ("arguments", "parameters", "args", "input")),
        ("id", FUNCTION, "own"),
        ("function", {}, FUNCTION),
        ("type", FUNCTION, "function"),
    ],
)
def test_common_key_has_the_same_meaning_in_every_format(key, others, value):
    parser = fed(FMT, written({key: value, **others}))
    (call,) = parser.message.tool_calls
    assert (call.name, call.arguments) == ("f", '{"a": 1}')
    assert (call.id == "own") is (key == "id")
    assert kinds(parser) == ["odd_member"] * (key not in ("id", "type"))


def test_empty_key_is_unused():
    parser = fed(FMT, written({"": "x", **FUNCTION}))
    assert [issue.kind for issue in parser.issues] == ["unused_member"]
