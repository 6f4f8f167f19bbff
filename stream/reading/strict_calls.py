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
"""Returns a sub-parser that reads up to the text after a call."""


def unproven_calls(reading: Reading, next_marker: NextMarker) -> UnprovenCalls | None:
    """Return a reader of the turn's calls if they are unproven, else None."""
    # The name of a known tool proves a call, so this reader is not needed then.
    unproven = reading.tables.unproven and reading.sink.tools is None
    return UnprovenCalls(reading, next_marker) if unproven else None


class UnprovenCalls:
    """A reader of unproven calls, one part of a turn at a time.

    After a part that was text, an opener of calls is text too.
    """

    __slots__ = ("_exact", "_next_marker", "_reading", "_strayed")

    def __init__(self, reading: Reading, next_marker: NextMarker) -> None:
        self._reading = reading
        self._exact = marker_tables(reading.fmt, calls=True, exact=True)
        self._next_marker = next_marker
        self._strayed = False

    def begin_with(self, marker: str) -> bool:
        """Return True unless the marker is the code marker, which proves the calls after it."""
        return marker.strip() != self._reading.fmt.code.start.strip()

    def read(self, marker: str, checkpoint: Checkpoint, emit_text: Emit) -> Steps[bool]:
        """Read the part that starts at the marker at this place, and commit `checkpoint`.

        Returns True if the part consists of calls. If not, its text goes to `emit_text`.
        """
        reading, src = self._reading, self._reading.src
        start, marks = checkpoint.start, src.marks
        # The draft raises at the first character that is not part of a call, so text is not
        # delayed.
        exact = Reading(src, reading.sink.exact_draft(), self._exact)
        try:
            yield from self._prove(exact, marker)
        except NotExact:
            # The exception left the marks of inner readers set.
            src.release(to=marks)
            src.emits_prompt = False
            begun = exact.sink.builder.name
            if begun:
                detail = "the part contains more than calls in the format's spelling"
                tried = Attempt(begun, checkpoint.span, "not_a_call", detail)
                reading.sink.attempts.append(tried)
            text = checkpoint.text()
            emit_text(text)
            checkpoint.commit()
            # Unmarked calls are searched at the start of each part only, so nothing can stray.
            self._strayed = bool(text) and not reading.tables.unmarked
            return False
        text = src.text_since(start, prompt=True)
        checkpoint.commit()
        # Calls in the prompt are history, so they are not emitted.
        if src.offset > 0:
            yield from self._emit_calls(text, start)
        return True

    def _emit_calls(self, text: str, start: int) -> Steps[None]:
        """Read a proven part again and emit it: `text`, from the offset `start` on."""
        sink, prompted = self._reading.sink, max(-start, 0)
        window = Window(text[:prompted], start)
        sink.reads(window)
        calls = self._calls(Reading(window, sink, self._reading.tables))
        if prompted:
            # The last call of the prompt may continue in the output. The others are history.
            next(calls, None)
            sink.drop_prompt()
        window.waiter = None
        window.feed(text[prompted:])
        window.closed = True
        yield from calls
        sink.reads(self._reading.src)

    def _calls(self, reading: Reading) -> Steps[None]:
        """Read consecutive calls, and the whitespace after the last."""
        tables = reading.tables
        while True:
            start = reading.src.offset
            called = yield from tool_calls(reading, reading.checkpoint())
            if tables.exact:
                check_spelling(reading, start, called=called)
            marker = yield from self._next_marker(reading, PrecededBy.CALL)
            if tables.structural_only:
                marker = yield from self._after_closers(reading, marker)
            if not (marker and self.begin_with(marker) and tables.role(marker) is Role.TOOL_START):
                break
        src = reading.src
        if tables.exact and not marker and src.unread:
            # A marker that is truncated by a limit may as well have been text.
            begun = reading.sink.natural and may_become(src, tables.after_call)
            if not begun:
                raise NotExact

    def _after_closers(self, reading: Reading, marker: str) -> Steps[str]:
        """Read each closer of calls once, and return the marker after them, or ""."""
        src, tables = reading.src, reading.tables
        # Each closer occurs once, so a repeated closer is text.
        for _ in tables.derived.closers:
            if not marker or not tables.ends_calls(marker):
                break
            yield from consume_marker(src, marker, tables.trailing(marker))
            # The closer was found, so the call is not reported as unclosed.
            reading.sink.unclosed = None
            marker = yield from self._next_marker(reading, PrecededBy.CALL)
        return marker

    def _prove(self, exact: Reading, marker: str) -> Steps[None]:
        """Read the part up to its end, and raise `NotExact` for text other than calls."""
        src, start = exact.src, exact.src.offset
        # A part before was text, so this opener is text without a closer look.
        if self._strayed:
            src.pos += len(marker)
            raise NotExact
        yield from self._calls(exact)
        if src.ended and self._reading.sink.cut:
            raise NotExact  # the missing text may not have been calls
        text = src.text_since(start, prompt=True).rstrip()
        # A separator announces another call, so the part is incomplete.
        if exact.tables.unmarked and text.endswith(tuple(exact.tables.separators.literals)):
            raise NotExact


def check_spelling(reading: Reading, start: int, *, called: bool) -> None:
    """Raise `NotExact` unless the text since `start` is a call with its brackets or complete head.

    Readers accept calls without brackets and with extra whitespace, so the text is checked again.
    """
    fmt, text = reading.fmt, reading.src.text_since(start, prompt=True).strip()
    fits = called
    if called and fmt.derived.is_tagged:
        function, name = fmt.function, reading.sink.builder.name
        head = function.name_prefix.lstrip() + function.namespace + name + function.name_suffix
        fits = head in text
    elif called:
        # The openers are outside of the list, so they are removed before its brackets are checked.
        for opener in fmt.derived.openers:
            text = text.removeprefix(opener.strip()).lstrip()
        listed = text[:1] == "["
        fits = listed is (text[-1:] == "]") and (listed or not fmt.tools.array_wrapped)
    if not fits:
        raise NotExact
