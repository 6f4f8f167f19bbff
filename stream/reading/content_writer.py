"""A run of text between two markers, which is content or what the policies say."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from deltaparse.partial import Window

from ..message.sink import Sink

__all__ = ["Before", "ContentWriter"]


class Before(Enum):
    """What was read last: what the next text stands beside."""

    START = auto()
    MARKER = auto()
    CALL = auto()
    END = auto()
    TEXT = auto()


class ContentWriter:
    """Content from one marker to the next: content, or what the policies say, with an issue."""

    __slots__ = ("_dropped", "_edge", "_kind", "_policy", "_src", "_start", "_turn")

    def __init__(self, src: Window, turn: Sink, edge: Before) -> None:
        self._src = src
        self._turn = turn
        self._start: int | None = None
        self._dropped: list[str] = []
        self._edge = edge
        self._kind, self._policy = "text_after_end", "keep"
        if edge is Before.CALL:
            self._kind, self._policy = "text_after_tool_call", turn.policies.text_after_tool_call

    @property
    def emit(self) -> Callable[[str], None]:
        """What takes the text."""
        plain = self._edge is not Before.CALL and self._edge is not Before.END
        return self._turn.content if plain else self._after

    def _after(self, text: str) -> None:
        """Take text that stands after a call, or after the end of the turn."""
        if not text:
            return
        if self._start is None:
            self._start = self._src.offset - len(text)
            if self._policy == "error":
                span = (self._start, self._src.offset)
                self._turn.issue(self._kind, span, "text after a call", "error")
        if self._policy == "drop":
            self._dropped.append(text)
        else:
            self._turn.content(text)

    def end(self) -> None:
        """The next marker, or the end of the input, is reached: record what was decided."""
        if self._start is not None:
            detail = f"dropped: {''.join(self._dropped)!r}" if self._dropped else "kept as content"
            self._turn.issue(self._kind, (self._start, self._src.offset), detail)
            self._start = None
            self._dropped.clear()
