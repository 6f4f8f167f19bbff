"""Tools with arguments of every type, and turns with calls of them in any format."""

from __future__ import annotations

from hypothesis import strategies as st

from deltaparse import ReasoningMode

from . import wire_json_and_tags as wire
from .wire_parts import TEASING, Written, is_unmarked, markers_of

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
TEXTS = st.text(TEASING, max_size=8)
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
    """Return two tools, the second without arguments."""
    schema = {**SCHEMA, "properties": {key: SCHEMA["properties"][key] for key in keys}}
    functions = [{"name": names[0], "parameters": schema}, {"name": names[1]}]
    return [{"type": "function", "function": function} for function in functions]


@st.composite
def key_sets(draw, keys=tuple(SCHEMA["properties"])):
    """Draw some keys in the order of the schema, including the required ones."""
    some = draw(st.sets(st.sampled_from(keys), max_size=4)) | set(SCHEMA["required"])
    return [key for key in keys if key in some]


@st.composite
def calls_of(draw, fmt, tools, markers):
    """Draw calls with arguments in the order of the schema, without markers in strings."""
    first, second = (tool["function"] for tool in tools)
    literals = [text.strip() for text in markers]
    found = []
    for _ in range(draw(st.integers(1, 1 if is_unmarked(fmt) else 3))):
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
    """Draw a format, tools that can be written in it, and a turn with calls."""
    fmt = draw(wire.formats())
    tagged = fmt.tools.format != "JSON_NATIVE"
    names = [
        ("get_weather", "f"),
        *([("été", "mcp.server-1/run")] if tagged else [("f", 'quo"te')]),
    ]
    tools = tools_of(*draw(st.sampled_from(names)), keys=draw(key_sets()))
    calls = draw(calls_of(fmt, tools, markers_of(fmt)))
    reasoning = ""
    if fmt.reasoning.mode is not ReasoningMode.NONE:
        reasoning = draw(wire.plain_text(fmt))
    return fmt, tools, Written(reasoning, "", calls)
