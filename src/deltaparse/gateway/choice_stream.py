"""One choice: what an upstream sends, through a parser, to whoever takes the deltas."""

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
"""Seconds in which an upstream may send its numbers, once the output has ended."""

MOST = 8 << 20
"""Characters of an output."""

LOGPROB = 4
"""Characters as which a log probability counts, for it takes memory as well."""

MOST_FORCED = 4
"""How often reasoning is ended for a model that begins it again and again."""


class Turn:
    """Reads one output to its end, over one connection or, where reasoning was ended, several.

    Afterwards `reason` says why the turn ended, `told` what the parser was told of it, `stop` at
    which stop string of the client, `stopped_at` at which of the upstream's own, or at which token,
    and `fault` what went wrong: what came until then has been emitted.

    Args:
        parser: reads the output.
        stop: the stop strings of the client.
        keep: whether `chunks` and `ids` are kept: the output as it came, and its tokens as far as
            the upstream says them.
        budget: how many tokens of reasoning there may be, None for any number.
        most: how much the output may have, as `size_of` counts it; then it ends at that limit.
        tokens: says of which tokens each delta is, where that is wanted.
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
        # Tokens over this connection, over those before it, and those of reasoning.
        self._tokens = 0
        self._tokens_before = 0
        self._reasoning_tokens = 0

    async def read(self, connection: Connection, emit: Emit) -> None:
        """Read what comes, and emit its deltas; a slow taker makes a slow reader.

        Returns when the output has ended or failed, or has reasoned for longer than it may:
        `overspent` says so.
        """
        feed, parser, stops = self.parser.feed, self.parser, self._stops
        receive, simple = connection.receive, not self._asked
        self.overspent = False
        try:
            while (received := await receive()) is not None:
                if received.usage is not None:
                    self._usage = received.usage
                text = received.text
                if text and self._last is None and stops.found is None:
                    size = size_of(received)
                    is_too_much = size > self._left
                    if is_too_much:
                        text = text[: self._left]
                        received = received._replace(text=text)
                    self._left -= size
                    tokens = received.tokens or 1
                    self._tokens += tokens
                    if parser.in_reasoning:
                        self._reasoning_tokens += tokens
                    if self._token_texts is None:
                        fed = text if simple else stops.feed(text)
                        if self._keep:
                            self._kept(fed, received)
                        deltas = feed(fed)
                    else:
                        deltas = self._by_token(received, self._token_texts)
                    if deltas:
                        await emit(deltas)
                    if is_too_much:
                        self.cut()
                        return
                    if self._budget is not None and self._is_overspent(received):
                        self.overspent = True
                        return
                    if self._stops.found is not None:
                        self._only_numbers(connection)
                if received.reason is not None:
                    if self._last is None:
                        self._only_numbers(connection)
                    self._last = received
            if self._last is None and stops.found is None:
                self.fault = Fault("the upstream broke off its answer", status=502)
        except Fault as fault:
            # Behind the end of the output only numbers were missing.
            if self._last is None and stops.found is None:
                self.fault = fault

    async def end_reasoning(self, marker: str, emit: Emit) -> None:
        """Go on as if the model had ended its reasoning."""
        text = self._stops.rest() + marker
        self.chunks.append(text)
        self._forced += 1
        if self._forced == MOST_FORCED:
            self._budget = None
        self._next_leg()
        if deltas := self.parser.feed(text):
            await emit(deltas)

    def cut(self) -> None:
        """Take note that the output has all that it may have."""
        self._last = Received(reason="length")

    async def finish(self, emit: Emit) -> None:
        """End the output, and emit what is left of it."""
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
        """The output as it came, where it is kept."""
        return "".join(self.chunks)

    @property
    def held(self) -> int:
        """How many characters are held back, for what follows decides what they mean."""
        return self.parser.held + self._stops.held

    @property
    def made(self) -> int:
        """How many tokens were made so far."""
        said = plain_usage(self._usage) or {}
        return self._tokens_before + int(said.get("completion_tokens", self._tokens))

    @property
    def usage(self) -> dict[str, Any]:
        """What the turn took: what the upstream says, and what it does not say counted.

        A chunk of which the upstream does not say how many tokens it is counts as one; those of
        reasoning are counted so in any case.
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
        """Whether it is known how many tokens the prompt has."""
        return self.prompt_tokens is not None or "prompt_tokens" in (plain_usage(self._usage) or {})

    @property
    def finish_reason(self) -> str | None:
        """Why the turn ended, in the words of Chat Completions; None while it has not."""
        if self.reason == "content_filter":
            return self.reason
        return self.parser.finish_reason if self.ended else None

    def _by_token(self, received: Received, tokens: TokenTexts) -> list[Delta]:
        """Feed the parser one token at a time, so that each delta has those it is made of."""
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
        """Count what was made until now, for the next connection counts from the start."""
        said: Mapping[str, Any] = plain_usage(self._usage) or {}
        if self.prompt_tokens is None and "prompt_tokens" in said:
            self.prompt_tokens = max(said["prompt_tokens"] - self._tokens_before, 0)
        self._tokens_before = self.made
        self._usage, self._tokens = None, 0

    def _only_numbers(self, connection: Connection) -> None:
        """Read on for what the output took, and no longer than that may take."""
        connection.limit(asyncio.get_running_loop().time() + AFTER_END)

    def _ended(self) -> str | None:
        """Note why the turn ended, and return what the parser is told.

        A stop string of the client's cuts a turn anywhere: nothing that is missing there counts as
        swallowed. Where it is not known whether it was one, it may have been.
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
        # Only a closer that the upstream names was swallowed.
        self.stopped_at = None if last.stop == "" else last.stop
        return "stop"


def size_of(received: Received) -> int:
    """Return how much an event adds to the size of its output.

    That is its characters, unless it has more ids of tokens, or more log probabilities of which
    each counts as `LOGPROB`.
    """
    likely = sum(1 + len(entry.get("top_logprobs") or ()) for entry in received.logprobs)
    return max(len(received.text), len(received.ids), LOGPROB * likely)
