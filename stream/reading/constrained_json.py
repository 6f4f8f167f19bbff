"""Text constrained to JSON by the request, and read as calls.

    text = [fence] calls [fence] rest

This is for text with its own end marker: the messages of a turn in channels. In a turn without
channels, such calls are a section.
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
    """Read text up to one of the markers `ends`, and return True if it started with calls.

    `checkpoint` started with the text. Whitespace may have been read. It is committed.
    """
    src, tables = reading.src, reading.tables
    writer = ContentWriter(reading, before)
    while True:
        yield from whitespace(src, MOST_SPACE)
        start = (yield from peek_marker(src, tables.call_starts)) or (yield from peek(src))
        # Only calls need the buffered whitespace before them, and its length is not limited.
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
        # Text after calls has another policy, so it needs a writer of its own.
        writer.end()
        writer = ContentWriter(reading, PrecededBy.CALL)
        checkpoint = yield from _end_of_calls(reading, checkpoint)
    marker = yield from peek_marker(src, ends)
    # The end of a code block may be truncated too.
    markers = (ends, tables.call_starts) if called and not marker else ()
    # The output ends in a marker after the calls, so no text is left to emit.
    if any(report_cut_marker(reading, each) for each in markers):
        checkpoint.commit()
        return True
    # Whitespace between a call and a marker belongs to the marker.
    if not called or (not marker and src.unread):
        writer.emit(checkpoint.text())
    checkpoint.commit()
    yield from channel_text(reading, ends, writer.emit)
    writer.end()
    return called


def json_ahead(src: Window) -> Steps[str]:
    """Skip whitespace, and return the bracket after it, unread, if it starts JSON.

    Otherwise return "" and leave the text unread. The search ends at the first quotation mark.
    """
    # The text must be readable again if it is not JSON.
    mark = src.mark()
    yield from whitespace(src, MOST_SPACE)
    start = src.offset
    first = yield from peek(src)
    char = first
    # A list of calls has the object as its first element.
    if char == "[":
        src.pos += 1
        char = yield from json_space(src)
    if begins := char == "{":
        src.pos += 1
        # Prose may start with a bracket, but hardly with a bracket and a quoted key.
        begins = (yield from json_space(src)) == '"'
    src.rewind_to(start if begins else mark)
    src.release()
    return first if begins else ""


def _end_of_calls(reading: Reading, checkpoint: Checkpoint) -> Steps[Checkpoint]:
    """Read the end of a code block and whitespace, and return a checkpoint after them."""
    src, start = reading.src, reading.src.offset
    yield from whitespace(src, MOST_SPACE)
    # Models put JSON into code blocks, and the end of the block is not content.
    fence = yield from peek_marker(src, reading.tables.call_starts)
    if fence:
        src.pos += len(fence)
        report_stray(reading, start, fence)
        checkpoint.commit()
        checkpoint = reading.checkpoint()
        yield from whitespace(src, MOST_SPACE)
    return checkpoint


def report_stray(reading: Reading, start: int, marker: str) -> None:
    """Report a marker after JSON calls, at the offset `start`."""
    detail = f"not emitted after the call: {marker!r}"
    reading.sink.issue("stray_marker", (start, reading.src.offset), detail)
