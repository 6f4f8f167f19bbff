"""Content up to the next marker, and markers in it that are none.

Models write about markup, and `</s>` is HTML too. So an end-of-turn marker in the middle of an
answer is text, and so is a closer of calls that closes none: what stands behind them decides. With
nothing behind it but white space or another marker, each is what it looks like; until that is
known it is held back, with some white space. A start of reasoning right behind a quotation mark is
text. So is an end of reasoning where none is open, which is reported, for it may be that the text
before it was reasoning.
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
    "is_marker",
    "may_become",
    "name_behind",
    "report_call_behind_end",
    "report_cut",
    "report_cut_marker",
    "report_no_end",
    "report_stray_closer",
    "report_stray_end",
    "role_of",
    "stands_in_line",
]

UNSURE = (Role.TURN_END, Role.STRAY_CLOSER, Role.OTHER_START)
"""What a marker means that what follows it may make text."""

NAME = re.compile(r"(?:[^\W\d_][\w-]{0,31}+)?+")
"""The name of a section."""

SPACE = re.compile(rf"\s{{0,{MOST_SPACE}}}+")
QUOTES = frozenset(
    "\"'`\u00b4\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a"
)
QUOTES |= frozenset("\u300c\u300e\u300a\u3008\uff02\uff07\uff40")


def content(reading: Reading, markers: Markers, emit: Emit) -> Steps[str]:
    """Read content up to the next marker that is one, and return that, unread; "" at the end."""
    src, tables = reading.src, reading.tables
    while True:
        marker = yield from until(src, markers, emit)
        if not marker:
            return marker
        if marker in tables.at_line_start and stands_in_line(src):
            emit(src.consume(src.pos + 1))
            continue
        start = src.offset
        stray_end = marker in tables.stray_ends and not reading.in_other
        role = tables.role_in_text.get(marker)
        mentioned = role is Role.REASONING_START and _is_quoted(src, marker)
        if not (stray_end or mentioned):
            if role not in UNSURE or (yield from is_marker(reading, marker)):
                return marker
        if stray_end:
            emit(src.consume(src.pos + len(marker)))
            report_stray_end(reading, marker, start, "and is content")
            continue
        emit_first_character(reading, marker, emit, "content")


def role_of(reading: Reading, marker: str, before: PrecededBy = PrecededBy.TEXT) -> Role:
    """What a marker in content means, or one behind a section, that is known to be one."""
    tables = reading.tables
    roles = tables.role_behind_call if before is PrecededBy.CALL else tables.role_in_text
    # What is none of the format's begins an unmarked call.
    return roles.get(marker, Role.TOOL_START)


def is_marker(reading: Reading, marker: str, before: PrecededBy = PrecededBy.TEXT) -> Steps[bool]:
    """Whether the marker that stands here, one of those that are `UNSURE`, is a marker."""
    role, tables = role_of(reading, marker, before), reading.tables
    if role is Role.TURN_END:
        return (yield from followed_by_marker_or_end(reading.src, tables, marker, tables.after_end))
    if role is Role.OTHER_START:
        name = yield from name_behind(reading, marker, in_text=before is PrecededBy.TEXT)
        return name is not None and not _is_quoted(reading.src, marker)
    # It closes what looked like a call and was none: that is text from end to end.
    return not reading.sink.open_text and (
        yield from followed_by_marker_or_end(reading.src, tables, marker, tables.after_stray)
    )


def name_behind(reading: Reading, marker: str, *, in_text: bool) -> Steps[str | None]:
    """The name of a section behind a marker that stands here, unread; None if none is there.

    A line end follows it, or the end of the section; where no text stands before, any white space
    does, and there may be no name.
    """
    src, ends = reading.src, marker_set(reading.tables.stray_ends)
    while True:
        start = src.pos + len(marker)
        end = match_end(NAME, src.text, start)
        behind = src.text[end : end + 1]
        closed = ends.match(src.text, end, final=src.closed)
        if behind and closed != end:
            follows = closed > end or behind == "\n" or (behind.isspace() and not in_text)
            named = end > start or not in_text
            return src.text[start:end] if follows and named else None
        if src.closed:
            return src.text[start:end] if end > start or not in_text else None
        yield


def emit_first_character(reading: Reading, marker: str, emit: Emit, became: str) -> None:
    """Emit what a marker that is text begins with, and report an end of the turn that is none.

    That is its first character: the rest may hold the beginning of one that is a marker
    (`[e~[e~[`), and is read again. One behind white space is reported without that, then.
    """
    src, start = reading.src, reading.src.offset
    emit(src.consume(src.pos + 1))
    if marker in reading.tables.turn_ends and not leading(marker):
        report_no_end(reading, marker, start, became)


def report_no_end(reading: Reading, marker: str, start: int, became: str) -> None:
    """Report an end-of-turn marker that ends nothing, for text follows it."""
    reading.sink.seen_end = True
    detail = f"{marker!r} is {became}, for text follows it"
    reading.sink.issue("text_after_end", (start, start + len(marker)), detail)


def report_call_behind_end(reading: Reading, marker: str) -> None:
    """Report a call that begins behind what ends the turn, or looks like it."""
    if reading.sink.seen_end:
        start = reading.src.offset
        span = (start, start + len(marker))
        reading.sink.issue("text_after_end", span, "a call begins behind the end of the turn")


def report_cut_marker(reading: Reading, markers: Markers) -> bool:
    """Read what the output ends in, behind a call, if it is the beginning of a marker."""
    src, start = reading.src, reading.src.offset
    rest = src.text[src.pos :]
    if not rest or not may_become(src, markers):
        return False
    src.pos = len(src.text)
    report_cut(reading, start, rest)
    return True


def report_cut(reading: Reading, start: int, rest: str, closer: str = "") -> None:
    """Report the beginning of a marker, which was read, at the end of the output.

    `closer`: what it begins, where that is known to end a call.
    """
    span = (start, reading.src.offset)
    detail = f"the output ends in a marker, not emitted: {rest!r}"
    reading.sink.issue("cut_marker", span, detail)
    reading.sink.unclosed = None
    if _begins_call(reading, rest.strip(), closer):
        reading.sink.attempts.append(Attempt("", span, "truncated", detail))


def _begins_call(reading: Reading, rest: str, closer: str) -> bool:
    """Whether the beginning of a marker is one of a call.

    At a natural end it is what ended the turn, or a call, if it may be: a stop string may have
    taken the rest of that. Where the output was cut, anything may have followed.
    """
    tables = reading.tables
    starts = tables.call_starts.literals
    begins = any(text.startswith(rest) for text in starts)
    if reading.sink.natural:
        ends = {closer, *tables.after_call.literals} - {*starts}
        return begins and not any(text.startswith(rest) for text in ends)
    return begins or any(rest.startswith(text) for text in tables.separators.literals)


def may_become(src: Window, markers: Markers) -> bool:
    """Whether the input ends here, or in what may become one of the markers."""
    if not src.closed or len(src.text) - src.pos > markers.longest:
        return False
    rest = src.text[src.pos :]
    return any(text.startswith(rest) for text in markers.literals)


def report_stray_end(reading: Reading, marker: str, start: int, became: str) -> None:
    """Report an end of reasoning where none is open."""
    detail = (
        f"{marker!r} ends no reasoning, {became}: where the prompt opened reasoning, pass it as "
        "prompt=; where it closed reasoning, the model reasoned all the same"
    )
    reading.sink.issue("orphan_marker", (start, reading.src.offset), detail)


def report_stray_closer(reading: Reading, marker: str, start: int) -> None:
    """Report a closer of calls where none is open."""
    detail = f"{marker!r} closes no call, and is not emitted"
    reading.sink.issue("orphan_marker", (start, reading.src.offset), detail)


def _is_quoted(src: Window, marker: str) -> bool:
    """Whether the marker that stands here is right behind a quotation mark or a backtick."""
    return marker[:1] == marker.lstrip()[:1] and src.previous in QUOTES


def stands_in_line(src: Window) -> bool:
    """Whether no line begins here, so that a marker that begins lines is words of this one."""
    return src.previous not in ("", "\n")


def followed_by_marker_or_end(
    src: Window, tables: MarkerTables, marker: str, behind: Markers
) -> Steps[bool]:
    """Whether nothing but white space, or a marker, stands behind the one that stands here.

    All is left unread.
    """
    roles = tables.other_roles
    while True:
        text, start = src.text, src.pos + len(marker)
        end = match_end(SPACE, text, start)
        if end == len(text):
            if src.closed:
                return True
        else:
            found = behind.match(text, end, final=src.closed)
            role = roles.match(text, end, final=src.closed)
            if found > end or role > end:
                return True
            if found < 0 and role < 0:
                return False
        yield
