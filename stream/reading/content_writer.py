"""Content between two markers, and the policies for it."""

from __future__ import annotations

from typing import ClassVar

from deltaparse.partial import Emit

from ..message.message import Content
from ..message.provenance import TextRole
from .reading import Reading

__all__ = ["ContentWriter", "PrecededBy"]


class PrecededBy:
    """The last thing read before text. It determines the owner of whitespace and the kind of text.

    Not an `Enum`, because each section of a turn compares ten times. On CPython 3.11 a lookup in an
    `Enum` costs as much as a call.
    """

    __slots__ = ()

    START: ClassVar[PrecededBy]
    MARKER: ClassVar[PrecededBy]
    CALL: ClassVar[PrecededBy]
    END: ClassVar[PrecededBy]
    TEXT: ClassVar[PrecededBy]


PrecededBy.START, PrecededBy.MARKER, PrecededBy.CALL, PrecededBy.END, PrecededBy.TEXT = (
    PrecededBy() for _ in range(5)
)


class ContentWriter:
    """A writer of the text up to the next marker: as content, or by a policy with an issue."""

    __slots__ = (
        "_before",
        "_dropped",
        "_kind",
        "_place",
        "_plain",
        "_policy",
        "_sink",
        "_src",
        "_start",
    )

    def __init__(self, reading: Reading, before: PrecededBy) -> None:
        self._src = reading.src
        self._sink = reading.sink
        self._start: int | None = None
        self._dropped: list[str] = []
        self._before = before
        # The position of the coming text in the message, recorded only if calls look like text.
        self._place: tuple[int, int] | None = None
        constrained = reading.tables.constrained
        self._kind, self._policy = "text_after_end", "keep"
        if before is PrecededBy.CALL:
            # Only text after a call has a policy. Text after the end of the turn is always kept.
            self._policy = self._sink.policies.text_after_tool_call
            self._kind = "text_after_tool_call"
        # If calls are constrained, text before them is unexpected too, but whitespace is not.
        elif before is not PrecededBy.END and constrained:
            self._kind = "stray_text"
        # Plain text needs no policy, so it may go to the sink without a method call for each chunk.
        self._plain = (
            not constrained and before is not PrecededBy.CALL and before is not PrecededBy.END
        )

    @property
    def emit(self) -> Emit:
        """Return the function that takes the text."""
        if self._place is None and self._sink.surrounding is not None:
            self._place = self._sink.builder.place(Content)
        return self._sink.content if self._plain else self._after

    def is_outside_turn(self, before: PrecededBy) -> bool:
        """Return True if a new writer for this place would behave like this one."""
        plain = self._plain and before is not PrecededBy.CALL and before is not PrecededBy.END
        return plain or self._before is before

    def _after(self, text: str) -> None:
        """Take text after a call, or after the end of the turn."""
        # Callers may pass an empty buffer, which is not text after a call.
        if not text:
            return
        # Whitespace before constrained JSON is harmless, so it is not reported.
        shown = text.lstrip() if self._kind == "stray_text" else text
        if self._start is None and shown:
            self._start = self._src.offset - len(shown)
            if self._policy == "error":
                # The text was read, so it must be emitted before the policy raises.
                self._sink.content(text)
                span = (self._start, self._start)
                self._sink.issue(self._kind, span, "text after a call", "error")
        if self._policy == "drop":
            if self._sink.recorder is not None:
                end = self._src.offset
                self._sink.recorder.set_role(end - len(text), end, TextRole.DROPPED)
            # The text is reported in the issue, so it is kept.
            self._dropped.append(text)
            # The sink refers to the dropped text, so an exception while reading does not lose it.
            self._sink.held = self._dropped
        else:
            self._sink.content(text)

    def end(self) -> None:
        """Report the text at the next marker or at the end of the input."""
        if self._place is not None:
            self._note_text(self._place)
        if self._start is not None:
            detail = f"dropped: {''.join(self._dropped)!r}" if self._dropped else "kept as content"
            self._sink.issue(self._kind, (self._start, self._src.offset), detail)
            # The same writer may continue after a call that turned out to be text.
            self._start = None
            self._dropped.clear()

    def _note_text(self, place: tuple[int, int]) -> None:
        """Note the text from `place` on, because it may cast doubt on a call next to it."""
        sink, self._place = self._sink, None
        if sink.surrounding is not None:
            sink.surrounding.text(sink.builder.text_since(place, Content) + "".join(self._dropped))
