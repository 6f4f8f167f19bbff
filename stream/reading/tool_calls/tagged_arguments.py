"""Arguments of which each stands in markers of its own, read as a JSON object.

    arguments = { key-prefix key key-suffix value-prefix value value-suffix [separator] }

They come in any order, also such as the schema does not know. A value may hold its own suffix:
that ends it only where something stands behind it that may follow an argument.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring
from typing import NamedTuple

from deltaparse.partial import (
    Emit,
    JsonState,
    Markers,
    Steps,
    StringSink,
    Window,
    at,
    json_space,
    marker_set,
    skip_if_here,
    until,
)

from ...wire.spellings import trailing
from ...wire.tag_markers import TaggedMarkers, closed_by
from ..content import may_become
from ..reading import Reading
from .arguments import closers_of, object_value
from .call import Call
from .ending import CUT, WHOLE, Ending
from .schema import (
    ANY,
    DEEPEST,
    Kinds,
    argument_types,
    item_types,
    schema_of_argument,
    schema_of_items,
    types_named,
)
from .values import Value

__all__ = ["end_of_arguments", "tagged_arguments"]

GAP = 64
"""White space characters that may stand between the markers behind a value."""

SPACE = re.compile(r"\s*+")
LINE_END = marker_set({"\n", "\r\n"})
STRING: Kinds = {"string": None}
STRUCTURES = frozenset({"object", "array"})
NOT_STRING: Kinds = {kind: None for kind in ANY if kind not in STRING}


def tagged_arguments(reading: Reading, call: Call, m: TaggedMarkers) -> Steps[Ending]:
    """Read arguments of which each stands in markers of its own, writing a JSON object."""
    src, sink = reading.src, reading.sink
    schema = sink.tools.get(call.name) if sink.tools else None
    call.started = True
    call.announce()
    call.emit("{")
    first = True
    while True:
        yield from json_space(src)
        if m.has_ends and not (yield from at(src, m.in_arguments)):
            yield from _junk(src, call, m)
        if not (yield from _argument_here(src, m)):
            break
        key = yield from _key(src, call, m)
        if key is None:
            return CUT
        name, types, crlf = key
        call.emit(("" if first else ", ") + encode_basestring(name) + ": ")
        sink.held = []
        own = closed_by(m, call.fmt, name)
        ends = own.value_ends_crlf if crlf else own.value_ends
        kinds = types or argument_types(schema, name)
        if own.element_ends.literals and (yield from _nests(src, own, kinds)):
            part = schema_of_argument(schema, name)
            ending = yield from _elements(src, call, own, Typed(kinds, part), 0)
        else:
            ending = yield from _value(src, call, own, kinds, ends)
        if ending is not WHOLE:
            return ending
        first = False
        yield from json_space(src)
        yield from skip_if_here(src, m.separator)
    if (yield from skip_if_here(src, m.arguments_end)):
        call.emit("}")
        call.close()
    return WHOLE


def _argument_here(src: Window, m: TaggedMarkers) -> Steps[bool]:
    """Read the marker before an argument's name, if it stands here and is not one that ends."""
    if m.has_ends and (yield from at(src, m.in_arguments)) not in m.key.literals:
        return False
    return (yield from skip_if_here(src, m.key))


def end_of_arguments(reading: Reading, call: Call, m: TaggedMarkers) -> Steps[Ending]:
    """Close the object, if the arguments end here; what stands behind them is read."""
    yield from json_space(reading.src)
    if not call.id_behind and not (yield from _ends_here(reading, m)):
        return CUT
    call.emit("}")
    call.close()
    return WHOLE


def _ends_here(reading: Reading, m: TaggedMarkers) -> Steps[bool]:
    """Whether the arguments end here: at a closer of the function, or of the call.

    More arguments could follow anything else. A stop string may have swallowed the last closer,
    or part of it, but no other; where the format has none, what follows the call ends it.
    """
    src, natural = reading.src, reading.sink.natural
    if (yield from at(src, m.closers)):
        return True
    if not m.has_ends:
        return not may_become(src, m.key) if src.unread else natural
    return len(m.ends.literals) == 1 and natural and may_become(src, m.ends)


def _junk(src: Window, call: Call, m: TaggedMarkers) -> Steps[None]:
    """Read what stands between arguments and is none."""
    start = src.offset
    left_out: list[str] = []
    call.sink.held = left_out
    yield from until(src, m.in_arguments, left_out.append, certain=True)
    if left_out:
        detail = f"left out between arguments: {''.join(left_out)!r}"
        call.sink.issue("repaired_arguments", (start, src.offset), detail)


