"""The beginning of a call in tags: an id before it, the name, and what stands behind that."""

from __future__ import annotations

import re
from collections.abc import Collection

from deltaparse.partial import Markers, Steps, Window, at, json_space, peek, skip, skip_if_here

from ...wire.format import CallIdPosition
from ...wire.spellings import trailing
from ...wire.tag_markers import TaggedMarkers
from ..content import may_become
from ..reading import Reading
from .call import Call
from .ending import CUT, WHOLE, Ending

__all__ = ["LONGEST_NAME", "is_readable", "read_name", "tagged_head"]

LONGEST_NAME = 256
"""Characters that the name of a function, or an id, may have."""

NAME_SO_FAR = re.compile(r"\s*+[^\s\"'`<>{}()]*+\s*+")
INDEX = re.compile(r"[^\w\s][0-9]+\Z")


def tagged_head(
    reading: Reading, call: Call, m: TaggedMarkers, *, prefixed: bool
) -> Steps[Ending | None]:
    """Read up to the arguments; WHOLE if this is a call, CUT if it may become one, else None."""
    src, fmt, tools = reading.src, reading.fmt, reading.sink.tools or ()
    position = fmt.call_id.position
    yield from json_space(src)
    if position is CallIdPosition.PRE_FUNC_NAME and not prefixed and not fmt.call_id.holds_name:
        yield from skip_if_here(src, m.id_start)
        call.id = (yield from read_name(src, (), m.id_ends)) or ""
        yield from skip_if_here(src, m.id_end)
        yield from json_space(src)
    if m.name_prefix.literals and not prefixed:
        if not (yield from skip_if_here(src, m.name_prefix)):
            return CUT if may_become(src, m.name_prefix) else None
    start = src.offset
    name = yield from read_name(src, tools, m.name_ends)
    if not name:
        return CUT if name is None else None
    call.written = name
    if fmt.call_id.holds_name:
        call.id, name = name, INDEX.sub("", name)
    if name not in tools:
        name = _without_namespace(name, fmt.function.namespace, tools, holds=fmt.call_id.holds_name)
    call.find_name(name, start)
    suffix = yield from at(src, m.after_name)
    if suffix:
        yield from skip(src, suffix, trailing(fmt.function.name_suffix))
    if position is CallIdPosition.BETWEEN_FUNC_AND_ARGS:
        yield from json_space(src)
        if (yield from skip_if_here(src, m.id_start)):
            call.id = (yield from read_name(src, (), m.id_ends)) or ""
        yield from skip_if_here(src, m.id_end)
    yield from json_space(src)
    yield from skip_if_here(src, m.arguments_start)
    yield from json_space(src)
    if not (yield from _arguments_stand_here(src, m)):
        return CUT if may_become(src, m.in_arguments) else None
    call.called(name, start)
    return WHOLE


def read_name(src: Window, known: Collection[str], ends: Markers) -> Steps[str | None]:
    """Read a name, or an id, up to what ends it.

    Returns "" if there is none, and None if the input ends in what may become one, all unread.
    """
    limit = LONGEST_NAME + ends.longest
    while True:
        text = src.text[src.pos : src.pos + limit]
        final = src.closed or len(text) == limit
        start, end = ends.find(text, final=final)
        head = text[:start]
        name = head.strip()
        if not NAME_SO_FAR.fullmatch(head) and not any(tool.startswith(name) for tool in known):
            return ""
        if end > start and start <= LONGEST_NAME:
            src.pos += start
            return name
        if end > start or len(text) == limit:
            return ""
        if src.closed:
            return None
        yield


def is_readable(written: str, known: Collection[str], ends: Markers) -> bool:
    """Whether `read_name` reads all of what is written as a name, whatever ends it."""
    fits = len(written) <= LONGEST_NAME and written == written.strip()
    plain = NAME_SO_FAR.fullmatch(written) or written in known
    return fits and bool(plain) and not any(end in written for end in ends.literals)


def _without_namespace(name: str, namespace: str, known: Collection[str], *, holds: bool) -> str:
    """The name of the function in what stands in its place."""
    short = name.removeprefix(namespace)
    if holds and not namespace and "." in name and name.partition(".")[2] in known:
        return name.partition(".")[2]
    return short or name


def _arguments_stand_here(src: Window, m: TaggedMarkers) -> Steps[bool]:
    """Whether arguments begin here, or the call ends: else what looked like one was text."""
    char = yield from peek(src)
    if not char or (char in '{"' and not m.key.literals):
        return True
    return bool((yield from at(src, m.in_arguments)))
