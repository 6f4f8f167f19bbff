"""One choice: the upstream's events are parsed, and the deltas are emitted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from deltaparse.stream import Delta, StreamParser

from .faults import Fault
from .logprobs import TokenTexts
from .stop_strings import Stops
from .upstreams.connection import Connection
from .upstreams.upstream import Received, plain_usage

__all__ = ["Emit", "Turn"]

Emit = Callable[[list[Delta]], Awaitable[None]]

AFTER_END = 2.0
"""Seconds to wait for the upstream's usage after the output has ended."""

MOST = 8 << 20
"""Default limit of an output, in characters."""

LOGPROB = 4
"""The weight of a log probability in characters, since it takes memory too."""

MOST_FORCED = 4
"""Limit of forced ends of reasoning, for a model that repeatedly starts reasoning again."""


class Turn:
    """Reads one output to its end, over one connection, or several if reasoning is ended early.

    Attributes, final after `finish`:

        reason: why the turn ended.
        told: the finish reason passed to the parser.
        stop: the client's stop string at which the turn ended.
        stopped_at: the upstream's stop string, or the id of its stop token.
        fault: the error, if any. All output received before it has been emitted.

    Args:
        parser: parses the output.
        stop: the client's stop strings.
        keep: keep `chunks` and `ids`: the raw output, and its token ids if the upstream reports
            them.
        budget: the limit of reasoning tokens, None for no limit.
        most: the limit of the output, in units of `size_of`. The output is truncated there.
        tokens: assigns tokens to deltas, None if log probabilities were not requested.
    """

    def __init__(
        self,
        parser: StreamParser,
        stop: tuple[str, ...] = (),
        *,
        keep: bool = False,
        budget: int | None = None,
        most: int = MOST,
        tokens: TokenTexts | None = None,
    ) -> None:
        self.parser = parser
        self.reason: str | None = None
        self.stop: str | None = None
        self.stopped_at: str | int | None = None
        self.fault: Fault | None = None
        self.overspent = False
        self.ended = False
        self.chunks: list[str] = []
        self.ids: list[int] = []
        self.prompt_tokens: int | None = None
        self.told: str | None = None
        self._asked = stop
        self._stops = Stops(stop)
        self._keep = keep or budget is not None
        self._budget = budget
        self._left = most
        self._forced = 0
        self._token_texts = tokens
        self._last: Received | None = None
        self._usage: Any = None
        # Tokens of this connection, of the connections before it, and of reasoning.
        self._tokens = 0
        self._tokens_before = 0
        self._reasoning_tokens = 0

    async def read(self, connection: Connection, emit: Emit) -> None:
        """Read events and emit their deltas. A slow receiver slows down the reader.

        Returns after the output has ended or failed, or after its reasoning exceeded the budget. In
        the last case `overspent` is True.
        """
        self.overspent = False
        try:
            if await self._read_output(connection, emit):
                await self._read_usage(connection)
        except Fault as fault:
            # After the end of the output, only the usage is missing. It is not worth a fault.
            if self._last is None and self._stops.found is None:
                self.fault = fault

    async def end_reasoning(self, marker: str, emit: Emit) -> None:
        """End the reasoning, and continue as if the model had written the marker."""
        text = self._stops.rest() + marker
        self.chunks.append(text)
        self._forced += 1
        if self._forced == MOST_FORCED:
            self._budget = None
        self._next_leg()
        if deltas := self.parser.feed(text):
            await emit(deltas)

    def cut(self) -> None:
        """Mark the output as truncated at its limit."""
        self._last = Received(reason="length")

    async def finish(self, emit: Emit) -> None:
        """End the output, and emit the buffered rest."""
        rest = self._stops.rest()
        if self._keep and rest:
            self.chunks.append(rest)
        self.told = self._ended()
        deltas = self.parser.feed(rest)
        deltas += self.parser.finish(self.told, stop_reason=self.stopped_at)
        self.ended = True
        if self._token_texts is not None:
            self._token_texts.place(deltas, 0)
        if deltas:
            await emit(deltas)

    @property
    def text(self) -> str:
        """The raw output. It is empty unless the chunks are kept."""
        return "".join(self.chunks)

    @property
    def held(self) -> int:
        """Number of buffered characters, whose meaning is not yet known."""
        return self.parser.held + self._stops.held

    @property
    def made(self) -> int:
        """Number of tokens generated so far."""
        said = plain_usage(self._usage) or {}
        return self._tokens_before + int(said.get("completion_tokens", self._tokens))

    @property
    def usage(self) -> dict[str, Any]:
        """The usage of the turn, as reported by the upstream. Missing numbers are estimated.

        A chunk without a token count counts as one token. Reasoning tokens are always estimated
        this way.
        """
        said = plain_usage(self._usage) or {}
        read = self.prompt_tokens
        if read is None:
            read = max(said.get("prompt_tokens", 0) - self._tokens_before, 0)
        made = self.made
        usage = said | {
            "prompt_tokens": read,
            "completion_tokens": made,
            "total_tokens": read + made,
        }
        details = dict(said.get("completion_tokens_details") or {})
        if self._reasoning_tokens:
            details.setdefault("reasoning_tokens", min(self._reasoning_tokens, made))
        return usage | {"completion_tokens_details": details} if details else usage

    @property
    def knows_prompt_tokens(self) -> bool:
        """True if the number of prompt tokens is known."""
        return self.prompt_tokens is not None or "prompt_tokens" in (plain_usage(self._usage) or {})

    @property
    def finish_reason(self) -> str | None:
        """The finish reason in the vocabulary of Chat Completions, None before the end."""
        if self.reason == "content_filter":
            return self.reason
        return self.parser.finish_reason if self.ended else None

    async def _read_output(self, connection: Connection, emit: Emit) -> bool:
        """Read up to the end of the output. Return False if reading stopped before.

        Raises:
            Fault: the upstream failed, or closed the connection early.
        """
        parser, stops, receive = self.parser, self._stops, connection.receive
        is_plain = not self._asked and not self._keep and self._token_texts is None
        while (received := await receive()) is not None:
            if received.usage is not None:
                self._usage = received.usage
            if received.text:
                size = size_of(received)
                if size > self._left:
                    received = received._replace(text=received.text[: self._left])
                self._left -= size
                tokens = received.tokens or 1
                self._tokens += tokens
                if parser.in_reasoning:
                    self._reasoning_tokens += tokens
                deltas = parser.feed(received.text) if is_plain else self._fed(received)
                if deltas:
                    await emit(deltas)
                if self._left < 0:
                    self.cut()
                    return False
                if self._budget is not None and self._is_overspent(received):
                    self.overspent = True
                    return False
            if received.reason is not None:
                self._last = received
                return True
            if stops.found is not None:
                return True
        raise Fault("the upstream closed the connection early", status=502)

    async def _read_usage(self, connection: Connection) -> None:
        """Read the usage after the end of the output, for a limited time. Ignore more output."""
        connection.limit(asyncio.get_running_loop().time() + AFTER_END)
        while (received := await connection.receive()) is not None:
            if received.usage is not None:
                self._usage = received.usage
            if received.reason is not None:
                self._last = received

    def _fed(self, received: Received) -> list[Delta]:
        """Feed the parser up to a stop string, and keep the output if necessary."""
        if self._token_texts is not None:
            return self._by_token(received, self._token_texts)
        text = self._stops.feed(received.text)
        if self._keep:
            self._kept(text, received)
        return self.parser.feed(text)

    def _by_token(self, received: Received, tokens: TokenTexts) -> list[Delta]:
        """Feed the parser one token at a time, so that the tokens of each delta are known."""
        deltas: list[Delta] = []
        read = ""
        for text in tokens.came(received.text, received.logprobs):
            before = self._stops.held
            fed = self._stops.feed(text)
            read += fed
            found = self.parser.feed(fed)
            if self._stops.found is not None:
                tokens.end(before + len(text) - len(fed))
            tokens.place(found, self.held)
            deltas += found
            if self._stops.found is not None:
                break
        if self._keep:
            self._kept(read, received)
        return deltas

    def _kept(self, text: str, received: Received) -> None:
        self.chunks.append(text)
        self.ids += [id for id in received.ids if type(id) is int]

    def _is_overspent(self, received: Received) -> bool:
        return (
            self._budget is not None
            and self._reasoning_tokens >= self._budget
            and self.parser.in_reasoning
            and received.reason is None
            and self._stops.found is None
        )

    def _next_leg(self) -> None:
        """Add the tokens of this connection, since the next one counts from zero."""
        said: Mapping[str, Any] = plain_usage(self._usage) or {}
        if self.prompt_tokens is None and "prompt_tokens" in said:
            self.prompt_tokens = max(said["prompt_tokens"] - self._tokens_before, 0)
        self._tokens_before = self.made
        self._usage, self._tokens = None, 0

    def _ended(self) -> str | None:
        """Set `reason` and return the finish reason for the parser.

        The client's stop string may cut a turn anywhere. So a missing closer is not reported as
        swallowed. The same applies if the upstream may have matched a stop string, but does not
        report it.
        """
        last, self.stop = self._last, self._stops.found
        if self.fault is not None:
            return None
        if self.stop is not None or last is None:
            return None
        if last.reason != "stop":
            self.reason = last.reason
            return "length" if last.reason == "length" else None
        if last.stop is None:
            return None if self._asked else "stop"
        if isinstance(last.stop, str) and last.stop in self._asked:
            self.stop = last.stop
            return None
        # Only a closer reported by the upstream counts as swallowed.
        self.stopped_at = None if last.stop == "" else last.stop
        return "stop"


def size_of(received: Received) -> int:
    """Return the size of an event, in characters.

    The size is the number of token ids, or `LOGPROB` per log probability, if that is greater.
    """
    likely = sum(1 + len(entry.get("top_logprobs") or ()) for entry in received.logprobs)
    return max(len(received.text), len(received.ids), LOGPROB * likely)
