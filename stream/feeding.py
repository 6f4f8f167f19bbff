"""How text comes to the sub-parsers, and deltas come out: the way of every piece.

    short way   a sleeping sub-parser said that such text needs none: it is handed out as it is
    step        a function that the waiting sub-parser left behind reads the text in its place
    resume      the sub-parser goes on

Each costs a fraction of the next, and nearly all text takes the first. `partial.source` says what a
sub-parser leaves behind; the short way is open while all that passes it by goes to one part of the
message, unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltaparse.partial import MalformedOutput, Steps, TextDecoder, UsageError, Window, is_whole

from .message.deltas import ContentDelta, Delta
from .message.sink import Sink
from .snapshot import Recording

__all__ = ["CLOSED", "MOST_PASSED", "Feeder"]

MOST_PASSED = 256
"""Pieces that `feed` hands out by itself before they are written down, all at once."""

MOST_KEPT = 256
"""Characters of such a piece where the message is not collected, and nothing else keeps it."""

Path = tuple[
    Callable[[Any], object], Callable[[Any], object] | None, list[Any], Callable[[Any], Delta]
]
"""A piece in which one of these finds nothing is put there, and handed out as that."""

CLOSED: Path = (len, None, [], ContentDelta)
"""Nothing goes this way: the length of a piece is something."""


class Feeder:
    """Takes the text of one turn in pieces, lets the sub-parsers read it, and hands out deltas.

    `steps` are the sub-parsers, which read `source` and write to `turn`. `record` takes each piece
    as it came. Without `collect`, the text of the message is not kept.
    """

    __slots__ = (
        "_alert",
        "_collect",
        "_decoder",
        "_held",
        "_hold",
        "_open",
        "_passed",
        "_path",
        "_record",
        "_source",
        "_steps",
        "_tally",
        "_turn",
    )

    _open: Path

    def __init__(
        self,
        source: Window,
        turn: Sink,
        steps: Steps[None],
        record: Recording | None,
        collect: bool,
    ) -> None:
        self._source = source
        self._turn = turn
        self._steps: Steps[None] | None = steps
        self._tally = turn.tally
        self._record = record
        self._collect = collect
        self._decoder: TextDecoder | None = None
        # While half a character waits, while a record is kept, and after the end: no piece is
        # taken as it is.
        self._alert = record is not None
        self._path: Path = CLOSED
        self._hold: Callable[[str], int] | None = None
        self._held = ""
        self._passed: list[str] = []

    def feed(self, text: str | bytes) -> list[Delta]:
        """Take the next piece of the output; return what it makes certain, often nothing.

        Bytes are UTF-8 that may be cut anywhere. What is not UTF-8 becomes U+FFFD, and so does
        half of a surrogate pair whose other half does not follow; `finish` makes it an issue.

        Raises:
            UsageError: after `finish`.
            MalformedOutput: where a policy says "error".
        """
        # The path of most pieces: text of the open part in which nothing is that the sleeping
        # parser waits for (`_read`). It costs half of what `_read` does for the same.
        quick, wake, passed, make = self._path
        try:
            if (
                text
                and (quick(text) is None or (wake is not None and wake(text) is None))
                and len(passed) < MOST_PASSED
            ):
                passed.append(text)
                return [make(text)]
        except TypeError:
            pass  # bytes, or what is no text at all: `_decode` tells
        return self._read(text)

    def _read(self, text: str | bytes) -> list[Delta]:
        """Take a piece that is not of the plainest; return the deltas."""
        if type(text) is not str or self._alert or not (text.isascii() or is_whole(text)):
            text = self._decode(text)
        source, hold = self._source, self._hold
        if hold is not None:
            held = self._held
            window = held + text if held else text
            end = hold(window)
            if end >= 0:
                return self._pass(window, end)
            self._wake_up()
        self._tally.chunks += 1
        if source.wake is not None and source.wake(text) is None:
            source.pass_by(text)
            self._fall_asleep()
            return self._handed_out()
        source.feed(text)
        step = source.step
        try:
            piece: str | None = step(source)
        except Exception as error:  # noqa: BLE001 - as in `_resume`
            piece = self._give_up(error)
        if piece is None:
            piece = self._resume()
        if source.wake is not None:
            self._fall_asleep()
        if piece:
            turn = self._turn
            run = turn.part_of(source.plain)
            if run is not None and not turn.parts.out:
                write, make = run.write, run.make
                write(piece)
                return [make(piece)]
            source.plain(piece)
        return self._handed_out()

    def _pass(self, piece: str, end: int) -> list[Delta]:
        """Hand out a piece up to `end`, which passes the sleeper by; the rest is held back."""
        self._held = held = piece[end:]
        self._path = CLOSED if held else self._open
        piece = piece[:end] if held else piece
        spell, make = self._source.spell, self._open[-1]
        passed = self._passed
        if len(passed) >= MOST_PASSED or len(piece) > MOST_KEPT:
            self._settle()
        passed.append(piece)
        if spell is not None:
            piece = spell(piece)
        return [make(piece)] if piece else []

    def _fall_asleep(self) -> None:
        """Let what passes the sleeper by go the short way, if all of it goes to the open part."""
        source = self._source
        run = self._turn.part_of(source.sink)
        if run is None or self._alert:
            return
        quick, wake = source.quick, source.wake
        also = None if quick is wake or source.spell else wake
        if not self._collect:
            quick, also = _short(quick), None
        self._open = self._path = quick, also, self._passed, run.make
        self._hold = source.hold

    def _wake_up(self) -> None:
        """Let the sub-parsers read what comes, beginning with what is held back."""
        self._settle()
        self._path = CLOSED
        self._hold = None
        if self._held:
            self._source.feed(self._held)
            self._held = ""

    def _settle(self) -> None:
        """Write down what was handed out on the short way, and tell the source that it passed."""
        passed, run = self._passed, self._turn.parts.run
        if passed and run is not None:
            source, text = self._source, "".join(passed)
            source.base += len(text)
            write, spell = run.write, source.spell
            write(text if spell is None else spell(text))
            self._tally.chunks += len(passed)
            passed.clear()

    def _handed_out(self) -> list[Delta]:
        """The deltas that the turn has."""
        out = self._turn.parts.out
        deltas = out.copy()
        out.clear()
        return deltas

    def _resume(self) -> str | None:
        """Let the sub-parsers read what there is; return what is to go to `Window.plain`.

        They cannot be resumed after an exception, so whatever happens, the text that follows
        passes as content: no output is lost, not even to a bug of ours.
        """
        try:
            return _all(self._source) if self._steps is None else next(self._steps, None)
        except Exception as error:  # noqa: BLE001 - a bug must not lose output
            return self._give_up(error)

    def _give_up(self, error: Exception) -> str:
        """Go on without the sub-parsers; raises the error where it was meant to be raised."""
        turn, source = self._turn, self._source
        self._steps = None
        source.step, source.plain = _all, turn.content
        turn.end_call(complete=False)
        if isinstance(error, (MalformedOutput, UsageError)):
            # A policy says so, or an id factory gives no id.
            raise error
        span = (source.offset, source.offset)
        turn.issue("internal_error", span, f"{error!r}; the rest is content")
        return _all(source)

    def _decode(self, piece: str | bytes) -> str:
        """The text that a piece adds; refuses pieces after the end."""
        if self._source.closed:
            message = "feed() after finish(): a parser reads one turn; make a new one for the next"
            raise UsageError(message)
        self._wake_up()
        decoder = self._decoder = self._decoder or TextDecoder()
        decoder.given = self._source.end
        text = decoder.feed(piece)
        self._alert = decoder.waiting
        if self._record is not None:
            self._record.pieces.append(piece if isinstance(piece, str) else bytes(piece))
            self._alert = True
        return text

    def _end_text(self) -> None:
        """Give the source the last of the decoder, close it, and tell what was replaced."""
        source, decoder = self._source, self._decoder
        self._wake_up()
        self._alert = True
        source.closed = True
        if decoder is None:
            return
        decoder.given = source.end
        source.feed(decoder.finish())
        if decoder.first_replaced is not None and decoder.last_replaced is not None:
            count = decoder.replaced
            what = "1 piece was" if count == 1 else f"{count} pieces were"
            span = decoder.first_replaced, decoder.last_replaced + 1
            self._turn.issue("invalid_text", span, f"{what} not UTF-8 and became U+FFFD")


def _short(quick: Callable[[str], object]) -> Callable[[str], object]:
    """Find what `quick` finds, and something in every text that is long."""
    return lambda text: quick(text) if len(text) <= MOST_KEPT else text


def _all(src: Window) -> str:
    """Read all the text there is: the step where no sub-parser is left."""
    return src.take(len(src.text))
