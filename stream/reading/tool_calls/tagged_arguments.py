"""Arguments of which each stands in markers of its own, read as a JSON object.

    arguments = { key-prefix key key-suffix value-prefix value value-suffix [separator] }

They come in any order, also such as the schema does not know. A value may hold its own suffix:
that ends it only where something stands behind it that may follow an argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from json.encoder import encode_basestring

from deltaparse.partial import (
    CLOSERS,
    JsonState,
    MalformedJson,
    Markers,
    Steps,
    StringSink,
    Window,
    at,
    json_space,
    skip,
    until,
)

from ...message.sink import Sink
from ...wire.marker_tables import MarkerTables
from ...wire.spellings import trailing
from ...wire.tag_markers import TaggedMarkers, skip_if_here
from .arguments import object_value
from .call import Call
from .schema import ALL_TYPES, argument_types
from .values import Value

__all__ = ["tagged_arguments"]

GAP = 64
"""White space characters that may stand between the markers behind a value."""

SPACE = re.compile(r"\s*+")
NOT_STRING = ALL_TYPES - {"string"}


def tagged_arguments(
    src: Window, turn: Sink, call: Call, m: TaggedMarkers, lex: MarkerTables
) -> Steps[None]:
    """Read arguments of which each stands in markers of its own, writing a JSON object."""
    schema = turn.tools.get(call.name) if turn.tools else None
    call.started = True
    call.announce()
    call.emit("{")
    first = True
    while True:
        yield from json_space(src)
        if m.has_ends and not (yield from at(src, m.in_arguments)):
            yield from _junk(src, call, m)
        if not (yield from skip_if_here(src, m.key)):
            break
        key, told = yield from _key(src, call, m)
        call.emit(("" if first else ", ") + encode_basestring(key) + ": ")
        yield from _value(src, call, m, lex, told or argument_types(schema, key))
        first = False
        yield from json_space(src)
        yield from skip_if_here(src, m.separator)
    if src.closed and not src.unread and not turn.natural:
        raise MalformedJson("the output ends in the arguments", kind="truncated")
    call.emit("}")
    call.whole = True
    yield from skip_if_here(src, m.arguments_end)


def _junk(src: Window, call: Call, m: TaggedMarkers) -> Steps[None]:
    """Read what stands between arguments and is none."""
    start = src.offset
    left_out: list[str] = []
    yield from until(src, m.in_arguments, left_out.append)
    if left_out:
        detail = f"left out between arguments: {''.join(left_out)!r}"
        call.turn.issue("repaired_arguments", (start, src.offset), detail)


def _key(src: Window, call: Call, m: TaggedMarkers) -> Steps[tuple[str, frozenset[str]]]:
    """Read an argument's name and what stands between it and the value.

    Returns the name, and the types that the marker says that the value has, none if it does not.
    """
    arguments = call.fmt.arguments
    pieces: list[str] = []
    marker = yield from until(src, m.key_end, pieces.append, certain=True)
    key, told = "".join(pieces).strip(), frozenset[str]()
    if not marker:
        call.unused.append(key)
        raise MalformedJson("the output ends in the name of an argument", kind="truncated")
    before_value = arguments.value_prefix.strip()
    literal = arguments.literal_name_suffix
    if literal.strip():
        told = NOT_STRING if marker == literal.strip() else frozenset({"string"})
    if marker != before_value:
        suffix = literal if told == NOT_STRING else arguments.name_suffix
        gap = trailing(suffix)
        yield from skip(src, marker, gap if before_value else gap + arguments.value_prefix)
        if not before_value:
            return key, told
        yield from json_space(src)
        marker = yield from at(src, m.value_prefix)
        if not marker and src.closed and m.value_prefix.match(src.text, src.pos) == src.pos:
            call.unused.append(key)
            raise MalformedJson("the output ends before an argument", kind="truncated")
    if marker:
        yield from skip(src, marker, trailing(arguments.value_prefix))
    return key, told


def _value(
    src: Window, call: Call, m: TaggedMarkers, lex: MarkerTables, types: frozenset[str]
) -> Steps[None]:
    """Read one value and what ends it."""
    arguments = lex.fmt.arguments
    quoted = arguments.quoted_strings and "string" in types
    # Where a string cannot stand bare, what begins like JSON is that.
    certain = (
        {"{": "object", "[": "array", '"': "string"} if quoted or "string" not in types else {}
    )
    openers = [char for char, kind in certain.items() if kind in types]
    if openers:
        char = yield from json_space(src)
        if char and char in openers:
            yield from _json_in_tags(src, call, m)
            return

    def note(how: str) -> None:
        call.repaired(how, src.offset)

    value = Value(call.emit, note, types, python=arguments.python_literals)
    if not (yield from _up_to_end(src, call, m, value.write, value.string)):
        call.unused.append(value.held)
        raise MalformedJson("the output ends in an argument", kind="truncated")
    value.end()


def _json_in_tags(src: Window, call: Call, m: TaggedMarkers) -> Steps[None]:
    """Read a value that can only be JSON: in its strings, no marker ends it."""
    lexer = yield from object_value(src, call)
    if lexer.state is JsonState.BROKEN:
        open_brackets = lexer.broken_in in (JsonState.AFTER_VALUE, JsonState.AFTER_OPEN)
        if not (open_brackets and call.may_repair and (yield from at(src, m.value_ends))):
            raise MalformedJson(lexer.problem)
        call.emit("".join(CLOSERS[bracket] for bracket in reversed(lexer.stack)))
        call.repaired("closed_brackets", src.offset)
    elif lexer.state is not JsonState.DONE:
        raise MalformedJson("the output ends in an argument", kind="truncated")
    rest: list[str] = []
    start = src.offset
    ended = yield from _up_to_end(src, call, m, rest.append)
    if "".join(rest).strip():
        detail = f"left out behind an argument: {''.join(rest)!r}"
        call.turn.issue("repaired_arguments", (start, src.offset), detail)
    if not ended:
        raise MalformedJson("the output ends behind an argument", kind="truncated")


def _up_to_end(
    src: Window,
    call: Call,
    m: TaggedMarkers,
    take: Callable[[str], None],
    string: StringSink | None = None,
) -> Steps[bool]:
    """Read a value up to and with its suffix; return whether it ended before the output did.

    A suffix ends it only where something stands behind it that may follow an argument: values
    may hold the suffix. What can only follow an argument ends it too, for models forget suffixes;
    it is left unread.
    """
    while True:
        marker = yield from until(src, m.value_ends, take, certain=True, string=string)
        if not marker:
            return False
        core = marker.strip()
        if core in m.turn_ends:
            return False
        own = core in m.value_suffix.literals
        behind = m.behind_value if own else m.behind_call
        if (yield from _followed(src, len(marker), behind)):
            if own:
                src.pos += len(marker)
            else:
                call.repaired("missing_closer", src.offset)
            return True
        call.ambiguous += 1
        take(src.take(src.pos + 1))


def _followed(src: Window, length: int, behind: Markers) -> Steps[bool]:
    """Whether, after `length` characters and white space, a marker stands, or the output ends."""
    if not behind.literals:
        return True
    while True:
        text = src.text
        start = src.pos + length
        found = SPACE.match(text, start, start + GAP)
        pos = found.end() if found else start
        end = behind.match(text, pos)
        # What is cut by the end of the output may have been a marker.
        if end > pos or (end == pos and src.closed):
            return True
        if end < 0 and pos < len(text):
            return False
        yield
