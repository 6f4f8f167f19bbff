"""The header of a message in channels.

    header  = { part } message
    part    = channel name | recipient name | constrain word | word

The parts come in any order and any of them twice; the last channel and the last recipient count.
Models leave a space out, put one in, or a word more (`commentary json`): a header is known by its
markers alone. Where there is none when a message should begin, there is no header, but text.
"""

from __future__ import annotations

from deltaparse.partial import Markers, Steps, Window, consume_marker, peek_marker, whitespace

from ..wire.channel_markers import ChannelMarkers, HeaderPart
from .tool_calls.given_names import NONE, Given, given_name

__all__ = ["Header", "read_author", "read_header"]

MAX_HEADER = 1024
"""Characters of a header, which is held back until its end; honest ones have less than 100."""


class Header:
    """What a header says. `whole`: it ends in the marker of a message.

    `span` is where the recipient stands; `addressed`: it names one, or begins to.
    """

    __slots__ = ("_parts", "_words", "addressed", "channel", "recipient", "span", "whole")

    def __init__(self) -> None:
        self.channel = ""
        self.recipient = ""
        self.span = (0, 0)
        self.whole = False
        self.addressed = False
        self._parts: list[HeaderPart] = []
        self._words = 0

    def add(self, part: HeaderPart, text: str, start: int, given: str = "") -> None:
        """Take the text behind one of its markers, which begins at the offset `start`.

        `given` is a name that was read before it.
        """
        name, *words = [given, *text.split()] if given else text.split() or [""]
        self._parts.append(part)
        self._words += len(words)
        if part is HeaderPart.CHANNEL:
            self.channel = name
        elif part is HeaderPart.RECIPIENT:
            self.recipient = name
            start += 0 if given else len(text) - len(text.lstrip())
            self.span = (start, start + len(name))
            self.addressed = True

    @property
    def odd(self) -> bool:
        """Whether it has a part twice, or more words than one that mean nothing."""
        return len(set(self._parts)) < len(self._parts) or self._words > 1

    @property
    def has_text(self) -> bool:
        """Whether it has words that mean nothing."""
        return self._words > 0


def read_header(src: Window, marks: ChannelMarkers, given: Given = NONE) -> Steps[Header]:
    """Read a header, whose first marker stands here, up to and with the marker of its message.

    The role may stand before it, which says nothing.

    Where that does not come, it is read up to the marker that ends messages, to the end of the
    input or to its greatest length, and is not `whole`. `given` are recipients that hold more than
    a word.
    """
    header, usual = Header(), marks.usual
    while usual is not None:
        if found := usual.header.match(src.text, src.pos):
            header.channel = found[1]
            if found[2] is not None:
                start = src.base + found.start(2)
                header.recipient = found[2]
                header.span = start, start + len(found[2])
            src.pos = found.end()
            header.whole = True
            return header
        if not usual.header.may_follow(src):
            break
        yield
    stop = src.offset + MAX_HEADER
    part: HeaderPart | None = None
    while True:
        start, name = src.offset, ""
        if part is HeaderPart.RECIPIENT and given:
            if known := (yield from given_name(src, given, marks.after_word)):
                name = known[0]
                start = src.offset - len(name)
        text, marker = yield from _up_to(src, marks.in_header, stop)
        if part is not None:
            header.add(part, text, start, name)
        part = marks.parts.get(marker)
        if part is None:
            return header
        if part is HeaderPart.MESSAGE:
            yield from consume_marker(src, marker, marks.trailing)
            header.whole = True
            return header
        src.pos += len(marker)


def read_author(src: Window, marks: ChannelMarkers) -> Steps[str | None]:
    """Read what stands behind `start` in the place of the role, if a header follows it.

    Returns None where none does: what was read is text then.
    """
    author, _ = yield from _up_to(src, marks.after_word, src.offset + MAX_HEADER)
    yield from whitespace(src, marks.longest)
    header = yield from peek_marker(src, marks.openers)
    return author if header else None


def _up_to(src: Window, ends: Markers, stop: int) -> Steps[tuple[str, str]]:
    """Read text up to a marker or to the offset `stop`; return both, the marker unread."""
    texts: list[str] = []
    while True:
        start, end = ends.find(src.text, src.pos, final=src.closed)
        room = src.pos + stop - src.offset
        texts.append(src.text[src.pos : min(start, room)])
        src.pos = min(start, room)
        if start >= room or end > start or src.closed:
            return "".join(texts), src.text[start:end] if start < room else ""
        yield
