"""A part of the message while it grows."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

from .deltas import Delta
from .message import Content, Part, Reasoning, ToolCall

__all__ = ["Run", "Uncollected"]


class Run:
    """A part of the message while it grows: each piece of it is a delta, and is written down.

    `sink` is the function of the turn that takes its pieces; it does no more with one than hand
    out `make(piece)` and `write(piece)`, so that a piece may go that way at once; None if it does
    more. `text` is what was written, or how much.
    """

    __slots__ = (
        "call_id",
        "complete",
        "index",
        "kind",
        "make",
        "name",
        "repaired",
        "sink",
        "span",
        "text",
        "write",
    )

    def __init__(
        self,
        kind: type[Part],
        make: Callable[[str], Delta],
        sink: Callable[[str], None] | None,
        text: StringIO | Uncollected,
        index: int = 0,
        call_id: str = "",
        name: str = "",
    ) -> None:
        self.kind = kind
        self.make = make
        self.sink = sink
        self.text = text
        self.write: Callable[[str], int] = text.write
        self.index = index
        self.call_id = call_id
        self.name = name
        self.complete = False
        self.repaired = False
        self.span = (0, 0)

    def part(self) -> Part:
        """The part of the message that it is so far."""
        text = self.text.getvalue()
        if self.kind is ToolCall:
            made = (self.call_id, self.name, text, self.complete, self.repaired)
            return ToolCall(*made, span=self.span)
        return Content(text) if self.kind is Content else Reasoning(text)


class Uncollected:
    """Text of which only the length is kept."""

    __slots__ = ("_length",)

    def __init__(self) -> None:
        self._length = 0

    def write(self, text: str) -> int:
        """Count `text`."""
        self._length += len(text)
        return len(text)

    def tell(self) -> int:
        """How much was written."""
        return self._length

    def getvalue(self) -> str:
        """Nothing."""
        return ""
