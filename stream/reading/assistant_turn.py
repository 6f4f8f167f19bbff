"""The outermost reader: one assistant turn.

    turn = [header] { reasoning | content | calls | end-of-turn }

The sections are in any order and number. Text outside of all sections is content. Whitespace
between two markers belongs to the markers.
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
    name_after,
    report_call_after_end,
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
"""The last thing read after a marker, by its role. It is a marker for all other roles."""


def assistant_turn(reading: Reading) -> Steps[None]:
    """Read one turn, from the end of its header to the end of the input."""
    src, tables = reading.src, reading.tables
    # A turn in channels has messages instead of sections, so it has its own reader.
    if tables.derived.has_channels:
        yield from channel_turn(reading)
        return
    # A model may repeat the header although the prompt contains it.
    repeated = yield from peek_marker(src, tables.at_start)
    if repeated:
        start = src.offset
        yield from consume_marker(src, repeated, tables.trailing(repeated))
        _report_repeated(reading, start, repeated)
    # The template writes this whitespace before content, so it is not part of the content.
    if tables.content_space:
        yield from consume_marker(src, "", tables.content_space)
    before = PrecededBy.START
    # Without a start marker every turn starts in reasoning, so the reader cannot wait for one.
    if tables.opens_reasoning:
        before = yield from _reasoning(reading, None, opened="")
    yield from _sections(reading, before)


@dataclass(slots=True)
class TurnState:
    """The place of the reader in a turn.

    Attributes:
        before: the last thing read.
        markers: the end markers of text here.
        room: the number of whitespace characters to buffer before a marker.
        ended: the end-of-turn marker, if it was read last, else "".
        second_time: True for text that was read up to the end of the turn before, and contains no
            end of reasoning.
    """

    before: PrecededBy
    markers: Markers
    room: int
    ended: str = ""
    second_time: bool = False


def _sections(
    reading: Reading, before: PrecededBy, *, second_time: bool = False, at_end: bool = True
) -> Steps[None]:
    """Read section after section.

    Args:
        reading: the turn.
        before: the thing before the first section.
        second_time: see `TurnState`.
        at_end: True if the text ends with the output, False if a marker follows it.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    # After reasoning, or if all content is wrapped, content may have a start marker.
    always = tables.fmt.content.mode is ContentMode.ALWAYS_WRAPPED
    markers = tables.in_content_start if always or sink.seen_reasoning else tables.in_content
    place = TurnState(before, markers, tables.longest, "", second_time)
    writer = ContentWriter(reading, before)
    unproven = unproven_calls(reading, _next_marker)
    while True:
        before = place.before
        # Only whitespace is undecided here, because other readers buffer their markers. Separators
        # of unmarked calls are undecided too.
        starts_text = src.text[src.pos : src.pos + 1].strip() and not tables.reads_separators
        checkpoint = NOTHING_READ if starts_text else Checkpoint(src)
        # The text of a failed call continues here, so whitespace belongs to it.
        marker = (
            ""
            if before is PrecededBy.TEXT
            else (yield from _next_marker(reading, before, place.room))
        )
        # A truncated marker after a call belongs to the call, so it is not content.
        if not marker and before is PrecededBy.CALL and at_end:
            report_cut_marker(reading, tables.after_call)
        # Whitespace at the end belongs to the marker before it, if there is one.
        if not marker and src.ended and before not in (PrecededBy.START, PrecededBy.TEXT):
            checkpoint.commit()
            return
        # A failed call is text with the same policy as the text before it, so keep the writer.
        if before is not PrecededBy.TEXT and not writer.is_outside_turn(before):
            writer = ContentWriter(reading, before)
        if not marker and tables.constrained and (yield from _more_space(reading, before)):
            # JSON may follow any amount of whitespace, but the buffer is limited: emit a part.
            _emit_space(writer, checkpoint)
            continue
        if not marker:
            if before is PrecededBy.END and (yield from _is_other_role(reading)):
                # The model continues the conversation by itself, so calls there are not its own.
                reading = Reading(src, sink, marker_tables(reading.fmt, calls=False))
                place.markers, place.ended, unproven = reading.tables.in_content, "", None
            # Text follows the end-of-turn marker, so the marker is text too.
            if place.ended or checkpoint.open:
                writer.emit(place.ended + checkpoint.text())
            checkpoint.commit()
            place.ended = ""
            marker = yield from content(reading, place.markers, writer.emit)
            writer.end()
            before = PrecededBy.TEXT
        # Without a marker, `content` has read up to the end of the input.
        if not marker:
            return
        role = role_of(reading, marker, before)
        if role is not Role.TOOL_START:
            # Raw reasoning is emitted with its markers, so the whitespace before them must be kept.
            if checkpoint.open:
                if sink.shows_markers and role in REASONING:
                    writer.emit(checkpoint.text())
                checkpoint.commit()
            yield from _section(reading, place, marker, role)
            # A new section of content is a new part: it may consist of unproven calls again.
            if role is Role.CONTENT_START:
                unproven = unproven_calls(reading, _next_marker)
            continue
        # A failed call is emitted as text, so its text must be buffered from the marker on.
        if not checkpoint.open:
            checkpoint = Checkpoint(src)
        report_call_after_end(reading, marker)
        emit = _after_end_marker(place.ended, writer.emit)
        called = yield from _calls(
            reading, unproven, marker, checkpoint, emit, several=place.room == tables.longest
        )
        # The closer of a failed call is text too.
        sink.open_text = not called
        place.before, place.ended = PrecededBy.CALL if called else PrecededBy.TEXT, ""


