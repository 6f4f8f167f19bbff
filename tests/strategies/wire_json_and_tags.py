"""Formats of calls in JSON and in tags, and turns as a model would write them.

`write` is the specification for the parser. It depends on the fields of the format only, and
shares no code with the parser.
"""

from __future__ import annotations

import json

from hypothesis import strategies as st

from deltaparse import (
    ArgumentsFormat,
    CallIdFormat,
    FunctionFormat,
    ReasoningFormat,
    ReasoningMode,
    ToolsFormat,
    TurnFormat,
    WireFormat,
)
from deltaparse.stream.wire.argument_types import type_of

from .wire_parts import (
    HEADER,
    TEASING,
    Written,
    arguments,
    fragments,
    is_unmarked,
    json_values,
    marker_sets,
    markers_of,
    mixed,
    plain_texts,
    spaces,
)


@st.composite
def formats(draw):
    """Draw a wire format with calls in JSON or in tags."""
    return draw(json_formats() | tagged_formats())


any_format = formats()


@st.composite
def tagged_formats(draw, *, kinds=("TAG_WITH_JSON", "TAG_WITH_TAGGED"), streamed=False):
    """Draw a wire format with calls in tags; `streamed` formats do not buffer arguments."""
    markers = draw(marker_sets(17))
    opens, closes, section, section_end, per_call, per_call_end, end = markers[:7]
    prefix, suffix, close, start, stop, key, key_end, value, value_end, id_start = markers[7:]
    family = draw(st.sampled_from(kinds))
    tagged = family == "TAG_WITH_TAGGED"
    shape = draw(st.sampled_from(["section", "per_call", "both", "name"]))
    mode = draw(st.sampled_from(["NONE", "TAG_BASED", "DELIMITER"]))
    has_prefix = shape in ("name", "section") or draw(st.booleans())
    positions = ["NONE", "BETWEEN_FUNC_AND_ARGS", *([] if streamed else ["POST_ARGS"])]
    if shape in ("per_call", "both"):
        positions.append("PRE_FUNC_NAME")
    position = draw(st.sampled_from(positions))
    has_start = draw(st.booleans())

    def maybe(marker):
        return draw(st.sampled_from(["", marker]))

    def spaced(marker):
        return marker and draw(spaces) + marker + draw(spaces)

    name_suffix = spaced(suffix) if position != "NONE" else draw(spaces) + maybe(suffix)
    ends_call = spaced(close if shape == "name" else maybe(close))
    value_start = spaced(maybe(value)) if tagged else ""
    return WireFormat(
        turn=TurnFormat(headers=(HEADER,), ends=(end,), generation_prompt=HEADER),
        reasoning=ReasoningFormat(
            mode=ReasoningMode(mode),
            start=opens + draw(spaces) if mode == "TAG_BASED" else "",
            end=draw(spaces) + closes + draw(spaces) if mode != "NONE" else "",
        ),
        tools=ToolsFormat(
            format=family,
            section_start=spaced(section) if shape in ("section", "both") else "",
            section_end=spaced(section_end) if shape in ("section", "both") else "",
            per_call_start=spaced(per_call) if shape in ("per_call", "both") else "",
            per_call_end=spaced(per_call_end) if shape in ("per_call", "both") else "",
            separator=draw(separators),
        ),
        function=FunctionFormat(
            name_prefix=spaced(prefix) if has_prefix else "",
            name_suffix=name_suffix,
            close=ends_call,
        ),
        arguments=ArgumentsFormat(
            start=spaced(start) if has_start else "",
            end=spaced(stop) if has_start else "",
            name_prefix=spaced(key) if tagged else "",
            name_suffix=spaced(key_end) if tagged else "",
            value_prefix=value_start,
            value_suffix=spaced(value_end) if tagged else "",
            separator=draw(spaces) if tagged else "",
        ),
        call_id=CallIdFormat(
            position=position,
            prefix=spaced(id_start) if position != "NONE" else "",
            suffix=spaced("<id/>") if position != "NONE" else "",
        ),
    )


separators = st.sampled_from(["", "\n", "\n", ", ", " ;\n", "\n---\n", " and "])
"""Separators between two calls."""


