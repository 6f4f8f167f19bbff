"""Read calls that neither a marker nor the name of a tool proves.

If calls have no markers of their own (`DerivedFormat.unproven_calls`) and the tools are unknown,
ordinary answers look like calls: `f() takes a city.`, a `package.json`, a shell session. Therefore
calls must fill a complete part of the turn, from one marker to the next or to the end of the
response. Each must be spelled exactly as in the format, including the fence around calls if the
format has one. The decision is possible only at the end of the part, so the part is buffered until
then. A truncated part is never a call. The first character that fits no call turns the part into
text, which is then emitted.
"""

from __future__ import annotations

from collections.abc import Callable

from deltaparse.partial import Emit, Steps, Window, consume_marker

from ..message.message import Attempt
from ..message.policy_sink import NotExact
from ..wire.marker_tables import marker_tables
from ..wire.section_markers import Role
from .checkpoint import Checkpoint
from .content import may_become
from .content_writer import PrecededBy
from .reading import Reading
from .tool_calls.dispatch import tool_calls

__all__ = ["UnprovenCalls", "unproven_calls"]

NextMarker = Callable[[Reading, PrecededBy], Steps[str]]
"""What reads up to what follows a call."""


def unproven_calls(reading: Reading, next_marker: NextMarker) -> UnprovenCalls | None:
    """What reads the calls of a turn where nothing proves them; None where something does."""
    unproven = reading.tables.unproven and reading.sink.tools is None
    return UnprovenCalls(reading, next_marker) if unproven else None


class UnprovenCalls:
    """Reads calls that fill a part of a turn, one part at a time.

    Once a part turned out to be text, the marker that calls begin with stands in text: it means
    nothing any more to these.
    """

    __slots__ = ("_exact", "_next_marker", "_reading", "_strayed")

    def __init__(self, reading: Reading, next_marker: NextMarker) -> None:
        self._reading = reading
        self._exact = marker_tables(reading.fmt, calls=True, exact=True)
        self._next_marker = next_marker
        self._strayed = False

    def begin_with(self, marker: str) -> bool:
        """Whether calls may begin with a marker; that of code proves those behind it."""
        return marker.strip() != self._reading.fmt.code.start.strip()

    def read(self, marker: str, checkpoint: Checkpoint, emit_text: Emit) -> Steps[bool]:
        """Read the part that begins at the marker that stands here; commit `checkpoint`.

        Returns whether it is calls; if not, what was read of it goes to `emit_text`.
        """
        reading, src = self._reading, self._reading.src
        start, marks = checkpoint.start, src.marks
        exact = Reading(src, reading.sink.exact_draft(), self._exact)
        try:
            yield from self._prove(exact, marker)
        except NotExact:
            src.release(to=marks)
            src.emits_prompt = False
            begun = exact.sink.builder.name
            if begun:
                detail = "it does not fill its part, as the format spells it"
                tried = Attempt(begun, checkpoint.span, "not_a_call", detail)
                reading.sink.attempts.append(tried)
            text = checkpoint.text()
            emit_text(text)
            checkpoint.commit()
            self._strayed = bool(text) and not reading.tables.unmarked
            return False
        text = src.text_since(start, prompt=True)
        checkpoint.commit()
        if src.offset > 0:
            yield from self._emit_calls(text, start)
        return True

    def _emit_calls(self, text: str, start: int) -> Steps[None]:
        """Read a part again that is calls, now for the message: `text`, from the offset `start`."""
        sink, prompted = self._reading.sink, max(-start, 0)
        window = Window(text[:prompted], start)
        sink.reads(window)
        calls = self._calls(Reading(window, sink, self._reading.tables))
        if prompted:
            # Of the prompt's calls, the last may go on in the output; the others are history.
            next(calls, None)
            sink.drop_prompt()
        window.waiter = None
        window.feed(text[prompted:])
        window.closed = True
        yield from calls
        sink.reads(self._reading.src)

    def _calls(self, reading: Reading) -> Steps[None]:
        """Read calls, one behind another, and the white space behind the last."""
        tables = reading.tables
        while True:
            start = reading.src.offset
            called = yield from tool_calls(reading, reading.checkpoint())
            if tables.exact:
                check_spelling(reading, start, called=called)
            marker = yield from self._next_marker(reading, PrecededBy.CALL)
            if tables.structural_only:
                marker = yield from self._behind_closers(reading, marker)
            if not (marker and self.begin_with(marker) and tables.role(marker) is Role.TOOL_START):
                break
        src = reading.src
        if tables.exact and not marker and src.unread:
            # What a cut left of a marker may as well have been text.
            begun = reading.sink.natural and may_become(src, tables.after_call)
            if not begun:
                raise NotExact

    def _behind_closers(self, reading: Reading, marker: str) -> Steps[str]:
        """Read the markers that end calls, each once; return the marker behind them, or ""."""
        src, tables = reading.src, reading.tables
        for _ in tables.derived.closers:
            if not marker or not tables.ends_calls(marker):
                break
            yield from consume_marker(src, marker, tables.trailing(marker))
            reading.sink.unclosed = None
            marker = yield from self._next_marker(reading, PrecededBy.CALL)
        return marker

    def _prove(self, exact: Reading, marker: str) -> Steps[None]:
        """Read the part up to its end; raise `NotExact` if anything but calls stands in it."""
        src, start = exact.src, exact.src.offset
        if self._strayed:
            src.pos += len(marker)
            raise NotExact
        yield from self._calls(exact)
        if src.ended and self._reading.sink.cut:
            raise NotExact  # what would have followed is not known
        text = src.text_since(start, prompt=True).rstrip()
        if exact.tables.unmarked and text.endswith(tuple(exact.tables.separators.literals)):
            raise NotExact


def check_spelling(reading: Reading, start: int, *, called: bool) -> None:
    """Raise `NotExact` unless a call stands from `start` on, with its brackets or its whole head.

    Readers let models leave out brackets, and write white space where the format has none.
    """
    fmt, text = reading.fmt, reading.src.text_since(start, prompt=True).strip()
    fits = called
    if called and fmt.derived.is_tagged:
        function, name = fmt.function, reading.sink.builder.name
        head = function.name_prefix.lstrip() + function.namespace + name + function.name_suffix
        fits = head in text
    elif called:
        for opener in fmt.derived.openers:
            text = text.removeprefix(opener.strip()).lstrip()
        listed = text[:1] == "["
        fits = listed is (text[-1:] == "]") and (listed or not fmt.tools.array_wrapped)
    if not fits:
        raise NotExact
