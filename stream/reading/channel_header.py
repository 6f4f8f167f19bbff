"""The header of a message in channels.

    header  = { part } message
    part    = channel name | recipient name | constrain word | word

The parts are in any order, and may be repeated. The last channel and the last recipient count.
Models omit spaces, add spaces, or add a word (`commentary json`), so only the markers identify a
header. Without them the text at the start of a message is not a header.
"""

from __future__ import annotations

from deltaparse.partial import Markers, Steps, Window, consume_marker, peek_marker, whitespace

from ..wire.channel_markers import ChannelMarkers, HeaderPart
from .tool_calls.given_names import NONE, Given, given_name

__all__ = ["Header", "read_author", "read_header"]

MAX_HEADER = 1024
"""Maximum length of a header in characters. It is buffered to its end. Real headers have fewer
than 100."""


class Header:
    """The parts of a header.

    Attributes:
        channel: the channel name.
        recipient: the recipient's name.
        span: the offsets of the recipient.
        whole: True if the header ends with the marker of a message.
        addressed: True if the header contains a recipient or its marker.
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
        """Take the text after a marker of the header.

        Args:
            part: the meaning of the marker.
            text: the text after it.
            start: the offset of the text.
            given: a name already read before the text.
        """
        # Only the first word is a name. Models add words such as the form of the body.
        name, *words = [given, *text.split()] if given else text.split() or [""]
        self._parts.append(part)
        self._words += len(words)
        # Models may repeat a part, and then the last one counts.
        if part is HeaderPart.CHANNEL:
            self.channel = name
        elif part is HeaderPart.RECIPIENT:
            self.recipient = name
            start += 0 if given else len(text) - len(text.lstrip())
            self.span = (start, start + len(name))
            self.addressed = True

    @property
    def odd(self) -> bool:
        """Return True if a part is repeated, or two words or more have no meaning."""
        # One extra word is common, because some models write the form of the body without its
        # marker.
        return len(set(self._parts)) < len(self._parts) or self._words > 1

    @property
    def has_text(self) -> bool:
        """Return True if there are words without a meaning."""
        return self._words > 0


def read_header(src: Window, marks: ChannelMarkers, given: Given = NONE) -> Steps[Header]:
    """Read a header from its first marker up to and including the marker of its message.

    The role may precede the first marker and is ignored. Without a marker of a message, the header
    ends at an end marker, at the end of the input, or at `MAX_HEADER` characters.

    Args:
        src: the window.
        marks: the markers of the format.
        given: recipients with more than one word.

    Returns:
        The header, with `whole` set if the marker of the message was found.
    """
    header, usual = Header(), marks.usual
    # One pattern reads nearly all headers, because the loop below costs a search for each part.
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
        # The wait ends as soon as the text cannot match any more.
        if not usual.header.may_follow(src):
            break
        yield
    stop = src.offset + MAX_HEADER
    part: HeaderPart | None = None
    while True:
        start, name = src.offset, ""
        # A name with spaces would be split into words, so known names are read first.
        if part is HeaderPart.RECIPIENT and given:
            if known := (yield from given_name(src, given, marks.after_word)):
                name = known[0]
                start = src.offset - len(name)
        # Text before the first marker is the role, which is not a part of the header.
        text, marker = yield from _up_to(src, marks.in_header, stop)
        if part is not None:
            header.add(part, text, start, name)
        part = marks.parts.get(marker)
        # An end marker, the end of the input, or the limit: the message has not started.
        if part is None:
            return header
        if part is HeaderPart.MESSAGE:
            yield from consume_marker(src, marker, marks.trailing)
            header.whole = True
            return header
        src.pos += len(marker)


def read_author(src: Window, marks: ChannelMarkers) -> Steps[str | None]:
    """Read the role after `start`, and return it if a header follows.

    Returns None if no header follows, because the text read so far is not a role then.
    """
    author, _ = yield from _up_to(src, marks.after_word, src.offset + MAX_HEADER)
    yield from whitespace(src, marks.longest)
    header = yield from peek_marker(src, marks.openers)
    return author if header else None


def _up_to(src: Window, ends: Markers, stop: int) -> Steps[tuple[str, str]]:
    """Read text up to a marker or to the offset `stop`, and return both, the marker unread."""
    # Read text leaves the window, so the parts are collected.
    texts: list[str] = []
    while True:
        start, end = ends.find(src.text, src.pos, final=src.closed)
        # The limit bounds the buffer for input without any marker.
        room = src.pos + stop - src.offset
        texts.append(src.text[src.pos : min(start, room)])
        src.pos = min(start, room)
        if start >= room or end > start or src.closed:
            return "".join(texts), src.text[start:end] if start < room else ""
        yield
