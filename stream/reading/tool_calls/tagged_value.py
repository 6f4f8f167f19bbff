"""The value of an argument in markers of its own, and what ends it.

A value may hold its own suffix: that ends it only where something stands behind it that may follow
an argument. In formats whose suffixes repeat the argument's name, only with that name it is one.
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

__all__ = ["ValueEnd", "followed", "name_stands", "read_to_suffix", "space_behind", "text_value"]

SPACE = re.compile(GAP)
INDENT = re.compile(rf"[ \t]{{0,{MOST_GAP}}}+")
STRING: Kinds = {"string": None}
OPENERS = {"{": "object", "[": "array", '"': "string"}
"""What JSON of these types begins with."""


class ValueEnd(NamedTuple):
    """What ends the value that is read: one of `markers`, and `name` behind its own `suffix`.

    `name` is that of the argument, with what stands behind it, where suffixes repeat it. It is no
    marker: the model chose it, and markers are few and made once. Where the suffix is "", any of
    the markers ends it, and is left unread. `names` are those that the next argument may have,
    where no marker stands before it.
    """

    markers: Markers
    name: str
    suffix: str
    names: Collection[str] = ()


def text_value(
    src: Window, call: Call, m: TaggedMarkers, types: Kinds, end: ValueEnd
) -> Steps[Ending]:
    """Read one value and what ends it."""
    arguments = call.fmt.arguments
    if call.traces:
        call.begin_arguments()
    if m.escape_start.literals and (yield from peek_marker(src, m.escape_start)):
        return (yield from _escaped(src, call, m, end))
    if src.unread and may_become(src, m.escape_start):
        return CUT
    # Where a string cannot stand without quotes, what begins like JSON is that.
    certain = arguments.quoted_strings or "string" not in types
    openers = [char for char, kind in OPENERS.items() if certain and kind in types]
    if openers:
        char = yield from json_space(src)
        # A marker may begin with a bracket, too: behind no value at all.
        if char in openers and not (yield from peek_marker(src, end.markers)):
            return (yield from _json_in_tags(src, call, m, end))

    def note(how: str) -> None:
        call.repaired(how, src.offset)

    escapes, python = m.value_escapes, arguments.python_literals
    value = Value(call.emit, note, types, python=python, escapes=escapes)
    call.sink.held = value.chunks
    ending = yield from read_to_suffix(src, call, m, end, value.write, value.string)
    if ending is CUT:
        call.not_emitted.append(value.held)
        return CUT
    value.end()
    call.sink.held = []
    return ending


def _escaped(src: Window, call: Call, m: TaggedMarkers, end: ValueEnd) -> Steps[Ending]:
    """Read a string between markers of its own, and what ends the value."""
    yield from skip_if_here(src, m.escape_start)
    value = Value(call.emit, lambda _: None, STRING)
    emit, string = value.write, value.string
    while (yield from until(src, m.escape_end, emit, certain=True, string=string)):
        space = INDENT if end.suffix == "\n" else SPACE
        if (yield from followed(src, m.escape_end.longest, marker_set({end.suffix}), space)):
            value.end()
            yield from skip_if_here(src, m.escape_end)
            return (yield from _behind_whole(src, call, m, end))
        emit(src.consume(src.pos + 1))
    return CUT


def _json_in_tags(src: Window, call: Call, m: TaggedMarkers, end: ValueEnd) -> Steps[Ending]:
    """Read a value that can only be JSON: in its strings, no marker ends it."""
    lexer = yield from object_value(src, call, call.emit)
    if lexer.state is JsonState.BROKEN:
        closers = closers_of(lexer)
        marker = yield from peek_marker(src, end.markers)
        if not (closers and call.may_repair and marker) or marker in m.quoted_openers:
            return Ending.broken(lexer.problem)
        call.emit(closers)
        call.repaired("closed_brackets", src.offset)
    elif lexer.state is not JsonState.DONE:
        return CUT
    return (yield from _behind_whole(src, call, m, end))


def _behind_whole(src: Window, call: Call, m: TaggedMarkers, end: ValueEnd) -> Steps[Ending]:
    """Read what ends a value that is whole: its first suffix, for that cannot be the value's."""
    rest: list[str] = []
    call.sink.held = rest
    start = src.offset
    ending = yield from read_to_suffix(src, call, m, end, rest.append, whole=True)
    if "".join(rest).strip():
        detail = f"left out behind an argument: {''.join(rest)!r}"
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
    """Read a value up to and with its suffix.

    A suffix ends it only if no argument of a quoted call is open, and something stands behind it
    that may follow an argument. Markers that no other in the value matches are counted. Behind a
    value that is `whole`, any suffix ends it. If the format has no suffix, any other marker ends
    it, and is left unread; if it has one, an end of the turn is text if text follows it.
    """
    suffix, quoted = end.suffix, QuotedCalls(m)
    while True:
        marker = yield from until(src, end.markers, emit, certain=True, string=string)
        core = marker.lstrip() or "\n" * bool(marker)
        gap = len(marker) - len(core)
        ends_turn = core in m.turn_ends and core != suffix
        if suffix and ends_turn and not (yield from _turn_ends(src, call, len(marker))):
            quoted.unmatched += 1
            emit(src.consume(src.pos + gap + 1))
            continue
        if marker and not suffix and _quotes(quoted, core, m):
            emit(src.consume(src.pos + len(marker)))
            continue
        if not marker or ends_turn or not suffix:
            whole = not suffix and bool(marker or call.sink.natural)
            return _ended(call, quoted, WHOLE if whole else CUT)
        named: bool | None = False
        if core == suffix or (end.name and core.startswith(suffix)):
            length = gap + len(suffix)
            named = yield from name_stands(src, length, end)
            if named is None:
                return _ended(call, quoted, CUT)
            length += len(end.name)
            if named and (whole or (yield from _ends_value(src, length, end, m, quoted))):
                _ended(call, quoted, WHOLE)
                src.pos += length
                return WHOLE
        if core != suffix and core in m.key.literals:
            if (yield from _argument_begins(src, call, len(marker), end, m, quoted)):
                quoted.arguments += 1
            emit(src.consume(src.pos + len(marker)))
            continue
        if core != suffix and quoted.opens(core):
            emit(src.consume(src.pos + len(marker)))
            continue
        if core != suffix and not quoted.closes(core):
            if (yield from _closed_turn(src, call, m, gap)):
                src.pos += gap
                natural = call.sink.natural
                ending = Ending.broken("an argument that does not end") if natural else CUT
                call.ambiguous += quoted.unbalanced
                return ending
            # A line end, or what would be a suffix with the name, is text like any other.
            quoted.unmatched += not named and core != "\n"
        emit(src.consume(src.pos + gap + 1))


