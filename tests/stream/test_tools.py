"""The tools of a request, read once: by the parser, the grammar, the gate and the servers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from deltaparse import StreamParser, ToolGate, UsageError, gbnf, get_format
from deltaparse.stream.tools import (
    chosen_function,
    distinct,
    plain_tool,
    plain_tools,
    read_tools,
)

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
FUNCTION = {"name": "f", "parameters": SCHEMA}
TOOL = {"type": "function", "function": FUNCTION}
HERMES = get_format("hermes")


@pytest.mark.parametrize("tools", [[TOOL], (TOOL,), [FUNCTION], iter([TOOL])])
def test_names_and_schemas(tools):
    assert list(read_tools(tools)) == [("f", SCHEMA)]


def test_a_tool_without_a_schema():
    assert list(read_tools([{"name": "f"}, {"name": "g", "parameters": None}])) == [
        ("f", None),
        ("g", None),
    ]


@pytest.mark.parametrize("tools", ["f", b"f", TOOL, 5, None])
def test_what_is_no_list(tools):
    with pytest.raises(UsageError, match=f"a list of OpenAI tools, not {type(tools).__name__}"):
        list(read_tools(tools))


@pytest.mark.parametrize("tool", ["f", None, [TOOL], {}, {"name": 5}, {"function": "f"}])
def test_what_is_no_tool(tool):
    with pytest.raises(UsageError, match=r"a tool is .* tools\[1\] is "):
        list(read_tools([TOOL, tool]))


def test_a_message_shows_the_beginning_of_a_large_tool():
    with pytest.raises(UsageError) as caught:
        list(read_tools([{"nam": "x" * 10_000}]))
    assert len(str(caught.value)) < 400


def test_names_are_distinct_where_it_matters():
    twice = [("f", 1), ("f", 2)]
    with pytest.raises(UsageError, match="'f' is given twice"):
        distinct(twice)
    assert dict(twice) == {"f": 2}
    assert distinct([("f", 1), ("g", 2)]) == {"f": 1, "g": 2}


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_a_choice_that_names_nothing(choice):
    assert chosen_function(choice, ()) is None


@pytest.mark.parametrize("choice", [TOOL, FUNCTION])
def test_a_choice_that_names_a_function(choice):
    assert chosen_function(choice, None) == "f"
    assert chosen_function(choice, {"f": SCHEMA}) == "f"
    with pytest.raises(UsageError, match="names 'f', which is not one of the tools"):
        chosen_function(choice, {"g": SCHEMA})


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ("f", "a tool choice object"),
        (None, "a tool choice object"),
        ({}, "a tool choice object is"),
        ({"type": "function"}, "a tool choice object is"),
        ({"function": "f"}, "a tool choice object is"),
    ],
)
def test_what_is_no_choice(choice, says):
    with pytest.raises(UsageError, match=says):
        chosen_function(choice, None)


def test_objects_of_servers_become_mappings():
    plain = SimpleNamespace(function=SimpleNamespace(**FUNCTION))
    dumped = SimpleNamespace(model_dump=lambda: TOOL)
    half = SimpleNamespace(function=FUNCTION)
    flat = SimpleNamespace(**FUNCTION)
    assert plain_tools([TOOL, plain, dumped, half, flat]) == [TOOL] * 5
    assert plain_tools(None) is None
    nameless = plain_tool(SimpleNamespace())
    with pytest.raises(UsageError, match="a tool is"):
        list(read_tools([nameless]))


# What each reader does with tools on purpose.


def test_the_parser_reads_outputs_of_any_request():
    StreamParser(HERMES, tools=[{"name": ""}, FUNCTION, {"name": "f", "parameters": "none"}])


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ([FUNCTION, FUNCTION], "given twice"),
        ([{"name": ""}], "no name"),
        ([{"name": "f", "parameters": "none"}], "JSON Schema"),
        ([{"name": "f", "parameters": {"type": "array"}}], "an object"),
    ],
)
def test_the_grammar_refuses_what_it_cannot_hold_a_model_to(tools, says):
    with pytest.raises(UsageError, match=says):
        gbnf(HERMES, tools)


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ([FUNCTION, FUNCTION], "given twice"),
        ([{"name": "two words"}], "cannot be written in a tag"),
        ([{"name": "f", "parameters": {"type": "no"}}], "its schema is bad"),
        (iter([FUNCTION]), "a list of OpenAI tools"),
    ],
)
def test_the_gate_refuses_what_it_cannot_hold_calls_to(tools, says):
    with pytest.raises(UsageError, match=says):
        ToolGate(tools)
