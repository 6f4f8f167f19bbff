"""The parts of a message while it grows: the only place where deltas are made."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

from .deltas import ContentDelta, Delta, ReasoningDelta, ToolCallDelta, arguments_deltas
from .message import Content, Part, Reasoning, ToolCall

__all__ = ["MessageBuilder", "OpenPart"]


class OpenPart:
    """A part of the message while it grows: each piece of it is a delta, and is written down.

    A piece for it becomes `make(piece)`, and goes to `write`. `text` is what was written, or only
    how much.
    """

    __slots__ = (
        "call_id",
        "complete",
        "kind",
        "make",
        "name",
        "repaired",
        "span",
        "text",
        "write",
    )

    def __init__(
        self,
        kind: type[Part],
        make: Callable[[str], Delta],
        text: StringIO | Uncollected,
        call_id: str = "",
        name: str = "",
    ) -> None:
        self.kind = kind
        self.make = make
        self.text = text
        self.write: Callable[[str], int] = text.write
        self.call_id = call_id
        self.name = name
        self.complete = False
        self.repaired = False
        self.span = (0, 0)

    def close(self) -> None:
        """Say that no more text comes: with many calls, what takes it would be a quarter of all."""
        del self.make, self.write

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


class MessageBuilder:
    """The parts so far, of which `run` is open, and the deltas that wait in `out`.

    Without `collect`, only the last part is kept, and of it no text.
    """

    __slots__ = ("_collect", "_inline_open", "_written", "out", "run", "runs")

    def __init__(self, *, collect: bool = True) -> None:
        self.out: list[Delta] = []
        self.runs: list[OpenPart] = []
        self.run: OpenPart | None = None
        self._collect = collect
        self._inline_open = False
        self._written = 0

    def content(self, text: str) -> None:
        """Hand out content."""
        self._add(text, Content, ContentDelta)

    def reasoning(self, text: str) -> None:
        """Hand out reasoning."""
        self._add(text, Reasoning, ReasoningDelta)

    def inline_reasoning(self, text: str) -> None:
        """Hand out reasoning as content, between tags."""
        if text and not self._inline_open:
            self._inline_open = True
            self.content("<think>")
        self.content(text)

    def close_inline_reasoning(self) -> None:
        """Close the tags round reasoning, if they are open."""
        if self._inline_open:
            self._inline_open = False
            self.content("</think>")

    def begin_call(self, index: int, call_id: str, name: str) -> OpenPart:
        """Hand out the first delta of a call."""
        make = arguments_deltas(index)
        run = self._begin(OpenPart(ToolCall, make, self._sheet(), call_id, name))
        self.out.append(ToolCallDelta(index, call_id, name))
        return run

    def arguments(self, text: str) -> None:
        """Hand out a piece of the arguments of the call that is open."""
        run = self.run
        if text and run is not None:
            make, write = run.make, run.write
            self.out.append(make(text))
            write(text)

    def forget(self) -> None:
        """Forget all that came, but which part is open."""
        self.out.clear()
        self.runs.clear()
        self._written = 0

    @property
    def characters(self) -> int:
        """How many characters were handed out."""
        return self._written + (self.runs[-1].text.tell() if self.runs else 0)

    def _add(self, text: str, kind: type[Part], make: Callable[[str], Delta]) -> None:
        if not text:
            return
        run = self.run
        if run is None or run.kind is not kind:
            run = self._begin(OpenPart(kind, make, self._sheet()))
        self.out.append(make(text))
        write = run.write
        write(text)

    def _sheet(self) -> StringIO | Uncollected:
        return StringIO() if self._collect else Uncollected()

    def _begin(self, run: OpenPart) -> OpenPart:
        self._written = self.characters
        if not self._collect:
            self.runs.clear()
        self.runs.append(run)
        self.run = run
        return run