def _key(src: Window, call: Call, m: TaggedMarkers) -> Steps[tuple[str, Kinds, bool] | None]:
    """Read an argument's name and what stands between it and the value.

    Returns the name; the types that the marker says that the value has, none if it does not; and
    whether CRLF ends the line before the value. None where the output ends in it.
    """
    arguments = call.fmt.arguments
    texts: list[str] = []
    call.sink.held = texts
    marker = yield from until(src, m.key_end, texts.append, certain=True)
    key = "".join(texts).strip()
    types: Kinds = {}
    if not marker:
        call.not_emitted.append(key)
        return None
    before_value = arguments.value_prefix.strip()
    literal = arguments.literal_name_suffix
    if marker == literal.strip():
        types = NOT_STRING
    elif literal.strip() and marker == arguments.name_suffix.strip():
        types = STRING
    crlf = False
    if marker != before_value:
        suffix = literal if types is NOT_STRING else arguments.name_suffix
        gap = trailing(suffix)
        crlf = yield from _skip(src, marker, gap if before_value else gap + arguments.value_prefix)
        if m.type_end.literals:
            word: list[str] = []
            ended = yield from until(src, m.type_end, word.append, certain=True)
            if not ended:
                call.not_emitted.append(key)
                return None
            crlf = yield from _skip(src, ended, trailing(arguments.type_suffix))
            types = types_named("".join(word))
        if not before_value:
            return key, types, crlf
        yield from json_space(src)
        marker = yield from at(src, m.value_prefix)
        if not marker and src.closed and m.value_prefix.match(src.text, src.pos) == src.pos:
            call.not_emitted.append(key)
            return None
    if marker:
        crlf = yield from _skip(src, marker, trailing(arguments.value_prefix))
    return key, types, crlf


def _skip(src: Window, marker: str, space: str) -> Steps[bool]:
    """Read a marker and what of `space` follows; return whether a line ends in it with CRLF."""
    src.pos += len(marker)
    crlf = False
    for char in space:
        found = yield from at(src, LINE_END if char == "\n" else marker_set({char}))
        src.pos += len(found)
        crlf = crlf or found == "\r\n"
        if not found:
            break
    return crlf


def _value(src: Window, call: Call, m: TaggedMarkers, types: Kinds, ends: Markers) -> Steps[Ending]:
    """Read one value and what ends it."""
    arguments = call.fmt.arguments
    if m.escape_start.literals and (yield from at(src, m.escape_start)):
        return (yield from _escaped(src, call, m))
    quoted = arguments.quoted_strings and "string" in types
    # Where a string cannot stand without quotes, what begins like JSON is that.
    certain = (
        {"{": "object", "[": "array", '"': "string"} if quoted or "string" not in types else {}
    )
    openers = [char for char, kind in certain.items() if kind in types]
    if openers:
        char = yield from json_space(src)
        if char and char in openers:
            return (yield from _json_in_tags(src, call, m))

    def note(how: str) -> None:
        call.repaired(how, src.offset)

    value = Value(call.emit, note, types, python=arguments.python_literals)
    call.sink.held = value.chunks
    ending = yield from _up_to_end(src, call, m, value.write, ends, value.string)
    if ending is CUT:
        call.not_emitted.append(value.held)
        return CUT
    value.end()
    call.sink.held = []
    return ending


class Typed(NamedTuple):
    """The types that a value may have, and the schema that says it, for what is in the value."""

    kinds: Kinds
    schema: object

    def inner(self, name: str, kinds: Kinds, *, listed: bool) -> Typed:
        """The same of an item of the list, or of a member of the object, that the value is."""
        if listed:
            return Typed(kinds or item_types(self.schema), schema_of_items(self.schema))
        part = schema_of_argument(self.schema, name)
        return Typed(kinds or argument_types(self.schema, name), part)


def _nests(src: Window, m: TaggedMarkers, kinds: Kinds) -> Steps[bool]:
    """Whether an element stands here, or nothing where an object or a list should."""
    if "string" in kinds and len(kinds) < len(ANY):
        return False
    while True:
        found = SPACE.match(src.text, src.pos, src.pos + GAP)
        start = found.end() if found else src.pos
        end = m.element_ends.match(src.text, start, final=src.closed)
        if end > start:
            opened = src.text[start:end] in m.key.literals
            return opened or all(kind in STRUCTURES for kind in kinds)
        if (end < 0 and start < len(src.text)) or src.closed:
            return False
        yield


