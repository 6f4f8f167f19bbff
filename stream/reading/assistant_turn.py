"""The outermost reader: one assistant turn.

    turn = [header] { reasoning | content | calls | end-of-turn }

The sections come in any order and number. Text that belongs to no section is content. White
space between two markers belongs to the markers.
"""

from __future__ import annotations

from dataclasses import dataclass

from deltaparse.partial import (
    Emit,
    Markers,
    Steps,
    Window,
    consume_marker,
    peek,
    peek_marker,
    skip_if_here,
    whitespace,
)

from ..message.provenance import TextRole
from ..wire.format import ContentMode
from ..wire.marker_tables import marker_tables
from ..wire.section_markers import Role
from ..wire.spellings import MOST_SPACE, trailing
from .channels import channel_turn
from .checkpoint import NOTHING_READ, Checkpoint
from .constrained_json import report_stray
from .content import (
    UNSURE,
    content,
    is_marker,
    may_become,
    name_behind,
    report_call_behind_end,
    report_cut,
    report_cut_marker,
    report_stray_closer,
    report_stray_end,
    role_of,
)
from .content_writer import ContentWriter, PrecededBy
from .reading import Reading
from .reasoning import reasoning
from .strict_calls import UnprovenCalls, unproven_calls
from .tool_calls.dispatch import tool_calls

__all__ = ["assistant_turn"]

REASONING = (Role.REASONING_START, Role.REASONING_END)
BEFORE = {
    Role.TOOL_END: PrecededBy.CALL,
    Role.TURN_END: PrecededBy.END,
    Role.HEADER: PrecededBy.END,
}
"""What stands before the text behind a marker, where that is not just a marker."""


def assistant_turn(reading: Reading) -> Steps[None]:
    """Read one turn, from behind its header to the end of the input."""
    src, tables = reading.src, reading.tables
    if tables.derived.has_channels:
        yield from channel_turn(reading)
        return
    repeated = yield from peek_marker(src, tables.at_start)
    if repeated:
        start = src.offset
        yield from consume_marker(src, repeated, tables.trailing(repeated))
        _report_repeated(reading, start, repeated)
    if tables.content_space:
        yield from consume_marker(src, "", tables.content_space)
    before = PrecededBy.START
    if tables.opens_reasoning:
        before = yield from _reasoning(reading, None, opened="")
    yield from _sections(reading, before)


@dataclass(slots=True)
class TurnState:
    """Where in a turn the reader stands.

    before:       what was read last.
    markers:      what ends text here.
    room:         how much white space before a marker is held back.
    ended:        the end-of-turn marker that was read last, if nothing followed it so far.
    second_time:  this was read before, up to the end of the turn, and no reasoning ends in it.
    """

    before: PrecededBy
    markers: Markers
    room: int
    ended: str = ""
    second_time: bool = False


