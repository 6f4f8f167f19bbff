"""The outermost sub-parser: one assistant turn.

    turn = [header] { reasoning | content | calls | end-of-turn }

The sections come in any order and number. Text that belongs to no section is content. White
space between two markers belongs to the markers.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from deltaparse.partial import Source, Steps, at, peek, skip, until, whitespace

from .format import ContentMode
from .lexicon import Lexicon, Role
from .reasoning import reasoning
from .region import Region
from .tool_calls import tool_calls
from .turn import Turn

__all__ = ["assistant_turn"]

BARE_CALL = "{"
BARE_SEPARATORS = ",;"


class Edge(Enum):
    """What was read last: what the next text stands beside."""

    START = auto()
    MARKER = auto()
    CALL = auto()
    END = auto()
    TEXT = auto()


def assistant_turn(src: Source, turn: Turn, lex: Lexicon) -> Steps[None]:
    """Read one turn, from behind its header to the end of the input."""
    repeated = yield from at(src, lex.at_start)
    if repeated:
        start = src.offset
        yield from skip(src, repeated, lex.trailing(repeated))
        _repeated(turn, start, src.offset, repeated)
    edge = Edge.START
    if lex.opens_reasoning:
        edge = yield from _reasoning(src, turn, lex, opened="")
    yield from _sections(src, turn, lex, edge)


def _sections(src: Source, turn: Turn, lex: Lexicon, edge: Edge) -> Steps[None]:
    """Read section after section; `edge` is what stands before the first."""
    always = lex.fmt.content.mode is ContentMode.ALWAYS_WRAPPED
    markers = lex.in_content_start if always or turn.seen_reasoning else lex.in_content
    while True:
        run = TextRun(src, turn, edge)
        region = Region(src)
        marker = "" if edge is Edge.TEXT else (yield from _at_edge(src, lex, edge))
        if not marker:
            # White space at the end belongs to the marker before it, if there is one.
            if src.unread or not src.closed or edge is Edge.START:
                run.emit(region.text())
            region.settle()
            marker = yield from until(src, markers, run.emit)
            run.end()
            region = Region(src)
        if not marker:
            region.settle()
            return
        role = lex.role(marker)
        if role is Role.TOOL_START:
            called = yield from tool_calls(src, turn, lex, region)
            edge = Edge.CALL if called else Edge.TEXT
            continue
        if turn.reasoning_output == "raw":
            run.emit(region.text())
        region.settle()
        start = src.offset
        written = yield from skip(src, marker, lex.trailing(marker))
        edge = Edge.MARKER
        if role is Role.REASONING_START:
            edge = yield from _reasoning(src, turn, lex, opened=written)
            markers = lex.in_content_start
        elif role is Role.REASONING_END:
            turn.issue("orphan_marker", (start, src.offset), f"{marker!r} ends nothing")
        elif role is Role.CONTENT_START:
            markers = lex.in_content_end
        elif role is Role.CONTENT_END:
            markers = lex.in_content_start
        elif role is Role.TOOL_END:
            edge = Edge.CALL
        else:
            edge = Edge.END
            if role is Role.HEADER:
                _repeated(turn, start, src.offset, marker)


def _repeated(turn: Turn, start: int, end: int, marker: str) -> None:
    turn.issue("repeated_marker", (start, end), f"{marker!r} was written again")


def _at_edge(src: Source, lex: Lexicon, edge: Edge) -> Steps[str]:
    """Read white space; return the marker after it, unread, or "" if text follows.

    No more white space is held than a marker is long; the rest is text. Where calls stand in no
    markers, a brace is one, and after a call it may follow a separator.
    """
    yield from whitespace(src, lex.longest)
    if lex.bare:
        char = yield from peek(src)
        if edge is Edge.CALL and char and char in BARE_SEPARATORS:
            src.pos += 1
            yield from whitespace(src, lex.longest)
            char = yield from peek(src)
        if char == BARE_CALL:
            return char
    after = {Edge.CALL: lex.after_call, Edge.END: lex.after_end}
    return (yield from at(src, after.get(edge, lex.at_edge)))


def _reasoning(src: Source, turn: Turn, lex: Lexicon, *, opened: str) -> Steps[Edge]:
    """Read a reasoning section, and what of it turned out to be calls."""
    region = yield from reasoning(src, turn, lex, opened=opened)
    if region is None:
        return Edge.MARKER
    calls = Source(region.text(), closed=True, offset=max(region.start, 0))
    region.settle()
    yield from _sections(calls, turn, lex, Edge.MARKER)
    return Edge.CALL


class TextRun:
    """Content from one marker to the next: content, or what the policies say, with an issue."""

    __slots__ = ("_dropped", "_kind", "_policy", "_src", "_start", "_turn", "emit")

    def __init__(self, src: Source, turn: Turn, edge: Edge) -> None:
        self._src = src
        self._turn = turn
        self._start: int | None = None
        self._dropped: list[str] = []
        self._kind, self._policy = "text_after_end", "keep"
        self.emit: Callable[[str], None] = turn.content
        if edge is Edge.CALL:
            self._kind, self._policy = "text_after_tool_call", turn.policies.text_after_tool_call
        if edge is Edge.CALL or edge is Edge.END:
            self.emit = self._after

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
