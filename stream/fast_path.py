"""The life of a chunk: from `feed` through the sub-parsers to deltas.

    bypassing    the waiting sub-parser lets the text pass: the text is emitted as a delta
    splitting    only the tail may become a marker: the text before it bypasses, the tail waits
    a step       the waiter's function reads the text in place of the sub-parser
    resuming     the sub-parser continues

Each way costs a fraction of the next one, and nearly all text bypasses. A chunk inside a string
must cost two searches in C, one list and one delta, whatever surrounds the string. So text skips
the window in the first two ways. While the waiter's lane leads to the open part of the message,
`feed` makes the delta itself and notes the text in `_passed`. The window and the message are
updated later, for many chunks at once (`_settle`). Updating them with each chunk would cost twice
as much. The price is one rule: settle before you read the message, the window or the counts.

`deltaparse.partial.bypass` describes waiters and lanes.
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

# Limited, because the noted texts are kept in memory until they are settled.
MOST_PASSED = 256
"""The maximum number of chunks that `feed` emits before it updates the message, all at once."""

# Limited, so that a parser with `collect=False` needs a few kilobytes even if chunks are large.
MOST_KEPT = 256
"""The maximum length of a bypassing chunk if the message is not collected."""

FastPath = tuple[
    Callable[[Any], object], Callable[[Any], object] | None, list[Any], Callable[[Any], Delta]
]
"""Two searches (the second may be None), a list and a delta class.

