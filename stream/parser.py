"""The push parser: text in, deltas out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from deltaparse.partial import (
    MalformedOutput,
    Source,
    Steps,
    TextDecoder,
    UsageError,
    is_whole,
)

from .call_ids import IdFactory, MadeIds, call_id
from .deltas import ContentDelta, Delta
from .format import WireFormat
from .grammar import assistant_turn
from .message import Issue, Message
from .policies import Policies
from .record import Record
from .request import Request, ToolChoice
from .tally import Seen

__all__ = ["StreamParser"]

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

FinishReason = Literal["stop", "tool_calls", "length"]


class StreamParser:
    """Parses one turn of a model, fed as it comes, in pieces of any size.

    Args:
        fmt: how the model writes, from `analyze` or by hand. Shared freely between parsers.
        tools: the OpenAI tools of the request. None: any name may be called; []: tool syntax is
            plain text.
        prompt: the rendered prompt, or any tail of it that holds the generation prompt: a
            reasoning section that it opens or closes, or the beginning of an answer that it
            holds, sets the state to start in. Nothing of it comes out. Without it, the format's
            own generation prompt is taken.
        tool_choice: "auto"; "none" (tool syntax is plain text); "required" or an OpenAI tool
            choice object that names a function (what does not comply is an issue).
        parallel_tool_calls: False: a second call is what `Policies.extra_calls` says.
        reasoning: "separate" (deltas of its own); "inline" (in the content, between `<think>`
            and `</think>` whatever the model writes); "raw" (in the content, as the model
            wrote it).
        policies: what to do where the output is odd.
        response_schema: the JSON Schema that the content was asked to follow. JSON at the start
            of the turn is then content, also where calls stand in no markers, and a Markdown
            code block round it is left out.
        id_factory: makes the id of a call to which the model gave none; asked once for each.
            `nine_character_id` makes those that Mistral's templates take.
        record: keep what is fed, for `fork` and `snapshot`.
        collect: keep the message. Without it, the parser takes the same few kilobytes however
            long the output is, and has no `message`; policies that need one cannot be chosen.

    Raises:
        UsageError: an argument that makes no sense.
    """

    __slots__ = (
        "_alert",
        "_decoder",
        "_finish_reason",
        "_held",
        "_hold",
        "_open",
        "_passed",
        "_path",
        "_record",
        "_request",
        "_source",
        "_steps",
        "_tally",
        "_turn",
        "format",
    )

    def __init__(
        self,
        fmt: WireFormat,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        prompt: str = "",
        tool_choice: ToolChoice = "auto",
        parallel_tool_calls: bool = True,
        reasoning: Literal["separate", "inline", "raw"] = "separate",
        policies: Policies = Policies(),  # noqa: B008 - frozen
        response_schema: Mapping[str, Any] | None = None,
        id_factory: IdFactory = call_id,
        record: bool = False,
        collect: bool = True,
    ) -> None:
        request = Request(
            fmt,
            tools,
            prompt,
            tool_choice,
            parallel_tool_calls,
            reasoning,
            policies,
            response_schema,
            collect,
        )
        self.format = fmt
        self._request = request
        self._record: Record | None = None
        if record:
            ids = id_factory if isinstance(id_factory, MadeIds) else MadeIds(id_factory, [])
            self._record, id_factory = Record(request, ids), ids
        tail = request.turn_so_far()
        source = self._source = Source(offset=-len(tail))
        turn = self._turn = request.turn(source)
        self._steps: Steps[None] | None = assistant_turn(source, turn, request.lexicon())
        self._tally = turn.tally
        self._decoder: TextDecoder | None = None
        # While half a character waits, while a record is kept, and after the end: no piece is
        # taken as it is.
        self._alert = record
        self._finish_reason: FinishReason | None = None
        self._path: Path = CLOSED
        self._open: Path = CLOSED
        self._hold: Callable[[str], int] | None = None
        self._held = ""
        self._passed: list[str] = []
        if tail:
            source.feed(tail)
            self._resume()
        turn.start(id_factory, prompt)

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

    def finish(self, reason: Literal["stop", "length"] | None = None) -> list[Delta]:
        """Say that the output has ended; return the last deltas. A second call returns [].

        `reason` is the engine's: "length" when the output was cut off, "stop" when the model
        ended it, None when that is not known: then the text decides.

        Raises:
            UsageError: for another reason.
            MalformedOutput: where a policy says "error".
        """
        if reason not in ("stop", "length", "tool_calls", None):
            message = f'finish({reason!r}): the reason is "stop", "length" or None'
            raise UsageError(message)
        if self._finish_reason is not None:
            return []
        if self._record is not None:
            self._record.reasons.append(reason)
        turn = self._turn
        turn.natural = reason != "length"
        self._finish_reason = "stop" if turn.natural else "length"
        self._end_text()
        turn.content(self._resume() or "")
        turn.finish(required=self._request.required)
        if reason is None and any(issue.kind == "truncated_call" for issue in turn.issues):
            self._finish_reason = "length"
        elif turn.natural and turn.calls:
            self._finish_reason = "tool_calls"
        return self._handed_out()

    @property
    def message(self) -> Message:
        """The message so far.

        Raises:
            UsageError: the parser was made with `collect=False`.
        """
        self._settle()
        return self._turn.message()

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the turn ended: "tool_calls" if by itself and with calls; None before `finish`."""
        return self._finish_reason

    @property
    def issues(self) -> list[Issue]:
        """What had to be decided so far."""
        return list(self._turn.issues)

    @property
    def in_reasoning(self) -> bool:
        """Whether the text that was read last belongs to reasoning, which is still open."""
        return self._tally.section == "reasoning"

    @property
    def seen(self) -> Seen:
        """How much has come of content, of reasoning and of tool calls: characters and pieces."""
        self._settle()
        return self._turn.seen()

    def fork(self) -> StreamParser:
        """Make a second parser in the same state, for a beam or a retry.

        It reads what this one was fed once more, so it costs what that did, and hands none of it
        out again. Neither parser knows of the other; calls that are begun have one id in both.

        Raises:
            UsageError: the parser was made without `record=True`.
        """
        return self._replayed(self._recorded("fork()"))

    def snapshot(self) -> str:
        """Write the state as a JSON document, from which `restore` makes a parser elsewhere.

        It holds the format, the arguments of this parser and all that it was fed.

        Raises:
            UsageError: the parser was made without `record=True`, or tools that are not JSON.
        """
        return self._recorded("snapshot()").to_json()

    @classmethod
    def restore(cls, snapshot: str, *, id_factory: IdFactory = call_id) -> StreamParser:
        """Make the parser of a `snapshot`; of what it was fed, nothing is handed out again.

        `id_factory` makes the ids of calls that are still to come: a function is no JSON.

        Raises:
            UsageError: what is given is no snapshot.
        """
        return cls._replayed(Record.from_json(snapshot, id_factory))

    def where(self) -> str:
        """The state: the names of the sub-parsers that are waiting, outermost first."""
        names = []
        steps: Any = self._steps
        while steps is not None and getattr(steps, "gi_frame", None) is not None:
            names.append(steps.gi_code.co_name.strip("_"))
            steps = steps.gi_yieldfrom
        return " > ".join(names) or "end"

    def __repr__(self) -> str:
        self._settle()
        return f"<StreamParser at {self._source.offset}: {self.where()}>"

    def _read(self, text: str | bytes) -> list[Delta]:
        """Take a piece that is not of the plainest; return the deltas."""
        if type(text) is not str or self._alert or not (text.isascii() or is_whole(text)):
            text = self._decode(text)
        source, hold = self._source, self._hold
        if hold is not None:
            window = self._held + text
            end = hold(window)
            if end >= 0:
                return self._pass(window[:end], window[end:])
            self._wake_up()
        self._tally.pieces += 1
        if source.wake is not None and source.wake(text) is None:
            source.pass_by(text)
            self._fall_asleep()
            return self._handed_out()
        source.feed(text)
        step = source.step
        try:
            piece: str | None = step()
        except Exception as error:  # noqa: BLE001 - as in `_resume`
            piece = self._give_up(error)
        if piece is None:
            piece = self._resume()
        if source.wake is not None:
            self._fall_asleep()
        run = self._turn.run
        if piece and run is not None and run.sink is source.plain and not self._turn.out:
            write, make = run.write, run.make
            write(piece)
            return [make(piece)]
        if piece:
            source.plain(piece)
        return self._handed_out()

    def _pass(self, piece: str, held: str) -> list[Delta]:
        """Hand out a piece that passes the sleeper by; what is held back comes before the next."""
        self._held = held
        self._path = CLOSED if held else self._open
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
        source, run = self._source, self._turn.run
        if run is None or run.sink is not source.sink or self._alert:
            return
        quick, wake = source.quick, source.wake
        also = None if quick is wake or source.spell else wake
        if not self._request.collect:
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
        passed, run = self._passed, self._turn.run
        if passed and run is not None:
            source, text = self._source, "".join(passed)
            source.base += len(text)
            write, spell = run.write, source.spell
            write(text if spell is None else spell(text))
            self._tally.pieces += len(passed)
            passed.clear()

    def _handed_out(self) -> list[Delta]:
        """The deltas that the turn has."""
        out = self._turn.out
        deltas = out.copy()
        out.clear()
        return deltas

    def _recorded(self, asked: str) -> Record:
        if self._record is None:
            message = f"{asked} needs what was fed: make the parser with record=True"
            raise UsageError(message)
        return self._record

    @classmethod
    def _replayed(cls, record: Record) -> StreamParser:
        """A parser that was fed what the record has."""
        parser = cls(**record.arguments())
        record.replay(parser.feed, parser.finish)
        return parser

    def _resume(self) -> str | None:
        """Let the sub-parsers read what there is; return what is to go to `Source.plain`.

        They cannot be resumed after an exception, so whatever happens, the text that follows
        passes as content: no output is lost, not even to a bug of ours.
        """
        try:
            return self._rest() if self._steps is None else next(self._steps, None)
        except Exception as error:  # noqa: BLE001 - a bug must not lose output
            return self._give_up(error)

    def _give_up(self, error: Exception) -> str:
        """Go on without the sub-parsers; raises the error where it was meant to be raised."""
        turn, source = self._turn, self._source
        self._steps = None
        source.step, source.plain = self._rest, turn.content
        turn.end_call(complete=False)
        if isinstance(error, (MalformedOutput, UsageError)):
            # A policy says so, or an id factory gives no id.
            raise error
        span = (source.offset, source.offset)
        turn.issue("internal_error", span, f"{error!r}; the rest is content")
        return self._rest()

    def _rest(self) -> str:
        """All the text there is."""
        return self._source.take(len(self._source.text))

    def _decode(self, piece: str | bytes) -> str:
        """The text that a piece adds; refuses pieces after the end."""
        if self._finish_reason is not None:
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
