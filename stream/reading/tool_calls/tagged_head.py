"""The beginning of a call in tags: an id before it, the name, and what stands behind that."""

from __future__ import annotations

import re
from collections.abc import Collection

from deltaparse.partial import (
    Markers,
    Steps,
    Window,
    consume_marker,
    json_space,
    peek,
    peek_marker,
    skip_if_here,
)

from ...wire.argument_types import argument_names
from ...wire.call_names import LONGEST_NAME, NAME_SO_FAR
from ...wire.escapes import Escapes, escapes_of
from ...wire.format import CallIdPosition
from ...wire.spellings import trailing
from ...wire.tag_markers import TaggedMarkers
from ..content import may_become
from ..reading import Reading
from .call import Call
from .element_attributes import attributes_before, attributes_behind, leave_out
from .ending import CUT, WHOLE, Ending
from .given_names import NONE, Given, given_name, odd_names

__all__ = [
    "argument_stands",
    "name_in",
    "names_without_marker",
    "read_name",
    "tagged_head",
]

NO_ESCAPES = escapes_of(())
IN_NAME = re.compile(r"[-.:/\w]")
INDEX = re.compile(r"[^\w\s][0-9]+\Z")


def tagged_head(
    reading: Reading, call: Call, m: TaggedMarkers, *, prefixed: bool
) -> Steps[Ending | None]:
    """Read up to the arguments; WHOLE if this is a call, CUT if it may become one, else None."""
    src, usual = reading.src, reading.tables.usual_tags
    while usual is not None and (prefixed or not m.name_prefix.literals):
        if found := usual.head.match(src.text, src.pos):
            begins, src.pos = src.base + found.start(1), found.end(1)
            function = _named(reading, call, m, found[1], begins)
            src.pos = found.end()
            call.called(function, begins)
            return WHOLE
        if not usual.head.may_follow(src):
            break
        yield
    fmt, tools = reading.fmt, reading.sink.tools or ()
    position = fmt.call_id.position
    yield from json_space(src)
    if position is CallIdPosition.PRE_FUNC_NAME and not prefixed and not fmt.call_id.holds_name:
        yield from skip_if_here(src, m.id_start)
        call.id = (yield from read_name(src, (), m.id_ends)) or ""
        yield from skip_if_here(src, m.id_end)
        yield from json_space(src)
    if m.name_prefix.literals and not prefixed:
        if not (yield from _name_prefix(src, call, m)):
            return CUT if may_become(src, m.name_prefix) else None
    start = src.offset
    name, given = yield from _name_here(reading, m)
    if name is None and not m.has_ends and reading.sink.natural:
        # Nothing ends such a call but what follows it, and nothing does.
        name = _last_name(src, tools)
    if name is None and (known := _name_before_cut(reading, call, m)):
        call.called(known, start)
        return CUT
    if not name:
        return CUT if name is None else None
    name = _named(reading, call, m, name, start, given)
    suffix = yield from _name_suffix(src, call, m)
    cut = not suffix and _is_cut(src, m.after_name)
    if fmt.derived.id_before_arguments:
        cut |= yield from _id_between(src, call, m)
    yield from json_space(src)
    begun = yield from skip_if_here(src, m.arguments_start)
    cut |= not begun and _is_cut(src, m.arguments_start)
    call.opened = bool(m.arguments_end.literals) and (begun or bool(suffix.strip()))
    yield from json_space(src)
    if cut:
        call.called(name, start)  # what it might as well be ends no call without arguments
        return CUT
    stands = yield from _arguments_stand_here(src, m, names_without_marker(reading, name, m))
    if not stands and not may_become(src, m.in_arguments):
        return None
    # A format that also has calls in JSON writes some calls without the marker.
    if not suffix and stands and src.unread and not fmt.tools.name_field:
        _report_lost_suffix(reading, call, name, m)
    call.called(name, start)
    return WHOLE if stands else CUT


def _report_lost_suffix(reading: Reading, call: Call, name: str, m: TaggedMarkers) -> None:
    """Report arguments before which the marker behind the name is missing."""
    src, suffix = reading.src, reading.fmt.function.name_suffix.strip()
    closed = m.closers.match(src.text, src.pos, final=True) > src.pos
    if suffix and not closed and not m.close.literals:
        detail = f"{suffix!r} is missing behind the name of {name!r}"
        reading.sink.issue("repaired_arguments", call.checkpoint.span, detail)


