"""The reader of a turn in sections.

    turn = [header] { reasoning | content | calls | end-of-turn }

The sections are in any order and number. Text outside of all sections is content. Whitespace
between two markers belongs to the markers.

The reader is a state machine. Each `State` has a reader, which returns the `Event` at its end, and
`TRANSITIONS` has the next state. `docs/architecture.md` shows the table as a diagram.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

from deltaparse.partial import (
    Emit,
    Markers,
    Steps,
    Window,
    consume_marker,
    peek,
    peek_marker,
)

from ..message.provenance import TextRole
from ..wire.format import ContentMode
from ..wire.marker_tables import marker_tables
from ..wire.section_markers import Role
from ..wire.spellings import MOST_SPACE, trailing
from .checkpoint import NOTHING_READ, Checkpoint
from .constrained_json import report_stray
from .content import (
    content,
    name_after,
    report_call_after_end,
    report_cut_marker,
    report_stray_closer,
    report_stray_end,
    role_of,
)
from .content_writer import ContentWriter, PrecededBy
from .next_marker import next_marker
from .reading import Reading
from .reasoning import reasoning
from .strict_calls import is_unproven, strict_calls
from .tool_calls.dispatch import tool_calls

__all__ = ["TRANSITIONS", "Event", "State", "sections"]


class State(StrEnum):
    """A place in a turn: the thing read last, or the section that is read next."""

    OPENING = "opening"
    """Before the turn. The model may repeat its header."""
    START = "start"
    """Nothing was read."""
    AFTER_MARKER = "after_marker"
    AFTER_STRAY = "after_stray"
    """After a closer without an open call. Another marker or the end of the input follows."""
    AFTER_CALL = "after_call"
    AFTER_END = "after_end"
    """After the end-of-turn marker, which is text if text follows."""
    AFTER_HEADER = "after_header"
    TEXT = "text"
    REASONING = "reasoning"
    CALLS = "calls"
    """At the opener of a call, which is text if no call follows."""
    DONE = "done"


class Event(StrEnum):
    """The thing that ends a state."""

    NO_SECTION = "no section is open"
    TEXT = "text"
    CALL = "opener of a call"
    REASONING = "start of reasoning"
    CLOSER = "closer of a call"
    STRAY = "stray closer"
    TURN_END = "end of turn"
    HEADER = "header"
    MARKER = "other marker"
    INPUT_END = "end of input"
    REASONING_END = "end of reasoning"
    CALLED = "calls"
    NOT_A_CALL = "no call"


MARKERS = {
    Event.CALL: State.CALLS,
    Event.REASONING: State.REASONING,
    Event.CLOSER: State.AFTER_CALL,
    Event.STRAY: State.AFTER_STRAY,
    Event.TURN_END: State.AFTER_END,
    Event.HEADER: State.AFTER_HEADER,
    Event.MARKER: State.AFTER_MARKER,
    Event.INPUT_END: State.DONE,
}
"""Sections are in any order, so a marker has the same effect in each state."""

TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.OPENING: {Event.REASONING: State.REASONING, Event.NO_SECTION: State.START},
    State.START: {Event.TEXT: State.TEXT, **MARKERS},
    State.AFTER_MARKER: {Event.TEXT: State.TEXT, **MARKERS},
    State.AFTER_STRAY: {Event.TEXT: State.TEXT, **MARKERS},
    State.AFTER_CALL: {Event.TEXT: State.TEXT, **MARKERS},
    State.AFTER_END: {Event.TEXT: State.TEXT, **MARKERS},
    State.AFTER_HEADER: {Event.TEXT: State.TEXT, **MARKERS},
    State.TEXT: MARKERS,
    State.REASONING: {Event.REASONING_END: State.AFTER_MARKER, Event.CALLED: State.AFTER_CALL},
    State.CALLS: {Event.CALLED: State.AFTER_CALL, Event.NOT_A_CALL: State.TEXT},
}

EVENTS = {
    Role.TOOL_START: Event.CALL,
    Role.TOOL_END: Event.CLOSER,
    Role.STRAY_CLOSER: Event.STRAY,
    Role.REASONING_START: Event.REASONING,
    Role.TURN_END: Event.TURN_END,
    Role.HEADER: Event.HEADER,
}
"""The event of a marker by its role, `Event.MARKER` for all other roles."""

REASONING = (Role.REASONING_START, Role.REASONING_END)


class Edge(NamedTuple):
    """The whitespace and markers expected in a state between sections.

    Attributes:
        before: the last thing read.
        room: the number of whitespace characters to buffer before a marker, 0 for the length of
            the longest marker.
    """

    before: PrecededBy
    room: int = 0


EDGES = {
    State.START: Edge(PrecededBy.START),
    State.AFTER_MARKER: Edge(PrecededBy.MARKER),
    State.AFTER_STRAY: Edge(PrecededBy.MARKER, MOST_SPACE),
    State.AFTER_CALL: Edge(PrecededBy.CALL),
    # The marker is text if text follows, so it is kept with the whitespace after it.
    State.AFTER_END: Edge(PrecededBy.END, MOST_SPACE),
    State.AFTER_HEADER: Edge(PrecededBy.END),
}


class Turn:
    """The data of a turn while its sections are read.

    Attributes:
        reading: the window, the sink and the marker tables.
        state: the state of the reader.
        ends: the end markers of text here.
        writer: takes the text.
        marker: the opener of calls at this place, in the state CALLS.
        checkpoint: started at the opener or before it.
        opened: the start marker of the section of reasoning, as written.
        end_marker: the end-of-turn marker, if it was read last, else "".
        opener_is_text: True after text in place of an unproven call, in the same section.
        second_time: True for text that was read up to the end of the turn before, and contains no
            end of reasoning.
        at_end: True if the text ends with the output, False if a marker follows it.
    """

    __slots__ = (
        "at_end",
        "checkpoint",
        "end_marker",
        "ends",
        "marker",
        "opened",
        "opener_is_text",
        "reading",
        "second_time",
        "state",
        "writer",
    )

    def __init__(
        self,
        reading: Reading,
        state: State,
        *,
        second_time: bool = False,
        at_end: bool = True,
    ) -> None:
        tables = reading.tables
        self.reading = reading
        self.state = state
        # After reasoning, or if all content is wrapped, content may have a start marker.
        always = tables.fmt.content.mode is ContentMode.ALWAYS_WRAPPED
        wrapped = always or reading.sink.seen_reasoning
        self.ends: Markers = tables.in_content_start if wrapped else tables.in_content
        self.writer = ContentWriter(reading, PrecededBy.START)
        self.opener_is_text = False
        self.marker = self.opened = self.end_marker = ""
        self.checkpoint: Checkpoint = NOTHING_READ
        self.second_time = second_time
        self.at_end = at_end

    def leave_to_other_role(self) -> None:
        """Read the rest as text, because the calls of another role are not those of the model."""
        old = self.reading
        self.reading = Reading(old.src, old.sink, marker_tables(old.fmt, calls=False))
        self.ends, self.end_marker = self.reading.tables.in_content, ""


def sections(reading: Reading, turn: Turn | None = None) -> Steps[None]:
    """Read one turn, from the end of its header to the end of the input.

    Args:
        reading: the window, the sink and the marker tables.
        turn: the state to continue from (default: the start of a turn).
    """
    # Created at the first resume, so that parsers are cheap to create.
    turn = turn or Turn(reading, State.OPENING)
    while turn.state is not State.DONE:
        event = yield from STATE_READERS[turn.state](turn)
        turn.state = TRANSITIONS[turn.state][event]


def _opening(turn: Turn) -> Steps[Event]:
    """Read a repeated header, and the whitespace of the template before content."""
    reading, src, tables = turn.reading, turn.reading.src, turn.reading.tables
    # A model may repeat the header although the prompt contains it.
    repeated = yield from peek_marker(src, tables.at_start)
    if repeated:
        start = src.offset
        yield from consume_marker(src, repeated, tables.trailing(repeated))
        _report_repeated(reading, start, repeated)
    # The template writes this whitespace before content, so it is not part of the content.
    if tables.content_space:
        yield from consume_marker(src, "", tables.content_space)
    # Without a start marker every turn starts in reasoning, so the reader cannot wait for one.
    return Event.REASONING if tables.opens_reasoning else Event.NO_SECTION


def _between(turn: Turn) -> Steps[Event]:
    """Read whitespace up to a marker and the marker, or up to text."""
    reading, state = turn.reading, turn.state
    src, tables = reading.src, reading.tables
    before, room = EDGES[state]
    if not turn.writer.is_outside_turn(before):
        turn.writer = ContentWriter(reading, before)
    while True:
        # Only whitespace is undecided here, because other readers buffer their markers. Separators
        # of unmarked calls are undecided too.
        starts_text = src.text[src.pos : src.pos + 1].strip() and not tables.reads_separators
        checkpoint = NOTHING_READ if starts_text else Checkpoint(src)
        marker = yield from next_marker(reading, before, room)
        if marker:
            return (yield from _marker(turn, marker, checkpoint))
        # A truncated marker after a call belongs to the call, so it is not content.
        if state is State.AFTER_CALL and turn.at_end:
            report_cut_marker(reading, tables.after_call)
        # Whitespace at the end belongs to the marker before it, if there is one.
        if src.ended and state is not State.START:
            checkpoint.commit()
            return Event.INPUT_END
        if not (tables.constrained and (yield from peek(src)).isspace()):
            break
        # JSON may follow any amount of whitespace, but the buffer is limited: emit a part.
        turn.writer.emit(checkpoint.text())
        turn.writer.end()
        checkpoint.commit()
    if before is PrecededBy.END and (yield from _is_other_role(reading)):
        turn.leave_to_other_role()
    # Text follows the end-of-turn marker, so the marker is text too.
    if turn.end_marker or checkpoint.open:
        turn.writer.emit(turn.end_marker + checkpoint.text())
    checkpoint.commit()
    turn.end_marker = ""
    return Event.TEXT


def _text(turn: Turn) -> Steps[Event]:
    """Read content up to a marker, and the marker."""
    marker = yield from content(turn.reading, turn.ends, turn.writer.emit)
    turn.writer.end()
    if not marker:
        return Event.INPUT_END
    return (yield from _marker(turn, marker, NOTHING_READ))


def _marker(turn: Turn, marker: str, checkpoint: Checkpoint) -> Steps[Event]:
    """Read the marker at this place. An opener of calls stays unread."""
    reading, src, sink = turn.reading, turn.reading.src, turn.reading.sink
    before = EDGES[turn.state].before if turn.state in EDGES else PrecededBy.TEXT
    role = role_of(reading, marker, before)
    event = EVENTS.get(role, Event.MARKER)
    if event is Event.CALL:
        # A failed call is emitted as text, so its text must be buffered from the marker on.
        turn.marker, turn.checkpoint = marker, checkpoint if checkpoint.open else Checkpoint(src)
        return event
    if checkpoint.open:
        # Raw reasoning is emitted with its markers, so the whitespace before them must be kept.
        if sink.shows_markers and role in REASONING:
            turn.writer.emit(checkpoint.text())
        checkpoint.commit()
    start = src.offset
    written = yield from consume_marker(src, marker, reading.tables.trailing(marker))
    turn.end_marker = ""
    if role is Role.OTHER_START:
        yield from _other_section(reading, written)
    else:
        EFFECTS[role](turn, ReadMarker(marker, written, start))
    return event


class ReadMarker(NamedTuple):
    """A marker that was read.

    Attributes:
        marker: the marker.
        written: its text, with the whitespace after it.
        start: its offset.
    """

    marker: str
    written: str
    start: int


def _end_turn(turn: Turn, read: ReadMarker) -> None:
    """Keep the marker, because it is text if text follows."""
    sink = turn.reading.sink
    # A call after this marker is reported.
    sink.seen_end = True
    if sink.recorder is not None:
        sink.recorder.set_role(read.start, turn.reading.src.offset, TextRole.END)
    turn.end_marker = read.written


def _start_reasoning(turn: Turn, read: ReadMarker) -> None:
    # Sections do not nest, so reasoning ends an unknown section.
    turn.reading.in_other = False
    turn.opened = read.written


def _end_reasoning(turn: Turn, read: ReadMarker) -> None:
    """End a section unknown to the format, or report a stray end of reasoning."""
    reading = turn.reading
    # Sections of all names share this end marker.
    if reading.in_other:
        reading.in_other = False
        if reading.sink.shows_markers:
            reading.sink.content(read.written)
    # Not reported at the start of a turn, where some templates close unopened reasoning.
    elif turn.state is not State.START and not reading.tables.derived.shares_end:
        report_stray_end(reading, read.marker, read.start, "and is not emitted")


def _start_content(turn: Turn, _: ReadMarker) -> None:
    reading, tables = turn.reading, turn.reading.tables
    turn.ends = tables.in_content_end
    # In a section of its own, text does not cast doubt on a call with markers.
    if reading.sink.surrounding is not None:
        reading.sink.surrounding.in_section = not tables.unmarked
    # A new section of content is a new part: it may consist of unproven calls again.
    turn.opener_is_text = False


def _end_content(turn: Turn, _: ReadMarker) -> None:
    turn.ends = turn.reading.tables.in_content_start
    if turn.reading.sink.surrounding is not None:
        turn.reading.sink.surrounding.in_section = False


def _read_header(turn: Turn, read: ReadMarker) -> None:
    """Report a repeated header, unless the turn may have several messages."""
    if turn.reading.fmt.turn.several_messages:
        # The header starts another message of this turn, so a call may follow without an issue.
        turn.reading.sink.seen_end = False
    else:
        _report_repeated(turn.reading, read.start, read.marker)


def _end_calls(turn: Turn, read: ReadMarker) -> None:
    reading = turn.reading
    # The closer was found, so the call is not reported as unclosed.
    reading.sink.unclosed = None
    # Constrained JSON has no closers, so a closer is reported and left out.
    if reading.tables.constrained:
        report_stray(reading, read.start, read.marker)
    else:
        reading.closes(read.marker)


def _stray_closer(turn: Turn, read: ReadMarker) -> None:
    report_stray_closer(turn.reading, read.marker, read.start)


EFFECTS: Mapping[Role, Callable[[Turn, ReadMarker], None]] = {
    Role.TURN_END: _end_turn,
    Role.REASONING_START: _start_reasoning,
    Role.REASONING_END: _end_reasoning,
    Role.CONTENT_START: _start_content,
    Role.CONTENT_END: _end_content,
    Role.HEADER: _read_header,
    Role.TOOL_END: _end_calls,
    Role.STRAY_CLOSER: _stray_closer,
}
"""The effect of each marker on the turn, after the marker was read."""


def _other_section(reading: Reading, written: str) -> Steps[None]:
    """Read the name of a section unknown to the format, after the marker."""
    src, sink, start = reading.src, reading.sink, reading.src.offset - len(written)
    name = yield from name_after(reading, "", in_text=False)
    written += yield from consume_marker(src, name or "", trailing(reading.fmt.reasoning.start))
    reading.in_other = True
    if sink.shows_markers:
        sink.content(written)
    detail = f"{written.strip()!r} starts an unknown section; it is kept as content"
    sink.issue("odd_header", (start, src.offset), detail)


def _reasoning(turn: Turn) -> Steps[Event]:
    """Read a section of reasoning, and the calls found in it."""
    src, sink, tables = turn.reading.src, turn.reading.sink, turn.reading.tables
    turn.ends = tables.in_content_start
    calls = yield from reasoning(turn.reading, opened=turn.opened, second_time=turn.second_time)
    # The section ended with its marker, so its calls need not be read again.
    if calls is None:
        return Event.REASONING_END
    # A call that the prompt began is emitted completely, so the prompt's text is included.
    text = src.text_since(calls.start, prompt=True)
    window = Window(text, closed=True, offset=calls.start)
    calls.commit()
    # The calls need the reader of sections, so their text is read again from its own window.
    again = Reading(window, sink, tables)
    sink.reads(window)
    try:
        at_end = not src.unread
        yield from sections(again, Turn(again, State.AFTER_MARKER, second_time=True, at_end=at_end))
    except Exception:
        # The window is local, so its unread text is emitted here before it is lost.
        window.rewind()
        window.emits_prompt = False
        sink.end_call(complete=False)
        sink.content(window.consume(len(window.text)))
        raise
    sink.reads(src)
    return Event.CALLED


def _calls(turn: Turn) -> Steps[Event]:
    """Read the calls at the opener at this place, or emit it as text."""
    reading, marker, checkpoint = turn.reading, turn.marker, turn.checkpoint
    src, sink, tables = reading.src, reading.sink, reading.tables
    report_call_after_end(reading, marker)
    emit_text = _after_end_marker(turn.end_marker, turn.writer.emit)
    if not is_unproven(reading, marker):
        # Each call after the end of the turn is reported, so these are read one by one.
        called = yield from tool_calls(reading, checkpoint, emit_text, several=not sink.seen_end)
    elif turn.opener_is_text:
        called = False
        src.pos += len(marker)
        emit_text(checkpoint.text())
        checkpoint.commit()
    else:
        called = yield from strict_calls(reading, checkpoint, emit_text)
        # Unmarked calls are searched at the start of each part only, so no opener can follow.
        turn.opener_is_text = not (called or tables.unmarked) and src.offset > 0
    # The closer of a failed call is text too.
    sink.open_text = not called
    turn.end_marker = ""
    return Event.CALLED if called else Event.NOT_A_CALL


STATE_READERS: Mapping[State, Callable[[Turn], Steps[Event]]] = {
    State.OPENING: _opening,
    **dict.fromkeys(EDGES, _between),
    State.TEXT: _text,
    State.REASONING: _reasoning,
    State.CALLS: _calls,
}


def _after_end_marker(ended: str, emit: Emit) -> Emit:
    """Return an emitter of text preceded by the end-of-turn marker `ended`, if any."""
    return (lambda text: emit(ended + text)) if ended else emit


def _is_other_role(reading: Reading) -> Steps[bool]:
    """Return True if the header of another role starts here."""
    src, roles = reading.src, reading.tables.other_roles
    while True:
        end = roles.match(src.text, src.pos, final=src.closed)
        # The end equals the start as long as the text is a prefix of a header.
        if end != src.pos:
            return end > src.pos
        yield


def _report_repeated(reading: Reading, start: int, marker: str) -> None:
    span = (start, reading.src.offset)
    reading.sink.issue("repeated_marker", span, f"{marker!r} is repeated")
