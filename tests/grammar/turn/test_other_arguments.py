"""Tests of arguments outside the schema: written and parsed back in all format families."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deltaparse import UsageError, gbnf, get_format, list_formats
from deltaparse.grammar import NotExpressed

from ...strategies.wire_families import FAMILIES
from ..machines import Lark, Sampler, accepts, llguidance, read_gbnf
from ..reading_back import check_back, read

FORMATS = [name for name in list_formats() if get_format(name).derived.has_calls]
REST = {"path": "f#", "keyword": "additionalProperties"}
NAMED = {
    "city": {"type": "string"},
    "c": {"type": "integer"},
    "city hall": {"type": "boolean"},
    "name": {"type": "string"},
    "-": {"type": "null"},
}
SHORT = ("city", "c", "name")
OTHERS = st.sampled_from(
    [
        True,
        {"type": "string"},
        {"type": "string", "enum": ["a", "b c"]},
        {"type": "integer"},
        {"type": ["string", "null"]},
        {"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": False},
        {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "boolean"}]},
    ]
)


def tool(properties, **more):
    """Return a tool with these properties, or without any if None."""
    named = {} if properties is None else {"properties": properties}
    return {"name": "f", "parameters": {"type": "object", **named, **more}}


@st.composite
def tools(draw, names=tuple(NAMED)):
    """Return a tool that permits additional arguments, sometimes with two schemas."""
    some = draw(st.sets(st.sampled_from(names)))
    properties = {name: NAMED[name] for name in names if name in some}
    others = draw(OTHERS)
    if others is True and draw(st.booleans()):
        return tool(None)
    required = sorted(draw(st.sets(st.sampled_from(sorted(some))))) if some else []
    found = tool(properties, additionalProperties=others, required=required)
    if draw(st.booleans()):
        parameters = {"type": "object", "anyOf": [found["parameters"], {"properties": {"z": True}}]}
        return {"name": "f", "parameters": parameters}
    return found


def check(fmt, one, seed):
    """Check that the rules of a tool generate valid calls."""
    try:
        grammar = gbnf(fmt, [one], tool_choice="required")
    except UsageError as error:
        assume("cannot be written" not in str(error))
        assume("no tool-call syntax" not in str(error))
        assume("no closing marker" not in str(error))
        raise
    text = Sampler(grammar.rules).text(random.Random(seed))
    assert accepts(grammar.rules, text)
    assert accepts(read_gbnf(grammar.text), text)
    if llguidance() is not None:
        assert Lark(grammar.rules).accepts(text)
    if not grammar.not_expressed:
        check_back(fmt, [one], text)
    return grammar, text


@settings(max_examples=200)
@given(st.sampled_from(FORMATS), st.data(), st.integers(0, 2**16))
def test_written_arguments_are_valid(name, data, seed):
    fmt = get_format(name)
    is_python = fmt.tools.format.name == "PYTHONIC"
    check(fmt, data.draw(tools(SHORT if is_python else tuple(NAMED))), seed)


@settings(max_examples=20)
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@given(data=st.data(), one=tools(SHORT), seed=st.integers(0, 2**16))
def test_other_arguments_in_generated_formats(family, data, one, seed):
    fmt, _ = data.draw(family.texts)
    check(fmt, one, seed)


@pytest.mark.parametrize("name", FORMATS)
def test_maps_are_filled_or_reported(name):
    fmt, maps = get_format(name), tool(None, additionalProperties={"type": "string"})
    grammar = gbnf(fmt, [maps], tool_choice="required")
    drawn = (Sampler(grammar.rules).text(random.Random(seed)) for seed in range(30))
    calls = [call for text in drawn for call in read(fmt, [maps], text)[0].tool_calls]
    filled = any(json.loads(call.arguments) for call in calls)
    assert filled or NotExpressed(**REST) in grammar.not_expressed
    assert filled is not bool(fmt.arguments.key_suffix)


QWEN = "<tool_call>\n<function=f>\n<parameter={}>\n{}\n</parameter>\n</function>\n</tool_call>"
OPEN = tool({"n": {"type": "integer"}, "a b": True}, additionalProperties={"type": "string"})


@pytest.mark.parametrize(
    ("key", "value", "right"),
    [
        ("z", "y", True),
        ("New York", "y", True),
        ("né", "y", True),
        ("no", "y", True),
        ("n", "1", True),
        ("n", "y", False),
        ("a", "y", False),
        ("a c", "y", False),
        (" z", "y", False),
        ("z ", "y", False),
        ("z>", "y", False),
        ("", "y", False),
        ("z</function>", "y", False),
    ],
)
def test_names_between_markers(key, value, right):
    grammar = gbnf("qwen3_coder", [OPEN], tool_choice="required")
    text = QWEN.format(key, value)
    assert accepts(grammar.rules, text) is right
    assert accepts(read_gbnf(grammar.text), text) is right
    if llguidance() is not None:
        assert Lark(grammar.rules).accepts(text) is right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ('[f(z="y")]', True),
        ('[f(n=1, z="y", no="x")]', True),
        ("[f(n='y')]", False),
        ('[f(1z="y")]', False),
        ('[f(z-1.b="y")]', True),
        (f'[f({"z" * 256}="y")]', True),
        (f'[f({"z" * 257}="y")]', False),
    ],
)
def test_names_in_python(text, right):
    one = tool({"n": {"type": "integer"}}, additionalProperties={"type": "string"})
    grammar = gbnf("pythonic", [one], tool_choice="required")
    assert accepts(grammar.rules, text) is right
    if llguidance() is not None:
        assert Lark(grammar.rules).accepts(text) is right
    if right:
        check_back("pythonic", [one], text)


def test_closed_schema_accepts_no_other_arguments():
    shut = [tool({}, additionalProperties=False), tool({})]
    for one in shut:
        grammar = gbnf("qwen3_coder", [one], tool_choice="required")
        assert not accepts(grammar.rules, QWEN.format("z", "y"))
        assert gbnf("minimax_m3", [one]).not_expressed == ()
