"""Sub-parsers over plain text: up to a marker, one of some markers here, white space."""

from __future__ import annotations

import re
from collections.abc import Callable

from .markers import Markers
from .window import Spelling, Steps, Window

__all__ = ["at", "peek", "skip", "until", "whitespace"]

SPACE = re.compile(r"\s*")


def until(
    src: Window,
    markers: Markers,
    emit: Callable[[str], None],
    *,
    certain: bool = False,
    spelling: Spelling | None = None,
) -> Steps[str]:
    """Read text up to the first marker, handing it to `emit` as soon as it is certain.

    Returns the marker, which is left unread, or "" at the end of input. Holds back only the
    tail that may become a marker; the end of input makes that text, unless only what is
    `certain` is wanted: then it is left unread. `spelling` says what `emit` does.
    """
    find, wake, quick, hold = markers.find, markers.wake, markers.quick, markers.hold
    start = end = 0

    def step(window: Window) -> str | None:
        nonlocal start, end
        text, pos = window.text, window.pos
        start, end = find(text, pos)
        if end > start:
            return None
        window.pos = start
        if start == len(text):
            window.sleep(wake, emit, quick, hold, spelling)
        return text[pos:start] if window.base >= 0 else window.clipped(pos, start)

    while not src.closed and end == start and (piece := step(src)) is not None:
        if piece:
            emit(piece)
        src.step, src.plain = step, emit
        yield
    src.awake()
    if end == start:
        start, end = find(src.text, src.pos, final=not certain)
    if start > src.pos:
        emit(src.take(start))
    return src.text[src.pos : end]


def at(src: Window, markers: Markers) -> Steps[str]:
    """Return the marker that begins right here, left unread, or "" when none does."""
    while True:
        end = markers.match(src.text, src.pos, final=src.closed)
        if end > src.pos:
            return src.text[src.pos : end]
        if end < 0 or src.closed:
            return ""
        yield


def peek(src: Window) -> Steps[str]:
    """Return the next character, left unread, or "" at the end of input."""
    while src.pos == len(src.text):
        if src.closed:
            return ""
        yield
    return src.text[src.pos]


def whitespace(src: Window, limit: int) -> Steps[None]:
    """Skip white space, at most `limit` characters of it."""
    stop = src.offset + limit
    while True:
        room = src.pos + stop - src.offset
        found = SPACE.match(src.text, src.pos, room)
        src.pos = found.end() if found else src.pos
        if src.pos < len(src.text) or src.offset >= stop or src.closed:
            return
        yield


def skip(src: Window, marker: str, space: str) -> Steps[str]:
    """Read `marker`, which stands here, and as much of `space` as stands after it.

    `space` is the white space that the template writes there. Returns what was read.
    """
    mark = src.mark()
    src.pos += len(marker)
    for char in space:
        if (yield from peek(src)) != char:
            break
        src.pos += 1
    read = src.since(mark)
    src.release()
    return read
