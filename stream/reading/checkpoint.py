"""A mark before a possible call."""

from __future__ import annotations

from deltaparse.partial import Window

__all__ = ["NOTHING_READ", "Checkpoint"]


class Checkpoint:
    """A buffer of the text from here on, until it is known if it is a call.

    Text that is not a call is emitted as content, so it must still be available. A call is emitted
    while it is read, so `commit` stops the buffering.

    Attributes:
        start: the offset of the first character in the output.
        open: True until `commit`.
    """

    __slots__ = ("_end", "_from", "_src", "open", "start")

    def __init__(self, src: Window) -> None:
        self._src = src
        # `take` moves the start of the buffered text, but not that of the span.
        self.start = self._from = src.mark()
        self._end: int | None = None
        self.open = True

    @property
    def span(self) -> tuple[int, int]:
        """Return the offsets of its start and its end, by default the current position."""
        src = self._src
        return self.start, src.base + src.pos if self._end is None else self._end

    def text(self) -> str:
        """Return the text since the last `take`, up to its end or the current position."""
        # Negative offsets are in the prompt, which is not part of the text.
        text = self._src.text_since(self._from)
        return text if self._end is None else text[: max(self._end - max(self._from, 0), 0)]

    def take(self) -> str:
        """Return `text`, and stop buffering it, because it is emitted now."""
        text, src = self.text(), self._src
        self._from = src.offset
        # Only a single mark can move. With others, the text is released with the outer mark.
        if src.marks == 1:
            src.release()
            src.mark()
        return text

    def end_at(self, other: Checkpoint) -> None:
        """End this checkpoint at the start of another."""
        self._end = other.start

    def commit(self) -> None:
        """Stop buffering. The text will not be read again."""
        # A checkpoint may be committed twice, but each mark must be released once.
        if self.open:
            self.open = False
            self._src.release()


class NothingRead(Checkpoint):
    """A checkpoint without text. A single object avoids four calls per checkpoint."""

    __slots__ = ()

    def __init__(self) -> None:
        self.open = False

    def text(self) -> str:
        """Return the empty string."""
        return ""


NOTHING_READ = NothingRead()
