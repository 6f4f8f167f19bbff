"""An output in two: its reasoning, and all that follows as it stands.

    output = [header] [start text end] rest

For servers that take reasoning off with one parser and read what is left with another. So nothing
of the rest may be interpreted here: an end-of-turn marker in an argument is for the next parser. A
call in reasoning is reasoning or, on request, ends it: it cannot be held until it is known what it
was, as `StreamParser` does, because no parser would come after it.
"""

from __future__ import annotations

from collections.abc import Callable

from deltaparse.partial import Steps, UsageError, Window, at, skip, until, whitespace
from deltaparse.stream import WireFormat
from deltaparse.stream.reading.content import stands_alone
from deltaparse.stream.wire.marker_tables import MarkerTables, Role, marker_tables

__all__ = ["ReasoningSplit"]


class ReasoningSplit:
    """Reads one output, in chunks of any size.

    `ended`: reasoning is over, and all further text is the rest. `span`: the half-open range of
    characters of the output in which reasoning stands. `rest_at`: where the rest begins.

    Args:
        fmt: how the model writes.
        prompt: the rendered prompt, or its end; without it, the format's own generation prompt.
        call_ends_reasoning: the first marker of a call ends reasoning, and belongs to the rest.

    Raises:
        UsageError: a format with channels, which stand where they like.
    """

    __slots__ = ("_reasoning", "_rest", "_source", "_steps", "ended", "rest_at", "span")

    def __init__(
        self, fmt: WireFormat, *, prompt: str = "", call_ends_reasoning: bool = False
    ) -> None:
        if fmt.facts.has_channels:
            raise UsageError("reasoning in channels cannot be split off: use StreamParser")
        tail = fmt.facts.turn_so_far(prompt)
        self._source = Window(offset=-len(tail))
        self._reasoning: list[str] = []
        self._rest: list[str] = []
        self.span = (0, 0)
        self.rest_at = 0
        self.ended = not fmt.facts.has_reasoning
        self._steps = self._read(marker_tables(fmt, calls=True), call_ends_reasoning)
        if tail and not self.ended:
            self._feed(tail)

    def feed(self, text: str) -> tuple[str, str]:
        """Take the next chunk; return the reasoning and the rest that it makes certain."""
        if self.ended:
            return "", text
        self._feed(text)
        return self._taken()

    def finish(self) -> tuple[str, str]:
        """End the output; return the reasoning and the rest that were held back."""
        if not self.ended:
            self._source.closed = True
            self._resume()
        return self._taken()

    def _feed(self, text: str) -> None:
        if text and self._source.receive(text):
            self._resume()

    def _resume(self) -> None:
        try:
            next(self._steps)
        except StopIteration as done:
            source = self._source
            self.ended = bool(done.value)
            self.rest_at = max(source.offset, 0)
            self._rest.append(source.take(len(source.text)))

    def _taken(self) -> tuple[str, str]:
        taken = "".join(self._reasoning), "".join(self._rest)
        self._reasoning.clear()
        self._rest.clear()
        return taken

    def _read(self, tables: MarkerTables, call_ends_reasoning: bool) -> Steps[bool]:
        """Read up to the rest; return whether reasoning ended there."""
        src = self._source
        repeated = yield from at(src, tables.at_start)
        if repeated:
            yield from skip(src, repeated, tables.trailing(repeated))
        opened = ""
        if not tables.opens_reasoning:
            opened = yield from _opened(src, tables, self._rest.append)
            if not opened:
                # The end of an output that may still have become reasoning ends none.
                return not src.closed
        again = yield from at(src, tables.reasoning_start)
        if again:
            opened = again
            yield from skip(src, again, tables.trailing(again))
        start = max(src.offset, 0)
        markers = tables.in_reasoning if call_ends_reasoning else tables.in_reasoning_only
        marker = yield from until(src, markers, self._reasoning.append)
        own_ends = tables.reasoning_ends.get(opened.strip())
        while True:
            strange = tables.role(marker) is Role.REASONING_END and marker.strip() not in (
                own_ends or {marker.strip()}
            )
            # An end of the turn that text follows is none, nor is the end of another pair.
            if not strange and marker not in tables.turn_ends:
                break
            if not strange and (yield from stands_alone(src, tables, marker, tables.after_end)):
                break
            self._reasoning.append(src.take(src.pos + len(marker)))
            marker = yield from until(src, markers, self._reasoning.append)
        self.span = (start, max(src.offset, start))
        if marker and tables.role(marker) not in (Role.TOOL_START, Role.CONTENT_START):
            yield from skip(src, marker, tables.trailing(marker))
        return bool(marker)


def _opened(src: Window, tables: MarkerTables, text: Callable[[str], None]) -> Steps[str]:
    """Read and return a start of reasoning, and the space before it; without one, that is text."""
    mark = src.mark()
    yield from whitespace(src, tables.longest)
    marker = yield from at(src, tables.reasoning_start)
    if marker:
        yield from skip(src, marker, tables.trailing(marker))
    else:
        text(src.since(mark))
    src.release()
    return marker