def _section(reading: Reading, place: TurnState, marker: str, role: Role) -> Steps[None]:
    """Read a marker that does not start a call, and reasoning if the marker starts it."""
    src, sink, tables = reading.src, reading.sink, reading.tables
    start = src.offset
    written = yield from consume_marker(src, marker, tables.trailing(marker))
    if role is Role.OTHER_START:
        yield from _other_section(reading, written)
    elif reading.in_other and role is Role.REASONING_END:
        # Sections of all names share this end marker.
        reading.in_other, place.before = False, PrecededBy.START
        if sink.shows_markers:
            sink.content(written)
    before = place.before
    place.before = BEFORE.get(role, PrecededBy.MARKER)
    place.room, place.ended = tables.longest, ""
    if role is Role.TURN_END:
        # A call after this marker is reported.
        sink.seen_end = True
        if sink.recorder is not None:
            sink.recorder.set_role(start, src.offset, TextRole.END)
        # The marker is text if text follows, so it is kept with as much whitespace as may precede
        # another marker.
        place.room, place.ended = MOST_SPACE, written
    elif role is Role.REASONING_START:
        # Sections do not nest, so reasoning ends an unknown section.
        reading.in_other = False
        place.before = yield from _reasoning(reading, place, opened=written)
        place.markers = tables.in_content_start
    elif (
        role is Role.REASONING_END
        and before is not PrecededBy.START
        and not tables.derived.shares_end
    ):
        # Not reported at the start of a turn, where some templates close unopened reasoning.
        report_stray_end(reading, marker, start, "and is not emitted")
    elif role is Role.STRAY_CLOSER:
        report_stray_closer(reading, marker, start)
        place.room = MOST_SPACE
    elif role is Role.CONTENT_START:
        place.markers = tables.in_content_end
        # In a section of its own, text does not cast doubt on a call with markers.
        if sink.surrounding is not None:
            sink.surrounding.in_section = not tables.unmarked
    elif role is Role.CONTENT_END:
        place.markers = tables.in_content_start
        if sink.surrounding is not None:
            sink.surrounding.in_section = False
    elif role is Role.HEADER and tables.fmt.turn.several_messages:
        # The header starts another message of this turn, so a call may follow without an issue.
        sink.seen_end = False
    elif role is Role.HEADER:
        _report_repeated(reading, start, marker)
    elif role is Role.TOOL_END:
        # The closer was found, so the call is not reported as unclosed.
        sink.unclosed = None
        # Constrained JSON has no closers, so a closer is reported and left out.
        if tables.constrained:
            report_stray(reading, start, marker)
        else:
            reading.closes(marker)


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


