"""How text comes to the sub-parsers, and deltas come out: the way of every chunk.

    passing by   a waiting sub-parser let such text pass: the text is a delta as it is
    splitting    the same up to a tail that may become a marker, which is held back
    a step       a function that the waiting sub-parser left behind reads the text in its place
    resuming     the sub-parser goes on

Each costs a fraction of the next, and nearly all text takes the first: so a chunk inside a string
must cost two searches in C, one list and one delta, whatever stands round the string. That is
why the first two do not go through the window: while the waiter's lane leads to the part of the
message that is open, `feed` makes the delta itself, notes the text in `_passed`, and the window
and the message hear of it later, of many chunks at once (`_settle`). The obvious other way, to
move the window and write to the message with each chunk, costs twice as much. The price is one
rule: whatever looks at the message, the window or the counts settles first.

`deltaparse.partial.bypass` says what a sub-parser leaves behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deltaparse.partial import (
    Emit,
    Lane,
    MalformedOutput,
    Steps,
    TextDecoder,
    UsageError,
    Waiter,
    Window,
    is_whole,
)

from .message.deltas import ContentDelta, Delta
from .message.message import Content, Part
from .message.policy_sink import Sink
from .snapshot import Recording

__all__ = ["MOST_PASSED", "Feeder"]

MOST_PASSED = 256
"""Chunks that `feed` emits by itself before they are written down, all at once."""

MOST_KEPT = 256
"""Characters of such a chunk where the message is not collected, and nothing else keeps it."""

FastPath = tuple[
    Callable[[Any], object], Callable[[Any], object] | None, list[Any], Callable[[Any], Delta]
]
"""A chunk in which one of the two finds nothing is noted in the list, and emitted as a delta."""

CLOSED: FastPath = (len, None, [], ContentDelta)
"""The way that is closed: `len` never returns None, so every chunk is read."""

ENDED = object()
"""What `next` is to return of sub-parsers that have ended."""


class Feeder:
    """Takes the text of one turn in chunks, lets the sub-parsers read it, and returns deltas.

    A subclass has the method `feed`, which takes the first of the four ways: a call more would cost
    a chunk a tenth of its time. `steps` are the sub-parsers, which read `window` and emit to
    `sink`. `record` takes each chunk as it came.
    """

    __slots__ = (
        "_alert",
        "_builder",
        "_decoder",
        "_held",
        "_lane",
        "_open",
        "_passed",
        "_path",
        "_record",
        "_sink",
        "_steps",
        "_window",
        "_writers",
    )

    _open: FastPath

    def __init__(
        self,
        window: Window,
        sink: Sink,
        steps: Steps[None],
        record: Recording | None,
    ) -> None:
        self._window = window
        self._sink = sink
        self._builder = sink.builder
        self._writers: Mapping[type[Part], Emit] = sink.writers
        self._steps: Steps[None] | None = steps
        self._record = record
        self._decoder: TextDecoder | None = None
        # While half a character waits, while a record is kept, and after the end: no chunk is
        # taken as it is.
        self._alert = record is not None
        self._passed: list[str] = []
        self._path: FastPath = CLOSED
        # The lane that leads to the open part; None while there is none.
        self._lane: Lane | None = None
        self._held = ""

    def _read(self, text: str | bytes) -> list[Delta]:  # noqa: PLR0915 - calls cost more
        """Take a chunk that is not of the plainest; return the deltas."""
        if type(text) is not str or self._alert or not (text.isascii() or is_whole(text)):
            text = self._decode(text)
        window, lane = self._window, self._lane
        if lane is not None:
            held = self._held
            chunk = held + text if held else text
            end = lane.split(chunk)
            if end >= 0:
                passed = self._passed
                if len(passed) >= MOST_PASSED or end > MOST_KEPT:
                    self._settle()
                if end < len(chunk):
                    self._held, self._path = chunk[end:], CLOSED
                    chunk = chunk[:end]
                elif held:
                    self._held, self._path = "", self._open
                passed.append(chunk)
                if lane.spell is not None:
                    chunk = lane.spell(chunk)
                return [self._open[-1](chunk)] if chunk else []
            self._held, text = "", chunk
            self._close_lane()
        ids = self._sink.ids
        if ids is not None and ids.busy:
            self._refuse_reentry()
        builder = self._builder
        builder.chunks += 1
        waiter = window.waiter
        if waiter is not None and waiter.known and not window.pos:
            # Where calls are short, most chunks end here.
            unread = window.text + text
            if unread in waiter.known:
                window.text = unread
                return []
        if waiter is not None and waiter.lane is not None:
            if waiter.lane.exact(text) is None:
                window.pass_by(text)
                self._open_lane(waiter, waiter.lane)
                return self._emitted()
            waiter.lane = None
        window.feed(text)
        read = None
        if waiter is not None and waiter.step is not None:
            try:
                read = waiter.step(window)
                if read == "" and waiter.lane is None and not builder.out:
                    return []  # it waits for more
            except Exception as error:  # noqa: BLE001 - as in `_resume`
                read = self._give_up(error)
                waiter = window.waiter
        if read is None:
            read = self._resume()
            waiter = window.waiter
        if waiter is None:
            return self._emitted()
        if waiter.lane is not None:
            self._open_lane(waiter, waiter.lane)
        if read:
            kind = builder.kind
            if kind is not None and not builder.out and self._writers[kind] is waiter.emit:
                builder.write(read)
                return [builder.make(read)]
            waiter.emit(read)
        return self._emitted()

    def _open_lane(self, waiter: Waiter, lane: Lane) -> None:
        """Open the fast path for what passes the waiter by, if all of it goes to the open part."""
        builder = self._builder
        kind = builder.kind
        if kind is None or self._alert or self._writers[kind] is not waiter.sink:
            return
        quick, exact = lane.quick, lane.exact
        also = None if quick is exact or lane.spell else exact
        if not builder.collect:
            quick, also = _short(quick), None
        self._open = self._path = quick, also, self._passed, builder.make
        self._lane = lane

    def _close_lane(self) -> None:
        """Let the sub-parsers read what comes, beginning with what is held back."""
        self._settle()
        self._path = CLOSED
        self._lane = None
        if self._window.waiter is not None:
            self._window.waiter.lane = None
        if self._held:
            self._window.feed(self._held)
            self._held = ""

    def _settle(self) -> None:
        """Write down what passed by, and move the window behind it."""
        passed, builder, lane = self._passed, self._builder, self._lane
        if passed and lane is not None:
            text = "".join(passed)
            self._window.move_behind(text)
            builder.write(text if lane.spell is None else lane.spell(text))
            builder.chunks += len(passed)
            passed.clear()

    def _emitted(self) -> list[Delta]:
        """The deltas that the sub-parsers made."""
        out = self._builder.out
        if not out:
            return []
        deltas = out.copy()
        out.clear()
        return deltas

    def _resume(self) -> str | None:
        """Let the sub-parsers read what there is; return what is to go to `Waiter.emit`.

        They cannot be resumed after an exception, so whatever happens, the text that follows
        passes as content: no output is lost, not even to a bug of ours.
        """
        try:
            if self._steps is None:
                return take_all(self._window)
            self._window.waiter = None
            if next(self._steps, ENDED) is not ENDED and self._window.closed:
                return self._give_up(RuntimeError("a sub-parser waits beyond the end"))
        except Exception as error:  # noqa: BLE001 - a bug must not lose output
            return self._give_up(error)
        return None

    def _give_up(self, error: Exception) -> str:
        """Go on without the sub-parsers; raises the error where it was meant to be raised."""
        sink, window = self._sink, self._window
        self._steps = None
        window.rewind()
        window.waiter = Waiter(sink.content, take_all, sink.content)
        read = "".join([*sink.held, *sink.not_emitted, *sink.extra_members])
        if self._builder.kind is not Content:
            sink.end_call(complete=False)
        if isinstance(error, (MalformedOutput, UsageError)):
            # A policy says so, or an id factory gives no id.
            raise error
        where = max(window.offset, 0)  # a bug is told of even where it was the prompt that was read
        span = (where, where)
        lost = f"not emitted: {read!r}; " if read else ""
        sink.issue("internal_error", span, f"{error!r}; {lost}the rest is content")
        return take_all(window)

    def _refuse_reentry(self) -> None:
        """Refuse text and the end while this parser waits for an id.

        Raises:
            UsageError: the id factory called `feed` or `finish`.
        """
        ids = self._sink.ids
        if ids is not None and ids.busy:
            raise UsageError(
                "the id factory called feed() or finish() of the parser that waits for its id: "
                "return an id, and feed the parser after feed() has returned"
            )

    def _decode(self, chunk: str | bytes) -> str:
        """The text that a chunk adds; refuses chunks after the end."""
        if self._window.closed:
            message = "feed() after finish(): a parser reads one turn; make a new one for the next"
            raise UsageError(message)
        self._refuse_reentry()
        self._close_lane()
        decoder = self._decoder = self._decoder or TextDecoder()
        decoder.offset = self._window.end
        text = decoder.feed(chunk)
        self._alert = decoder.waiting
        if self._record is not None:
            self._record.chunks.append(chunk if isinstance(chunk, str) else bytes(chunk))
            self._alert = True
        return text

    def _end_text(self) -> None:
        """Feed the last of the decoder, close the window, and report what was replaced."""
        window, decoder = self._window, self._decoder
        self._close_lane()
        self._alert = True
        window.closed = True
        if decoder is None:
            return
        decoder.offset = window.end
        window.feed(decoder.finish())
        if decoder.first_replaced is not None and decoder.last_replaced is not None:
            count = decoder.replaced
            what = "1 sequence was" if count == 1 else f"{count} sequences were"
            span = decoder.first_replaced, decoder.last_replaced + 1
            self._sink.issue("invalid_text", span, f"{what} not UTF-8 and became U+FFFD")


def take_all(window: Window) -> str:
    """Read all the text there is: the step where no sub-parser is left."""
    return window.consume(len(window.text))


def _short(quick: Callable[[str], object]) -> Callable[[str], object]:
    """Find what `quick` finds, and something in every text that is long."""
    return lambda text: quick(text) if len(text) <= MOST_KEPT else text
