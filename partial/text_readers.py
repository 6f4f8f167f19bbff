"""Sub-parsers for plain text: up to a marker, a marker at the current position, whitespace."""

from __future__ import annotations

import re

from .bypass import Emit, StringSink
from .markers import Markers
from .window import Steps, Window

__all__ = ["consume_marker", "peek", "peek_marker", "skip_if_here", "until", "whitespace"]

SPACE = re.compile(r"\s*")


def until(
    src: Window,
    markers: Markers,
    emit: Emit,
    *,
    certain: bool = False,
    string: StringSink | None = None,
) -> Steps[str]:
    """Read text up to the first marker, and emit it as soon as it is certain.

    Buffers only the tail that may become a marker.

    Args:
        src: the window to read from.
        markers: the markers to stop at.
        emit: takes the text.
        certain: leave the buffered tail unread at the end of the input, instead of emitting it.
        string: the receiver of the text, if `emit` spells it as the inside of a JSON string.

    Returns:
        The marker, which stays unread, or "" at the end of the input.
    """
    while True:
        closed = src.closed
        start, end = markers.find(src.text, src.pos, final=closed and not certain)
        if start > src.pos:
            emit(src.consume(start))
        if end > start or closed:
            return src.text[src.pos : end]
        if string is None or string.sink is None:
            src.wait(emit, markers.lane)
        else:
            src.wait(emit, markers.string_lane, string.sink)
        yield


def peek_marker(src: Window, markers: Markers) -> Steps[str]:
    """Return the marker that starts at the current position, unread, or ""."""
    while True:
        end = markers.match(src.text, src.pos, final=src.closed)
        if end > src.pos:
            return src.text[src.pos : end]
        if end < 0 or src.closed:
            return ""
        src.waiter = markers.waiter
        yield


def skip_if_here(src: Window, markers: Markers) -> Steps[bool]:
    """Read a marker at the current position, and return True if there was one."""
    if not markers.literals:
        return False
    marker = yield from peek_marker(src, markers)
    src.pos += len(marker)
    return bool(marker)


def peek(src: Window) -> Steps[str]:
    """Return the next character, unread, or "" at the end of the input."""
    while src.pos == len(src.text):
        if src.closed:
            return ""
        yield
    return src.text[src.pos]


def whitespace(src: Window, limit: int) -> Steps[None]:
    """Skip at most `limit` characters of whitespace."""
    stop = src.base + src.pos + limit
    while True:
        text, room = src.text, stop - src.base
        found = SPACE.match(text, src.pos, room)
        src.pos = pos = found.end() if found else src.pos
        if pos < len(text) or pos >= room or src.closed:
            return
        yield


def consume_marker(src: Window, marker: str, space: str) -> Steps[str]:
    """Read `marker`, which is at the current position, and the part of `space` after it.

    Args:
        src: the window to read from.
        marker: the marker.
        space: the whitespace that the template writes after the marker.

    Returns:
        The text that was read.
    """
    text, end = src.text, src.pos + len(marker)
    for char in space:
        if text[end : end + 1] != char:
            break
        end += 1
    if end < len(text) or src.closed:
        return src.consume(end)
    mark = src.mark()
    src.pos += len(marker)
    for char in space:
        if (yield from peek(src)) != char:
            break
        src.pos += 1
    read = src.text_since(mark, prompt=src.emits_prompt)
    src.release()
    return read
