"""The outermost reader: one assistant turn.

    turn = [header] { reasoning | content | calls | end-of-turn }

The sections come in any order and number. Text that belongs to no section is content. White
space between two markers belongs to the markers.
"""

from __future__ import annotations

from deltaparse.partial import Emit, Steps, Window, at, peek, skip, until, whitespace

from ..wire.format import ContentMode
from ..wire.marker_tables import Role
from .channels import channel_turn
from .checkpoint import Checkpoint
from .content_writer import MOST_SPACE, Before, ContentWriter
from .json_text import report_stray
from .reading import Reading
from .reasoning import reasoning
from .tool_calls.dispatch import tool_calls
from .tool_calls.tagged_head import may_become
from .unproven_calls import SEPARATORS, UnprovenCalls, unproven_calls

__all__ = ["assistant_turn"]

REASONING = (Role.REASONING_START, Role.REASONING_END)
BEFORE = {Role.TOOL_END: Before.CALL, Role.TURN_END: Before.END, Role.HEADER: Before.END}
"""What stands before the text behind a marker, where that is not just a marker."""


def assistant_turn(reading: Reading) -> Steps[None]:
    """Read one turn, from behind its header to the end of the input."""
    src, tables = reading.src, reading.tables
    if reading.fmt.facts.has_channels:
        yield from channel_turn(reading)
        return
    repeated = yield from at(src, tables.at_start)
    if repeated:
        start = src.offset
        yield from skip(src, repeated, tables.trailing(repeated))
        _report_repeated(reading, start, repeated)
    if tables.content_space:
        yield from skip(src, "", tables.content_space)
    before = Before.START
    if tables.opens_reasoning:
        before = yield from _reasoning(reading, opened="")
    yield from _sections(reading, before)