def _quotes(quoted: QuotedCalls, core: str, m: TaggedMarkers) -> bool:
    """Whether a marker belongs to a call that a value quotes which no suffix ends; count it."""
    if core in m.key.literals:
        return quoted.is_open
    return core not in m.as_arguments and (quoted.opens(core) or quoted.closes(core))


def _ended(call: Call, quoted: QuotedCalls, ending: Ending) -> Ending:
    """Note where the value ends, and how many of its markers do not match; return `ending`."""
    call.ambiguous += quoted.unbalanced
    if quoted.arguments:
        call.swallowed |= quoted.names
    if call.traces:
        call.end_arguments()
    return ending


def _ends_value(
    src: Window, length: int, end: ValueEnd, m: TaggedMarkers, quoted: QuotedCalls
) -> Steps[bool]:
    """Whether a suffix of so many characters ends the value, or is text of it, which is counted.

    It ends the last quoted argument that is open, if that stands in a quoted call. If it stands in
    none, and has the name of one that the call may have, its own end may be missing; otherwise it
    ends the quoted argument if the next follows.
    """
    nests = bool(quoted.arguments) and (quoted.is_open or bool(end.name))
    nests |= quoted.is_open and m.names_unmarked
    if quoted.arguments and not (nests or quoted.names):
        nests = yield from followed(src, length, m.next_argument)
    if not nests and (yield from _ends_there(src, length, end, m)):
        return True
    if quoted.arguments:
        quoted.arguments -= 1
    elif not nests:
        quoted.unmatched += end.suffix != "\n"
    return False


