"""Sub-parsers for plain text: up to a marker, a marker at the current position, whitespace."""

from __future__ import annotations

import re

from .bypass import Emit, StringSink
from .markers import Markers
from .window import Steps, Window

__all__ = ["consume_marker", "peek", "peek_marker", "skip_if_here", "until", "whitespace"]

# Any Unicode whitespace, because models write it around markers.
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

    Only a possible marker prefix at the end is buffered.

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
        # With `certain`, a prefix at the end may be a truncated marker, and must not become
        # content.
        start, end = markers.find(src.text, src.pos, final=closed and not certain)
        if start > src.pos:
            # The position moves before `emit`, so an exception in it cannot repeat text.
            emit(src.consume(start))
        if end > start or closed:
            return src.text[src.pos : end]
        # Spelling the text directly is possible only if all of it goes to one receiver.
        if string is None or string.sink is None:
            # Further text without a marker bypasses this generator.
            src.wait(emit, markers.lane)
        else:
            src.wait(emit, markers.string_lane, string.sink)
        yield


def peek_marker(src: Window, markers: Markers) -> Steps[str]:
    """Return the marker at the current position, unread, or ""."""
    while True:
        end = markers.match(src.text, src.pos, final=src.closed)
        if end > src.pos:
            return src.text[src.pos : end]
        # No further text can complete a marker here.
        if end < 0 or src.closed:
            return ""
        # While the text is still a prefix, resuming this generator would have no effect.
        src.waiter = markers.waiter
        yield


def skip_if_here(src: Window, markers: Markers) -> Steps[bool]:
    """Read a marker at the current position, and return True if there was one."""
    # Formats without this marker must not wait for more text.
    if not markers.literals:
        return False
    marker = yield from peek_marker(src, markers)
    src.pos += len(marker)
    return bool(marker)


def peek(src: Window) -> Steps[str]:
    """Return the next character, unread, or "" at the end of the input."""
    # An empty chunk may resume the generator, so one `yield` is not enough.
    while src.pos == len(src.text):
        if src.closed:
            return ""
        yield
    return src.text[src.pos]


def whitespace(src: Window, limit: int) -> Steps[None]:
    """Skip at most `limit` characters of whitespace."""
    # The limit is an offset, because indices are stale after each `yield`.
    stop = src.base + src.pos + limit
    while True:
        text, room = src.text, stop - src.base
        found = SPACE.match(text, src.pos, room)
        src.pos = pos = found.end() if found else src.pos
        # Only whitespace up to the end of the text may continue in the next chunk.
        if pos < len(text) or pos >= room or src.closed:
            return
        yield


def consume_marker(src: Window, marker: str, space: str) -> Steps[str]:
    """Read `marker`, which is at the current position, and the part of `space` after it.

    Args:
        src: the window to read from.
        marker: the marker.
        space: the template's whitespace after the marker.

    Returns:
        The text read.
    """
    text, end = src.text, src.pos + len(marker)
    # Only the template's whitespace belongs to the marker. Other whitespace is content.
    for char in space:
        if text[end : end + 1] != char:
            break
        end += 1
    # Fast path without a mark: the text after the marker has usually arrived.
    if end < len(text) or src.closed:
        return src.consume(end)
    # The marker must be returned completely, even if its whitespace arrives in several chunks.
    mark = src.mark()
    src.pos += len(marker)
    for char in space:
        if (yield from peek(src)) != char:
            break
        src.pos += 1
    read = src.text_since(mark, prompt=src.emits_prompt)
    src.release()
    return read