def _name_prefix(src: Window, call: Call, m: TaggedMarkers) -> Steps[bool]:
    """Read the marker before a name, which other attributes may separate; whether one stands."""
    attributes = yield from attributes_before(src, m.function_head)
    if attributes is None:
        return (yield from skip_if_here(src, m.name_prefix))
    leave_out(call, attributes)
    return True


def _name_suffix(src: Window, call: Call, m: TaggedMarkers) -> Steps[str]:
    """Read and return the marker behind a name, and attributes before it; "" if none stands."""
    suffix = yield from peek_marker(src, m.after_name)
    if not suffix:  # a closer that is a word has ended the name, before the white space
        yield from json_space(src)
        suffix = yield from peek_marker(src, m.after_name)
    space = trailing(call.fmt.function.name_suffix)
    if suffix:
        yield from consume_marker(src, suffix, space)
        return suffix
    attributes = yield from attributes_behind(src, m.function_head)
    if attributes is None:
        return ""
    leave_out(call, attributes)
    yield from consume_marker(src, "", space)
    return call.fmt.function.name_suffix


def _id_between(src: Window, call: Call, m: TaggedMarkers) -> Steps[bool]:
    """Read an id that stands behind the name; return whether the output ends in it."""
    yield from json_space(src)
    begun = yield from skip_if_here(src, m.id_start)
    read = (yield from read_name(src, (), m.id_ends)) if begun else ""
    call.id = read or call.id
    if (yield from skip_if_here(src, m.id_end)):
        return False
    ended = begun and (read is None or src.ended)
    return ended or _is_cut(src, m.id_end if begun else m.id_start)


def _name_here(reading: Reading, m: TaggedMarkers) -> Steps[tuple[str | None, str]]:
    """Read a name as `read_name` does; return also the name of a tool, where only that tells it."""
    src, holds = reading.src, reading.fmt.call_id.holds_name
    if known := _odd_names(reading, m):
        if found := (yield from given_name(src, known, m.name_ends, indexed=holds)):
            return found
    tools = reading.sink.tools or ()
    return (yield from read_name(src, tools, m.name_ends, m.name_escapes)), ""


def _is_cut(src: Window, markers: Markers) -> bool:
    """Whether the output ends within what may be one of the markers."""
    return bool(src.unread) and may_become(src, markers)


def _named(
    reading: Reading, call: Call, m: TaggedMarkers, written: str, start: int, given: str = ""
) -> str:
    """The name of the function that is written so, from an offset on to where the reader stands.

    `given`: it is known already.
    """
    fmt, tools = reading.fmt, reading.sink.tools
    call.written = written
    if fmt.call_id.holds_name:
        call.id, written = written, INDEX.sub("", written)
    name = given or m.name_escapes.read(written)
    if tools is not None and name not in tools:
        found = dict(_odd_names(reading, m)).get(written)
        name = given = found or name
    if given != given.strip():
        call.written = m.name_escapes.write(given)
    if tools is None or name not in tools:
        holds = fmt.call_id.holds_name
        name = _without_namespace(name, fmt.function.namespace, tools or (), holds=holds)
    call.find_name(name, start)
    return name


def _odd_names(reading: Reading, m: TaggedMarkers) -> Given:
    """The names of tools that are read only if they are known."""
    rules, fmt = reading.sink.rules, reading.fmt
    if rules.tools is None:
        return NONE
    known = rules.odd_names.get(("tag", ""))
    if known is None:
        known = odd_names(rules.tools, m.name_ends, m.name_escapes, (fmt.function.namespace, ""))
        rules.odd_names["tag", ""] = known
    return known


def read_name(
    src: Window, known: Collection[str], ends: Markers, escapes: Escapes = NO_ESCAPES
) -> Steps[str | None]:
    """Read a name, or an id, up to what ends it.

    Returns "" if there is none, and None if the input ends in what may become one, all unread.
    """
    limit = LONGEST_NAME + ends.longest
    while True:
        text = src.text[src.pos : src.pos + limit]
        full = len(text) == limit
        head = name_in(text, ends, src.closed or full, known, escapes)
        if src.closed and not head:
            # It may be cut inside of what ends it.
            head = name_in(text, ends, False, known, escapes)
        if head is not None:
            src.pos += len(head)
            return head.strip()
        if src.closed:
            return None
        yield