def _ends_there(src: Window, length: int, end: ValueEnd, m: TaggedMarkers) -> Steps[bool]:
    """Whether what follows an argument stands so many characters further: a marker, or a name.

    Behind a line end it stands in the next line: those before it are the value's.
    """
    space = INDENT if end.suffix == "\n" else SPACE
    if (yield from followed(src, length, m.behind_value, space)):
        return True
    if m.argument_head and (yield from followed(src, length, m.argument_head.open, space)):
        return True
    if not m.names_unmarked or m.separator.literals:
        return False
    while True:
        start = space_behind(src.text, src.pos + length, space)
        text = src.text[start : start + LONGEST_NAME + m.key_end.longest]
        read = "" if text[:1].isspace() else name_in(text, m.key_end, src.closed, end.names)
        # What the end of the output cut off may have been a name.
        if read is not None or src.closed:
            return read != ""
        yield


def name_stands(src: Window, length: int, end: ValueEnd) -> Steps[bool | None]:
    """Whether the name that ends the value stands `length` characters further.

    None where the input ends in it.
    """
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
    """Whether behind what begins an argument, so many characters, stands the name of one.

    If suffixes repeat names, only one with the name of the value that is read may end it. What is
    mere punctuation begins one only in a quoted call.
    """
    punctuation = not has_word(src.text[src.pos : src.pos + length])
    if m.type_first or (punctuation and not (quoted.is_open or end.name)):
        return m.type_first
    tools = call.sink.tools
    known = (tools and argument_names(tools.get(call.name))) or ()
    while True:
        text = src.text[src.pos + length : src.pos + length + LONGEST_NAME + m.key_stops.longest]
        name = name_in(text, m.key_stops, src.closed, known)
        if name is not None or src.closed:
            name = (name or "").strip()
            if name in known and not quoted.is_open:
                quoted.names.add(name)
            return bool(name) and (not end.name or name + (m.key_suffix or "") == end.name)
        yield


def _closed_turn(src: Window, call: Call, m: TaggedMarkers, length: int) -> Steps[bool]:
    """Whether so many characters further closers of calls stand, and behind them the turn ends."""
    for _ in range(1 + MOST_CLOSERS):
        while True:
            text = src.text
            start = space_behind(text, src.pos + length)
            end = m.end_all.match(text, start)
            if end != start or src.closed:
                break
            yield
        if end <= start:
            return end == start
        length = end - src.pos
        if text[start:end] in m.turn_ends:
            return (yield from _turn_ends(src, call, length))
    return False


def _turn_ends(src: Window, call: Call, length: int) -> Steps[bool]:
    """Whether nothing but a marker stands behind so many characters that end the turn."""
    text = src.text[src.pos : src.pos + length]
    return followed_by_marker_or_end(src, call.tables, text, call.tables.after_end)


def space_behind(text: str, pos: int, space: re.Pattern[str] = SPACE) -> int:
    """Where the white space that may stand between two markers ends."""
    found = space.match(text, pos)
    return found.end() if found else pos


def followed(
    src: Window, length: int, behind: Markers, space: re.Pattern[str] = SPACE
) -> Steps[bool]:
    """Whether, after `length` characters and white space, a marker stands, or the output ends."""
    if not behind.literals:
        return True
    while True:
        text = src.text
        pos = space_behind(text, src.pos + length, space)
        end = behind.match(text, pos)
        # What is cut by the end of the output may have been a marker.
        if end > pos or (end == pos and src.closed):
            return True
        if end < 0:
            return False
        yield
