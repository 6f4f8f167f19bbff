"""The base of the encoders: the open part, its end, and bytes.

    start    ( part )*    finish
    part  =  opened  text*  closed

An encoder keeps no message. The end of a part follows from the next event: a delta of another kind,
the head of another call, `ToolCallDelta.last`, or the finish. A protocol's class defines only the
output of these five steps.

Most deltas are text for the open part. So an event of the part is written as bytes once, with a
mark in place of the text. Each further event reuses the bytes before and after the mark, and only
the text is encoded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
)
from typing import Any, Literal

from deltaparse.partial import UsageError
from deltaparse.stream import ContentDelta, Delta, Message, ReasoningDelta, ToolCallDelta
from deltaparse.stream.finish_reasons import Reason, WhenEnded

from ..protocol_finish_reasons import FinishReason, is_cut, read_reason
from ..sse_writer import Writer, frame_writer, sse
from ..usage import Usage, known

__all__ = ["Encoder", "Event", "Kind", "Logprobs"]

Event = dict[str, Any]
"""One event of a stream, as JSON."""

Logprobs = Callable[[Delta], Any]
"""Returns the log probabilities of a delta's tokens, in OpenAI's shape."""

MARK = "\x00deltaparse\x00"
"""The placeholder for a text in an event."""
QUOTED = r'"\u0000deltaparse\u0000"'

Kind = Literal["content", "reasoning", "call", "refusal"]
KINDS: dict[type[Delta], Kind] = {
    ContentDelta: "content",
    ReasoningDelta: "reasoning",
    ToolCallDelta: "call",
}


class Encoder(ABC):
    """Writes deltas as the events of one protocol.

        encoder = ChatCompletions(id="chatcmpl-1", model="mine", created=1_700_000_000)
        send(encoder.sse(encoder.start()))
        for text in texts:
            send(encoder.push_bytes(parser.feed(text)))
        send(encoder.push_bytes(parser.finish("stop")))
        send(encoder.sse(encoder.finish(parser.finish_reason, usage)))

    `start`, `push` and `finish` return events as dicts, `push_bytes` and `sse` return bytes.

    Args:
        id: the id of the response.
        model: the model name for clients.
        created: the time of the response, in seconds since 1970.
        fields: additional members of the response.
    """

    def __init__(
        self, *, id: str, model: str, created: int = 0, fields: Mapping[str, Any] | None = None
    ) -> None:
        self.id = id
        self.model = model
        self.created = created
        self.fields = dict(fields or {})
        self._phase: Literal["new", "open", "ended"] = "new"
        # The open part: the writer of its text, and the index of its call.
        self._type: type[Delta] | None = None
        self._kind: Kind | None = None
        self._index = -1
        self._calls = 0
        # The ended calls without a `last` delta.
        self._incomplete: set[int] = set()
        # True if the open call, or one of these, has no arguments.
        self._bare = self._had_bare = False
        # The writer of text as bytes for the open part, from the second text on.
        self._write: Writer | None = None
        self._hides_reasoning = False
        self._logprobs: Logprobs | None = None
        self._delta: Delta | None = None

    def start(self) -> list[Event]:
        """Return the events that begin the response.

        Raises:
            UsageError: the response was started before.
        """
        if self._phase != "new":
            raise UsageError("start() was called before: create a new encoder for each response")
        self._phase = "open"
        return self._started()

    def push(self, delta: Delta) -> list[Event]:
        """Return the events of a delta.

        Raises:
            UsageError: the call precedes `start` or follows `finish`, the delta is for a call that
                is not open, or the argument is not a delta.
        """
        kind = type(delta)
        if self._logprobs is not None:
            self._delta = delta
        if not isinstance(delta, ToolCallDelta):
            text = getattr(delta, "text", None)
            if not text:
                if text is None:
                    words = f"push() takes one delta, not {kind.__name__}: for delta in deltas"
                    raise UsageError(words)
                return []
            if kind is self._type:
                return self._text(text)
            return self._open_part(delta, text)
        if kind is self._type and delta.index == self._index and delta.name is None:
            events = self._text(delta.arguments) if delta.arguments else []
            self._bare = self._bare and not delta.arguments
        else:
            events = self._open_call(delta)
        if delta.last and self._kind == "call":
            events += self._close_part(complete=True)
        return events

    def push_bytes(self, deltas: Iterable[Delta]) -> bytes:
        """Return the server-sent events of the deltas, as `sse` writes the events of `push`."""
        if type(deltas) is not list or len(deltas) != 1:
            given: Any = deltas
            if not isinstance(given, Iterable):
                kind = type(given).__name__
                raise UsageError(f"push_bytes() takes the deltas of feed(), not {kind}: [delta]")
            return b"".join([self.push_bytes([delta]) for delta in deltas])
        (delta,) = deltas
        write = self._write
        if write is not None and type(delta) is self._type:
            if not isinstance(delta, ToolCallDelta):
                text = delta.text
                return write(text) if text else b""
            if delta.name is None and not delta.last and delta.index == self._index:
                text = delta.arguments
                return write(text) if text else b""
        written = sse(self.push(delta))
        if self._write is None and not (
            self._type is None or self._bare or self._logprobs is not None
        ):
            self._write = self._writer(*self._frame())
        return written

    def finish(
        self, finish_reason: Reason, usage: Usage = None, *, stop_sequence: str | None = None
    ) -> list[Event]:
        """Return the events that end the response.

        Args:
            finish_reason: the reason: `StreamParser.finish_reason`, or the term of any engine or
                protocol. A natural end with calls is "tool_calls". An unknown term counts as
                truncation, as does an engine's "stop" while a call is open.
            usage: the usage, in the shape of any protocol, or a function that returns it.
            stop_sequence: the stop string that ended the turn, for protocols that report it.

        Raises:
            UsageError: the call precedes `start` or follows `finish`, or the reason is missing.
        """
        self._check_open()
        open_call = self._kind == "call"
        reason = read_reason(finish_reason, calls=self._calls > 0, open_call=open_call)
        events = self._close_part(cut=is_cut(reason))
        self._phase = "ended"
        return events + self._finished(reason, known(usage), stop_sequence)

    def refuse(self, text: str) -> list[Event]:
        """Return the events of the next text of a refusal by the model or a filter."""
        self._check_open()
        if self._kind == "refusal":
            return self._text(text)
        events = self._close_part()
        self._kind, self._delta = "refusal", None
        return events + self._opened("refusal", None, text)

    def error(self, message: str, *, type: str = "server_error", code: str = "") -> list[Event]:
        """Return the events that end the response with an error, instead of `finish`.

        `type` and `code` are as in the protocol's own errors.
        """
        if self._phase == "ended":
            self._check_open()
        self._phase = "ended"
        self._type = self._kind = self._write = None
        return self._failed(message, type, code)

    def sse(self, events: Iterable[Event]) -> bytes:
        """Write events as server-sent events."""
        return sse(events)

    def events(
        self, deltas: Iterable[Delta], finish_reason: WhenEnded, usage: Usage = None
    ) -> Iterator[Event]:
        """Iterate over all events of a response. A function is called for the reason at the end."""
        yield from self.start()
        for delta in deltas:
            yield from self.push(delta)
        yield from self.finish(known(finish_reason), usage)

    async def aevents(
        self, deltas: AsyncIterable[Delta], finish_reason: WhenEnded, usage: Usage = None
    ) -> AsyncIterator[Event]:
        """Iterate over the events of asynchronous deltas, as `events` does."""
        for event in self.start():
            yield event
        async for delta in deltas:
            for event in self.push(delta):
                yield event
        for event in self.finish(known(finish_reason), usage):
            yield event

    @abstractmethod
    def response(
        self,
        message: Message,
        finish_reason: Reason,
        usage: Usage = None,
        *,
        stop_sequence: str | None = None,
    ) -> dict[str, Any]:
        """Return the complete response, for a request without streaming.

        It equals the response that a client builds from the stream. Arguments are the same as in
        `finish`.
        """

    @abstractmethod
    def _started(self) -> list[Event]:
        """Return the events before all parts."""

    @abstractmethod
    def _opened(self, kind: Kind, call: ToolCallDelta | None, text: str) -> list[Event]:
        """Return the events that open a part, with its first text."""

    @abstractmethod
    def _text_event(self, text: str) -> Event:
        """Return the event of a text for the open part."""

    def _text(self, text: str) -> list[Event]:
        """Return the events of a text for the open part, none if it is empty."""
        return [self._text_event(text)] if text else []

    def _closed(self, kind: Kind, *, complete: bool, cut: bool) -> list[Event]:  # noqa: ARG002
        """Return the events that close a part: a `complete` call, or a part that was `cut`."""
        return []

    @abstractmethod
    def _finished(
        self, reason: FinishReason, usage: Mapping[str, Any] | None, stop_sequence: str | None
    ) -> list[Event]:
        """Return the events after all parts."""

    @abstractmethod
    def _failed(self, message: str, type: str, code: str) -> list[Event]:
        """Return the events that report a failure of the server."""

    def _frame(self) -> tuple[str, str]:
        """Return the bytes before and after the text in events of the open part."""
        head, _, tail = sse([self._text_event(MARK)]).decode().partition(QUOTED)
        return head, tail

    def _writer(self, head: str, tail: str) -> Writer:
        """Return a function that does the work of `_text` as bytes."""
        return frame_writer(head, tail)

    def _check_open(self) -> None:
        if self._phase != "open":
            what = "start() comes first" if self._phase == "new" else "the response has ended"
            raise UsageError(f"{what}: an encoder writes one response, from start() to finish()")

    def _open_part(self, delta: ContentDelta | ReasoningDelta, text: str) -> list[Event]:
        """Close the open part, and open the part of a text."""
        self._check_open()
        events = self._close_part()
        kind = KINDS[type(delta)]
        if kind == "reasoning" and self._hides_reasoning:
            return events
        self._type, self._kind = type(delta), kind
        return events + self._opened(kind, None, text)

    def _open_call(self, delta: ToolCallDelta) -> list[Event]:
        """Close the open part, and open a call. A call that is closed may be complete."""
        self._check_open()
        if delta.name is None:
            if delta.arguments:
                raise UsageError(f"call {delta.index} gets arguments, but is not the open part")
            if delta.last:
                self._incomplete.discard(delta.index)
            return []
        events = self._close_part()
        self._type, self._kind, self._index = ToolCallDelta, "call", delta.index
        self._bare = not delta.arguments
        self._calls += 1
        return events + self._opened("call", delta, delta.arguments)

    def _close_part(self, *, complete: bool = False, cut: bool = False) -> list[Event]:
        """Close the open part, if there is one."""
        kind = self._kind
        if kind is None:
            return []
        if kind == "call" and not complete:
            self._incomplete.add(self._index)
            self._had_bare = self._had_bare or self._bare
        events = self._closed(kind, complete=complete, cut=cut)
        self._type = self._kind = self._write = None
        self._bare = False
        return events
