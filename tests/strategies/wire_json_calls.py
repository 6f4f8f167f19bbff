"""Calls as bare JSON, which a server makes a model of any format write by constraint.

`written` is the specification for `calls="json"`. It uses built-in formats, with their reasoning
and start of content, and drawn formats.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from hypothesis import strategies as st

from deltaparse import get_format

from . import wire_json_and_tags
from .wire_named import WIRES
from .wire_parts import arguments, fragments, markers_of, mixed

FENCES = ("```json\n", "```")
OWN_KEYS = ["name", "arguments", "parameters", "city", "id"]
KEPT = st.dictionaries(st.sampled_from(OWN_KEYS), st.text("ab{", max_size=3) | arguments)


@dataclass(frozen=True)
class Case:
    """A response, its expected result, and the options of the parser.

    `calls` are names and verbatim arguments. `head` is the length of the text before the JSON.
    `strays` is True if there are markers around the JSON.
    """

    fmt: object = field(repr=False)
    text: str
    reasoning: str
    calls: tuple
    options: dict
    head: int
    strays: bool


@st.composite
def turns(draw):
    """Draw a format, the text before and after the JSON in a turn, and the reasoning."""
    if draw(st.booleans()):
        wire = WIRES[name := draw(st.sampled_from(sorted(WIRES)))]
        thinks = bool(wire.thinks) and draw(st.booleans())
        before, _, behind = (wire.thinks if thinks else wire.says).partition("Hi")
        return get_format(name), before, behind, "hm" if thinks else ""
    fmt = draw(wire_json_and_tags.any_format)
    end = draw(st.sampled_from(["", *fmt.turn.ends]))
    if fmt.reasoning.mode == "NONE" or (fmt.reasoning.start and draw(st.booleans())):
        return fmt, "", end, ""
    text = draw(wire_json_and_tags.plain_text(fmt))
    return fmt, fmt.reasoning.start + text + fmt.reasoning.end, end, text


@st.composite
def written(draw):
    """Draw a `Case`."""
    fmt, before, behind, reasoning = draw(turns())
    style = {
        "ensure_ascii": draw(st.booleans()),
        "indent": draw(st.sampled_from([None, None, 1])),
    }
    form = draw(st.sampled_from(["object", "list", "arguments"]))
    several = st.lists(st.tuples(st.sampled_from(["f", "get_weather", 'a"b']), arguments))
    calls = draw(several.filter(bool)) if form == "list" else [draw(several.filter(bool))[0]]
    choice, tools = draw(st.sampled_from(["auto", "required"])), None
    if form == "arguments" or draw(st.booleans()):
        choice = {"type": "function", "function": {"name": calls[0][0]}}
        calls = [(calls[0][0], values) for _, values in calls]
    if form == "arguments":
        values = draw(KEPT)
        calls = [(calls[0][0], values)]
        own = values if any(key in values for key in OWN_KEYS[:3]) or draw(st.booleans()) else None
        schema = {} if own is None else {"type": "object", "properties": {key: {} for key in own}}
        tools = [{"name": calls[0][0], "parameters": schema}]
    texts = [(name, json.dumps(values, **style)) for name, values in calls]
    body = ", ".join(write(draw, name, text) for name, text in texts)
    body = {"object": body, "list": f"[{body}]", "arguments": texts[0][1]}[form]
    opener, closer = draw(st.sampled_from(strays(fmt)))
    gap = draw(st.sampled_from(["", "\n", " \t\n"]))
    return Case(
        fmt=fmt,
        text=before + opener + gap + body + gap + closer + behind,
        reasoning=reasoning,
        calls=tuple(texts),
        options={"calls": "json", "tools": tools, "tool_choice": choice},
        head=len(before + opener + gap),
        strays=bool((opener + closer).strip()),
    )


def write(draw, name, text):
    """Draw the text of one call with JSON arguments."""
    key = draw(st.sampled_from(["arguments", "parameters"]))
    members = [f'"name": {json.dumps(name)}', f'"{key}": {text}']
    return "{" + ", ".join(draw(st.permutations(members))) + "}"


def strays(fmt):
    """Return markers that are ignored around the JSON."""
    tools = fmt.tools
    own = [(tools.section_start, tools.section_end), (tools.per_call_start, tools.per_call_end)]
    return [("", ""), ("", ""), FENCES, *own, (tools.section_start, "")]


@st.composite
def soups(draw):
    """Draw a format, a text of JSON, calls, markers and prose, and the options."""
    fmt, before, behind, _ = draw(turns())
    call, other = '{"name": "f", "arguments": {"a": 1}}', '{"name": "g", "parameters": {}}'
    parts = [call, other, f"[{call}, {other}]", call[:20], call[20:], '{"x": 1}', '{"city": "NYC"}']
    parts += [f"{call[:-2]}, ", "[", "]", "{", "}", ",", ";", '"', " ", "\n", "  ", " " * 300]
    parts += [*FENCES, "```", "so", before, behind, *fragments(markers_of(fmt))]
    choice = {"type": "function", "function": {"name": "f"}}
    tools = [{"name": "f", "parameters": {"properties": {"city": {}}}}, {"name": "g"}]
    options = {
        "calls": "json",
        "tools": draw(st.sampled_from([None, tools])),
        "tool_choice": draw(st.sampled_from(["auto", "required", choice])),
    }
    return fmt, draw(st.sampled_from(["", before])) + draw(mixed(parts)), options
