"""Text constrained to JSON by the request, and read as calls.

    text = [fence] calls [fence] rest

This is for text with its own end marker: the messages of a turn in channels. In a turn without
channels, such calls are a section.

The reader is a state machine. Each `State` has a reader, which returns the `Event` at its end, and
`TRANSITIONS` has the next state. `docs/architecture.md` shows the table as a diagram.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

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

__all__ = ["TRANSITIONS", "Event", "State", "json_ahead", "report_stray", "text_of_calls"]


class State(StrEnum):
    """A place in the text: the thing read last, or the part that is read next."""

    START = "start"
    """Before the calls. Only whitespace was read."""
    CALLS = "calls"
    AFTER_CALLS = "after_calls"
    AFTER_FENCE = "after_fence"
    """After the end of the code block around the calls."""
    TEXT = "text"
    DONE = "done"


class Event(StrEnum):
    """The thing that ends a state."""

    SPACE = "more whitespace"
    CALL = "opener of a call"
    TEXT = "text"
    CALLED = "calls"
    NOT_A_CALL = "no call"
    FENCE = "end of code block"
    CUT_MARKER = "truncated marker"
    END = "end of text"


TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.START: {
        Event.SPACE: State.START,
        Event.CALL: State.CALLS,
        Event.TEXT: State.TEXT,
    },
    State.CALLS: {Event.CALLED: State.AFTER_CALLS, Event.NOT_A_CALL: State.TEXT},
    State.AFTER_CALLS: {
        Event.FENCE: State.AFTER_FENCE,
        Event.TEXT: State.TEXT,
        Event.CUT_MARKER: State.DONE,
    },
    State.AFTER_FENCE: {Event.TEXT: State.TEXT, Event.CUT_MARKER: State.DONE},
    State.TEXT: {Event.END: State.DONE},
}


class JsonText:
    """The data of a text while its calls are read.

    Attributes:
        reading: the turn.
        state: the state of the reader.
        checkpoint: started with the text that was read and not emitted.
        writer: takes the text that is not a call.
        ends: the end markers of the text.
        called: True if the text starts with calls.
    """

    __slots__ = ("called", "checkpoint", "ends", "reading", "state", "writer")

    def __init__(
        self, reading: Reading, checkpoint: Checkpoint, before: PrecededBy, ends: Markers
    ) -> None:
        self.reading = reading
        self.state = State.START
        self.checkpoint = checkpoint
        self.writer = ContentWriter(reading, before)
        self.ends = ends
        self.called = False


def text_of_calls(
    reading: Reading, checkpoint: Checkpoint, before: PrecededBy, ends: Markers
) -> Steps[bool]:
    """Read text up to one of the markers `ends`, and return True if it started with calls.

    `checkpoint` started with the text. Whitespace may have been read. It is committed.
    """
    text = JsonText(reading, checkpoint, before, ends)
    while text.state is not State.DONE:
        event = yield from STATE_READERS[text.state](text)
        text.state = TRANSITIONS[text.state][event]
    return text.called


def _start(text: JsonText) -> Steps[Event]:
    """Read whitespace up to the opener of a call, or up to other text."""
    src, tables = text.reading.src, text.reading.tables
    yield from whitespace(src, MOST_SPACE)
    start = (yield from peek_marker(src, tables.call_starts)) or (yield from peek(src))
    if start in tables.call_starts.literals or tables.unmarked_call.match(start):
        return Event.CALL
    text.writer.emit(text.checkpoint.text())
    text.checkpoint.commit()
    # Only calls need the buffered whitespace before them, and its length is not limited.
    if start.isspace():
        text.checkpoint = text.reading.checkpoint()
        return Event.SPACE
    return Event.TEXT


def _calls(text: JsonText) -> Steps[Event]:
    """Read the calls at this place, or emit their text."""
    reading = text.reading
    text.called = yield from tool_calls(reading, text.checkpoint, text.writer.emit)
    if not text.called:
        return Event.NOT_A_CALL
    # Text after calls has another policy, so it needs a writer of its own.
    text.writer.end()
    text.writer = ContentWriter(reading, PrecededBy.CALL)
    return Event.CALLED


def _after_calls(text: JsonText) -> Steps[Event]:
    """Read whitespace up to a marker or text, and the end of a code block."""
    reading, src, tables = text.reading, text.reading.src, text.reading.tables
    checkpoint, start = reading.checkpoint(), src.offset
    yield from whitespace(src, MOST_SPACE)
    # Models put JSON into code blocks, and the end of the block is not content.
    if text.state is State.AFTER_CALLS:
        fence = yield from peek_marker(src, tables.call_starts)
        if fence:
            src.pos += len(fence)
            report_stray(reading, start, fence)
            checkpoint.commit()
            return Event.FENCE
    marker = yield from peek_marker(src, text.ends)
    # The end of a code block may be truncated too.
    markers = () if marker else (text.ends, tables.call_starts)
    cut = any(report_cut_marker(reading, each) for each in markers)
    # Whitespace between a call and a marker belongs to the marker.
    if not marker and src.unread:
        text.writer.emit(checkpoint.text())
    checkpoint.commit()
    return Event.CUT_MARKER if cut else Event.TEXT


def _text(text: JsonText) -> Steps[Event]:
    """Read text up to the end marker, as content."""
    yield from channel_text(text.reading, text.ends, text.writer.emit)
    text.writer.end()
    return Event.END


STATE_READERS: Mapping[State, Callable[[JsonText], Steps[Event]]] = {
    State.START: _start,
    State.CALLS: _calls,
    State.AFTER_CALLS: _after_calls,
    State.AFTER_FENCE: _after_calls,
    State.TEXT: _text,
}


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


def report_stray(reading: Reading, start: int, marker: str) -> None:
    """Report a marker after JSON calls, at the offset `start`."""
    detail = f"not emitted after the call: {marker!r}"
    reading.sink.issue("stray_marker", (start, reading.src.offset), detail)
