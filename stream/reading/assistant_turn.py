"""The outermost reader: one assistant turn.

    turn = [header] { reasoning | content | calls | end-of-turn }

The sections come in any order and number. Text that belongs to no section is content. White
space between two markers belongs to the markers.
"""

from __future__ import annotations

from deltaparse.partial import Emit, Steps, Window, at, peek, skip, until, whitespace

from ..message.message import Attempt
from ..message.sink import NotExact
from ..wire.format import ContentMode
from ..wire.marker_tables import Role, marker_tables
from .channels import channel_turn
from .checkpoint import Checkpoint
from .content_writer import Before, ContentWriter
from .reading import Reading
from .reasoning import reasoning
from .tool_calls.dispatch import tool_calls
from .tool_calls.tagged_head import may_become

__all__ = ["assistant_turn"]

REASONING = (Role.REASONING_START, Role.REASONING_END)
UNMARKED_SEPARATORS = ",;"
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
    ended = strayed = False
    while True:
        # What looked like a call stands beside what the text before it stands beside.
        writer = writer if before is Before.TEXT else ContentWriter(reading, before)
        checkpoint = reading.checkpoint()
        marker = "" if before is Before.TEXT else (yield from _next_marker(reading, before))
        if not marker and before is Before.CALL and at_end and _report_cut_marker(reading):
            checkpoint.commit()
            return
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
        role = tables.role(marker)
        ended = ended or before is Before.END
        if role is Role.TOOL_START:
            if ended:
                _report_after_end(reading, marker)
            if not _must_fill_its_part(reading, marker):
                called = yield from tool_calls(reading, checkpoint, writer.emit)
            elif strayed:
                called = False
                src.pos += len(marker)
                writer.emit(checkpoint.text())
                checkpoint.commit()
            else:
                called = yield from _whole_part(reading, checkpoint, writer.emit)
                # The same marker stands in this text once more, where it begins no part.
                has_text = src.offset > max(checkpoint.start, 0)
                strayed = has_text and not called and not tables.unmarked
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
        elif role is Role.REASONING_END:
            sink.issue("orphan_marker", (start, src.offset), f"{marker!r} ends nothing")
        elif role is Role.CONTENT_START:
            markers = tables.in_content_end
            strayed = False
        elif role is Role.CONTENT_END:
            markers = tables.in_content_start
        elif role is Role.HEADER:
            _report_repeated(reading, start, marker)


def _must_fill_its_part(reading: Reading, marker: str) -> bool:
    """Whether only calls that fill a part are calls: neither a marker says so, nor a name."""
    unknown = reading.sink.tools is None and reading.tables.unproven
    return unknown and marker.strip() != reading.fmt.code.start.strip()


def _whole_part(reading: Reading, checkpoint: Checkpoint, emit_text: Emit) -> Steps[bool]:
    """Read the calls that may begin here; commit `checkpoint`. Return whether there were any.

    They are calls if nothing else stands from here to the next marker or the end of the output,
    and each is spelled as the format has it, to the letter. That only the end of the part says,
    so until then all is held back; but at the first character that fits in no call it is text,
    and goes to `emit_text`.
    """
    src, sink = reading.src, reading.sink
    tables = marker_tables(reading.fmt, calls=True, exact=True)
    exact = Reading(src, sink.exact_draft(), tables)
    start, marks = checkpoint.start, src.marks
    try:
        yield from _calls(exact)
    except NotExact:
        src.release(to=marks)
        src.emits_prompt = False
        begun = exact.sink.builder.parts
        if begun:
            detail = "it does not fill its part, as the format spells it"
            sink.attempts.append(Attempt(begun[-1].name, checkpoint.span, "not_a_call", detail))
        emit_text(checkpoint.text())
        checkpoint.commit()
        return False
    text = src.since(start, prompt=True)
    checkpoint.commit()
    if src.offset > 0:
        again = Window(text, closed=True, offset=start)
        yield from _calls(Reading(again, sink, reading.tables))
    return True


def _calls(reading: Reading) -> Steps[None]:
    """Read calls, one behind another, and the white space behind the last."""
    src, tables = reading.src, reading.tables
    first = src.offset
    code = reading.fmt.code.start.strip()
    while True:
        start = src.offset
        called = yield from tool_calls(reading, reading.checkpoint())
        if tables.exact:
            _check_spelling(reading, start, called=called)
        marker = yield from _next_marker(reading, Before.CALL)
        if not marker or marker.strip() == code or tables.role(marker) is not Role.TOOL_START:
            break
    if tables.exact:
        rest = "" if marker or may_become(src, tables.after_call) else src.unread
        separator = src.since(first, prompt=True).rstrip()[-1:] in (*UNMARKED_SEPARATORS,)
        if rest or (separator and tables.unmarked):
            raise NotExact(rest)


def _check_spelling(reading: Reading, start: int, *, called: bool) -> None:
    """Raise `NotExact` unless the call that stands from `start` on has its brackets, or its head.

    Readers let models leave out brackets, and write white space where the format has none.
    """
    fmt, text = reading.fmt, reading.src.since(start, prompt=True).strip()
    if not called:
        fits = False
    elif fmt.facts.is_tagged:
        name = reading.sink.builder.parts[-1].name
        function = fmt.function
        head = function.name_prefix.lstrip() + function.namespace + name + function.name_suffix
        fits = head in text
    else:
        listed = text[:1] == "["
        fits = listed is (text[-1:] == "]") and (listed or not fmt.tools.array_wrapped)
    if not fits:
        raise NotExact(text)


def _report_after_end(reading: Reading, marker: str) -> None:
    start = reading.src.offset
    span = (max(start, 0), start + len(marker))
    reading.sink.issue("text_after_end", span, "a call begins behind the end of the turn")


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
    yield from whitespace(src, tables.longest)
    after = {Before.CALL: tables.after_call, Before.END: tables.after_end}
    marker = yield from at(src, after.get(before, tables.at_edge))
    if marker or not tables.unmarked:
        return marker
    char = yield from peek(src)
    if before is Before.CALL and char and char in UNMARKED_SEPARATORS:
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