def _elements(src: Window, call: Call, m: TaggedMarkers, typed: Typed, depth: int) -> Steps[Ending]:
    """Read the elements that a value is made of, and what ends it: an object, or a list."""
    opened = ""
    while True:
        yield from json_space(src)
        here = yield from at(src, m.element_ends)
        if not here:
            return CUT
        src.pos += len(here)
        if here not in m.key.literals:
            opened = opened or _open(call, listed="object" not in typed.kinds)
            call.emit("}" if opened == "{" else "]")
            return WHOLE
        key = yield from _key(src, call, m)
        if key is None:
            return CUT
        name, types, crlf = key
        if opened:
            call.emit(", ")
        else:
            listed = name == call.fmt.arguments.item and "array" in typed.kinds
            opened = _open(call, listed=listed)
        if opened == "{":
            call.emit(encode_basestring(name) + ": ")
        call.sink.held = []
        inner, own = typed.inner(name, types, listed=opened == "["), closed_by(m, call.fmt, name)
        if depth < DEEPEST and (yield from _nests(src, own, inner.kinds)):
            ending = yield from _elements(src, call, own, inner, depth + 1)
        else:
            ends = own.value_ends_crlf if crlf else own.value_ends
            ending = yield from _value(src, call, own, inner.kinds, ends)
        if ending is not WHOLE:
            return ending


def _open(call: Call, *, listed: bool) -> str:
    opened = "[" if listed else "{"
    call.emit(opened)
    return opened


def _escaped(src: Window, call: Call, m: TaggedMarkers) -> Steps[Ending]:
    """Read a string between markers of its own, and what ends the value."""
    yield from skip_if_here(src, m.escape_start)
    value = Value(call.emit, lambda _: None, STRING)
    emit, string = value.write, value.string
    while (yield from until(src, m.escape_end, emit, certain=True, string=string)):
        if (yield from _followed(src, m.escape_end.longest, m.value_suffix)):
            value.end()
            yield from skip_if_here(src, m.escape_end)
            rest: list[str] = []
            return (yield from _up_to_end(src, call, m, rest.append, m.value_ends))
        emit(src.take(src.pos + 1))
    return CUT


def _json_in_tags(src: Window, call: Call, m: TaggedMarkers) -> Steps[Ending]:
    """Read a value that can only be JSON: in its strings, no marker ends it."""
    call.overrun = call.next_call_of_tools()
    lexer = yield from object_value(src, call)
    if lexer.state is JsonState.BROKEN:
        closers = closers_of(lexer)
        if not (closers and call.may_repair and (yield from at(src, m.value_ends))):
            return Ending.broken(lexer.problem)
        call.emit(closers)
        call.repaired("closed_brackets", src.offset)
    elif lexer.state is not JsonState.DONE:
        return CUT
    rest: list[str] = []
    call.sink.held = rest
    start = src.offset
    ending = yield from _up_to_end(src, call, m, rest.append, m.value_ends)
    if "".join(rest).strip():
        detail = f"left out behind an argument: {''.join(rest)!r}"
        call.sink.issue("repaired_arguments", (start, src.offset), detail)
    return ending


def _up_to_end(
    src: Window,
    call: Call,
    m: TaggedMarkers,
    emit: Emit,
    ends: Markers,
    string: StringSink | None = None,
) -> Steps[Ending]:
    """Read a value up to and with its suffix.

    A suffix ends it only where something stands behind it that may follow an argument: values
    may hold the suffix. Without one, what shows that the call has ended breaks it, and is left
    unread.
    """
    while True:
        marker = yield from until(src, ends, emit, certain=True, string=string)
        core = marker.strip()
        if not marker or core in m.turn_ends:
            return CUT
        if core in m.value_suffix.literals:
            if (yield from _followed(src, len(marker), m.behind_value)):
                src.pos += len(marker)
                return WHOLE
        elif (yield from _call_ends(src, call, len(marker) - len(core))):
            cut = src.closed and not call.sink.natural
            return CUT if cut else Ending.broken("an argument that does not end")
        call.ambiguous += 1
        emit(src.take(src.pos + 1))


def _call_ends(src: Window, call: Call, gap: int) -> Steps[bool]:
    """Whether the closer behind `gap` characters ends the call, though the argument did not.

    If so, the gap is read.
    """
    overrun = call.next_call_of_tools()
    if overrun is None:
        return False
    while (proof := overrun.stands_at(src.text, src.pos + gap, "")) is None and not src.closed:
        yield
    # What the end of the output cut off may have been proof.
    src.pos += gap if proof is not False else 0
    return proof is not False


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