If either search returns None for a chunk, the chunk is noted in the list and emitted as a delta.
"""

CLOSED: FastPath = (len, None, [], ContentDelta)
"""The closed fast path: `len` never returns None, so every chunk is read."""

ENDED = object()
"""The default for `next`, returned if the sub-parsers have ended."""


class Feeder:
    """Base class of the parsers of a turn: sub-parsers read its chunks and emit deltas.

    A subclass defines `feed`, which lets text bypass by itself. One more call would add a tenth to
    the cost of a chunk.

    Args:
        window: the window that the sub-parsers read.
        sink: receives the text that the sub-parsers emit.
        steps: the sub-parsers.
        record: receives each chunk unchanged. None: chunks are not recorded.
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
        # True while half a character waits, while a record is kept, and after the end, because
        # each chunk must go through `_decode` then.
        self._alert = record is not None
        self._passed: list[str] = []
        self._path: FastPath = CLOSED
        # The lane to the open part, None while the fast path is closed.
        self._lane: Lane | None = None
        # The tail that may become a marker: it is not in the window while a lane is open.
        self._held = ""

    def _read(self, text: str | bytes) -> list[Delta]:
        """Read a chunk that did not bypass, and return its deltas."""
        # `isascii` first, because it reads a flag of the string while `is_whole` searches.
        if type(text) is not str or self._alert or not (text.isascii() or is_whole(text)):
            text = self._decode(text)
        window, lane = self._window, self._lane
        if lane is not None:
            held = self._held
            chunk = held + text if held else text
            end = lane.split(chunk)
            if end >= 0:
                passed = self._passed
                # Settled here too, because long chunks would keep much text in `_passed`.
                if len(passed) >= MOST_PASSED or end > MOST_KEPT:
                    self._settle()
                # The next chunk must be read together with a tail, so it cannot bypass then.
                self._held, self._path = chunk[end:], CLOSED if end < len(chunk) else self._open
                chunk = chunk[:end]
                passed.append(chunk)
                shown = chunk if lane.spell is None else lane.spell(chunk)
                # An empty delta would be useless, but the text is noted either way.
                return [self._open[-1](shown)] if shown else []
            # The tail is read as a part of this chunk, so it must not be fed twice.
            self._held, text = "", chunk
            self._close_lane()
        ids = self._sink.ids
        if ids is not None and ids.busy:
            self._refuse_reentry()
        builder = self._builder
        builder.chunks += 1
        waiter = window.waiter
        if waiter is not None:
            # Tested before the step, because most chunks of short calls end here.
            if waiter.known and not window.pos and window.text + text in waiter.known:
                window.text += text
                return []
            lane = waiter.lane
            if lane is not None:
                if lane.exact(text) is None:
                    window.pass_by(text)
                    return self._emitted()
                # A lane is valid only while the window is empty.
                waiter.lane = None
        window.feed(text)
        try:
            read = None if waiter is None or waiter.step is None else waiter.step(window)
        except Exception as error:  # noqa: BLE001 - as in `_resume`
            return self._emitted(self._give_up(error))
        # Without a result of the step, the sub-parser must be resumed.
        if waiter is None or read is None:
            return self._emitted(self._resume())
        # No text was read, so neither the lane nor the message can have changed.
        if not (read or waiter.lane or builder.out):
            return []
        kind = builder.kind
        # Text for the open part alone does not need the sink, so the delta is made here.
        if not read or builder.out or kind is None or self._writers[kind] is not waiter.emit:
            return self._emitted(read)
        if waiter.lane is not None:
            self._open_lane(waiter, waiter.lane)
        builder.write(read)
        return [builder.make(read)]

    def _open_lane(self, waiter: Waiter, lane: Lane) -> None:
        """Open the fast path if all text that bypasses the waiter goes to the open part."""
        builder = self._builder
        kind = builder.kind
        # Any other sink does more with the text than to append it to the open part.
        if kind is None or self._alert or self._writers[kind] is not waiter.sink:
            return
        quick, exact = lane.quick, lane.exact
        # If the lane spells, only `quick` proves that the text is emitted unchanged.
        also = None if quick is exact or lane.spell else exact
        if not builder.collect:
            # `exact` would let a long chunk pass, so long chunks must go to `_read`.
            quick, also = _short(quick), None
        self._open = self._path = quick, also, self._passed, builder.make
        self._lane = lane

    def _close_lane(self) -> None:
        """Close the fast path, so that the sub-parsers read the buffered and all later text."""
        # The window must be up to date before a sub-parser reads it.
        self._settle()
        self._path = CLOSED
        self._lane = None
        if self._window.waiter is not None:
            self._window.waiter.lane = None
        if self._held:
            self._window.feed(self._held)
            self._held = ""

    def _settle(self) -> None:
        """Add the noted text to the message, and move the window after it."""
        passed, builder, lane = self._passed, self._builder, self._lane
        if passed and lane is not None:
            text = "".join(passed)
            self._window.move_after(text)
            builder.write(text if lane.spell is None else lane.spell(text))
            builder.chunks += len(passed)
            # Cleared in place, because `_path` refers to the same list.
            passed.clear()

    def _emitted(self, read: str | None = None) -> list[Delta]:
        """Return the deltas that the sub-parsers made, and remove them from the builder.

        Args:
            read: text that was read, for the waiter to emit first.
        """
        waiter = self._window.waiter
        if waiter is not None:
            # The text may have begun the part that the lane leads to.
            if waiter.lane is not None:
                self._open_lane(waiter, waiter.lane)
            if read:
                waiter.emit(read)
        out = self._builder.out
        if not out:
            return []
        # Copied, because the caller may keep the list, and the builder reuses its own.
        deltas = out.copy()
        out.clear()
        return deltas

    def _resume(self) -> str | None:
        """Resume the sub-parsers, and return the text for `Waiter.emit`.

        Generators cannot be resumed after an exception. So all text after one is emitted as
        content, and even a bug in the library loses no text.
        """
        try:
            if self._steps is None:
                return take_all(self._window)
            # A waiter is valid until the sub-parser is resumed.
            self._window.waiter = None
            # A sub-parser that waits after the end would lose the text that it has buffered.
            if next(self._steps, ENDED) is not ENDED and self._window.closed:
                return self._give_up(RuntimeError("a sub-parser waits after the end of the input"))
        except Exception as error:  # noqa: BLE001 - a bug must not lose output
            return self._give_up(error)
        return None

    def _give_up(self, error: Exception) -> str:
        """Continue without the sub-parsers, and return the unread text.

        Raises:
            MalformedOutput: `error`, if a policy is "error".
            UsageError: `error`, if an id factory returned no id.
        """
        sink, window = self._sink, self._window
        self._steps = None
        # Text after a mark may not have been emitted, so it must be read again.
        window.rewind()
        window.waiter = Waiter(sink.content, take_all, sink.content)
        read = "".join([*sink.held, *sink.not_emitted, *sink.extra_members])
        if self._builder.kind is not Content:
            sink.end_call(complete=False)
        if isinstance(error, (MalformedOutput, UsageError)):
            # These are intended: by a policy "error", or because an id factory returned no id.
            raise error
        # Offsets in the prompt are negative, but an issue must have a span in the output.
        at = max(window.offset, 0)
        span = (at, at)
        lost = f"not emitted: {read!r}; " if read else ""
        sink.issue("internal_error", span, f"{error!r}; {lost}the rest is content")
        return take_all(window)

    def _refuse_reentry(self) -> None:
        """Check that the parser is not waiting for an id.

        Raises:
            UsageError: the id factory called `feed` or `finish`.
        """
        ids = self._sink.ids
        if ids is not None and ids.busy:
            raise UsageError(
                "the id factory called feed() or finish() of its own parser: it must only return "
                "an id. Feed the parser after feed() has returned"
            )

    def _decode(self, chunk: str | bytes) -> str:
        """Decode a chunk and record it.

        Raises:
            UsageError: the parser has finished, or the chunk is neither str nor bytes.
        """
        if self._window.closed:
            message = "feed() after finish(): a parser reads one turn; make a new one for the next"
            raise UsageError(message)
        self._refuse_reentry()
        # Buffered text must be read before the text of this chunk.
        self._close_lane()
        # Made on first use, because most parsers receive complete characters only.
        decoder = self._decoder = self._decoder or TextDecoder()
        decoder.offset = self._window.end
        text = decoder.feed(chunk)
        # The other half of a character is in the next chunk, which must be decoded too.
        self._alert = decoder.waiting
        if self._record is not None:
            # `bytes` copies a bytearray or memoryview, which the caller may change later.
            self._record.chunks.append(chunk if isinstance(chunk, str) else bytes(chunk))
            self._alert = True
        return text

    def _end_text(self) -> None:
        """Feed the rest of the decoder, close the window, and report replaced bytes."""
        window, decoder = self._window, self._decoder
        self._close_lane()
        self._alert = True
        window.closed = True
        if decoder is None:
            return
        decoder.offset = window.end
        # Half a character at the end will not be completed, so it becomes U+FFFD.
        window.feed(decoder.finish())
        if decoder.first_replaced is not None and decoder.last_replaced is not None:
            count = decoder.replaced
            subject = "1 sequence was" if count == 1 else f"{count} sequences were"
            # One issue covers them all, because a binary response would have thousands.
            span = decoder.first_replaced, decoder.last_replaced + 1
            self._sink.issue(
                "invalid_text", span, f"{subject} not valid UTF-8 and replaced by U+FFFD"
            )


def take_all(window: Window) -> str:
    """Read all text of the window: the step of a turn without sub-parsers."""
    return window.consume(len(window.text))


def _short(quick: Callable[[str], object]) -> Callable[[str], object]:
    """Return a search that finds the same as `quick`, and also matches any long text."""
    return lambda text: quick(text) if len(text) <= MOST_KEPT else text
