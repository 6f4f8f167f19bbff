"""The grammar of a turn and its parser agree: what the one allows, the other reads back."""

from __future__ import annotations

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from deltaparse import ReasoningMode, StreamParser, gbnf

from ...strategies import wire_json_and_tags as wire
from ..machines import Lark, Sampler, accepts

SCHEMA = {
    "type": "object",
    "properties": {
        **{key: {"type": wire.TYPES[key[0]][0]} for key in ("s", "n", "i", "b", "l", "o", "n é")},
        "s2": {"type": ["string", "null"]},
        "e": {"enum": ["C", "a b", 'q"']},
        "m": {"type": "integer", "minimum": 1, "maximum": 7},
        "c": {"type": "string", "pattern": "^[a-z]{1,3}$"},
        "u": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]},
        "d": {
            "type": "object",
            "properties": {"x": {"type": "boolean"}, "y": {"items": {"type": "integer"}}},
            "required": ["x"],
        },
    },
    "required": ["s", "i"],
}
STRINGS = ("s", "s2", "e", "c")
INTEGERS = st.integers(-(10**15), 10**15)
NUMBERS = INTEGERS | st.floats(-1e15, 1e15).filter(lambda x: x == 0 or abs(x) > 1e-9)
TEXTS = st.text(wire.TEASING, max_size=8)
ITEMS = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = {
    "s": TEXTS,
    "n": NUMBERS,
    "i": INTEGERS,
    "b": st.booleans(),
    "l": st.lists(ITEMS | st.lists(ITEMS, max_size=2), max_size=3),
    "o": st.dictionaries(TEXTS, ITEMS, max_size=3),
    "n é": NUMBERS,
    "s2": TEXTS | st.none(),
    "e": st.sampled_from(["C", "a b", 'q"']),
    "m": st.integers(1, 7),
    "c": st.sampled_from(["a", "xyz"]),
    "u": INTEGERS | st.booleans(),
    "d": st.fixed_dictionaries(
        {"x": st.booleans()}, optional={"y": st.lists(INTEGERS, max_size=2)}
    ).map(lambda value: dict(sorted(value.items()))),
}
PYTHON_KEYS = [key for key in SCHEMA["properties"] if " " not in key]


def tools_of(*names, keys=tuple(SCHEMA["properties"])):
    """Two tools, the second without arguments."""
    schema = {**SCHEMA, "properties": {key: SCHEMA["properties"][key] for key in keys}}
    functions = [{"name": names[0], "parameters": schema}, {"name": names[1]}]
    return [{"type": "function", "function": function} for function in functions]


@st.composite
def key_sets(draw, keys=tuple(SCHEMA["properties"])):
    """Some of the keys, in the schema's order, those that are required among them."""
    some = draw(st.sets(st.sampled_from(keys), max_size=4)) | set(SCHEMA["required"])
    return [key for key in keys if key in some]


@st.composite
def calls_of(draw, fmt, tools, markers):
    """Calls with arguments in the schema's order, and no marker in a string."""
    first, second = (tool["function"] for tool in tools)
    literals = [text.strip() for text in markers]
    found = []
    for _ in range(draw(st.integers(1, 1 if wire.is_unmarked(fmt) else 3))):
        if draw(st.booleans()):
            found.append((second["name"], {}))
            continue
        values = {}
        for key in first["parameters"]["properties"]:
            if key in SCHEMA["required"] or draw(st.booleans()):
                value = draw(VALUES[key])
                text = value if isinstance(value, str) else ""
                values[key] = "x" if any(literal in text for literal in literals) else value
        found.append((first["name"], values))
    return tuple(found)


@st.composite
def cases(draw):
    """A format, tools that can be written in it, and a turn with calls."""
    fmt = draw(wire.formats())
    tagged = fmt.tools.format != "JSON_NATIVE"
    names = [
        ("get_weather", "f"),
        *([("été", "mcp.server-1/run")] if tagged else [("f", 'quo"te')]),
    ]
    tools = tools_of(*draw(st.sampled_from(names)), keys=draw(key_sets()))
    calls = draw(calls_of(fmt, tools, wire.markers_of(fmt)))
    reasoning = ""
    if fmt.reasoning.mode is not ReasoningMode.NONE:
        reasoning = draw(wire.plain_text(fmt))
    return fmt, tools, wire.Written(reasoning, "", calls)


def read(fmt, tools, text, *, whole, **options):
    """The calls in a text, and what had to be decided."""
    parser = StreamParser(fmt, tools=tools, **options)
    for piece in [text] if whole else text:
        parser.feed(piece)
    parser.finish("stop")
    return parser.message, parser.issues


def check_back(fmt, tools, text):
    """A text of the grammar comes back as calls that are valid, and nothing else."""
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


@settings(max_examples=40)
@given(cases())
def test_what_a_model_writes_is_accepted(case):
    fmt, tools, turn = case
    text = wire.write(fmt, turn)
    grammar = gbnf(fmt, tools, tool_choice="required")
    assert grammar.not_expressed == ()
    assert accepts(grammar.rules, text)
    assert not accepts(grammar.rules, text[:-1])


@settings(max_examples=50)
@given(cases(), st.integers())
def test_what_the_grammar_allows_comes_back(case, seed):
    fmt, tools, _ = case
    for choice in ("auto", "required"):
        grammar = gbnf(fmt, tools, tool_choice=choice)
        text = Sampler(grammar.rules, random.Random(seed)).text()
        if choice == "auto" and fmt.reasoning.mode is ReasoningMode.DELIMITER:
            text = f"x{fmt.reasoning.end}{text}"
        check_back(fmt, tools, text)


@settings(max_examples=10)
@given(cases(), st.integers())
def test_what_an_engine_writes_comes_back(case, seed):
    fmt, tools, turn = case
    grammar = gbnf(fmt, tools, tool_choice="required")
    engine = Lark(grammar.rules)
    text = wire.write(fmt, turn)
    assert engine.accepts(text)
    assert not engine.accepts(text[:-1])
    written = engine.sampled(random.Random(seed), size=70)
    if written is not None:
        assert accepts(grammar.rules, written)
        check_back(fmt, tools, written)
