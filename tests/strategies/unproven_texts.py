"""Answers that look like calls but are not: prose, code, JSON, and interactive sessions.

These texts do not depend on a format. They are typical answers of a model.
"""

from __future__ import annotations

import json

from hypothesis import strategies as st

from ..support import VALUES

NAMES = st.sampled_from(
    ["get_weather", "my-app", "print", "len", "np.array", "x", "main", "fetch", "été"]
)
KEYS = st.sampled_from(["city", "n", "key", "end", "value", "parameters", "name"])
JSON_KEYS = st.sampled_from(
    ["name", "version", "parameters", "arguments", "input", "description", "type", "id", "function"]
)


@st.composite
def python_calls(draw):
    """Draw a Python call as in code."""
    values = draw(st.lists(st.tuples(KEYS, VALUES), max_size=3))
    given = [f"{key}={value!r}" for key, value in values]
    given += draw(st.lists(st.sampled_from(["x", "1 + 2", "*args", "f(x=1)"]), max_size=1))
    return f"{draw(NAMES)}({', '.join(given)})"


@st.composite
def objects(draw):
    """Draw a JSON document with a name and more members, e.g. `package.json`."""
    document = {"name": draw(NAMES), **draw(st.dictionaries(JSON_KEYS, VALUES, max_size=4))}
    keys = draw(st.permutations(list(document)))
    return json.dumps({key: document[key] for key in keys}, indent=draw(st.sampled_from([None, 2])))


@st.composite
def call_objects(draw):
    """Draw an object with exactly the members of a call."""
    key = draw(st.sampled_from(["parameters", "arguments", "input"]))
    values = draw(st.dictionaries(KEYS, VALUES, max_size=2))
    return json.dumps({"name": draw(NAMES), key: values})


@st.composite
def sessions(draw):
    """Draw an interactive Python session, which never has the exact form of a call."""
    typed = python_calls() | NAMES | NAMES.map(" {}".format)
    said = python_calls() | objects() | VALUES.map(repr) | VALUES.map(json.dumps)
    steps = draw(st.lists(st.tuples(typed, said), min_size=1, max_size=3))
    gaps = [" " if out[:1] == "{" else draw(st.sampled_from(["", " "])) for _, out in steps]
    return "\n".join(f">>>{gap}{code}\n{out}" for gap, (code, out) in zip(gaps, steps, strict=True))


looks_like_calls = python_calls() | objects() | call_objects() | sessions()
"""Text that may be a call in some format, but not in prose."""

prose = st.sampled_from(
    [
        " takes a city.",
        " is how you call it.",
        "\n\nSave it as package.json.",
        " # => 3",
        "\n1\n",
        "!",
    ]
)


@st.composite
def answers(draw):
    """Draw text that looks like calls, with prose after or before it, or in a fence."""
    text = draw(looks_like_calls)
    text = draw(st.sampled_from([text, f"[{text}]", f"[{text}, {text}]", f"{text}; {text}"]))
    shape = draw(st.integers(0, 2))
    if shape == 0:
        return text + draw(prose)
    if shape == 1:
        return f"Use this: {text}"
    return f"```\n{text}\n```"
