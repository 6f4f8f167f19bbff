"""The head of a call in tags: an id before the name, the name, and the text up to the arguments."""

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
from .element_attributes import attributes_after, attributes_before, leave_out
from .ending import CUT, WHOLE, Ending
from .given_names import NONE, Given, given_name, odd_names

__all__ = [
    "argument_follows",
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
    """Read up to the arguments. Return WHOLE for a call, CUT for a truncated call, else None."""
    src, usual = reading.src, reading.tables.fast_tags
    # One pattern reads nearly all heads, because the steps below cost a search each.
    while usual is not None and (prefixed or not m.name_prefix.literals):
        if found := usual.head.match(src.text, src.pos):
            begins, src.pos = src.base + found.start(1), found.end(1)
            function = _named(reading, call, m, found[1], begins)
            src.pos = found.end()
            call.called(function, begins)
            return WHOLE
        # The wait ends as soon as the text cannot match any more.
        if not usual.head.may_follow(src):
            break
        yield
    fmt, tools = reading.fmt, reading.sink.tools or ()
    position = fmt.call_id.position
    yield from json_space(src)
    # After the marker before the name, an id can no longer follow.
    if position is CallIdPosition.PRE_FUNC_NAME and not prefixed and not fmt.call_id.holds_name:
        yield from skip_if_here(src, m.id_start)
        call.id = (yield from read_name(src, (), m.id_ends)) or ""
        yield from skip_if_here(src, m.id_end)
        yield from json_space(src)
    # Without the marker the text is not a call, unless the output ends inside of it.
    if m.name_prefix.literals and not prefixed:
        if not (yield from _name_prefix(src, call, m)):
            return CUT if may_become(src, m.name_prefix) else None
    start = src.offset
    name, given = yield from _name_here(reading, m)
    if name is None and not m.has_ends and reading.sink.natural:
        # Only the next text ends such a call, so at the end of the output the name is complete.
        name = _last_name(src, tools)
    # The output ends inside of a marker, so a known name before it is complete.
    if name is None and (known := _name_before_cut(reading, call, m)):
        call.called(known, start)
        return CUT
    # None is a truncated name, and "" is text that cannot be a name.
    if not name:
        return CUT if name is None else None
    name = _named(reading, call, m, name, start, given)
    # A missing marker is accepted, because arguments prove the call too.
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
        call.called(name, start)  # the truncated marker does not prove a call without arguments
        return CUT
    stands = yield from _arguments_start_here(src, m, names_without_marker(reading, name, m))
    # A name without arguments is a word in a text.
    if not stands and not may_become(src, m.in_arguments):
        return None
    # A format with a second form in JSON writes some calls without the marker.
    if not suffix and stands and src.unread and not fmt.tools.name_field:
        _report_lost_suffix(reading, call, name, m)
    call.called(name, start)
    return WHOLE if stands else CUT


def _report_lost_suffix(reading: Reading, call: Call, name: str, m: TaggedMarkers) -> None:
    """Report a missing marker between the name and the arguments."""
    src, suffix = reading.src, reading.fmt.function.name_suffix.strip()
    closed = m.closers.match(src.text, src.pos, final=True) > src.pos
    # A call without arguments may omit the marker, so there is nothing to repair.
    if suffix and not closed and not m.close.literals:
        detail = f"{suffix!r} is missing after the name of {name!r}"
        reading.sink.issue("repaired_arguments", call.checkpoint.span, detail)


def _name_prefix(src: Window, call: Call, m: TaggedMarkers) -> Steps[bool]:
    """Read the marker before a name, possibly with other attributes. Return True if it is there."""
    attributes = yield from attributes_before(src, m.function_head)
    if attributes is None:
        return (yield from skip_if_here(src, m.name_prefix))
    leave_out(call, attributes)
    return True


def _name_suffix(src: Window, call: Call, m: TaggedMarkers) -> Steps[str]:
    """Read and return the marker after a name and before it attributes, or "" if it is missing."""
    suffix = yield from peek_marker(src, m.after_name)
    if not suffix:  # a closer that is a word ended the name before the whitespace
        yield from json_space(src)
        suffix = yield from peek_marker(src, m.after_name)
    space = trailing(call.fmt.function.name_suffix)
    if suffix:
        yield from consume_marker(src, suffix, space)
        return suffix
    attributes = yield from attributes_after(src, m.function_head)
    if attributes is None:
        return ""
    leave_out(call, attributes)
    yield from consume_marker(src, "", space)
    return call.fmt.function.name_suffix


def _id_between(src: Window, call: Call, m: TaggedMarkers) -> Steps[bool]:
    """Read an id after the name, and return True if the output is truncated in the id."""
    yield from json_space(src)
    # The id is optional in the output, even if the format has one.
    begun = yield from skip_if_here(src, m.id_start)
    read = (yield from read_name(src, (), m.id_ends)) if begun else ""
    call.id = read or call.id
    if (yield from skip_if_here(src, m.id_end)):
        return False
    ended = begun and (read is None or src.ended)
    return ended or _is_cut(src, m.id_end if begun else m.id_start)


def _name_here(reading: Reading, m: TaggedMarkers) -> Steps[tuple[str | None, str]]:
    """Read a name as `read_name` does, with the name of the tool if only a known name matches."""
    src, holds = reading.src, reading.fmt.call_id.holds_name
    # Known names may contain markers or spaces, so they are compared first.
    if known := _odd_names(reading, m):
        if found := (yield from given_name(src, known, m.name_ends, indexed=holds)):
            return found
    tools = reading.sink.tools or ()
    return (yield from read_name(src, tools, m.name_ends, m.name_escapes)), ""


def _is_cut(src: Window, markers: Markers) -> bool:
    """Return True if the output ends inside of a possible marker."""
    return bool(src.unread) and may_become(src, markers)


def _named(
    reading: Reading, call: Call, m: TaggedMarkers, written: str, start: int, given: str = ""
) -> str:
    """Return the name of the function that is written from `start` to the current position.

    Args:
        reading: the turn.
        call: the call, which takes the id and the written name.
        m: the markers.
        written: the text of the name.
        start: its offset.
        given: the name, if it is already known.
    """
    fmt, tools = reading.fmt, reading.sink.tools
    call.written = written
    # Some formats have only an id, made of the name and an index.
    if fmt.call_id.holds_name:
        call.id, written = written, INDEX.sub("", written)
    name = given or m.name_escapes.read(written)
    if tools is not None and name not in tools:
        # The exact name may have been read by the fast pattern, which does not know escapes.
        found = dict(_odd_names(reading, m)).get(written)
        name = given = found or name
    # The closer repeats the name as written, and spaces at its edges are escaped there.
    if given != given.strip():
        call.written = m.name_escapes.write(given)
    # A tool name may contain the namespace, so it is removed from unknown names only.
    if tools is None or name not in tools:
        holds = fmt.call_id.holds_name
        name = _without_namespace(name, fmt.function.namespace, tools or (), holds=holds)
    call.find_name(name, start)
    return name


def _odd_names(reading: Reading, m: TaggedMarkers) -> Given:
    """Return the names of tools that only a comparison with known names can read."""
    rules, fmt = reading.sink.rules, reading.fmt
    if rules.tools is None:
        return NONE
    # Cached in the rules of the request, because every call needs the names.
    known = rules.odd_names.get(("tag", ""))
    if known is None:
        known = odd_names(rules.tools, m.name_ends, m.name_escapes, (fmt.function.namespace, ""))
        rules.odd_names["tag", ""] = known
    return known


def read_name(
    src: Window, known: Collection[str], ends: Markers, escapes: Escapes = NO_ESCAPES
) -> Steps[str | None]:
    """Read a name or an id up to its end marker.

    Returns "" if there is no name, and None if the input ends inside of one. Both read nothing.
    """
    limit = LONGEST_NAME + ends.longest
    while True:
        text = src.text[src.pos : src.pos + limit]
        full = len(text) == limit
        # A text of maximum length is decided at once, so that no more is buffered.
        head = name_in(text, ends, src.closed or full, known, escapes)
        if src.closed and not head:
            # The end marker may be truncated, so a part of it must not count as a name.
            head = name_in(text, ends, False, known, escapes)
        if head is not None:
            src.pos += len(head)
            return head.strip()
        # Everything so far fits a name, but its end is missing.
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
    """Return the name at the start of a text, with the whitespace around it, or "".

    Returns None if more text is needed. An end marker may also occur in the escape of a character
    of the name.

    Args:
        text: the text.
        ends: the end markers of names.
        final: True if no more text follows.
        known: the names of tools, possibly with markers in them.
        escapes: the escapes in names.
    """
    begins = len(text) - len(text.lstrip())
    start, end = ends.find(text, begins, final=final)
    while escapes and end > start and escapes.reaches_over(text, start):
        start, end = ends.find(text, start + 1, final=final)
    if end > start:  # a marker inside of a tool's name does not end it
        whole = [tool for tool in known if text.startswith(tool, begins)]
        behind = begins + max(map(len, whole), default=0)
        if behind > start and not text[behind : ends.find(text, behind, final=final)[0]].strip():
            start, end = ends.find(text, behind, final=final)
        elif not final and any(tool.startswith(text[begins:]) for tool in known):
            return None
    head = text[:start]
    name = head.strip()
    # An escape contains characters that a name cannot, so it is removed before the check.
    plain = escapes.without(head) if escapes else head
    if not NAME_SO_FAR.fullmatch(plain) and not any(tool.startswith(name) for tool in known):
        return ""
    if end > start:
        # The limit bounds the buffer for text without an end marker.
        return head if start <= LONGEST_NAME else ""
    return "" if len(text) >= LONGEST_NAME + ends.longest else None


def _last_name(src: Window, tools: Collection[str]) -> str | None:
    """Read the name of a tool at the end of the output."""
    name = src.unread.strip()
    if not src.closed or name not in tools:
        return None
    src.pos = len(src.text)
    return name


def _name_before_cut(reading: Reading, call: Call, m: TaggedMarkers) -> str:
    """Read the name of a tool before a truncated marker at the end of the output, or return "".

    A marker that starts like a name may be a part of the name.
    """
    src, tools = reading.src, reading.sink.tools
    text, start = src.unread, src.offset
    stop, _ = m.name_ends.find(text, len(text) - len(text.lstrip()))
    head, rest = text[:stop], text[stop:]
    # Without a delimiter at its end, the name may be the prefix of a longer one.
    goes_on = bool(IN_NAME.match(rest)) or (not rest and head == head.rstrip())
    if not src.closed or goes_on or not head.strip() or not NAME_SO_FAR.fullmatch(head):
        return ""
    src.pos += stop
    name = _named(reading, call, m, head.strip(), start)
    # Without a list of tools, any name may be a tool.
    if tools is None or name in tools:
        return name
    src.pos -= stop
    return ""


def argument_follows(src: Window, m: TaggedMarkers, known: Collection[str]) -> Steps[bool]:
    """Return True if the name of an argument without a marker starts here, or may start here."""
    limit = LONGEST_NAME + m.key_end.longest
    while True:
        text = src.text[src.pos : src.pos + limit]
        # The limit bounds the buffer for text without an end marker.
        name = name_in(text, m.key_end, src.closed or len(text) == limit, known)
        if name is not None or src.closed:
            return name != ""
        yield


def _without_namespace(name: str, namespace: str, known: Collection[str], *, holds: bool) -> str:
    """Return the name of the function without its namespace."""
    # In an id, the first part may be any namespace, such as `functions`.
    short = name.removeprefix(namespace)
    if holds and not namespace and name.partition(".")[2] in known:
        return name.partition(".")[2]
    return short or name


def names_without_marker(reading: Reading, name: str, m: TaggedMarkers) -> Collection[str]:
    """Return the names of a function's arguments, if the format has no marker before them."""
    tools = reading.sink.tools
    return (argument_names(tools.get(name)) or ()) if m.names_unmarked and tools else ()


def _arguments_start_here(src: Window, m: TaggedMarkers, known: Collection[str]) -> Steps[bool]:
    """Return True if arguments start here or the call ends. Otherwise the head was text."""
    char = yield from peek(src)
    # At the end of the output arguments may have followed, and a brace starts JSON arguments.
    if not char or (char in '{"' and not m.key.literals):
        return True
    head = m.argument_head
    if (yield from peek_marker(src, m.in_arguments)) or (
        head and (yield from peek_marker(src, head.open))
    ):
        return True
    return m.names_unmarked and (yield from argument_follows(src, m, known))
