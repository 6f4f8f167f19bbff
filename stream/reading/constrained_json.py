"""Text in which the request says that JSON stands, and the JSON is calls.

    text = [fence] calls [fence] rest

For texts that end at a marker of their own: the messages of a turn in channels. A turn without
channels has sections, of which such calls are one.
"""

from __future__ import annotations

from deltaparse.partial import (
    Markers,
    Steps,
    Window,
    json_space,
    peek,
    peek_marker,
    whitespace,
)

from ..wire.spellings import MOST_SPACE
from .channel_text import channel_text
from .checkpoint import Checkpoint
from .content import report_cut_marker
from .content_writer import ContentWriter, PrecededBy
from .reading import Reading
from .tool_calls.dispatch import tool_calls

__all__ = ["json_ahead", "report_stray", "text_of_calls"]


def text_of_calls(
    reading: Reading, checkpoint: Checkpoint, before: PrecededBy, ends: Markers
) -> Steps[bool]:
    """Read text up to one of `ends`; return whether it began with calls.

    `checkpoint` began where the text does, white space of which may be read; it is committed.
    """
    src, tables = reading.src, reading.tables
    writer = ContentWriter(reading, before)
    while True:
        yield from whitespace(src, MOST_SPACE)
        start = (yield from peek_marker(src, tables.call_starts)) or (yield from peek(src))
        if not start.isspace():
            break
        writer.emit(checkpoint.text())
        checkpoint.commit()
        checkpoint = reading.checkpoint()
    called = False
    if start in tables.call_starts.literals or tables.unmarked_call.match(start):
        called = yield from tool_calls(reading, checkpoint, writer.emit)
        checkpoint = reading.checkpoint()
    if called:
        writer.end()
        writer = ContentWriter(reading, PrecededBy.CALL)
        checkpoint = yield from _end_of_calls(reading, checkpoint)
    marker = yield from peek_marker(src, ends)
    # The end of a code block may be cut, too.
    markers = (ends, tables.call_starts) if called and not marker else ()
    if any(report_cut_marker(reading, each) for each in markers):
        checkpoint.commit()
        return True
    if not called or (not marker and src.unread):
        writer.emit(checkpoint.text())
    checkpoint.commit()
    yield from channel_text(reading, ends, writer.emit)
    writer.end()
    return called


def json_ahead(src: Window) -> Steps[str]:
    """Skip white space, and return the bracket behind it, unread, if JSON begins there.

    Otherwise read nothing, and return "". No more is looked at than the first quotation mark.
    """
    mark = src.mark()
    yield from whitespace(src, MOST_SPACE)
    start = src.offset
    first = yield from peek(src)
    char = first
    if char == "[":
        src.pos += 1
        char = yield from json_space(src)
    if begins := char == "{":
        src.pos += 1
        begins = (yield from json_space(src)) == '"'
    src.rewind_to(start if begins else mark)
    src.release()
    return first if begins else ""


def _end_of_calls(reading: Reading, checkpoint: Checkpoint) -> Steps[Checkpoint]:
    """Read the end of a code block, and space; return a checkpoint behind the block."""
    src, start = reading.src, reading.src.offset
    yield from whitespace(src, MOST_SPACE)
    fence = yield from peek_marker(src, reading.tables.call_starts)
    if fence:
        src.pos += len(fence)
        report_stray(reading, start, fence)
        checkpoint.commit()
        checkpoint = reading.checkpoint()
        yield from whitespace(src, MOST_SPACE)
    return checkpoint


def report_stray(reading: Reading, start: int, marker: str) -> None:
    """Report a marker behind calls in JSON; `start` is the offset at which it begins."""
    detail = f"left out behind the call: {marker!r}"
    reading.sink.issue("stray_marker", (start, reading.src.offset), detail)
