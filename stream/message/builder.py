"""The parts of a message while it grows: the only place where deltas are made."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

from .deltas import ContentDelta, Delta, ReasoningDelta, ToolCallDelta, arguments_deltas
from .message import Content, Part, Reasoning, ToolCall
from .trail import Trail

__all__ = ["InlineReasoning", "MessageBuilder", "OpenPart"]


class OpenPart:
    """A part of the message while it grows: each text for it is a delta, and is written down.

    Text for it becomes the delta `make(text)`, and goes to `write`. `text` is what was written,
    or only how much.
    """

    __slots__ = (
        "call_id",
        "complete",
        "issues",
        "kind",
        "made",
        "make",
        "name",
        "repaired",
        "seen",
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
        self.made: tuple[object, Part] | None = None
        self.seen = ""
        self.span = (0, 0)
        self.issues: frozenset[str] = frozenset()

    def close(self) -> None:
        """Drop what takes text: no more comes, and with many calls it would be a quarter of all."""
        del self.make, self.write

    def part(self) -> Part:
        """The part of the message that it is so far, made once for what is written of it."""
        state = (self.text.tell(), self.complete, self.repaired, self.span, self.issues)
        if self.made is None or self.made[0] != state:
            # Where nobody holds the part that was made before, its text grows in place.
            self.made = None
            text, self.seen = self.seen, ""
            self.text.seek(len(text))
            text += self.text.read()
            self.seen = text
            self.made = state, self._part(text)
        return self.made[1]

    def _part(self, text: str) -> Part:
        if self.kind is ToolCall:
            made = (self.call_id, self.name, text, self.complete, self.repaired)
            return ToolCall(*made, span=self.span, issues=self.issues)
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
    """The parts so far, of which `run` is open, and the deltas that wait in `out`.

    Without `collect`, only the last part is kept, and of it no text.
    """

    __slots__ = ("_collect", "_written", "open", "out", "parts")

    def __init__(self, *, collect: bool = True) -> None:
        self.out: list[Delta] = []
        self.parts: list[OpenPart] = []
        self.open: OpenPart | None = None
        self._collect = collect
        self._written = 0

    _arguments_deltas = staticmethod(arguments_deltas)

    def content(self, text: str) -> None:
        """Emit content."""
        self._add(text, Content, ContentDelta)

    def reasoning(self, text: str) -> None:
        """Emit reasoning."""
        self._add(text, Reasoning, ReasoningDelta)

    def begin_call(self, index: int, call_id: str, name: str, start: int) -> OpenPart:  # noqa: ARG002
        """Begin a call, which stands from the offset `start` on: emit its first delta."""
        text = self._new_text()
        make = self._arguments_deltas(index)
        part = self._begin(OpenPart(ToolCall, make, text, call_id, name))
        self.out.append(ToolCallDelta(index, call_id, name))
        return part

    def add_to_first(self, arguments: str) -> None:
        """Put arguments that the prompt had into the first delta of the call that was begun."""
        first, part = self.out[-1], self.open
        if isinstance(first, ToolCallDelta) and part is not None:
            first.arguments = arguments
            part.write(arguments)

    def arguments(self, text: str) -> None:
        """Emit text of the arguments of the call that is open."""
        part = self.open
        if text and part is not None:
            self.out.append(part.make(text))
            part.write(text)

    def forget(self) -> None:
        """Forget all that came, but which part is open."""
        self.out.clear()
        self.parts.clear()
        self._written = 0

    @property
    def characters(self) -> int:
        """How many characters were emitted."""
        return self._written + (self.parts[-1].text.tell() if self.parts else 0)

    def place(self, kind: type[Part]) -> tuple[int, int]:
        """Where text of a kind that comes now will stand: the part, and the place in it."""
        part, number = self.open, len(self.parts)
        return (
            (number, 0) if part is None or part.kind is not kind else (number - 1, part.text.tell())
        )

    def since(self, place: tuple[int, int], kind: type[Part]) -> str:
        """The text of all parts of a kind from a place on."""
        number, start = place
        texts = [part.text.getvalue() for part in self.parts[number:] if part.kind is kind]
        return "".join(texts)[start:]

    def _add(self, text: str, kind: type[Part], make: Callable[[str], Delta]) -> None:
        if not text:
            return
        part = self.open
        if part is None or part.kind is not kind:
            part = self._begin(OpenPart(kind, make, self._new_text()))
        self.out.append(make(text))
        part.write(text)

    def _new_text(self) -> StringIO | Uncollected:
        return StringIO() if self._collect else Uncollected()

    def _begin(self, part: OpenPart) -> OpenPart:
        self._written = self.characters
        if not self._collect:
            self.parts.clear()
        self.parts.append(part)
        self.open = part
        return part


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
