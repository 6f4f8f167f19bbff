"""Splitter of a response into its reasoning and the unchanged rest.

    output = [header] [start text end] rest

Servers remove the reasoning with one parser and read the rest with another parser. The rest is not
interpreted here, because e.g. an end-of-turn marker in an argument is for the second parser. A call
in reasoning is reasoning or, as an option, ends it. Buffering it, as `StreamParser` does, is
impossible, because the second parser would not receive it.
"""

from __future__ import annotations

from collections.abc import Callable

from deltaparse.partial import (
    Steps,
    UsageError,
    Window,
    consume_marker,
    peek_marker,
    until,
    whitespace,
)
from deltaparse.stream import StreamParser, WireFormat
from deltaparse.stream.reading.content import followed_by_marker_or_end
from deltaparse.stream.wire.marker_tables import MarkerTables, marker_tables
from deltaparse.stream.wire.section_markers import Role

__all__ = ["ReasoningSplit"]


def turn_after_calls(fmt: WireFormat, prompt: str) -> str:
    """Return the part of the turn in a prompt, to determine if reasoning is open.

    A turn continuing after a tool result without a header may contain new reasoning. In a prompt
    without a header, the last reasoning marker decides, as in the servers' own parsers.
    """
    derived = fmt.derived
    if not prompt or not derived.has_reasoning:
        return derived.turn_so_far(prompt)
    turn = derived.turn_in(prompt)
    start, end = fmt.reasoning.start, fmt.reasoning.end
    if turn is None:
        opened = prompt.rfind(start.strip()) if start.strip() else -1
        ended = prompt.rfind(end.strip()) if end.strip() else -1
        if opened == ended:
            return derived.turn_so_far(prompt)
        if ended < opened:
            return prompt[opened:]
        return f"{start}{end}"
    if not start.strip() or not any(opener.strip() in turn for opener in derived.openers):
        return turn
    parser = StreamParser(fmt, prompt=next(iter(fmt.turn.headers), ""))
    parser.feed(turn)
    goes_on = not parser.in_reasoning and bool(parser.message.tool_calls)
    return "" if goes_on else turn


class ReasoningSplit:
    """Splitter for one response, in chunks of any size.

    Args:
        fmt: the format of the response.
        prompt: the rendered prompt or its end (default: the format's generation prompt).
        call_ends_reasoning: the first marker of a call ends reasoning and belongs to the rest.

    Attributes:
        opened: reasoning has begun.
        closed: the end marker was read, but whitespace after it may still belong to it.
        ended: reasoning is over, and all further text is the rest.
        span: the half-open range of the reasoning, in characters of the response.
        rest_at: the offset of the rest.

    Raises:
        UsageError: the format has channels, so reasoning may occur anywhere.
    """

    __slots__ = (
        "_markers",
        "_reasoning",
        "_rest",
        "_source",
        "_steps",
        "closed",
        "ended",
        "opened",
        "rest_at",
        "span",
    )

    def __init__(
        self, fmt: WireFormat, *, prompt: str = "", call_ends_reasoning: bool = False
    ) -> None:
        if fmt.derived.has_channels:
            raise UsageError("reasoning in channels cannot be split off, use StreamParser")
        tail = turn_after_calls(fmt, prompt)
        self._source = Window(offset=-len(tail))
        self._reasoning: list[str] = []
        self._rest: list[str] = []
        self.span = (0, 0)
        self.rest_at = 0
        self.opened = False
        self.closed = self.ended = not fmt.derived.has_reasoning
        tables = marker_tables(fmt, calls=True)
        self._markers = tables.in_reasoning if call_ends_reasoning else tables.in_reasoning_only
        self._steps = self._read(tables)
        if tail and not self.ended:
            self._feed(tail)

    def feed(self, text: str) -> tuple[str, str]:
        """Read the next chunk. Return new text of the reasoning and of the rest."""
        if self.ended:
            return "", text
        self._feed(text)
        return self._taken()

    def finish(self) -> tuple[str, str]:
        """End the response. Return the buffered text of the reasoning and of the rest."""
        if not self.ended:
            self._source.closed = True
            self._resume()
        return self._taken()

    def closes_in(self, text: str) -> bool:
        """Return True if `text` would end the open reasoning. The state is unchanged."""
        source = self._source
        start, end = self._markers.find(source.text[source.pos :] + text, final=True)
        return self.closed or end > start

    def _feed(self, text: str) -> None:
        if text and self._source.receive(text):
            self._resume()

    def _resume(self) -> None:
        try:
            next(self._steps)
        except StopIteration as done:
            source = self._source
            self.ended = self.closed = bool(done.value)
            self.rest_at = max(source.offset, 0)
            self._rest.append(source.consume(len(source.text)))

    def _taken(self) -> tuple[str, str]:
        taken = "".join(self._reasoning), "".join(self._rest)
        self._reasoning.clear()
        self._rest.clear()
        return taken

    def _read(self, tables: MarkerTables) -> Steps[bool]:
        """Read up to the rest. Return True if reasoning ended there."""
        src = self._source
        repeated = yield from peek_marker(src, tables.at_start)
        if repeated:
            yield from consume_marker(src, repeated, tables.trailing(repeated))
        opened = ""
        if not tables.opens_reasoning:
            opened = yield from _opened(src, tables, self._rest.append)
            if not opened:
                # At the end of a response, reasoning might still have begun.
                return not src.closed
        self.opened = True
        again = yield from peek_marker(src, tables.reasoning_start)
        if again:
            opened = again
            yield from consume_marker(src, again, tables.trailing(again))
        start = max(src.offset, 0)
        marker = yield from until(src, self._markers, self._reasoning.append)
        own_ends = tables.reasoning_ends.get(opened.strip())
        while True:
            strange = tables.role(marker) is Role.REASONING_END and marker.strip() not in (
                own_ends or {marker.strip()}
            )
            # Two markers do not end reasoning: an end of the turn with text after it, and the end
            # marker of another pair.
            if not strange and marker not in tables.turn_ends:
                break
            if not strange and (
                yield from followed_by_marker_or_end(src, tables, marker, tables.after_end)
            ):
                break
            self._reasoning.append(src.consume(src.pos + len(marker)))
            marker = yield from until(src, self._markers, self._reasoning.append)
        self.span = (start, max(src.offset, start))
        self.closed = bool(marker)
        if marker and tables.role(marker) not in (Role.TOOL_START, Role.CONTENT_START):
            yield from consume_marker(src, marker, tables.trailing(marker))
        return bool(marker)


def _opened(src: Window, tables: MarkerTables, text: Callable[[str], None]) -> Steps[str]:
    """Read a start of reasoning after whitespace, and return it. Otherwise emit the whitespace."""
    mark = src.mark()
    yield from whitespace(src, tables.longest)
    marker = yield from peek_marker(src, tables.reasoning_start)
    if marker:
        yield from consume_marker(src, marker, tables.trailing(marker))
    else:
        text(src.text_since(mark))
    src.release()
    return marker
