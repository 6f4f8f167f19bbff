"""Answers that look like calls and are none: prose, code, JSON, and what is typed at a prompt.

Nothing here is made of a format: it is what people ask a model for.
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
    """A call in Python, as code has them."""
    values = draw(st.lists(st.tuples(KEYS, VALUES), max_size=3))
    given = [f"{key}={value!r}" for key, value in values]
    given += draw(st.lists(st.sampled_from(["x", "1 + 2", "*args", "f(x=1)"]), max_size=1))
    return f"{draw(NAMES)}({', '.join(given)})"


@st.composite
def objects(draw):
    """A document of JSON that has a name, as `package.json` has one, and more members."""
    document = {"name": draw(NAMES), **draw(st.dictionaries(JSON_KEYS, VALUES, max_size=4))}
    keys = draw(st.permutations(list(document)))
    return json.dumps({key: document[key] for key in keys}, indent=draw(st.sampled_from([None, 2])))


@st.composite
def call_objects(draw):
    """An object that has just what a call has."""
    key = draw(st.sampled_from(["parameters", "arguments", "input"]))
    values = draw(st.dictionaries(KEYS, VALUES, max_size=2))
    return json.dumps({"name": draw(NAMES), key: values})


@st.composite
def sessions(draw):
    """What was typed at Python's prompt, and what it said: none is a call, to the letter."""
    typed = python_calls() | NAMES | NAMES.map(" {}".format)
    said = python_calls() | objects() | VALUES.map(repr) | VALUES.map(json.dumps)
    steps = draw(st.lists(st.tuples(typed, said), min_size=1, max_size=3))
    gaps = [" " if out[:1] == "{" else draw(st.sampled_from(["", " "])) for _, out in steps]
    return "\n".join(f">>>{gap}{code}\n{out}" for gap, (code, out) in zip(gaps, steps, strict=True))


looks_like_calls = python_calls() | objects() | call_objects() | sessions()
"""Text that may be a call in some format, and in prose is none."""

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
    """Text that looks like calls with prose behind it, or before it, or fenced."""
    text = draw(looks_like_calls)
    text = draw(st.sampled_from([text, f"[{text}]", f"[{text}, {text}]", f"{text}; {text}"]))
    shape = draw(st.integers(0, 2))
    if shape == 0:
        return text + draw(prose)
    if shape == 1:
        return f"Use this: {text}"
    return f"```\n{text}\n```"
