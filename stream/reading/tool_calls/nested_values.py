"""An argument in its own markers: the name, and the value, possibly made of elements.

    argument = key-prefix key key-suffix [type type-suffix] value-prefix value value-suffix
             | key-prefix type type-suffix key key-suffix value-prefix value value-suffix
    value    = text | { element }                            element = argument

Elements with the format's name for items form a list. Other elements form an object.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from json.encoder import encode_basestring
from typing import NamedTuple

from deltaparse.partial import (
    LONGEST_MARKER,
    Steps,
    Window,
    json_space,
    marker_set,
    nowhere,
    peek_marker,
    skip_if_here,
    until,
)

from ...wire.argument_types import (
    ANY,
    DEEPEST,
    Kinds,
    argument_names,
    argument_types,
    item_types,
    schema_of_argument,
    schema_of_items,
    types_named,
)
from ...wire.call_names import LONGEST_NAME
from ...wire.escapes import Unescaped
from ...wire.spellings import trailing
from ...wire.tag_markers import TaggedMarkers, ValueMarkers
from .call import Call
from .element_attributes import attributes_after
from .ending import CUT, WHOLE, Ending
from .given_names import NONE, Given, given_name, odd_names
from .tagged_value import ValueEnd, followed, name_follows, space_after, text_value

__all__ = ["Argument", "argument_name", "argument_value", "odd_keys"]

LINE_END = marker_set({"\n", "\r\n"})
STRING: Kinds = {"string": None}
WORD = re.compile(r"[^\s\"'`<>{}()]++")
ATTRIBUTE = re.compile(r'([\w:.-]+)="([^"]*)"')
TYPE_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*+")
STRUCTURES = frozenset({"object", "array"})
NOT_STRING: Kinds = {kind: None for kind in ANY if kind not in STRING}


class Argument(NamedTuple):
    """The start of an argument up to its value.

    Attributes:
        name: the name.
        kinds: the types specified by the markers, or empty.
        crlf: True if the line before the value ended with CRLF.
        way: the end markers of the value.
        written: the name as written.
    """

    name: str
    kinds: Kinds
    crlf: bool
    way: ValueMarkers
    written: str = ""

    def end(self, m: TaggedMarkers, names: Collection[str] = ()) -> ValueEnd:
        """Return the end of the value. `names` are the names of the arguments."""
        markers = self.way.ends_crlf if self.crlf else self.way.ends
        # The end marker repeats the name as the model wrote it, with its escapes.
        name = "" if m.key_suffix is None else (self.written or self.name) + m.key_suffix
        return ValueEnd(markers, name, self.way.suffix, names)


class Typed(NamedTuple):
    """The possible types of a value, and its schema for the values inside of it."""

    kinds: Kinds
    schema: object

    def inner(self, element: Argument, *, listed: bool) -> Typed:
        """Return the types of an item of this list, or of a member of this object."""
        # Types in the markers take precedence over the schema.
        if listed:
            return Typed(element.kinds or item_types(self.schema), schema_of_items(self.schema))
        return Typed(
            element.kinds or argument_types(self.schema, element.name),
            schema_of_argument(self.schema, element.name),
        )


def argument_name(
    src: Window,
    call: Call,
    m: TaggedMarkers,
    prefix: str = "",
    given: Given = NONE,
    before: Sequence[tuple[str, str]] = (),
) -> Steps[Argument | Ending]:
    """Read an argument's name and the text up to its value.

    Args:
        src: the window.
        call: the call.
        m: the markers.
        prefix: the marker read before the name.
        given: names that only a comparison with known names can read.
        before: the attributes before the name.

    Returns:
        The start of the argument, or the ending of a call that ends in it.
    """
    arguments = call.fmt.arguments
    types = (yield from _type_before(src, call, m)) if m.type_first else {}
    # The call ended inside of the type.
    if isinstance(types, Ending):
        return types
    if call.traces:
        call.begin_arguments()
    key, written, marker, after = yield from _key(src, call, m, given)
    if call.traces:
        call.end_arguments()
    # Attributes around the name may contain the type.
    if before or after:
        types = _types_in_attributes(call, [*before, *after])
    # The output ends in the name, so its text is reported and not emitted.
    if not marker:
        call.not_emitted.append(key)
        return CUT
    if marker not in m.key_end.literals:
        # The text after the name was already read.
        gap = trailing(arguments.type_suffix or arguments.name_suffix) + arguments.value_prefix
        crlf = yield from _skip(src, "", gap * (marker.strip() != ""))
        return Argument(key, types, crlf or marker == "\r\n", m.usual, written)
    before_value = arguments.value_prefix.strip()
    way, types = _types_by_markers(call, m, prefix, marker, types)
    crlf = False
    # Some formats have no marker between the name and the value.
    if marker != before_value:
        suffix = arguments.literal_name_suffix if types is NOT_STRING else arguments.name_suffix
        gap = trailing(suffix)
        crlf = yield from _skip(src, marker, gap if before_value else gap + arguments.value_prefix)
        if m.type_end.literals and not m.type_first:
            types_read = yield from _type_written(src, call, m)
            # The head was read but not emitted, so it is reported.
            if isinstance(types_read, Ending):
                call.not_emitted.append(key + marker)
                return types_read
            ended = yield from peek_marker(src, m.type_end)
            crlf = yield from _skip(src, ended, trailing(arguments.type_suffix))
            types = types_read
        # The value follows directly, so there is no further marker to read.
        if not before_value:
            return Argument(key, types, crlf, way, written)
        yield from json_space(src)
        marker = yield from peek_marker(src, m.value_prefix)
        # The output ends in the marker before the value.
        if not marker and m.value_prefix.match(src.text, src.pos) == src.pos:
            call.not_emitted.append(key)
            return CUT
    if marker:
        crlf = yield from _skip(src, marker, trailing(arguments.value_prefix))
    return Argument(key, types, crlf, way, written)


def _types_by_markers(
    call: Call, m: TaggedMarkers, prefix: str, marker: str, types: Kinds
) -> tuple[ValueMarkers, Kinds]:
    """Return the markers and the types of an argument, by the markers before and after its name."""
    arguments = call.fmt.arguments
    literal = arguments.literal_name_suffix.strip()
    # The marker after the name determines the type in some formats.
    if marker == literal:
        types = NOT_STRING
    elif literal and marker == arguments.name_suffix.strip():
        types = STRING
    # In some formats, the markers of an argument depend on its type.
    if not m.ways:
        return m.usual, types
    way = m.ways.get((prefix, marker), m.usual)
    return way, types or _types_of(way, m)


def _key(
    src: Window, call: Call, m: TaggedMarkers, given: Given
) -> Steps[tuple[str, str, str, Sequence[tuple[str, str]]]]:
    """Read a name up to its end marker.

    Returns the name, its written form, the marker, and the attributes after the name. A marker of
    the format stays unread. Otherwise the rest of the head is read too: a line end in place of the
    marker, or the quotation mark after the name with attributes.
    """
    # Known names may contain markers, so they are compared first.
    if given and (found := (yield from given_name(src, given, m.key_end))):
        written, name = found
        # Whitespace may be the end marker.
        marker = yield from peek_marker(src, m.key_end)
        if not marker:
            yield from json_space(src)
            marker = yield from peek_marker(src, m.key_end)
        return name, m.key_escapes.write(name) if name != name.strip() else written, marker, ()
    # The sink refers to the text, so an exception while reading does not lose it.
    texts = call.sink.held = list[str]()
    unescaped = Unescaped(m.key_escapes, nowhere)

    def write(text: str) -> None:
        texts.append(text)
        unescaped.write(text)

    # Without escapes, the text of a name needs no further processing.
    emit = write if m.key_escapes else texts.append
    after: Sequence[tuple[str, str]] | None = None
    while True:
        marker = yield from until(src, m.key_stops, emit, certain=True)
        # A marker that is part of an escaped character does not end the name.
        in_escape = unescaped.held and unescaped.goes_on(marker)
        written = "".join(texts).strip()
        if marker and not in_escape and marker not in m.key_end.literals:
            if marker == "\n" and (yield from _ends_name(src, call, m, written)):
                src.pos += 1
                marker, after = ("\r\n" if texts[-1].endswith("\r") else marker), ()
            # The name's quotation mark may be followed by attributes instead of the rest of the
            # marker.
            elif marker != "\n":
                after = yield from attributes_after(src, m.argument_head)
            in_escape = after is None
        if not in_escape:
            return m.key_escapes.read(written), written, marker, after or ()
        emit(src.consume(src.pos + 1))


def odd_keys(schema: object, m: TaggedMarkers) -> Given:
    """Return the names of arguments that only a comparison with known names can read."""
    return odd_names(argument_names(schema) or (), m.key_end, m.key_escapes)


def _type_before(src: Window, call: Call, m: TaggedMarkers) -> Steps[Kinds | Ending]:
    """Read the type of a value before the name, and its end marker."""
    if not m.type_end.literals:
        return {}
    types = yield from _type_written(src, call, m)
    if not isinstance(types, Ending):
        yield from skip_if_here(src, m.type_end)
    return types


def _ends_name(src: Window, call: Call, m: TaggedMarkers, name: str) -> Steps[bool]:
    """Return True if the line end at this place ends a name without its marker, and report it."""
    tools = call.sink.tools
    known = (tools and argument_names(tools.get(call.name))) or ()
    # A known name may contain a line end.
    if not WORD.fullmatch(name) or any(one.startswith(name + "\n") for one in known):
        return False
    # The marker follows in the next line, so it is not missing.
    if (yield from followed(src, 1, m.key_end)):
        return False
    detail = f"the marker after the argument name {name!r} is missing"
    call.sink.issue("repaired_arguments", (src.offset - len(name), src.offset), detail)
    return True


def _types_in_attributes(call: Call, attributes: Sequence[tuple[str, str]]) -> Kinds:
    """Return the types in attributes that the format uses for types. Note other attributes."""
    arguments, kinds = call.fmt.arguments, dict[str, frozenset[object] | None]()
    typed = ATTRIBUTE.findall(arguments.name_suffix + '"') if arguments.type_suffix else []
    own = dict.fromkeys(ATTRIBUTE.findall(arguments.literal_name_suffix), NOT_STRING)
    own |= dict.fromkeys(ATTRIBUTE.findall(arguments.name_suffix), STRING) if own else {}
    for name, value in attributes:
        if (name, value) in own:
            kinds |= own[name, value]
        elif (name, "") in typed:
            kinds |= types_named(value)
        else:
            _left_out(call, f"the attribute {name}")
    return kinds


def _type_written(src: Window, call: Call, m: TaggedMarkers) -> Steps[Kinds | Ending]:
    """Read the type of a value up to its end marker.

    A type is short and contains no other marker. Another marker shows that the end marker is
    missing. A single word may be an unknown type. Other text without a meaning is reported.
    """
    # Whitespace of the marker before the type may itself be a marker after a value.
    yield from json_space(src)
    limit = LONGEST_NAME + m.after_type.longest
    while True:
        text = src.text[src.pos : src.pos + limit]
        # The limit bounds the buffer for a type without an end marker.
        full = len(text) == limit
        start, end = m.after_type.find(text, final=full)
        if end > start or full:
            break
        if src.closed:
            return CUT
        yield
    if m.type_end.match(text, start, final=True) < 0:
        return Ending.broken("the type of an argument has no end marker")
    word = src.consume(src.pos + start)
    types = types_named(word)
    if word.strip() and not TYPE_WORD.fullmatch(word.strip()):
        _left_out(call, f"the type {word.strip()}")
    return types


def _left_out(call: Call, what: str) -> None:
    call.extra_members.append(", " * bool(call.extra_members) + what)


def _types_of(way: ValueMarkers, m: TaggedMarkers) -> Kinds:
    """Return the types of a value in this form. The usual form has the types of no other form."""
    if way.types:
        return {
            kind: kinds[kind] for kinds in map(types_named, way.types.split()) for kind in kinds
        }
    others = {kind for one in m.ways.values() for kind in _types_of(one, m)}
    return {kind: None for kind in ANY if kind not in others}


def _skip(src: Window, marker: str, space: str) -> Steps[bool]:
    """Read a marker and the following part of `space`, and return True for a line end with CRLF."""
    src.pos += len(marker)
    crlf = False
    for char in space:
        found = yield from peek_marker(src, LINE_END if char == "\n" else marker_set({char}))
        src.pos += len(found)
        crlf = crlf or found == "\r\n"
        # A character is missing, so the rest of the whitespace belongs to the value.
        if not found:
            break
    return crlf


# Not a generator, because each generator on the stack is resumed for every chunk.
def argument_value(
    src: Window,
    call: Call,
    m: TaggedMarkers,
    argument: Argument,
    schema: object,
    names: Collection[str] = (),
) -> Steps[Ending]:
    """Read the value of an argument and its end.

    Args:
        src: the window.
        call: the call.
        m: the markers.
        argument: the start of the argument.
        schema: the schema of all arguments.
        names: the names of the arguments, if the format has no marker before names.
    """
    kinds, end = argument.kinds or argument_types(schema, argument.name), argument.end(m, names)
    call.sink.held = []
    # Nesting and repeated names need a generator of their own, which other values do not pay for.
    if m.element_ends.literals or end.name:
        typed = Typed(kinds, schema_of_argument(schema, argument.name))
        return _named_value(src, call, m, end, typed, 0)
    return text_value(src, call, m, kinds, end)


def _named_value(
    src: Window, call: Call, m: TaggedMarkers, end: ValueEnd, typed: Typed, depth: int
) -> Steps[Ending]:
    """Read a value inside of `depth` others, and its end, which may repeat its name."""
    # `Markers` are limited in length, and the end contains the name.
    if len(end.name) > LONGEST_MARKER:
        return Ending.broken(f"the argument's name is too long ({len(end.name)} characters)")
    # Deeper elements are text, because each level has a generator on the stack.
    nests = depth < DEEPEST and m.element_ends.literals
    if nests and (yield from _nests(src, m, typed.kinds, end)):
        return (yield from _elements(src, call, m, end, typed, depth))
    return (yield from text_value(src, call, m, typed.kinds, end))


def _nests(src: Window, m: TaggedMarkers, kinds: Kinds, end: ValueEnd) -> Steps[bool]:
    """Return True before an element, or before the end of an empty object or list."""
    # The schema allows a string, and a string may contain elements as text.
    if "string" in kinds and len(kinds) < len(ANY):
        return False
    while True:
        text = src.text
        start = space_after(text, src.pos)
        stop = m.element_ends.match(text, start, final=src.closed)
        if stop > start:
            # An element starts like an argument.
            if text[start:stop] in m.key.literals:
                # A call starts like an element, and only a string may quote a call.
                return "string" not in kinds or not (yield from _call_starts(src, m, start))
            # An empty object or list has only an end marker, which is also the end of an empty
            # string.
            empty = yield from name_follows(src, stop - src.pos, end)
            return bool(empty) and all(kind in STRUCTURES for kind in kinds)
        if stop < 0:
            return False
        yield


def _call_starts(src: Window, m: TaggedMarkers, start: int) -> Steps[bool]:
    """Return True if a call starts at an index of the text. All text stays unread."""
    openers, length = marker_set(m.quoted_openers), start - src.pos
    while (end := openers.match(src.text, src.pos + length, final=src.closed)) == src.pos + length:
        yield
    return end >= 0


def _elements(
    src: Window, call: Call, m: TaggedMarkers, end: ValueEnd, typed: Typed, depth: int
) -> Steps[Ending]:
    """Read the elements of a value and its end, and write an object or a list."""
    opened = ""
    while True:
        yield from json_space(src)
        here = yield from peek_marker(src, m.element_ends)
        # The output ends inside of a marker, or between two elements.
        if not here:
            return CUT
        # Without the start of an element, only the end of the value may follow.
        if here not in m.key.literals:
            if not (yield from name_follows(src, len(here), end)):
                return CUT
            src.pos += len(here) + len(end.name)
            # An empty value is an object, unless only a list is allowed.
            opened = opened or _open(call, listed="object" not in typed.kinds)
            call.emit("}" if opened == "{" else "]")
            return WHOLE
        src.pos += len(here)
        element = yield from argument_name(src, call, m, here, odd_keys(typed.schema, m))
        if isinstance(element, Ending):
            return element
        # The separator is written before each element but the first, because the last is unknown.
        if opened:
            call.emit(", ")
        # The first element decides, because the format marks items by their name.
        else:
            listed = element.name == call.fmt.arguments.item and "array" in typed.kinds
            opened = _open(call, listed=listed)
        # Items of a list have no names, so the name is not emitted.
        if opened == "[" and element.name != call.fmt.arguments.item:
            _left_out(call, f"the name {element.name}")
        if opened == "{":
            call.emit(encode_basestring(element.name) + ": ")
        inner = typed.inner(element, listed=opened == "[")
        call.sink.held = []
        ending = yield from _named_value(src, call, m, element.end(m), inner, depth + 1)
        if ending is not WHOLE:
            return ending


def _open(call: Call, *, listed: bool) -> str:
    opened = "[" if listed else "{"
    call.emit(opened)
    return opened