def _more_space(reading: Reading, before: PrecededBy) -> Steps[bool]:
    """Return True if JSON calls may follow more whitespace than the buffer holds."""
    # After text, a call must have a marker.
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
    """Return the sub-parser of possible calls at a marker. Its result is True for calls.

    The sub-parser commits `checkpoint`. `several` is an argument of `tool_calls`. This function is
    not a generator, because each generator on the stack costs time per chunk.
    """
    # Calls in a code marker are proved by it, so they need no second look.
    if unproven is not None and unproven.begin_with(marker):
        return unproven.read(marker, checkpoint, emit_text)
    return tool_calls(reading, checkpoint, emit_text, several=several)


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


def _next_marker(reading: Reading, before: PrecededBy, room: int = 0) -> Steps[str]:
    """Read whitespace and return the marker after it, unread, or "" if text follows.

    The limit is `room` characters, by default the length of the longest marker. More whitespace
    is text. Unmarked calls start with a character instead of a marker, possibly after a separator.
    """
    src, tables = reading.src, reading.tables
    follows_call = before is PrecededBy.CALL
    markers = tables.after_call if follows_call else tables.at_edge
    markers = tables.after_end if before is PrecededBy.END else markers
    # Constrained JSON may follow long whitespace, and no text precedes it.
    room = MOST_SPACE if tables.constrained else room or tables.longest
    if not src.text[src.pos : src.pos + 1].strip():  # a check is cheaper than a generator
        yield from whitespace(src, room)
    marker = yield from peek_marker(src, markers)
    # Some markers are text, depending on the text after them.
    if marker and role_of(reading, marker, before) in UNSURE:
        if not (yield from is_marker(reading, marker, before)):
            return ""
    if marker or not tables.reads_separators:
        return marker
    char = yield from peek(src)
    # The text may be a truncated marker, so it does not start a call.
    if follows_call and may_become(src, tables.after_call):
        return ""
    # Models write `,` and `;` between calls, even if the format has another separator.
    if follows_call and char and char in tables.separators.firsts:
        char = yield from _after_separator(reading)
    return char if tables.unmarked_call.match(char) else ""


def _after_separator(reading: Reading) -> Steps[str]:
    """Read a separator of unmarked calls and return the character after it, or "".

    A separator at the end of the output is reported, also if it is truncated.
    """
    src, tables, start = reading.src, reading.tables, reading.src.offset
    if not (yield from skip_if_here(src, tables.separators)):
        if report_cut_marker(reading, tables.separators):
            _note_separator(reading, start)
        return ""
    yield from whitespace(src, tables.longest)
    char = yield from peek(src)
    # No call follows, so the separator is neither part of a call nor content.
    if not char:
        report_cut(reading, start, src.text_since(start, prompt=True))
        _note_separator(reading, start)
    return char


def _note_separator(reading: Reading, start: int) -> None:
    """Note a separator without a following call as text next to the previous call."""
    if reading.sink.surrounding is not None:
        reading.sink.surrounding.text(reading.src.text_since(start, prompt=True))


def _reasoning(reading: Reading, place: TurnState | None, *, opened: str) -> Steps[PrecededBy]:
    """Read a reasoning section, and the calls found in it."""
    second_time = place is not None and place.second_time
    calls = yield from reasoning(reading, opened=opened, second_time=second_time)
    # The section ended with its marker, so its calls need not be read again.
    if calls is None:
        return PrecededBy.MARKER
    # A call that the prompt began is emitted completely, so the prompt's text is included.
    text = reading.src.text_since(calls.start, prompt=True)
    window = Window(text, closed=True, offset=calls.start)
    calls.commit()
    # The calls need the reader of sections, so their text is read again from its own window.
    again = Reading(window, reading.sink, reading.tables)
    reading.sink.reads(window)
    try:
        at_end = not reading.src.unread
        yield from _sections(again, PrecededBy.MARKER, second_time=True, at_end=at_end)
    except Exception:
        # The window is local, so its unread text is emitted here before it is lost.
        window.rewind()
        window.emits_prompt = False
        reading.sink.end_call(complete=False)
        reading.sink.content(window.consume(len(window.text)))
        raise
    reading.sink.reads(reading.src)
    return PrecededBy.CALL
