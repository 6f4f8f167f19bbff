"""Random response templates, and responses of a model for them.

A text uses the same draws as the template, but no results of our code.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from hypothesis import strategies as st

from .wire_parts import marker_sets, plain_texts

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "n": {"type": "integer"},
                    "so": {"type": "boolean"},
                    "all": {"type": "array"},
                    "of": {"type": "object"},
                },
            },
        },
    }
    for name in ("f", "get_weather", "run_2")
]
VALUES = {
    "city": st.sampled_from(["NYC", "two words", "x\ny", "a < b", 'say "q"', "é😀", "{}x"]),
    "n": st.integers(),
    "so": st.booleans(),
    "all": st.lists(st.integers() | st.sampled_from(["a", "}"]), max_size=2),
    "of": st.dictionaries(st.sampled_from(["a", "name"]), st.integers(), max_size=2),
}
spaces = st.sampled_from(["", "", "\n", " "])
gaps = st.sampled_from(["", r"\s*", r"\n?", r"\n"])


@dataclass(frozen=True)
class Drawn:
    """A template, a prompt, and the text of a turn with the spans of its calls."""

    template: dict = field(repr=False)
    prompt: str
    text: str
    calls: tuple


def anchor(draw, key, marker, more=()):
    """Draw the anchor of a field for a marker (string, list or pattern), and its spellings."""
    form = draw(st.sampled_from(["text", "list", "pattern", "spaced", "either"]))
    others = [text for text in more if text]
    if form == "text":
        return {key: marker}, st.just(marker)
    if form == "list":
        return {key: [marker, *others]}, st.just(marker)
    if form == "pattern":
        return {f"{key}_pattern": re.escape(marker)}, st.just(marker)
    if form == "spaced":
        pattern = rf"\s*{re.escape(marker)}\s*"
        written = st.tuples(spaces, st.just(marker), spaces).map("".join)
        return {f"{key}_pattern": pattern}, written
    pattern = "|".join(map(re.escape, [marker, *others]))
    return {f"{key}_pattern": rf"\s*(?:{pattern})"}, st.just(marker)


@st.composite
def drawn(draw):
    """Draw a `Drawn`."""
    marks = draw(marker_sets(14))
    head, end, think, thought, said, unsaid, *marks = marks
    literals = [head, end, think, thought, said, unsaid, *marks]
    texts = plain_texts(literals, "ab c<\n}é")
    template = {"version": 1} if draw(st.booleans()) else {}
    if draw(st.booleans()):
        template["defaults"] = {"role": "assistant"}
    start, _ = anchor(draw, "start_anchor", f"{head}\n")
    template |= start
    fields, text = {}, ""
    forms = draw(st.sampled_from(["none", "reasoning", "reasoning"]))
    if forms == "reasoning":
        opens, opened = anchor(draw, "open", think)
        closes, closed = anchor(draw, "close", thought)
        name = draw(st.sampled_from(["thinking", "reasoning_content"]))
        fields[name] = opens | closes | draw(st.sampled_from([{}, {"content": "text"}]))
        if draw(st.booleans()):
            text += draw(opened) + draw(texts) + draw(closed)
    call_field, calls = draw(call_fields(marks, end))
    if call_field:
        fields["tool_calls"] = call_field
    kind = draw(st.sampled_from(["implicit", "implicit", "marked", *["none"] * bool(fields)]))
    content = draw(texts)
    if kind == "implicit":
        fields["content"], ended = ({}, st.just(""))
        if draw(st.booleans()):
            fields["content"], ended = anchor(draw, "close", end)[0], st.just(end)
        text += content
    elif kind == "marked":
        opens, opened = anchor(draw, "open", said)
        closes, closed = anchor(draw, "close", unsaid, [end])
        fields["content"] = opens | closes
        taken = any(end in one or re.escape(end) in one for one in closes.values())
        ended = st.just(end if taken else "")
        if draw(st.booleans()):
            text += draw(opened) + content + draw(closed)
    else:
        ended = st.just("")
    made = tuple(draw(calls)) if call_field else ()
    text += "".join(made) + draw(st.sampled_from(["", draw(ended)]))
    template["fields"] = dict(draw(st.permutations(list(fields.items()))))
    return Drawn(template, f"user says{head}\n", text, made)


@st.composite
def call_fields(draw, marks, end):
    """Draw the field of calls and a strategy for the text of several calls, or None."""
    form = draw(st.sampled_from(["none", "whole", "each", "named", "tagged"]))
    if form == "none":
        return None, st.just([])
    start, stop, section, section_end, then, key, key_end, value_end = marks[:8]
    if form in ("whole", "each"):
        return draw(in_json(start, stop, end, each=form == "each"))
    ids = draw(st.sampled_from(["", "before", "behind"]))
    has_section = draw(st.booleans())
    gap = draw(gaps)
    name = draw(st.sampled_from([r"\w+", r"[^>\n]+?", ".+?", r"[\w.-]+"]))
    inside = rf"(?P<name>{name})" + re.escape(then)
    if ids == "before":
        inside = rf"(?P<id>\w+){re.escape(key_end)}{inside}"
    elif ids == "behind":
        inside = rf"(?P<name>{name}){re.escape(key_end)}(?P<id>\w+){re.escape(then)}"
    opener = re.escape(start) + gap + inside
    opener = r"\s*" * draw(st.booleans()) + f"(?:{re.escape(section)})?" * has_section + opener
    transform = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
    if ids:
        transform["id"] = "{id}"
    field = {"open_pattern": opener, "repeats": True, "transform": transform}
    closes = draw(st.sampled_from(["text", "pattern", "section", "end", "none", "next"]))
    if closes == "text":
        field["close"] = stop
    elif closes == "pattern":
        field["close_pattern"] = rf"\s*{re.escape(stop)}"
    elif closes == "section":
        field["close_pattern"] = rf"{re.escape(stop)}(?:{re.escape(section_end)})?"
    elif closes == "end":
        field["close"] = [stop, end]
    elif closes == "next":
        field["close_pattern"] = rf"(?={re.escape(start)})|{re.escape(end)}"
    written_stop = stop if closes not in ("none", "next") else ""
    if form == "tagged" and not written_stop and re.fullmatch(r"<\w+>", start):
        # Without a close pattern, the tag name determines the closing tag.
        written_stop = start.replace("<", "</")
    space = "\n" if gap == r"\n" else ""

    def write(call, at):
        name, values = call
        middle = name + then
        if ids == "before":
            middle = f"id{at}{key_end}{name}{then}"
        elif ids == "behind":
            middle = f"{name}{key_end}id{at}{then}"
        return middle, values

    if form == "named":
        field["content"] = "json"
        body = json.dumps
    else:
        parser = draw(
            st.sampled_from(
                [None, {"name": "text"}, {"name": "json", "args": {"allow_non_json": True}}]
            )
        )
        inner = draw(st.sampled_from(["", r"\s*", r"\n", r"\n?"]))
        tag = rf"{re.escape(key)}(?P<key>\w+){re.escape(key_end)}{inner}(?P<value>.*?){inner}"
        field["content"] = "xml-inline"
        field["content_args"] = {"tag_pattern": tag + re.escape(value_end)}
        if parser:
            field["content_args"]["value_parser"] = parser
        fill = "\n" if "n" in inner else ""

        def body(values):
            made = (
                f"{key}{name}{key_end}{fill}"
                f"{one if isinstance(one, str) else json.dumps(one)}{fill}{value_end}"
                for name, one in values.items()
            )
            return "".join(made)

    def several(calls):
        made = []
        for at, call in enumerate(calls):
            middle, values = write(call, at)
            one = start + space + middle + body(values) + written_stop
            made.append(section * (has_section and not at) + one)
        if made and closes == "section":
            made[-1] += section_end
        return made

    most = 1 if closes == "none" else 3
    return field, st.lists(one_call, max_size=most).map(several)


@st.composite
def in_json(draw, start, stop, end, *, each):
    """Draw a field of calls with their names in JSON."""
    keys = draw(st.sampled_from([("name", "arguments"), ("tool", "with"), ("fn", "args")]))
    nested = draw(st.sampled_from(["", "", "function"]))
    has_id = draw(st.booleans())
    opens, opened = anchor(draw, "open", start)
    closes, closed = anchor(draw, "close", stop, [end])
    root = "" if each else "content."
    inner = f"{root}{nested}." if nested else root
    function = {"name": f"{{{inner}{keys[0]}}}", "arguments": f"{{{inner}{keys[1]}}}"}
    if keys[0] == "name" and not nested and not each and draw(st.booleans()):
        function = "{content}"
    transform = {"type": "function", "function": function}
    if has_id:
        transform["id"] = f"{{{root}id}}"
    repeats = {"transform_each": True} if each else {"repeats": True}
    field = opens | closes | {"content": "json", "transform": transform} | repeats

    def one(call, at):
        made = {keys[0]: call[0], keys[1]: call[1]}
        made = {nested: made} if nested else made
        return json.dumps(made | ({"id": f"id{at}"} if has_id else {}))

    @st.composite
    def several(draw):
        calls = draw(st.lists(one_call, max_size=3))
        made = [one(call, at) for at, call in enumerate(calls)]
        if each:
            return [draw(opened) + f"[{', '.join(made)}]" + draw(closed)] if made else []
        return [draw(opened) + text + draw(closed) for text in made]

    return field, several()


@st.composite
def _values(draw):
    keys = draw(st.lists(st.sampled_from([*VALUES]), unique=True, max_size=3))
    return {key: draw(VALUES[key]) for key in keys}


one_call = st.tuples(st.sampled_from(["f", "get_weather", "run_2"]), _values())
