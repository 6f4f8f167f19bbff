"""Content up to the next marker, and marker texts inside of it.

Models write about markup, and `</s>` is also HTML. So an end-of-turn marker in the middle of an
answer is text, and so is a closer without an open call. The text after them decides: before the end
of the input or another marker, they are markers. Until then they are buffered, with a limited
amount of whitespace. A start of reasoning directly after a quotation mark is text. So is an end of
reasoning without a start, but it is reported, because the text before it may have been reasoning.
"""

from __future__ import annotations

import re

from deltaparse.partial import Emit, Markers, Steps, Window, marker_set, match_end, until

from ..message.message import Attempt
from ..wire.marker_tables import MarkerTables
from ..wire.section_markers import Role
from ..wire.spellings import MOST_SPACE, leading
from .content_writer import PrecededBy
from .reading import Reading

__all__ = [
    "QUOTES",
    "SPACE",
    "UNSURE",
    "content",
    "emit_first_character",
    "followed_by_marker_or_end",
    "is_inline",
    "is_marker",
    "may_become",
    "name_after",
    "report_call_after_end",
    "report_cut",
    "report_cut_marker",
    "report_no_end",
    "report_stray_closer",
    "report_stray_end",
    "role_of",
]

UNSURE = (Role.TURN_END, Role.STRAY_CLOSER, Role.OTHER_START)
"""Markers with these roles may be text, depending on the text after them."""

NAME = re.compile(r"(?:[^\W\d_][\w-]{0,31}+)?+")
"""The name of a section."""

SPACE = re.compile(rf"\s{{0,{MOST_SPACE}}}+")
QUOTES = frozenset(
    "\"'`\u00b4\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a"
)
QUOTES |= frozenset("\u300c\u300e\u300a\u3008\uff02\uff07\uff40")


def content(reading: Reading, markers: Markers, emit: Emit) -> Steps[str]:
    """Read content up to the next real marker, and return that unread, or "" at the end."""
    src, tables = reading.src, reading.tables
    while True:
        marker = yield from until(src, markers, emit)
        # The input ended, so the text was read completely.
        if not marker:
            return marker
        # A word is a marker only at the start of a line.
        if marker in tables.at_line_start and is_inline(src):
            emit(src.consume(src.pos + 1))
            continue
        start = src.offset
        stray_end = marker in tables.stray_ends and not reading.in_other
        role = tables.role_in_text.get(marker)
        # A quoted start of reasoning is a mention, and reasoning would swallow the answer.
        mentioned = role is Role.REASONING_START and _is_quoted(src, marker)
        # Most markers need no lookahead, which would delay the text after them.
        if not (stray_end or mentioned):
            if role not in UNSURE or (yield from is_marker(reading, marker)):
                return marker
        if stray_end:
            # The text before the marker was already emitted as content, so only a report is
            # possible.
            emit(src.consume(src.pos + len(marker)))
            report_stray_end(reading, marker, start, "and is content")
            continue
        emit_first_character(reading, marker, emit, "content")


def role_of(reading: Reading, marker: str, before: PrecededBy = PrecededBy.TEXT) -> Role:
    """Return the role of a real marker in content, or after the section `before`."""
    tables = reading.tables
    # After a call, a code fence and a closer have another meaning than in text.
    roles = tables.role_after_call if before is PrecededBy.CALL else tables.role_in_text
    # Any token other than the format's own markers may start an unmarked call.
    return roles.get(marker, Role.TOOL_START)


def is_marker(reading: Reading, marker: str, before: PrecededBy = PrecededBy.TEXT) -> Steps[bool]:
    """Return True if a marker at this place, with a role in `UNSURE`, is not text."""
    role, tables = role_of(reading, marker, before), reading.tables
    if role is Role.TURN_END:
        return (yield from followed_by_marker_or_end(reading.src, tables, marker, tables.after_end))
    if role is Role.OTHER_START:
        name = yield from name_after(reading, marker, in_text=before is PrecededBy.TEXT)
        return name is not None and not _is_quoted(reading.src, marker)
    # The opener of this closer was emitted as text, so the closer is text too.
    return not reading.sink.open_text and (
        yield from followed_by_marker_or_end(reading.src, tables, marker, tables.after_stray)
    )


def name_after(reading: Reading, marker: str, *, in_text: bool) -> Steps[str | None]:
    """Return the name of a section after the marker at this place, unread, or None.

    A name must precede a line end or the end of the section. Outside of text any whitespace may
    follow, and the name may be empty.
    """
    src, ends = reading.src, marker_set(reading.tables.stray_ends)
    while True:
        start = src.pos + len(marker)
        end = match_end(NAME, src.text, start)
        after = src.text[end : end + 1]
        closed = ends.match(src.text, end, final=src.closed)
        # A partial name or end marker may still grow, so it is decided with the next text.
        if after and closed != end:
            follows = closed > end or after == "\n" or (after.isspace() and not in_text)
            named = end > start or not in_text
            return src.text[start:end] if follows and named else None
        # No more text can follow, so the name is complete.
        if src.closed:
            return src.text[start:end] if end > start or not in_text else None
        yield