@st.composite
def json_formats(draw, *, streamed=False):
    """Draw a wire format of the JSON family; `streamed` formats do not buffer arguments."""
    markers = draw(marker_sets(7))
    opens, closes, section, section_end, per_call, per_call_end, end = markers
    layout = draw(st.sampled_from(["flat", "nested", "key"]))
    shape = draw(st.sampled_from(["section", "per_call", "both", "unmarked"]))
    array = draw(st.booleans())
    mode = draw(st.sampled_from(["NONE", "TAG_BASED", "DELIMITER"]))
    has_id = layout != "key" and not streamed and draw(st.booleans())
    if shape == "unmarked":
        layout, has_id = "flat", False
    order = ["name", "arguments", *(["id"] if has_id else [])]
    order = order if streamed else draw(st.permutations(order))
    return WireFormat(
        turn=TurnFormat(headers=(HEADER,), ends=(end,), generation_prompt=HEADER),
        reasoning=ReasoningFormat(
            mode=ReasoningMode(mode),
            start=opens + draw(spaces) if mode == "TAG_BASED" else "",
            end=draw(spaces) + closes + draw(spaces) if mode != "NONE" else "",
        ),
        tools=ToolsFormat(
            format="JSON_NATIVE",
            section_start=section + draw(spaces) if shape in ("section", "both") else "",
            section_end=draw(spaces) + section_end if shape in ("section", "both") else "",
            per_call_start=per_call + draw(spaces) if shape in ("per_call", "both") else "",
            per_call_end=draw(spaces) + per_call_end if shape in ("per_call", "both") else "",
            separator=", " if array and shape == "section" else draw(separators),
            content_separator=draw(spaces),
            array_wrapped=array,
            name_is_key=layout == "key",
            function_field="function" if layout == "nested" else "",
            name_field="" if layout == "key" else "name",
            arguments_field="" if layout == "key" else "arguments",
            arguments_as_text=layout != "key" and not streamed and draw(st.booleans()),
            id_field="id" if has_id else "",
            field_order=tuple(order),
        ),
    )


NAMES = ["get_weather", "f", "run", "multi edit", 'quo"te']
TAG_NAMES = ["get_weather", "f", "mcp.server-1/run", "été"]
# For tags, the first letter of an argument name selects its type in the schema.
TYPES = {
    "s": ("string", st.text(TEASING, max_size=12)),
    "n": ("number", st.integers() | st.floats(allow_nan=False, allow_infinity=False)),
    "i": ("integer", st.integers()),
    "b": ("boolean", st.booleans()),
    "z": ("null", st.none()),
    "l": ("array", st.lists(json_values, max_size=3)),
    "o": ("object", arguments),
}
KEYS = ["s", "s2", "n", "i", "b", "z", "l", "o", "s-3.x", "n é"]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {key: {"type": TYPES[key[0]][0]} for key in KEYS},
            },
        },
    }
    for name in (*NAMES, *TAG_NAMES, "quote")
]
"""Tools for which the written turns of all families round-trip."""


@st.composite
def tagged_arguments(draw, fmt):
    """Draw arguments for tags: no string contains a marker."""
    literals = [text.strip() for text in markers_of(fmt)]
    if not fmt.arguments.value_suffix:  # the next call or its separator ends a value
        borders = (fmt.function.name_prefix.strip(), fmt.tools.separator.strip())
        literals += [border for border in borders if border]
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=4, unique=True))
    values = {key: draw(TYPES[key[0]][1]) for key in keys}
    for key, value in values.items():
        if isinstance(value, str) and any(literal in value for literal in literals):
            values[key] = "x"
    return values


def plain_text(fmt):
    """Return text without markers of the format and without their whitespace at its edges."""
    texts = plain_texts(markers_of(fmt))
    # In formats of unmarked calls, a bracket or separator at the start may be part of a call.
    return texts.filter(lambda text: not text.startswith(("{", "[", ",", ";")))


@st.composite
def turns(draw, fmt, *, calls=(0, 3)):
    """Draw a turn for a format, with a number of calls in the given range."""
    has_reasoning = fmt.reasoning.mode is not ReasoningMode.NONE
    tools = fmt.tools
    tagged = tools.format != "JSON_NATIVE"
    values = tagged_arguments(fmt) if tools.format == "TAG_WITH_TAGGED" else arguments
    call = st.tuples(st.sampled_from(TAG_NAMES if tagged else NAMES), values)
    calls = draw(st.lists(call, min_size=calls[0], max_size=calls[1]))
    if is_unmarked(fmt) and not tools.array_wrapped:
        # Only the separator would distinguish a second unmarked call from text.
        calls = calls[:1]
    if tools.name_is_key:
        calls = [(name.replace('"', ""), values) for name, values in calls]
    return Written(
        reasoning=draw(plain_text(fmt)) if has_reasoning else "",
        content="" if is_unmarked(fmt) and calls else draw(plain_text(fmt)),
        calls=tuple(calls),
        ids=tuple(f"id{at}" for at in range(len(calls))) if writes_ids(fmt) else (),
    )


def writes_ids(fmt):
    """Return whether the model writes the ids of calls."""
    in_json = fmt.tools.format == "JSON_NATIVE" and bool(fmt.tools.id_field)
    return in_json or fmt.call_id.position != "NONE"