def _sections(
    reading: Reading, before: PrecededBy, *, second_time: bool = False, at_end: bool = True
) -> Steps[None]:
    """Read section after section; `before` is what stands before the first.

    `second_time`: see `Place`. `at_end`: the output ends where the text does that is read, not with
    a marker behind it.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    always = tables.fmt.content.mode is ContentMode.ALWAYS_WRAPPED
    markers = tables.in_content_start if always or sink.seen_reasoning else tables.in_content
    place = TurnState(before, markers, tables.longest, "", second_time)
    writer = ContentWriter(reading, before)
    unproven = unproven_calls(reading, _next_marker)
    while True:
        before = place.before
        # A character that is no white space is read by who reads what it begins.
        comes = src.text[src.pos : src.pos + 1].strip() and not tables.reads_separators
        checkpoint = NOTHING_READ if comes else Checkpoint(src)
        marker = (
            ""
            if before is PrecededBy.TEXT
            else (yield from _next_marker(reading, before, place.room))
        )
        if not marker and before is PrecededBy.CALL and at_end:
            report_cut_marker(reading, tables.after_call)
        # White space at the end belongs to the marker before it, if there is one.
        if not marker and src.ended and before not in (PrecededBy.START, PrecededBy.TEXT):
            checkpoint.commit()
            return
        # What looked like a call stands beside what the text before it stands beside.
        if before is not PrecededBy.TEXT and not writer.stands_behind(before):
            writer = ContentWriter(reading, before)
        if not marker and tables.constrained and (yield from _more_space(reading, before)):
            # JSON may follow, however much white space stands before it.
            _emit_space(writer, checkpoint)
            continue
        if not marker:
            if before is PrecededBy.END and (yield from _is_other_role(reading)):
                # What looks like a call there is not the model's.
                reading = Reading(src, sink, marker_tables(reading.fmt, calls=False))
                place.markers, place.ended, unproven = reading.tables.in_content, "", None
            if place.ended or checkpoint.open:
                writer.emit(place.ended + checkpoint.text())
            checkpoint.commit()
            place.ended = ""
            marker = yield from content(reading, place.markers, writer.emit)
            writer.end()
            before = PrecededBy.TEXT
        if not marker:
            return
        role = role_of(reading, marker, before)
        if role is not Role.TOOL_START:
            if checkpoint.open:
                if sink.shows_markers and role in REASONING:
                    writer.emit(checkpoint.text())
                checkpoint.commit()
            yield from _section(reading, place, marker, role)
            if role is Role.CONTENT_START:
                unproven = unproven_calls(reading, _next_marker)
            continue
        if not checkpoint.open:
            checkpoint = Checkpoint(src)
        report_call_behind_end(reading, marker)
        emit = _behind(place.ended, writer.emit)
        called = yield from _calls(
            reading, unproven, marker, checkpoint, emit, several=place.room == tables.longest
        )
        sink.open_text = not called
        place.before, place.ended = PrecededBy.CALL if called else PrecededBy.TEXT, ""


def _section(reading: Reading, place: TurnState, marker: str, role: Role) -> Steps[None]:
    """Read a marker other than that of a call, and reasoning if it begins there."""
    src, sink, tables = reading.src, reading.sink, reading.tables
    start = src.offset
    written = yield from consume_marker(src, marker, tables.trailing(marker))
    if role is Role.OTHER_START:
        yield from _other_section(reading, written)
    elif reading.in_other and role is Role.REASONING_END:
        reading.in_other, place.before = False, PrecededBy.START
        if sink.shows_markers:
            sink.content(written)
    before = place.before
    place.before = BEFORE.get(role, PrecededBy.MARKER)
    place.room, place.ended = tables.longest, ""
    if role is Role.TURN_END:
        sink.seen_end = True
        if sink.trail is not None:
            sink.trail.said(start, src.offset, TextRole.END)
        place.room, place.ended = MOST_SPACE, written
    elif role is Role.REASONING_START:
        reading.in_other = False
        place.before = yield from _reasoning(reading, place, opened=written)
        place.markers = tables.in_content_start
    elif (
        role is Role.REASONING_END
        and before is not PrecededBy.START
        and not tables.derived.shares_end
    ):
        # At the start it says that there is no reasoning: some templates write turns so.
        report_stray_end(reading, marker, start, "and is not emitted")
    elif role is Role.STRAY_CLOSER:
        report_stray_closer(reading, marker, start)
        place.room = MOST_SPACE
    elif role is Role.CONTENT_START:
        place.markers = tables.in_content_end
        if sink.beside is not None:
            sink.beside.in_section = not tables.unmarked
    elif role is Role.CONTENT_END:
        place.markers = tables.in_content_start
        if sink.beside is not None:
            sink.beside.in_section = False
    elif role is Role.HEADER and tables.fmt.turn.several_messages:
        sink.seen_end = False
    elif role is Role.HEADER:
        _report_repeated(reading, start, marker)
    elif role is Role.TOOL_END:
        sink.unclosed = None
        if tables.constrained:
            report_stray(reading, start, marker)
        else:
            reading.closes(marker)


def _other_section(reading: Reading, written: str) -> Steps[None]:
    """Read the name of a section that the format does not have, behind its marker."""
    src, sink, start = reading.src, reading.sink, reading.src.offset - len(written)
    name = yield from name_behind(reading, "", in_text=False)
    written += yield from consume_marker(src, name or "", trailing(reading.fmt.reasoning.start))
    reading.in_other = True
    if sink.shows_markers:
        sink.content(written)
    detail = f"{written.strip()!r} begins a section that the format does not have: it is content"
    sink.issue("odd_header", (start, src.offset), detail)


def _more_space(reading: Reading, before: PrecededBy) -> Steps[bool]:
    """Whether more white space follows than is held back, and calls in JSON may follow it."""
    if before is PrecededBy.TEXT:
        return False
    return (yield from peek(reading.src)).isspace()


def _emit_space(writer: ContentWriter, checkpoint: Checkpoint) -> None:
    writer.emit(checkpoint.text())
    writer.end()
    checkpoint.commit()


def _calls(
    reading: Reading,
    unproven: UnprovenCalls | None,
    marker: str,
    checkpoint: Checkpoint,
    emit_text: Emit,
    *,
    several: bool,
) -> Steps[bool]:
    """What reads the calls that may begin at a marker, and returns whether any did.

    It commits `checkpoint`; `several` is as for `tool_calls`. No sub-parser of its own: each is
    resumed for every chunk.
    """
    if unproven is not None and unproven.begin_with(marker):
        return unproven.read(marker, checkpoint, emit_text)
    return tool_calls(reading, checkpoint, emit_text, several=several)


def _behind(ended: str, emit: Emit) -> Emit:
    """What emits text that follows an end-of-turn marker, which is text by that."""
    return (lambda text: emit(ended + text)) if ended else emit


def _is_other_role(reading: Reading) -> Steps[bool]:
    """Whether the header of another role stands here."""
    src, roles = reading.src, reading.tables.other_roles
    while True:
        end = roles.match(src.text, src.pos, final=src.closed)
        if end != src.pos:
            return end > src.pos
        yield


def _report_repeated(reading: Reading, start: int, marker: str) -> None:
    span = (start, reading.src.offset)
    reading.sink.issue("repeated_marker", span, f"{marker!r} was written again")


def _next_marker(reading: Reading, before: PrecededBy, room: int = 0) -> Steps[str]:
    """Read white space; return the marker after it, unread, or "" if text follows.

    No more white space is held back than `room`, or than a marker is long; the rest is text. Where
    calls stand in no markers, the character that one begins with is one, and after a call it may
    follow a separator.
    """
    src, tables = reading.src, reading.tables
    behind_call = before is PrecededBy.CALL
    markers = tables.after_call if behind_call else tables.at_edge
    markers = tables.after_end if before is PrecededBy.END else markers
    room = MOST_SPACE if tables.constrained else room or tables.longest
    if not src.text[src.pos : src.pos + 1].strip():  # to make a generator costs more than to look
        yield from whitespace(src, room)
    marker = yield from peek_marker(src, markers)
    if marker and role_of(reading, marker, before) in UNSURE:
        if not (yield from is_marker(reading, marker, before)):
            return ""
    if marker or not tables.reads_separators:
        return marker
    char = yield from peek(src)
    if behind_call and may_become(src, tables.after_call):
        return ""
    if behind_call and char and char in tables.separators.firsts:
        char = yield from _behind_separator(reading)
    return char if tables.unmarked_call.match(char) else ""


def _behind_separator(reading: Reading) -> Steps[str]:
    """Read what may stand between calls in no markers; return the character behind it, or "".

    What the output ends in is reported, if it is no more than that.
    """
    src, tables, start = reading.src, reading.tables, reading.src.offset
    if not (yield from skip_if_here(src, tables.separators)):
        if report_cut_marker(reading, tables.separators):
            _note_beside(reading, start)
        return ""
    yield from whitespace(src, tables.longest)
    char = yield from peek(src)
    if not char:
        report_cut(reading, start, src.text_since(start, prompt=True))
        _note_beside(reading, start)
    return char


def _note_beside(reading: Reading, start: int) -> None:
    """Note a separator that no call follows, as text beside the call before it."""
    if reading.sink.beside is not None:
        reading.sink.beside.text(reading.src.text_since(start, prompt=True))


def _reasoning(reading: Reading, place: TurnState | None, *, opened: str) -> Steps[PrecededBy]:
    """Read a reasoning section, and what of it turned out to be calls."""
    second_time = place is not None and place.second_time
    calls = yield from reasoning(reading, opened=opened, second_time=second_time)
    if calls is None:
        return PrecededBy.MARKER
    # A call that the prompt began comes out whole.
    text = reading.src.text_since(calls.start, prompt=True)
    window = Window(text, closed=True, offset=calls.start)
    calls.commit()
    again = Reading(window, reading.sink, reading.tables)
    reading.sink.reads(window)
    try:
        at_end = not reading.src.unread
        yield from _sections(again, PrecededBy.MARKER, second_time=True, at_end=at_end)
    except Exception:
        # Nobody else knows of this window: what is unread in it would be lost.
        window.rewind()
        window.emits_prompt = False
        reading.sink.end_call(complete=False)
        reading.sink.content(window.consume(len(window.text)))
        raise
    reading.sink.reads(reading.src)
    return PrecededBy.CALL