def emit_first_character(reading: Reading, marker: str, emit: Emit, became: str) -> None:
    """Emit the first character of a quoted marker, and report an end-of-turn marker.

    The rest is read again, because it may contain the start of a real marker (`[e~[e~[`). A marker
    after whitespace is reported without the whitespace in the next round.
    """
    src, start = reading.src, reading.src.offset
    emit(src.consume(src.pos + 1))
    if marker in reading.tables.turn_ends and not leading(marker):
        report_no_end(reading, marker, start, became)


def report_no_end(reading: Reading, marker: str, start: int, became: str) -> None:
    """Report an end-of-turn marker that does not end the turn, because text follows it."""
    reading.sink.seen_end = True
    detail = f"{marker!r} is {became}, because text follows it"
    reading.sink.issue("text_after_end", (start, start + len(marker)), detail)


def report_call_after_end(reading: Reading, marker: str) -> None:
    """Report a call after an end-of-turn marker, or after text that looks like one."""
    # A call after the end is emitted too, because the marker may have been a mention.
    if reading.sink.seen_end:
        start = reading.src.offset
        span = (start, start + len(marker))
        reading.sink.issue("text_after_end", span, "a call follows the end of the turn")


def report_cut_marker(reading: Reading, markers: Markers) -> bool:
    """Read a truncated marker after a call, and return False if the output ends differently."""
    src, start = reading.src, reading.src.offset
    rest = src.text[src.pos :]
    # Text that cannot be a marker is left to the reader of content.
    if not rest or not may_become(src, markers):
        return False
    src.pos = len(src.text)
    report_cut(reading, start, rest)
    return True


def report_cut(reading: Reading, start: int, rest: str, closer: str = "") -> None:
    """Report a truncated marker at the end of the output, after it was read.

    Args:
        reading: the turn.
        start: the offset of the marker.
        rest: the written part.
        closer: the complete marker, if it is known to end a call.
    """
    span = (start, reading.src.offset)
    detail = f"the output ends in a truncated marker, which is not emitted: {rest!r}"
    reading.sink.issue("cut_marker", span, detail)
    # The closer was at least begun, so the call is not reported as unclosed too.
    reading.sink.unclosed = None
    # A call without a name cannot be emitted, so it is only recorded.
    if _begins_call(reading, rest.strip(), closer):
        reading.sink.attempts.append(Attempt("", span, "truncated", detail))


def _begins_call(reading: Reading, rest: str, closer: str) -> bool:
    """Return True if a truncated marker is the start of a call.

    At a natural end it is the marker of that end, if possible, because a stop string may have been
    removed from the output. In truncated output, any text may have followed.
    """
    tables = reading.tables
    starts = tables.call_starts.literals
    begins = any(text.startswith(rest) for text in starts)
    if reading.sink.natural:
        ends = {closer, *tables.after_call.literals} - {*starts}
        return begins and not any(text.startswith(rest) for text in ends)
    # A separator after a call announces another call.
    return begins or any(rest.startswith(text) for text in tables.separators.literals)


def may_become(src: Window, markers: Markers) -> bool:
    """Return True if the input ends here, possibly in the middle of one of the markers."""
    # Before the end of the input, more text decides. A longer rest cannot be a prefix of a marker.
    if not src.closed or len(src.text) - src.pos > markers.longest:
        return False
    rest = src.text[src.pos :]
    return any(text.startswith(rest) for text in markers.literals)


def report_stray_end(reading: Reading, marker: str, start: int, became: str) -> None:
    """Report an end of reasoning without a start."""
    detail = (
        f"{marker!r} does not end reasoning, {became}; if the prompt opened reasoning, pass it as "
        "prompt=; if it closed reasoning, the model started again"
    )
    reading.sink.issue("orphan_marker", (start, reading.src.offset), detail)


def report_stray_closer(reading: Reading, marker: str, start: int) -> None:
    """Report a closer without an open call."""
    detail = f"{marker!r} does not close a call, and is not emitted"
    reading.sink.issue("orphan_marker", (start, reading.src.offset), detail)


def _is_quoted(src: Window, marker: str) -> bool:
    """Return True if the marker at this place directly follows a quotation mark or a backtick."""
    # Whitespace before the marker separates it from a quotation mark.
    return marker[:1] == marker.lstrip()[:1] and src.previous in QUOTES


def is_inline(src: Window) -> bool:
    """Return True in the middle of a line, so that a word is not a marker."""
    return src.previous not in ("", "\n")


def followed_by_marker_or_end(
    src: Window, tables: MarkerTables, marker: str, after: Markers
) -> Steps[bool]:
    """Return True if the input ends after the marker at this place, or another marker follows.

    Whitespace may follow the marker. All text is left unread.
    """
    roles = tables.other_roles
    while True:
        text, start = src.text, src.pos + len(marker)
        end = match_end(SPACE, text, start)
        if end == len(text):
            # The limited pattern keeps the buffer small, so a long run of whitespace counts as
            # text.
            if src.closed:
                return True
        else:
            found = after.match(text, end, final=src.closed)
            role = roles.match(text, end, final=src.closed)
            if found > end or role > end:
                # Text follows, and neither set of markers can match it with more text.
                return True
            if found < 0 and role < 0:
                return False
        yield
