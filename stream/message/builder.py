"""The parts of a growing message. Only this module creates deltas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from typing import Any

from .counts import Amount, Counts, Section
from .deltas import (
    ContentDelta,
    Delta,
    ReasoningDelta,
    ToolCallDelta,
    arguments_deltas,
    unplaced_deltas,
)
from .message import Content, Part, Reasoning, ToolCall
from .provenance import RoleRecorder

__all__ = ["InlineReasoning", "MessageBuilder"]

NONE: frozenset[str] = frozenset()
NO_AMOUNT = 0, 0


class NullBuffer:
    """A buffer that keeps only the length of its text."""

    # Has the methods of `StringIO`, so that `MessageBuilder` needs no extra checks.
    __slots__ = ("_length",)

    def __init__(self) -> None:
        self._length = 0

    def write(self, text: str) -> int:
        """Count the characters of `text`."""
        self._length += len(text)
        return len(text)

    def tell(self) -> int:
        """Return the number of written characters."""
        return self._length

    def seek(self, _: int) -> int:
        """Ignore the position, because the text was not kept."""
        return self._length

    def read(self) -> str:
        """Return an empty string, because the text was not kept."""
        return ""

    def getvalue(self) -> str:
        """Return an empty string, because the text was not kept."""
        return ""


class MessageBuilder:
    """The closed parts of a message, the open part, and the pending deltas.

    Parts are created only on demand: a turn may have only calls, and clients of the stream need no
    message. The sizes of sections are updated only when the section changes, so that text has no
    extra cost.

    Args:
        collect: keep the parts and their text.

    Attributes:
        out: the pending deltas.
        kind: kind of the open part, None without an open part.
        make: creates a delta of the open part.
        write: adds text to the open part.
        last: kind of the part that began last.
        repaired: True if something in the last call or next to it was repaired.
        name: name of the last call.
        call_id: id of the last call.
        start: offset of the last call in the output.
        section: the open section.
        chunks: number of chunks, incremented by the parser.
    """

    __slots__ = (
        "_chunks",
        "_complete",
        "_counted",
        "_made",
        "_parts",
        "_seen",
        "_shown",
        "_sums",
        "_text",
        "_written",
        "call_id",
        "chunks",
        "collect",
        "kind",
        "last",
        "make",
        "name",
        "out",
        "repaired",
        "section",
        "start",
        "write",
    )

    make: Callable[[str], Delta]
    write: Callable[[str], int]
    _text: StringIO | NullBuffer
    _shown: tuple[object, Part] | None
    _seen: str

    def __init__(self, collect: bool = True) -> None:
        self.out: list[Delta] = []
        # Elements up to `_made` are parts. The others are tuples of values kept for `_part`.
        self._parts: list[Any] = []
        self._made = 0
        self.kind: type[Part] | None = None
        self.collect = collect
        # `forget` keeps these, because `drop_prompt` begins the call again.
        self.name = self.call_id = ""
        self.repaired = self._complete = False
        self.last: type[Part] | None = None
        self.start = 0
        # Characters of all closed parts.
        self._written = 0
        # Text before any marker is content.
        self.section: Section = "content"
        self.chunks = 0
        # Characters and chunks of each section, and the totals at the last count.
        self._sums: dict[Section, tuple[int, int]] = {}
        self._counted = self._chunks = 0

    # Parsers of tokens override it with deltas that have a place.
    _arguments_deltas = staticmethod(arguments_deltas)

    def content(self, text: str) -> None:
        """Emit text of the content."""
        self._add(text, Content, ContentDelta)

    def reasoning(self, text: str) -> None:
        """Emit text of the reasoning."""
        self._add(text, Reasoning, ReasoningDelta)

    def begin_call(self, index: int, call_id: str, name: str, start: int) -> None:
        """Begin a call: emit its first delta.

        Args:
            index: number of the call in the turn.
            call_id: id of the call.
            name: the called function.
            start: offset of the call in the output.
        """
        self._begin(ToolCall, self._arguments_deltas(index))
        self.name, self.call_id = name, call_id
        # A call that the prompt began has a negative offset.
        self.start = max(start, 0)
        # The state of the previous call must not leak into this one.
        self._complete = False
        self.out.append(ToolCallDelta(index, call_id, name))

    def add_to_first(self, arguments: str) -> None:
        """Add arguments from the prompt to the first delta of the new call."""
        first: Any = self.out[-1]
        first.arguments = arguments
        self.write(arguments)

    def arguments(self, text: str) -> None:
        """Emit text of the arguments of the open call."""
        # Sub-parsers pass empty text, but an empty delta would be useless to clients.
        if text:
            self.out.append(self.make(text))
            self.write(text)

    def complete_call(self, index: int) -> None:
        """Mark the last delta of the open call: its arguments are complete.

        Args:
            index: number of the open call.
        """
        if self.kind is None:
            return
        delta = self.out[-1] if self.out else None
        # Earlier deltas of the call were already returned by `feed`, so `last` needs a new one.
        if type(delta) is not ToolCallDelta or delta.index != index:
            delta = unplaced_deltas(index)("")
            self.out.append(delta)
        delta.last = self._complete = True

    def mark_repaired(self) -> bool:
        """Record a repair directly after a call.

        Returns:
            True if a call has just ended.
        """
        ended = self.so_far()[-1] if self.kind is None and self._parts else None
        # Parts are immutable, and clients may hold the old one.
        if isinstance(ended, ToolCall):
            self._parts[-1] = replace(ended, repaired=True)
        return isinstance(ended, ToolCall)

    def end_part(self) -> None:
        """End the open part, if any. More text is another part, even of the same kind."""
        if self.kind is not None:
            self._close(self.start)

    def end_call(self, end: int, issues: frozenset[str], *, complete: bool) -> None:
        """End the open part, which is a call.

        Args:
            end: end of the call in the output.
            issues: kinds of its issues.
            complete: True if the call is complete.
        """
        if self.kind is not None:
            self._complete = complete
            # A call of the prompt may end before the output begins.
            self._close(max(end, self.start), issues)

    def so_far(self, first: int = 0) -> list[Part]:
        """Return all parts so far. The open part is created anew only if it has grown.

        Args:
            first: index of the first returned part.
        """
        parts = self._parts
        # Parts are created once, so that repeated reads of the message take linear time.
        for place in range(self._made, len(parts)):
            parts[place] = _part(parts[place])
        self._made = len(parts)
        # Without `collect` the open part has no text.
        if self.kind is not None and self.collect:
            return [*parts[first:], self._open_part()]
        return parts[first:]

    def forget(self) -> None:
        """Forget all parts, including the open part, and restart the counts."""
        self.out.clear()
        self._parts.clear()
        self._made = 0
        self.kind = self.last = None
        self._written = self._counted = 0
        self._sums.clear()
        # `chunks` belongs to the parser, so only the difference counts.
        self._chunks = self.chunks

    @property
    def open_text(self) -> str:
        """Return the text of the open part so far."""
        return self._text.getvalue() if self.kind is not None else ""

    @property
    def characters(self) -> int:
        """Return the number of emitted characters."""
        return self._written + (self._text.tell() if self.kind is not None else 0)

    def place(self, kind: type[Part]) -> tuple[int, int]:
        """Return the position of the next text of a kind: number of the part, and offset in it."""
        number = len(self._parts)
        # More text of the same kind continues the open part.
        if self.kind is kind:
            return number, self._text.tell()
        return number + (self.kind is not None), 0

    def text_since(self, place: tuple[int, int], kind: type[Part]) -> str:
        """Return the text of all parts of a kind from a position on, without calls."""
        number, start = place
        # Calls have no `text`, and may be between the parts.
        parts = [part for part in self.so_far(number) if not isinstance(part, ToolCall)]
        return "".join(part.text for part in parts if isinstance(part, kind))[start:]

    def enter(self, section: Section) -> None:
        """Count the following text for a section."""
        # Calls in a row enter the same section repeatedly.
        if section != self.section:
            self._count()
            self.section = section

    def counts(self) -> Counts:
        """Return the size of each section so far."""
        self._count()
        return Counts(**{section: Amount(*amount) for section, amount in self._sums.items()})

    def _count(self) -> None:
        """Add the size since the last count to the open section."""
        characters, chunks = self._written, self.chunks
        if self.kind is not None:
            characters += self._text.tell()
        # A turn may enter a section several times, so the sizes add up.
        before, fed = self._sums.get(self.section, NO_AMOUNT)
        # Plain numbers are cheaper than an `Amount`, and each call changes the section.
        amount = before + characters - self._counted, fed + chunks - self._chunks
        self._sums[self.section] = amount
        self._counted, self._chunks = characters, chunks

    def _add(self, text: str, kind: type[Part], make: Callable[[str], Delta]) -> None:
        if text:
            # The hot path: one comparison, one delta and one write per chunk.
            if self.kind is not kind:
                self._begin(kind, make)
            self.out.append(make(text))
            self.write(text)

    def _begin(self, kind: type[Part], make: Callable[[str], Delta]) -> None:
        # Parts do not overlap: a new part closes the open one.
        if self.kind is not None:
            self.end_part()
        self.kind = self.last = kind
        self.make = make
        self._text = text = StringIO() if self.collect else NullBuffer()
        # A bound method saves an attribute lookup per chunk.
        self.write = text.write
        # Last created part with its state, and its text.
        self._shown, self._seen = None, ""

    def _close(self, end: int, issues: frozenset[str] = NONE) -> None:
        """End the open part, and drop its state for further text."""
        self._written += self._text.tell()
        # A tuple is cheaper than a part, and the message may never be read.
        if self.collect:
            self._parts.append(self._kept(self._text.getvalue(), end, issues))
        self.kind = None
        # Releases the buffer. A write without a new part would now raise `AttributeError`.
        del self.make, self.write, self._text, self._shown, self._seen

    def _open_part(self) -> Part:
        """Return the open part as it is so far."""
        # The part changes only if one of these values changes.
        state = (self._text.tell(), self._complete, self.repaired)
        if self._shown is None or self._shown[0] != state:
            # Releasing the previous part lets CPython extend its text in place.
            self._shown = None
            text, self._seen = self._seen, ""
            self._text.seek(len(text))
            text += self._text.read()
            self._seen = text
            self._shown = state, _part(self._kept(text, self.start, NONE))
        return self._shown[1]

    def _kept(self, text: str, end: int, issues: frozenset[str]) -> tuple[Any, ...]:
        """Return the values from which `_part` creates the open part."""
        kind = self.kind
        # Content and reasoning have only text, so they need no further values.
        if kind is not ToolCall:
            return kind, text
        complete, repaired = self._complete, self.repaired
        made = kind, text, self.call_id, self.name, complete, repaired, self.start, end
        # Most calls have no issues, and a shorter tuple takes less memory.
        return (*made, issues) if issues else made


def _part(kept: tuple[Any, ...]) -> Part:
    """Create a part of the message from its kept values."""
    kind, text, *rest = kept
    if kind is ToolCall:
        call_id, name, complete, repaired, start, end, *issues = rest
        return ToolCall(call_id, name, text, complete, repaired, (start, end), *issues)
    return Content(text) if kind is Content else Reasoning(text)


class InlineReasoning:
    """A filter that emits reasoning as content, between `<think>` and `</think>`."""

    __slots__ = ("_content", "_open", "_recorder")

    def __init__(self, content: Callable[[str], None], recorder: RoleRecorder | None) -> None:
        self._content = content
        self._recorder = recorder
        self._open = False

    def __call__(self, text: str) -> None:
        """Emit text of the reasoning as content."""
        # The tag is emitted with the first text, so empty reasoning has no tags.
        if text and not self._open:
            self._open = True
            self._insert("<think>", len(text))
        self._content(text)

    def close(self) -> None:
        """Emit the end tag, if reasoning is open."""
        if self._open:
            self._open = False
            self._insert("</think>")

    def _insert(self, text: str, before: int = 0) -> None:
        """Emit a tag.

        Args:
            before: number of read characters after the tag.
        """
        recorder = self._recorder
        if recorder is not None:
            # The model did not write the tag, so it has no tokens.
            recorder.silent = True
            # The tag precedes text that was already read.
            recorder.behind += before
        self._content(text)
        if recorder is not None:
            recorder.silent = False
            recorder.behind -= before
