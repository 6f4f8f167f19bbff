"""The value of an argument in markers of its own, and what ends it.

A value may contain its own suffix. The suffix ends the value only before text that may follow an
argument. If the suffixes of a format repeat the argument's name, a suffix needs that name.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from deltaparse.partial import (
    Emit,
    JsonState,
    Markers,
    Steps,
    StringSink,
    Window,
    json_space,
    marker_set,
    peek_marker,
    skip_if_here,
    until,
)

from ...wire.argument_types import Kinds, argument_names
from ...wire.call_names import LONGEST_NAME
from ...wire.next_call import MOST_CLOSERS
from ...wire.spellings import GAP, MOST_GAP, has_word
from ...wire.tag_markers import TaggedMarkers
from ..content import followed_by_marker_or_end, may_become
from .call import Call
from .ending import CUT, WHOLE, Ending
from .json_arguments import closers_of, object_value
from .quoted_calls import QuotedCalls
from .tagged_head import name_in
from .typed_value import Value

__all__ = ["ValueEnd", "followed", "name_follows", "read_to_suffix", "space_after", "text_value"]

SPACE = re.compile(GAP)
INDENT = re.compile(rf"[ \t]{{0,{MOST_GAP}}}+")
STRING: Kinds = {"string": None}
OPENERS = {"{": "object", "[": "array", '"': "string"}
"""First characters of JSON values, with their types."""


class ValueEnd(NamedTuple):
    """The end of the current value: one of the markers, and the name after its own suffix.

    Attributes:
        markers: the markers to look for.
        name: the argument's name with the text after it, if suffixes repeat it. It is not one of
            the markers, because the model chose it, and markers are made once per format.
        suffix: the argument's suffix. If it is "", any of the markers ends the value and stays
        unread.
        names: possible names of the next argument, if the format has no marker before names.
    """

    markers: Markers
    name: str
    suffix: str
    names: Collection[str] = ()


def text_value(
    src: Window, call: Call, m: TaggedMarkers, types: Kinds, end: ValueEnd
) -> Steps[Ending]:
    """Read one value and its end."""
    arguments = call.fmt.arguments
    if call.traces:
        call.begin_arguments()
    # Escape markers prove a string, so its text needs no type decision.
    if m.escape_start.literals and (yield from peek_marker(src, m.escape_start)):
        return (yield from _escaped(src, call, m, end))
    # The start of the escape is truncated, so the type of the value is unknown.
    if src.unread and may_become(src, m.escape_start):
        return CUT
    # If a string must be quoted here, text that starts like JSON is JSON.
    certain = arguments.quoted_strings or "string" not in types
    openers = [char for char, kind in OPENERS.items() if certain and kind in types]
    # Only here can JSON be told from a string by its first character.
    if openers:
        char = yield from json_space(src)
        # A marker may also start with a bracket, after an empty value.
        if char in openers and not (yield from peek_marker(src, end.markers)):
            return (yield from _json_in_tags(src, call, m, end))

    def note(how: str) -> None:
        call.repaired(how, src.offset)

    escapes, python = m.value_escapes, arguments.python_literals
    value = Value(call.emit, note, types, python=python, escapes=escapes)
    # The sink refers to the text, so an exception while reading does not lose it.
    call.sink.held = value.chunks
    ending = yield from read_to_suffix(src, call, m, end, value.write, value.string)
    if ending is CUT:
        # The buffered text may be the start of a literal, so it is not emitted.
        call.not_emitted.append(value.held)
        return CUT
    value.end()
    call.sink.held = []
    return ending


def _escaped(src: Window, call: Call, m: TaggedMarkers, end: ValueEnd) -> Steps[Ending]:
    """Read a string between its own markers, and the end of the value."""
    yield from skip_if_here(src, m.escape_start)
    value = Value(call.emit, lambda _: None, STRING)
    # The text of the string may bypass this reader, because `until` gets its receiver.
    emit, string = value.write, value.string
    while (yield from until(src, m.escape_end, emit, certain=True, string=string)):
        space = INDENT if end.suffix == "\n" else SPACE
        # Only an end marker before the suffix ends the string, because strings may quote the
        # marker.
        if (yield from followed(src, m.escape_end.longest, marker_set({end.suffix}), space)):
            value.end()
            yield from skip_if_here(src, m.escape_end)
            return (yield from _after_whole_value(src, call, m, end))
        emit(src.consume(src.pos + 1))
    return CUT


def _json_in_tags(src: Window, call: Call, m: TaggedMarkers, end: ValueEnd) -> Steps[Ending]:
    """Read a JSON value. Markers in its strings do not end it."""
    lexer = yield from object_value(src, call, call.emit)
    if lexer.state is JsonState.BROKEN:
        closers = closers_of(lexer)
        marker = yield from peek_marker(src, end.markers)
        # Only missing brackets can be repaired here, and only the suffix proves that they are
        # missing.
        if not (closers and call.may_repair and marker) or marker in m.quoted_openers:
            return Ending.broken(lexer.problem)
        call.emit(closers)
        call.repaired("closed_brackets", src.offset)
    elif lexer.state is not JsonState.DONE:
        return CUT
    return (yield from _after_whole_value(src, call, m, end))


def _after_whole_value(src: Window, call: Call, m: TaggedMarkers, end: ValueEnd) -> Steps[Ending]:
    """Read the end of a complete value, the first suffix, which cannot be part of the value."""
    rest: list[str] = []
    call.sink.held = rest
    start = src.offset
    ending = yield from read_to_suffix(src, call, m, end, rest.append, whole=True)
    if "".join(rest).strip():
        detail = f"not emitted after an argument: {''.join(rest)!r}"
        call.sink.issue("repaired_arguments", (start, src.offset), detail)
    return ending


def read_to_suffix(
    src: Window,
    call: Call,
    m: TaggedMarkers,
    end: ValueEnd,
    emit: Emit,
    string: StringSink | None = None,
    *,
    whole: bool = False,
) -> Steps[Ending]:
    """Read a value up to and including its suffix.

    A suffix ends the value if no argument of a quoted call is open and the text after it may follow
    an argument. Markers without a match in the value are counted. If the format has no suffix, any
    other marker ends the value and stays unread. If it has one, an end-of-turn marker before text
    is text.

    Args:
        src: the window.
        call: the call.
        m: the markers.
        end: the end of the value.
        emit: takes the text.
        string: see `until`.
        whole: True after a complete value, ended by any suffix.
    """
    suffix, quoted = end.suffix, QuotedCalls(m)
    while True:
        marker = yield from until(src, end.markers, emit, certain=True, string=string)
        core = marker.lstrip() or "\n" * bool(marker)
        gap = len(marker) - len(core)
        ends_turn = core in m.turn_ends and core != suffix
        # Text follows the marker, and a value may quote any marker.
        if suffix and ends_turn and not (yield from _turn_ends(src, call, len(marker))):
            # An unmatched marker makes the end of the value uncertain, which is reported.
            quoted.unmatched += 1
            emit(src.consume(src.pos + gap + 1))
            continue
        # Quoted calls nest, so their markers do not end the value.
        if marker and not suffix and _quotes(quoted, core, m):
            emit(src.consume(src.pos + len(marker)))
            continue
        # At a natural end, a value without a suffix in the format is complete.
        if not marker or ends_turn or not suffix:
            whole = not suffix and bool(marker or call.sink.natural)
            return _ended(call, quoted, WHOLE if whole else CUT)
        named: bool | None = False
        if core == suffix or (end.name and core.startswith(suffix)):
            length = gap + len(suffix)
            named = yield from name_follows(src, length, end)
            # The output ends inside of the repeated name.
            if named is None:
                return _ended(call, quoted, CUT)
            length += len(end.name)
            if named and (whole or (yield from _ends_value(src, length, end, m, quoted))):
                _ended(call, quoted, WHOLE)
                src.pos += length
                return WHOLE
        if core != suffix and core in m.key.literals:
            if (yield from _argument_begins(src, call, len(marker), end, m, quoted)):
                # A quoted argument has its own suffix, which must not end this value.
                quoted.arguments += 1
            emit(src.consume(src.pos + len(marker)))
            continue
        if core != suffix and quoted.opens(core):
            emit(src.consume(src.pos + len(marker)))
            continue
        if core != suffix and not quoted.closes(core):
            # The turn ends after the closers, so the suffix is missing.
            if (yield from _closed_turn(src, call, m, gap)):
                src.pos += gap
                natural = call.sink.natural
                ending = Ending.broken("an argument has no closing marker") if natural else CUT
                call.ambiguous += quoted.unbalanced
                return ending
            # A line end is ordinary text, and so is a suffix with another name.
            quoted.unmatched += not named and core != "\n"
        # Only the first character is text for certain. The rest may contain the start of a marker.
        emit(src.consume(src.pos + gap + 1))


def _quotes(quoted: QuotedCalls, core: str, m: TaggedMarkers) -> bool:
    """Return True for a marker of a call quoted in a value without a suffix, and count it."""
    if core in m.key.literals:
        return quoted.is_open
    return core not in m.as_arguments and (quoted.opens(core) or quoted.closes(core))


def _ended(call: Call, quoted: QuotedCalls, ending: Ending) -> Ending:
    """Record the end of the value and the number of unmatched markers, and return `ending`."""
    call.ambiguous += quoted.unbalanced
    if quoted.arguments:
        call.swallowed |= quoted.names
    if call.traces:
        call.end_arguments()
    return ending


def _ends_value(
    src: Window, length: int, end: ValueEnd, m: TaggedMarkers, quoted: QuotedCalls
) -> Steps[bool]:
    """Return True if a suffix of `length` characters ends the value, else count it as text.

    It ends the last open quoted argument, if that is in a quoted call. Outside of quoted calls, an
    argument with the name of a real one may lack its own suffix. Other arguments there are quoted
    if another argument follows their suffix.
    """
    # A suffix inside of a quoted call belongs to the quoted argument.
    nests = bool(quoted.arguments) and (quoted.is_open or bool(end.name))
    nests |= quoted.is_open and m.names_unmarked
    if quoted.arguments and not (nests or quoted.names):
        nests = yield from followed(src, length, m.next_argument)
    # The suffix belongs to this value only if the text after it may follow an argument.
    if not nests and (yield from _ends_there(src, length, end, m)):
        return True
    if quoted.arguments:
        quoted.arguments -= 1
    elif not nests:
        quoted.unmatched += end.suffix != "\n"
    return False


def _ends_there(src: Window, length: int, end: ValueEnd, m: TaggedMarkers) -> Steps[bool]:
    """Return True if a marker or name that may follow an argument is `length` characters ahead.

    After a line end it must be in the next line, because earlier lines belong to the value.
    """
    space = INDENT if end.suffix == "\n" else SPACE
    if (yield from followed(src, length, m.after_value, space)):
        return True
    # The next argument may have other attributes before its name.
    if m.argument_head and (yield from followed(src, length, m.argument_head.open, space)):
        return True
    # With a marker before names, or a separator, the checks above were complete.
    if not m.names_unmarked or m.separator.literals:
        return False
    while True:
        start = space_after(src.text, src.pos + length, space)
        text = src.text[start : start + LONGEST_NAME + m.key_end.longest]
        # More whitespace than between two markers belongs to the value.
        read = "" if text[:1].isspace() else name_in(text, m.key_end, src.closed, end.names)
        # The end of the output may have truncated a name.
        if read is not None or src.closed:
            return read != ""
        yield


def name_follows(src: Window, length: int, end: ValueEnd) -> Steps[bool | None]:
    """Return True if the name that ends the value is `length` characters ahead.

    Returns None if the input ends inside of the name.
    """
    # Each part is compared once, because a name can be as long as the model likes.
    same = 0
    while True:
        start = src.pos + length + same
        text = src.text[start : start + len(end.name) - same]
        if not end.name.startswith(text, same):
            return False
        same += len(text)
        if same == len(end.name):
            return True
        if src.closed:
            return None
        yield


def _argument_begins(
    src: Window, call: Call, length: int, end: ValueEnd, m: TaggedMarkers, quoted: QuotedCalls
) -> Steps[bool]:
    """Return True if a name follows the `length` characters of an argument's start marker.

    If suffixes repeat names, only an argument with the same name matters, because only its suffix
    may end the value. Punctuation starts an argument only in a quoted call.
    """
    punctuation = not has_word(src.text[src.pos : src.pos + length])
    # Punctuation is too common in text to start a quoted argument.
    if m.type_first or (punctuation and not (quoted.is_open or end.name)):
        return m.type_first
    tools = call.sink.tools
    known = (tools and argument_names(tools.get(call.name))) or ()
    while True:
        text = src.text[src.pos + length : src.pos + length + LONGEST_NAME + m.key_stops.longest]
        name = name_in(text, m.key_stops, src.closed, known)
        if name is not None or src.closed:
            name = (name or "").strip()
            # This may be a real argument after a missing suffix, so its name is noted.
            if name in known and not quoted.is_open:
                quoted.names.add(name)
            return bool(name) and (not end.name or name + (m.key_suffix or "") == end.name)
        yield


def _closed_turn(src: Window, call: Call, m: TaggedMarkers, length: int) -> Steps[bool]:
    """Return True if closers and the end of the turn follow after `length` characters."""
    # The limit bounds the lookahead for a long run of closers.
    for _ in range(1 + MOST_CLOSERS):
        while True:
            text = src.text
            start = space_after(text, src.pos + length)
            end = m.end_all.match(text, start)
            if end != start or src.closed:
                break
            yield
        # Other text follows, so the turn does not end here, unless the output does.
        if end <= start:
            return end == start
        length = end - src.pos
        if text[start:end] in m.turn_ends:
            return (yield from _turn_ends(src, call, length))
    return False


def _turn_ends(src: Window, call: Call, length: int) -> Steps[bool]:
    """Return True if only a marker follows the `length` characters of an end-of-turn marker."""
    text = src.text[src.pos : src.pos + length]
    return followed_by_marker_or_end(src, call.tables, text, call.tables.after_end)


def space_after(text: str, pos: int, space: re.Pattern[str] = SPACE) -> int:
    """Return the end of the whitespace that may separate two markers."""
    found = space.match(text, pos)
    return found.end() if found else pos


def followed(
    src: Window, length: int, behind: Markers, space: re.Pattern[str] = SPACE
) -> Steps[bool]:
    """Return True before a marker or the end of the output, after `length` characters and space."""
    # Without markers to look for, there is no condition.
    if not behind.literals:
        return True
    while True:
        text = src.text
        pos = space_after(text, src.pos + length, space)
        end = behind.match(text, pos)
        # The end of the output may have truncated a marker.
        if end > pos or (end == pos and src.closed):
            return True
        if end < 0:
            return False
        yield
