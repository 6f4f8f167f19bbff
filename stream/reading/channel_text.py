"""The text of a message in channels, and markers in it that are none.

Models write about markers. What begins a header ends the text only if the rest of a header follows
(`wire/header_ahead.py`), and what ends the turn only if a marker or nothing follows. What ends a
message may have text behind it, for models forget headers; but not if it stands like a word in a
sentence. Anything else is a part of the text.
"""

from __future__ import annotations

from deltaparse.partial import Emit, Markers, Steps, StringSink, match_end, until

from ..wire.channel_markers import HeaderPart
from ..wire.header_ahead import header_ahead
from ..wire.spellings import leading
from .content import QUOTES, SPACE, followed_by_marker_or_end, report_no_end
from .reading import Reading

__all__ = ["channel_text", "message_text"]

OPENING = QUOTES | frozenset("([{")
BEFORE_WORD = OPENING | frozenset(" \t")
BEHIND_WORD = QUOTES | frozenset(")]},.;:!?")
"""What stands right beside a word in a sentence, and seldom beside a marker."""


def message_text(
    reading: Reading, emit: Emit, became: str, string: StringSink | None = None
) -> Steps[str]:
    """Read the text of a message up to the marker that ends it, and return that, unread.

    `became` says what the text is; `string` is as for `until`.
    """
    src, marks = reading.src, reading.tables.channels
    marker = yield from channel_text(reading, marks.in_body, emit, became, string)
    if marker in marks.parts:
        span = (src.offset, src.offset + len(marker))
        detail = f"{marker!r} begins a header, and no marker ends the message before it"
        reading.sink.issue("odd_header", span, detail)
    return marker


def channel_text(
    reading: Reading,
    markers: Markers,
    emit: Emit,
    became: str = "content",
    string: StringSink | None = None,
) -> Steps[str]:
    """Read text up to one of the markers that is no part of it, and return that, unread."""
    src, marks = reading.src, reading.tables.channels
    while True:
        marker = yield from until(src, markers, emit, string=string)
        core = marker.strip()
        if not marker or marks.parts.get(core) is HeaderPart.MESSAGE:
            return marker
        size = 1
        if core in marks.parts or core == marks.start:
            size = yield from _quoted_header(reading, marker, in_message=markers is marks.in_body)
            if not size:
                return marker
        elif (yield from _ends(reading, marker)):
            return marker
        start = src.offset
        emit(src.consume(src.pos + size))
        if core in marks.ends and core != marks.start and not leading(marker):
            report_no_end(reading, marker, start, became)


def _quoted_header(reading: Reading, marker: str, *, in_message: bool) -> Steps[int]:
    """How many characters are text, from the marker here that may begin a header; 0: it does.

    A header is text right behind what opens a quotation; in a message, so is one without its first
    marker behind a space. Text outside of messages ends at any other marker of a header.
    """
    src, marks = reading.src, reading.tables.channels
    core, space = marker.strip(), len(leading(marker))
    starts = core == marks.start
    before = BEFORE_WORD if in_message and not starts else OPENING
    quoted = not space and src.previous in before
    if not (quoted or starts or in_message):
        return 0
    size = yield from _header_here(reading, core, space)
    # Where the output ends in what may be a header, it is one if its first marker stands there.
    begins = size > 0 or (size == 0 and starts)
    return 0 if begins and not quoted else max(size, 1)


def _header_here(reading: Reading, core: str, space: int) -> Steps[int]:
    """How long the header is that begins with a marker behind so much white space.

    0 if the output ends in it, and a negative number if there is none.
    """
    src, marks = reading.src, reading.tables.channels
    while True:
        start = src.pos + space
        end = header_ahead(marks, core, src.text, start)
        if end != start or src.closed:
            return end - src.pos if end > start else end - start
        yield


def _ends(reading: Reading, marker: str) -> Steps[bool]:
    """Whether the marker that stands here, one of those that end messages, ends this one."""
    src, marks = reading.src, reading.tables.channels
    if marker.strip() not in marks.message_ends:
        return (yield from followed_by_marker_or_end(src, reading.tables, marker, marks.outside))
    while src.pos + len(marker) == len(src.text) and not src.closed:
        yield
    behind = src.text[src.pos + len(marker) : src.pos + len(marker) + 1]
    before = "" if leading(marker) else src.previous
    if behind not in BEHIND_WORD and before not in BEFORE_WORD:
        return True
    while True:
        at = match_end(SPACE, src.text, src.pos + len(marker))
        end = marks.outside.match(src.text, at, final=src.closed)
        core = src.text[at:end] if end > at else ""
        if marks.start and core.startswith(marks.start):
            core = marks.start  # behind which the role may stand
        if core in marks.parts or core == marks.start:
            return (yield from _header_here(reading, core, at - src.pos)) >= 0
        if at == len(src.text) and src.closed:
            return True
        if end != at:
            return end > at
        yield
