"""The place between two parts of a turn: whitespace, separators of calls, and the next marker."""

from __future__ import annotations

from deltaparse.partial import Steps, peek, peek_marker, skip_if_here, whitespace

from ..wire.spellings import MOST_SPACE
from .content import UNSURE, is_marker, may_become, report_cut, report_cut_marker, role_of
from .content_writer import PrecededBy
from .reading import Reading

__all__ = ["next_marker"]


def next_marker(reading: Reading, before: PrecededBy, room: int = 0) -> Steps[str]:
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