def name_in(
    text: str,
    ends: Markers,
    final: bool,
    known: Collection[str] = (),
    escapes: Escapes = NO_ESCAPES,
) -> str | None:
    """What a text begins with that is a name, up to what ends it; "" if it begins with none.

    None where text that may follow would tell; `final`: none follows. White space round the name
    is returned with it. What ends it may stand in a spelling of one of its characters.
    """
    begins = len(text) - len(text.lstrip())
    start, end = ends.find(text, begins, final=final)
    while escapes and end > start and escapes.reaches_over(text, start):
        start, end = ends.find(text, start + 1, final=final)
    if end > start:  # within the name of a tool nothing ends one
        whole = [tool for tool in known if text.startswith(tool, begins)]
        behind = begins + max(map(len, whole), default=0)
        if behind > start and not text[behind : ends.find(text, behind, final=final)[0]].strip():
            start, end = ends.find(text, behind, final=final)
        elif not final and any(tool.startswith(text[begins:]) for tool in known):
            return None
    head = text[:start]
    name = head.strip()
    plain = escapes.without(head) if escapes else head
    if not NAME_SO_FAR.fullmatch(plain) and not any(tool.startswith(name) for tool in known):
        return ""
    if end > start:
        return head if start <= LONGEST_NAME else ""
    return "" if len(text) >= LONGEST_NAME + ends.longest else None


def _last_name(src: Window, tools: Collection[str]) -> str | None:
    """Read the name of a tool, if the output ends in it."""
    name = src.unread.strip()
    if not src.closed or name not in tools:
        return None
    src.pos = len(src.text)
    return name


def _name_before_cut(reading: Reading, call: Call, m: TaggedMarkers) -> str:
    """Read the name of a tool behind which the output ends in a part of a marker, if one stands.

    A marker that begins like a name may be a part of it.
    """
    src, tools = reading.src, reading.sink.tools
    text, start = src.unread, src.offset
    stop, _ = m.name_ends.find(text, len(text) - len(text.lstrip()))
    head, rest = text[:stop], text[stop:]
    goes_on = bool(IN_NAME.match(rest)) or (not rest and head == head.rstrip())
    if not src.closed or goes_on or not head.strip() or not NAME_SO_FAR.fullmatch(head):
        return ""
    src.pos += stop
    name = _named(reading, call, m, head.strip(), start)
    if tools is None or name in tools:
        return name
    src.pos -= stop
    return ""


def argument_stands(src: Window, m: TaggedMarkers, known: Collection[str]) -> Steps[bool]:
    """Whether an argument's name stands here that no marker begins, or may begin here."""
    limit = LONGEST_NAME + m.key_end.longest
    while True:
        text = src.text[src.pos : src.pos + limit]
        name = name_in(text, m.key_end, src.closed or len(text) == limit, known)
        if name is not None or src.closed:
            return name != ""
        yield


def _without_namespace(name: str, namespace: str, known: Collection[str], *, holds: bool) -> str:
    """The name of the function in what stands in its place."""
    short = name.removeprefix(namespace)
    if holds and not namespace and name.partition(".")[2] in known:
        return name.partition(".")[2]
    return short or name


def names_without_marker(reading: Reading, name: str, m: TaggedMarkers) -> Collection[str]:
    """The names that the arguments of a function have, where no marker stands before them."""
    tools = reading.sink.tools
    return (argument_names(tools.get(name)) or ()) if m.names_unmarked and tools else ()


def _arguments_stand_here(src: Window, m: TaggedMarkers, known: Collection[str]) -> Steps[bool]:
    """Whether arguments begin here, or the call ends: else what looked like one was text."""
    char = yield from peek(src)
    if not char or (char in '{"' and not m.key.literals):
        return True
    head = m.argument_head
    if (yield from peek_marker(src, m.in_arguments)) or (
        head and (yield from peek_marker(src, head.open))
    ):
        return True
    return m.names_unmarked and (yield from argument_stands(src, m, known))