def write(fmt, turn, ids=()):
    """Write a turn without its end-of-turn marker."""
    wire = ""
    if fmt.reasoning.mode is ReasoningMode.DELIMITER or turn.reasoning:
        wire += fmt.reasoning.start + turn.reasoning + fmt.reasoning.end
    wire += turn.content
    if turn.calls:
        tools = fmt.tools
        made = [
            write_any(fmt, name, values, ids[at] if ids else f"id{at}")
            for at, (name, values) in enumerate(turn.calls)
        ]
        if tools.array_wrapped and not tools.per_call_start:
            body = "[" + ", ".join(made) + "]"
        else:
            opened, closed = ("[", "]") if tools.array_wrapped else ("", "")
            parts = [
                tools.per_call_start + opened + text + closed + tools.per_call_end for text in made
            ]
            body = tools.separator.join(parts)
        wire += tools.content_separator + tools.section_start + body + tools.section_end
    return wire


def write_any(fmt, name, values, call_id):
    """Write one call between the markers of each call."""
    if fmt.tools.format == "JSON_NATIVE":
        return write_call(fmt.tools, name, values, call_id)
    function, position = fmt.function, fmt.call_id.position
    id_text = fmt.call_id.prefix + call_id + fmt.call_id.suffix
    if fmt.tools.format == "TAG_WITH_JSON":
        body = json.dumps(values, ensure_ascii=False)
    else:
        body = fmt.arguments.separator.join(
            write_argument(fmt.arguments, key, value) for key, value in values.items()
        )
    wire = id_text if position == "PRE_FUNC_NAME" else ""
    wire += function.name_prefix + name + function.name_suffix
    wire += id_text if position == "BETWEEN_FUNC_AND_ARGS" else ""
    wire += fmt.arguments.start + body + fmt.arguments.end
    wire += id_text if position == "POST_ARGS" else ""
    closer = name + function.close_suffix if function.close_suffix else ""
    return wire + function.close + closer


def write_argument(arguments, key, value):
    """Write one argument in tags."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    kind = type_of(value)
    usual, *others = arguments.ways
    way = next((one for one in others if kind in one.types.split()), usual)
    kind = kind + arguments.type_suffix if arguments.type_suffix else ""
    head = [kind, key, way.name_suffix] if arguments.type_first else [key, way.name_suffix, kind]
    closer = key + arguments.key_suffix if arguments.key_suffix else ""
    head = way.name_prefix + "".join(head) + arguments.value_prefix
    return head + text + way.value_suffix + closer


def write_call(tools, name, values, call_id):
    """Write one call as JSON."""
    text = json.dumps(values, ensure_ascii=False)
    shown = json.dumps(text) if tools.arguments_as_text else text
    if tools.name_is_key:
        return "{" + json.dumps(name) + ": " + text + "}"
    fields = {"name": json.dumps(name), "arguments": shown, "id": json.dumps(call_id)}
    inner = ", ".join(f'"{key}": {fields[key]}' for key in tools.field_order if key != "id")
    with_id = [f'"{key}": {fields[key]}' for key in tools.field_order if key == "id"]
    if tools.function_field:
        return '{"type": "function", ' + ", ".join([f'"function": {{{inner}}}', *with_id]) + "}"
    return "{" + ", ".join(f'"{key}": {fields[key]}' for key in tools.field_order) + "}"


@st.composite
def written(draw, formats=any_format):
    """Draw a format, a turn, and its text with or without the end marker."""
    fmt = draw(formats)
    turn = draw(turns(fmt))
    return fmt, turn, write(fmt, turn) + draw(st.sampled_from(["", *fmt.turn.ends]))


@st.composite
def streamed(draw, formats):
    """Draw a format, a turn up to the arguments of its only call, and the arguments as JSON.

    `formats` must not buffer arguments.
    """
    fmt = draw(formats)
    turn = draw(turns(fmt, calls=(1, 1)))
    wire = write(fmt, turn)
    text = json.dumps(turn.calls[0][1], ensure_ascii=False)
    return fmt, wire[: wire.rindex(text)], text


@st.composite
def soups(draw, formats=any_format):
    """Draw a format, and text of its markers, their parts and JSON in any order."""
    fmt = draw(formats)
    call = '{"name": "f", "arguments": {"a": "<b>", "n": 12.5e-2}}'
    parts = fragments(markers_of(fmt))
    parts += [call, f"[{call}, {call}]", call[:30], '{"f": {}}', '"id": "7"', "{", "}", "]", ","]
    parts += ['{"name": "f", "why": ["x"], "type": 1, "arguments": [1, "y"], "name": "g"}']
    parts += ['{"name": "f", "arguments": "{\\"a\\": 12} z"}', '{"name": "f", "arguments": "[1, ']
    parts += ["f", "1", "True", '"x"', "s", "n"]
    parts += ["text", " ", "\n", "<", "[", "é😀", '"', "\\", "a < b"]
    return fmt, draw(mixed(parts))


any_text = written().map(lambda case: (case[0], case[2])) | soups()
"""A format, and a written turn or a soup."""
