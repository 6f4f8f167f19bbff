"""The parts of a message while it grows: the only place where deltas are made."""

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
from .provenance import Trail

__all__ = ["InlineReasoning", "MessageBuilder"]

NONE: frozenset[str] = frozenset()
NO_AMOUNT = 0, 0


class NullBuffer:
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

    def seek(self, _: int) -> int:
        """Go nowhere."""
        return self._length

    def read(self) -> str:
        """Nothing."""
        return ""

    def getvalue(self) -> str:
        """Nothing."""
        return ""


class MessageBuilder:
    """The parts that have ended, the one that is open, and the deltas that wait in `out`.

    `kind` is that of the open part, None while none is open. Text for it becomes the delta
    `make(text)`, and goes to `write`. Of a part that has ended, only what the message has of it is
    kept, and the part is made when somebody asks for it: a turn may be nothing but calls, and who
    streams them asks for no message. Without `collect`, neither parts nor texts are kept.

    `last` is the kind of the part that was begun last; `repaired`: something in the last call, or
    beside it, was repaired. `name`, `call_id` and the offset `start` are those of the
    last call.

    How much came of each section is found out when one ends and another begins, so that text costs
    nothing. `section` is the one that is open; `chunks` is counted up by the parser.
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
        # Those up to `_made` are parts, the others what parts are made of.
        self._parts: list[Any] = []
        self._made = 0
        self.kind: type[Part] | None = None
        self.collect = collect
        self.name = self.call_id = ""
        self.repaired = self._complete = False
        self.last: type[Part] | None = None
        self.start = 0
        # Characters of all parts that have ended.
        self._written = 0
        self.section: Section = "content"
        self.chunks = 0
        # Characters and chunks of each section, and how many of all were counted for one.
        self._sums: dict[Section, tuple[int, int]] = {}
        self._counted = self._chunks = 0

    _arguments_deltas = staticmethod(arguments_deltas)

    def content(self, text: str) -> None:
        """Emit content."""
        self._add(text, Content, ContentDelta)

    def reasoning(self, text: str) -> None:
        """Emit reasoning."""
        self._add(text, Reasoning, ReasoningDelta)

    def begin_call(self, index: int, call_id: str, name: str, start: int) -> None:
        """Begin a call, which stands from the offset `start` on: emit its first delta."""
        self._begin(ToolCall, self._arguments_deltas(index))
        self.name, self.call_id = name, call_id
        self.start = max(start, 0)
        self._complete = False
        self.out.append(ToolCallDelta(index, call_id, name))

    def add_to_first(self, arguments: str) -> None:
        """Put arguments that the prompt had into the first delta of the call that was begun."""
        first: Any = self.out[-1]
        first.arguments = arguments
        self.write(arguments)

    def arguments(self, text: str) -> None:
        """Emit text of the arguments of the call that is open."""
        if text:
            self.out.append(self.make(text))
            self.write(text)

    def complete_call(self, index: int) -> None:
        """The arguments of the open call, which has this index, are whole: a delta says so."""
        if self.kind is None:
            return
        delta = self.out[-1] if self.out else None
        if type(delta) is not ToolCallDelta or delta.index != index:
            delta = unplaced_deltas(index)("")
            self.out.append(delta)
        delta.last = self._complete = True

    def mark_repaired(self) -> bool:
        """Something was repaired right behind a call; return whether one has just ended."""
        ended = self.so_far()[-1] if self.kind is None and self._parts else None
        if isinstance(ended, ToolCall):
            self._parts[-1] = replace(ended, repaired=True)
        return isinstance(ended, ToolCall)

    def end_part(self) -> None:
        """End the open part, if there is one: what follows is another, also of the same kind."""
        if self.kind is not None:
            self._close(self.start)

    def end_call(self, end: int, issues: frozenset[str], *, complete: bool) -> None:
        """End the open part, which is a call, at the offset `end`; `complete`: it is whole."""
        if self.kind is not None:
            self._complete = complete
            self._close(max(end, self.start), issues)

    def so_far(self, first: int = 0) -> list[Part]:
        """All parts so far, each made once; the open one once for what is written of it.

        `first`: without those before.
        """
        parts = self._parts
        for place in range(self._made, len(parts)):
            parts[place] = make_part(*parts[place])
        self._made = len(parts)
        if self.kind is not None and self.collect:
            return [*parts[first:], self._open_part()]
        return parts[first:]

    def forget(self) -> None:
        """Forget all that came, also that a part is open; how much came is counted anew."""
        self.out.clear()
        self._parts.clear()
        self._made = 0
        self.kind = self.last = None
        self._written = self._counted = 0
        self._sums.clear()
        self._chunks = self.chunks

    @property
    def open_text(self) -> str:
        """The text of the open part so far."""
        return self._text.getvalue() if self.kind is not None else ""

    @property
    def characters(self) -> int:
        """How many characters were emitted."""
        return self._written + (self._text.tell() if self.kind is not None else 0)

    def place(self, kind: type[Part]) -> tuple[int, int]:
        """Where text of a kind that comes now will stand: the part, and the place in it."""
        number = len(self._parts)
        if self.kind is kind:
            return number, self._text.tell()
        return number + (self.kind is not None), 0

    def text_since(self, place: tuple[int, int], kind: type[Part]) -> str:
        """The text of all parts of a kind from a place on; calls have none."""
        number, start = place
        parts = [part for part in self.so_far(number) if not isinstance(part, ToolCall)]
        return "".join(part.text for part in parts if isinstance(part, kind))[start:]

    def enter(self, section: Section) -> None:
        """What comes next counts for a section."""
        if section != self.section:
            self._count()
            self.section = section

    def counts(self) -> Counts:
        """How much came of each section so far."""
        self._count()
        return Counts(**{section: Amount(*amount) for section, amount in self._sums.items()})

    def _count(self) -> None:
        """Count for the open section what came since it was counted last."""
        characters, chunks = self._written, self.chunks
        if self.kind is not None:
            characters += self._text.tell()
        before, fed = self._sums.get(self.section, NO_AMOUNT)
        # Numbers, and no `Amount`: a turn changes between sections with each call.
        amount = before + characters - self._counted, fed + chunks - self._chunks
        self._sums[self.section] = amount
        self._counted, self._chunks = characters, chunks

    def _add(self, text: str, kind: type[Part], make: Callable[[str], Delta]) -> None:
        if text:
            if self.kind is not kind:
                self._begin(kind, make)
            self.out.append(make(text))
            self.write(text)

    def _begin(self, kind: type[Part], make: Callable[[str], Delta]) -> None:
        if self.kind is not None:
            self.end_part()
        self.kind = self.last = kind
        self.make = make
        self._text = text = StringIO() if self.collect else NullBuffer()
        self.write = text.write
        self._shown, self._seen = None, ""

    def _close(self, end: int, issues: frozenset[str] = NONE) -> None:
        """End the open part; what is only needed for more text is dropped."""
        self._written += self._text.tell()
        if self.collect:
            self._parts.append(self._made_of(self._text.getvalue(), end, issues))
        self.kind = None
        del self.make, self.write, self._text, self._shown, self._seen

    def _open_part(self) -> Part:
        """The open part as it is so far."""
        state = (self._text.tell(), self._complete, self.repaired)
        if self._shown is None or self._shown[0] != state:
            # Where nobody holds the part that was made before, its text grows in place.
            self._shown = None
            text, self._seen = self._seen, ""
            self._text.seek(len(text))
            text += self._text.read()
            self._seen = text
            self._shown = state, make_part(*self._made_of(text, self.start, NONE))
        return self._shown[1]

    def _made_of(self, text: str, end: int, issues: frozenset[str]) -> tuple[Any, ...]:
        """What the open part is made of, see `make_part`."""
        kind = self.kind
        if kind is not ToolCall:
            return kind, text
        complete, repaired = self._complete, self.repaired
        made = kind, text, self.call_id, self.name, complete, repaired, self.start, end
        return (*made, issues) if issues else made


def make_part(
    kind: type[Part],
    text: str,
    call_id: str = "",
    name: str = "",
    complete: bool = False,
    repaired: bool = False,
    start: int = 0,
    end: int = 0,
    issues: frozenset[str] = NONE,
) -> Part:
    """A part of the message, of what is kept of it."""
    if kind is ToolCall:
        return ToolCall(call_id, name, text, complete, repaired, (start, end), issues)
    return Content(text) if kind is Content else Reasoning(text)


class InlineReasoning:
    """Emits reasoning as content, between `<think>` and `</think>`."""

    __slots__ = ("_content", "_open", "_trail")

    def __init__(self, content: Callable[[str], None], trail: Trail | None) -> None:
        self._content = content
        self._trail = trail
        self._open = False

    def __call__(self, text: str) -> None:
        """Emit `text` as content."""
        if text and not self._open:
            self._open = True
            self._insert("<think>", len(text))
        self._content(text)

    def close(self) -> None:
        """Close the tags round reasoning, if they are open."""
        if self._open:
            self._open = False
            self._insert("</think>")

    def _insert(self, text: str, before: int = 0) -> None:
        """Emit a tag that stands `before` so many characters of what was read."""
        trail = self._trail
        if trail is not None:
            trail.silent = True
            trail.behind += before
        self._content(text)
        if trail is not None:
            trail.silent = False
            trail.behind -= before