def _sections(
    reading: Reading, before: Before, *, second_time: bool = False, at_end: bool = True
) -> Steps[None]:
    """Read section after section; `before` is what stands before the first.

    `second_time`: this was read before, up to the end of the turn, and no reasoning ends in it.
    `at_end`: the output ends where the text does that is read, and not with a marker behind it.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    always = tables.fmt.content.mode is ContentMode.ALWAYS_WRAPPED
    markers = tables.in_content_start if always or sink.seen_reasoning else tables.in_content
    writer = ContentWriter(reading, before)
    unproven = unproven_calls(reading, _next_marker)
    ended = False
    while True:
        # What looked like a call stands beside what the text before it stands beside.
        writer = writer if before is Before.TEXT else ContentWriter(reading, before)
        checkpoint = reading.checkpoint()
        marker = "" if before is Before.TEXT else (yield from _next_marker(reading, before))
        if not marker and before is Before.CALL and at_end and _report_cut_marker(reading):
            checkpoint.commit()
            return
        if not marker and (yield from _more_space(reading, before)):
            # JSON may follow, however much white space stands before it.
            _emit_space(writer, checkpoint)
            continue
        if not marker:
            # White space at the end belongs to the marker before it, if there is one.
            if src.unread or not src.closed or before is Before.START:
                writer.emit(checkpoint.text())
            checkpoint.commit()
            marker = yield from until(src, markers, writer.emit)
            writer.end()
            checkpoint = reading.checkpoint()
        if not marker:
            checkpoint.commit()
            return
        role = _role(reading, marker, before)
        ended = ended or before is Before.END
        if role is Role.TOOL_START:
            if ended:
                _report_after_end(reading, marker)
            called = yield from _calls(reading, unproven, marker, checkpoint, writer.emit)
            before = Before.CALL if called else Before.TEXT
            continue
        if sink.shows_markers and role in REASONING:
            writer.emit(checkpoint.text())
        checkpoint.commit()
        start = src.offset
        written = yield from skip(src, marker, tables.trailing(marker))
        before = BEFORE.get(role, Before.MARKER)
        if role is Role.REASONING_START:
            before = yield from _reasoning(
                reading, opened=written, second_time=second_time, at_end=at_end
            )
            markers = tables.in_content_start
        elif role is Role.CONTENT_START:
            markers = tables.in_content_end
            unproven = unproven_calls(reading, _next_marker)
        elif role is Role.CONTENT_END:
            markers = tables.in_content_start
        else:
            _report_marker(reading, role, start, marker)


def _more_space(reading: Reading, before: Before) -> Steps[bool]:
    """Whether more white space follows than is held back, and calls in JSON may follow it."""
    if not reading.tables.constrained or before is Before.TEXT:
        return False
    return (yield from peek(reading.src)).isspace()


def _emit_space(writer: ContentWriter, checkpoint: Checkpoint) -> None:
    writer.emit(checkpoint.text())
    writer.end()
    checkpoint.commit()


def _role(reading: Reading, marker: str, before: Before) -> Role:
    role = reading.tables.role(marker)
    if role is not Role.FENCE:
        return role
    return Role.TOOL_END if before is Before.CALL else Role.TOOL_START


def _calls(
    reading: Reading,
    unproven: UnprovenCalls | None,
    marker: str,
    checkpoint: Checkpoint,
    emit_text: Emit,
) -> Steps[bool]:
    """Read the calls that may begin at a marker; commit `checkpoint`. Return whether any did."""
    if unproven is not None and unproven.begin_with(marker):
        return (yield from unproven.read(marker, checkpoint, emit_text))
    return (yield from tool_calls(reading, checkpoint, emit_text))


def _report_after_end(reading: Reading, marker: str) -> None:
    start = reading.src.offset
    span = (max(start, 0), start + len(marker))
    reading.sink.issue("text_after_end", span, "a call begins behind the end of the turn")


def _report_marker(reading: Reading, role: Role, start: int, marker: str) -> None:
    """Report a marker that has no business where it stood."""
    if role is Role.REASONING_END:
        span = (start, reading.src.offset)
        reading.sink.issue("orphan_marker", span, f"{marker!r} ends nothing")
    elif role is Role.HEADER:
        _report_repeated(reading, start, marker)
    elif role is Role.TOOL_END and reading.tables.constrained:
        report_stray(reading, start, marker)


def _report_repeated(reading: Reading, start: int, marker: str) -> None:
    span = (start, reading.src.offset)
    reading.sink.issue("repeated_marker", span, f"{marker!r} was written again")


def _report_cut_marker(reading: Reading) -> bool:
    """Read what the output ends in, behind a call, if it is the beginning of a marker."""
    src, start = reading.src, reading.src.offset
    rest = src.text[src.pos :]
    if not src.closed or not rest or not may_become(src, reading.tables.after_call):
        return False
    src.pos = len(src.text)
    detail = f"the output ends in a marker, not emitted: {rest!r}"
    reading.sink.issue("cut_marker", (start, src.offset), detail)
    return True


def _next_marker(reading: Reading, before: Before) -> Steps[str]:
    """Read white space; return the marker after it, unread, or "" if text follows.

    No more white space is held back than a marker is long; the rest is text. Where calls stand in
    no markers, the character that one begins with is one, and after a call it may follow a
    separator.
    """
    src, tables = reading.src, reading.tables
    yield from whitespace(src, MOST_SPACE if tables.constrained else tables.longest)
    after = {Before.CALL: tables.after_call, Before.END: tables.after_end}
    marker = yield from at(src, after.get(before, tables.at_edge))
    if marker or not (tables.unmarked or tables.constrained):
        return marker
    char = yield from peek(src)
    if before is Before.CALL and may_become(src, tables.after_call):
        return ""
    if before is Before.CALL and char and char in SEPARATORS:
        src.pos += 1
        yield from whitespace(src, tables.longest)
        char = yield from peek(src)
    return char if tables.unmarked_call.match(char) else ""


def _reasoning(
    reading: Reading, *, opened: str, second_time: bool = False, at_end: bool = True
) -> Steps[Before]:
    """Read a reasoning section, and what of it turned out to be calls."""
    calls = yield from reasoning(reading, opened=opened, second_time=second_time)
    if calls is None:
        return Before.MARKER
    window = Window(calls.text(), closed=True, offset=max(calls.start, 0))
    calls.commit()
    again = Reading(window, reading.sink, reading.tables)
    try:
        at_end = at_end and not reading.src.unread
        yield from _sections(again, Before.MARKER, second_time=True, at_end=at_end)
    except Exception:
        # Nobody else knows of this window: what is unread in it would be lost.
        window.rewind()
        reading.sink.end_call(complete=False)
        reading.sink.content(window.unread)
        raise
    return Before.CALL
