"""Whether an object is the arguments of the function that the request names, or a call of it."""

from __future__ import annotations

import pytest

from ....strategies.wire_by_hand import TAGS, calls, fed, kinds

ASKED = {"type": "function", "function": {"name": "f"}}


def parsed(text, own, reason="stop"):
    """`own` are the arguments of the functions f and g, None where it is not known."""
    tools = [{"name": "f"}, {"name": "g"}]
    if own is not None:
        schema = {"type": "object", "properties": {name: {} for name in own}}
        tools = [tool | {"parameters": schema} for tool in tools]
    return fed(TAGS, text, reason, calls="json", tools=tools, tool_choice=ASKED)


@pytest.mark.parametrize("own", [(), ("name",), ("arguments",), ("name", "arguments"), None])
@pytest.mark.parametrize(
    "text", ['{"name": "f", "arguments":', '{"name": ', '{"name"', '{"arguments": ', '{"arguments"']
)
def test_an_object_that_is_cut_before_it_is_known_is_a_call_that_is_cut(text, own):
    parser = parsed(text, own, "length")
    assert kinds(parser) == ["truncated_call"]
    assert all(call.arguments == "" for call in parser.message.tool_calls)


@pytest.mark.parametrize(
    ("name", "own", "called"),
    [
        ('"x"', ("a",), "x"),
        ('"x"', ("name",), None),
        ('"x"', None, None),
        ('"g"', None, "g"),
        ('"g"', ("a",), "g"),
        ('"g"', ("name",), None),
        ('"f"', None, "f"),
        ('"f"', ("name", "arguments"), None),
        ('"\\u0066"', ("a",), "f"),
        ('"\\u0066 "', ("a",), None),
        ('"ffffffff"', ("a",), None),
    ],
)
def test_a_name_and_arguments_are_a_call_as_far_as_they_are_none_of_the_functions(
    name, own, called
):
    text = f'{{"name": {name}, "arguments": {{"a": 1}}}}'
    assert calls(parsed(text, own)) == [(called, '{"a": 1}') if called else ("f", text)]
