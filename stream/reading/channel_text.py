"""The text of a message in channels, and marker texts inside of it.

Models write about markers. So a header's marker ends the text only if the rest of a header follows
(`wire/header_ahead.py`). An end-of-turn marker ends it only before a marker or the end of the
input. Models forget headers, so text may follow an end-of-message marker, unless the marker is used
like a word in a sentence. All other markers are text.
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
AFTER_WORD = QUOTES | frozenset(")]},.;:!?")
"""Characters directly before or after a word in a sentence, and seldom next to a marker."""


def message_text(
    reading: Reading, emit: Emit, became: str, string: StringSink | None = None
) -> Steps[str]:
    """Read the text of a message up to its end marker, and return that unread.

    Args:
        reading: the turn.
        emit: takes the text.
        became: the kind of the text, for issues.
        string: see `until`.
    """
    src, marks = reading.src, reading.tables.channels
    marker = yield from channel_text(reading, marks.in_body, emit, became, string)
    # The message has no end marker, because the next header ended it.
    if marker in marks.parts:
        span = (src.offset, src.offset + len(marker))
        detail = f"a header starts with {marker!r} before the end marker of the previous message"
        reading.sink.issue("odd_header", span, detail)
    return marker


def channel_text(
    reading: Reading,
    markers: Markers,
    emit: Emit,
    became: str = "content",
    string: StringSink | None = None,
) -> Steps[str]:
    """Read text up to one of the markers that is not text, and return that unread."""
    src, marks = reading.src, reading.tables.channels
    while True:
        marker = yield from until(src, markers, emit, string=string)
        core = marker.strip()
        # A message marker without a header before it is never taken for a quotation.
        if not marker or marks.parts.get(core) is HeaderPart.MESSAGE:
            return marker
        size = 1
        # Only a complete header is text as a whole, so that its own markers are not found again.
        if core in marks.parts or core == marks.start:
            size = yield from _quoted_header(reading, marker, in_message=markers is marks.in_body)
            if not size:
                return marker
        elif (yield from _ends(reading, marker)):
            return marker
        start = src.offset
        emit(src.consume(src.pos + size))
        # Whitespace before the marker is emitted first, and the marker is reported in the next
        # round.
        if core in marks.ends and core != marks.start and not leading(marker):
            report_no_end(reading, marker, start, became)


def _quoted_header(reading: Reading, marker: str, *, in_message: bool) -> Steps[int]:
    """Return the number of text characters at this place, or 0 if a header starts here.

    A header directly after an opening quotation mark is text. In a message, so is a header after a
    space without its first marker. Text outside of messages ends at any other marker of a header.
    """
    src, marks = reading.src, reading.tables.channels
    core, space = marker.strip(), len(leading(marker))
    starts = core == marks.start
    before = BEFORE_WORD if in_message and not starts else OPENING
    quoted = not space and src.previous in before
    # Outside of messages a header is expected, so its marker needs no closer look.
    if not (quoted or starts or in_message):
        return 0
    size = yield from _header_here(reading, core, space)
    # The output may end in a header. Its first marker is evidence enough.
    begins = size > 0 or (size == 0 and starts)
    return 0 if begins and not quoted else max(size, 1)


def _header_here(reading: Reading, core: str, space: int) -> Steps[int]:
    """Return the length of the header that starts with the marker `core` after whitespace.

    The length includes the whitespace, `space` characters. Returns 0 if the output ends in the
    header, and a negative number without a header.
    """
    src, marks = reading.src, reading.tables.channels
    while True:
        start = src.pos + space
        end = header_ahead(marks, core, src.text, start)
        # The end equals the start as long as more text may complete a header.
        if end != start or src.closed:
            return end - src.pos if end > start else end - start
        yield


def _ends(reading: Reading, marker: str) -> Steps[bool]:
    """Return True if the end marker at this place ends the message."""
    src, marks = reading.src, reading.tables.channels
    # The marker ends the turn, so any text after it shows that it is a mention.
    if marker.strip() not in marks.message_ends:
        return (yield from followed_by_marker_or_end(src, reading.tables, marker, marks.outside))
    # The next character decides, so wait for it.
    while src.pos + len(marker) == len(src.text) and not src.closed:
        yield
    after = src.text[src.pos + len(marker) : src.pos + len(marker) + 1]
    before = "" if leading(marker) else src.previous
    # Without punctuation or a quotation mark next to it, the marker is not a word of a sentence.
    if after not in AFTER_WORD and before not in BEFORE_WORD:
        return True
    while True:
        at = match_end(SPACE, src.text, src.pos + len(marker))
        end = marks.outside.match(src.text, at, final=src.closed)
        core = src.text[at:end] if end > at else ""
        if marks.start and core.startswith(marks.start):
            core = marks.start  # the role may follow it
        if core in marks.parts or core == marks.start:
            return (yield from _header_here(reading, core, at - src.pos)) >= 0
        if at == len(src.text) and src.closed:
            return True
        if end != at:
            return end > at
        yield
