"""A stretch of text that may turn out to be a call, or not."""

from __future__ import annotations

from deltaparse.partial import Window

__all__ = ["NOTHING_READ", "Checkpoint"]


class Checkpoint:
    """Buffers the text from here on, until it is known what it is.

    What turns out not to be a call comes out as text, so it must still be there; what is a call
    is emitted as it comes, and then nothing needs to be buffered: `commit`. `start` is the offset
    of its first character in the output, `open` says whether it buffers.
    """

    __slots__ = ("_end", "_from", "_src", "open", "start")

    def __init__(self, src: Window) -> None:
        self._src = src
        self.start = self._from = src.mark()
        self._end: int | None = None
        self.open = True

    @property
    def span(self) -> tuple[int, int]:
        """The characters of the output from its start to where the reader stands, or to its end."""
        src = self._src
        return self.start, src.base + src.pos if self._end is None else self._end

    def text(self) -> str:
        """What was not taken of it, up to where the reader stands, or to its end."""
        text = self._src.text_since(self._from)
        return text if self._end is None else text[: max(self._end - max(self._from, 0), 0)]

    def take(self) -> str:
        """Return the same, and stop buffering it: it is emitted now, and `text` begins behind."""
        text, src = self.text(), self._src
        self._from = src.offset
        if src.marks == 1:
            src.release()
            src.mark()
        return text

    def end_at(self, other: Checkpoint) -> None:
        """Where another begins, this one ends."""
        self._end = other.start

    def commit(self) -> None:
        """Stop buffering; the text will not be read again."""
        if self.open:
            self.open = False
            self._src.release()


class NothingRead(Checkpoint):
    """Stands for a checkpoint from which on nothing was read: to make one costs four calls."""

    __slots__ = ()

    def __init__(self) -> None:
        self.open = False

    def text(self) -> str:
        """No text."""
        return ""


NOTHING_READ = NothingRead()
