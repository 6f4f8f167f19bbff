"""The parts of a message while it grows: the only place where deltas are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from io import StringIO

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
from .trail import Trail

__all__ = ["InlineReasoning", "MessageBuilder"]

NONE: frozenset[str] = frozenset()
NOTHING: Mapping[Section, tuple[int, int]] = {}


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
    `make(text)`, and goes to `write`. With many calls a message is hardly more than its parts, so
    one that has ended is kept as what the message has of it, and nothing else. Without `collect`,
    neither parts nor texts are kept.

    `last` is the kind of the part that was begun last; `repaired`: it is a call, and something in
    it or beside it was repaired. `name`, `call_id` and the offset `start` are those of the
    last call.

    How much came of each section is found out when one ends and another begins, so that text costs
    nothing. `section` is the one that is open; `chunks` is counted up by the parser.
    """

    __slots__ = (
        "_begun",
        "_chunks",
        "_complete",
        "_made",
        "_seen",
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
        "parts",
        "repaired",
        "section",
        "start",
        "write",
    )

    make: Callable[[str], Delta]
    write: Callable[[str], int]
    _text: StringIO | Uncollected
    _made: tuple[object, Part] | None
    _seen: str

    def __init__(self, *, collect: bool = True) -> None:
        self.out: list[Delta] = []
        self.parts: list[Part] = []
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
        # Characters and chunks of the sections that have ended, and those before the open one.
        self._sums = NOTHING
        self._begun = self._chunks = 0

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
        first = self.out[-1]
        if isinstance(first, ToolCallDelta) and self.kind is ToolCall:
            first.arguments = arguments
            self.write(arguments)

    def arguments(self, text: str) -> None:
        """Emit text of the arguments of the call that is open."""
        if text and self.kind is not None:
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

    def mark_repaired(self) -> None:
        """Something was repaired in the call that was begun last, or right behind it."""
        if self.last is ToolCall and not self.repaired:
            self.repaired = True
            ended = self.parts[-1] if self.kind is None and self.parts else None
            if isinstance(ended, ToolCall):
                self.parts[-1] = replace(ended, repaired=True)

    def end_part(self) -> None:
        """End the open part, if there is one: what follows is another, also of the same kind."""
        if self.kind is not None:
            self._close(self.kind, self.start)

    def end_call(self, end: int, issues: frozenset[str], *, complete: bool) -> None:
        """End the open part, which is a call, at the offset `end`; `complete`: it is whole."""
        if self.kind is not None:
            self._complete = complete
            self._close(self.kind, max(end, self.start), issues)

    def so_far(self) -> list[Part]:
        """All parts so far; the open one is made once for what is written of it."""
        parts = self.parts.copy()
        if self.kind is not None and self.collect:
            parts.append(self._open_part(self.kind))
        return parts

    def forget(self) -> None:
        """Forget all that came, also that a part is open; how much came is counted anew."""
        self.out.clear()
        self.parts.clear()
        self.kind = self.last = None
        self._written = self._begun = 0
        self._sums, self._chunks = NOTHING, self.chunks

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
        number = len(self.parts)
        if self.kind is kind:
            return number, self._text.tell()
        return number + (self.kind is not None), 0

    def since(self, place: tuple[int, int], kind: type[Part]) -> str:
        """The text of all parts of a kind from a place on; calls have none."""
        number, start = place
        parts = [part for part in self.so_far()[number:] if not isinstance(part, ToolCall)]
        return "".join(part.text for part in parts if isinstance(part, kind))[start:]

    def enter(self, section: Section) -> None:
        """What comes next counts for a section."""
        if section != self.section:
            # Numbers, and no `Amount`: a turn changes between sections with each call.
            characters = self.characters
            self._sums = {**self._sums, self.section: self._amount(characters)}
            self.section = section
            self._begun, self._chunks = characters, self.chunks

    def counts(self) -> Counts:
        """How much came of each section so far."""
        sums = {**self._sums, self.section: self._amount(self.characters)}
        return Counts(**{section: Amount(*amount) for section, amount in sums.items()})

    def _amount(self, characters: int) -> tuple[int, int]:
        """What has come of the open section: characters and chunks."""
        before, chunks = self._sums.get(self.section, (0, 0))
        return before + characters - self._begun, chunks + self.chunks - self._chunks

    def _add(self, text: str, kind: type[Part], make: Callable[[str], Delta]) -> None:
        if text:
            if self.kind is not kind:
                self._begin(kind, make)
            self.out.append(make(text))
            self.write(text)

    def _begin(self, kind: type[Part], make: Callable[[str], Delta]) -> None:
        self.end_part()
        self.kind = self.last = kind
        self.make = make
        self._text = text = StringIO() if self.collect else Uncollected()
        self.write = text.write
        self._made, self._seen = None, ""
        self.repaired = False

    def _close(self, kind: type[Part], end: int, issues: frozenset[str] = NONE) -> None:
        """End the open part; what is only needed for more text is dropped."""
        self._written += self._text.tell()
        if self.collect:
            self.parts.append(self._part(kind, self._text.getvalue(), end, issues))
        self.kind = None
        del self.make, self.write, self._text, self._made, self._seen

    def _open_part(self, kind: type[Part]) -> Part:
        """The open part as it is so far."""
        state = (self._text.tell(), self._complete, self.repaired)
        if self._made is None or self._made[0] != state:
            # Where nobody holds the part that was made before, its text grows in place.
            self._made = None
            text, self._seen = self._seen, ""
            self._text.seek(len(text))
            text += self._text.read()
            self._seen = text
            self._made = state, self._part(kind, text, self.start, NONE)
        return self._made[1]

    def _part(self, kind: type[Part], text: str, end: int, issues: frozenset[str]) -> Part:
        if kind is ToolCall:
            made = (self.call_id, self.name, text, self._complete, self.repaired)
            return ToolCall(*made, (self.start, end), issues)
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
            self._insert("<think>")
        self._content(text)

    def close(self) -> None:
        """Close the tags round reasoning, if they are open."""
        if self._open:
            self._open = False
            self._insert("</think>")

    def _insert(self, text: str) -> None:
        if self._trail is not None:
            self._trail.silent = True
        self._content(text)
        if self._trail is not None:
            self._trail.silent = False
