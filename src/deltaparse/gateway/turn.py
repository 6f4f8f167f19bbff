"""One choice: what an upstream sends, through a parser, to whoever takes the deltas."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from deltaparse.stream import Delta, StreamParser

from .faults import Fault
from .stops import Stops
from .upstreams.connection import Connection
from .upstreams.upstream import Received, plain_usage

__all__ = ["Emit", "Turn"]

Emit = Callable[[list[Delta]], Awaitable[None]]


class Turn:
    """Reads one output to its end.

    Afterwards `reason` says why the turn ended, `stop` at which stop string, `usage` what it took
    as far as that is known, and `fault` what went wrong: what came until then has been emitted.
    """

    def __init__(self, parser: StreamParser, stop: tuple[str, ...], deadline: float) -> None:
        self.parser = parser
        self.reason: str | None = None
        self.stop: str | None = None
        self.fault: Fault | None = None
        self.chunks: list[str] = []
        self._asked = stop
        self._stops = Stops(stop)
        self._deadline = deadline
        self._last: Received | None = None
        self._usage: Mapping[str, Any] | None = None
        self._tokens = 0
        self._reasoning_tokens = 0

    async def run(self, connection: Connection, emit: Emit, *, record: bool = False) -> None:
        """Read all that comes, and emit its deltas; a slow taker makes a slow reader."""
        feed, parser = self.parser.feed, self.parser
        try:
            while (received := await self._received(connection)) is not None:
                if received.usage is not None:
                    self._usage = plain_usage(received.usage) or self._usage
                if received.text and self._stops.found is None and self._last is None:
                    text = self._stops.feed(received.text)
                    self._count(received)
                    if record:
                        self.chunks.append(text)
                    if deltas := feed(text):
                        await emit(deltas)
                if received.reason is not None:
                    self._last = received
                if self._stops.found is not None:
                    break
            if self._last is None and self._stops.found is None:
                self.fault = Fault("the upstream broke off its answer", status=502)
        except Fault as fault:
            # Behind the end of the output only numbers were missing.
            self.fault = fault if self._last is None else None
        rest = self._stops.rest()
        if record and rest:
            self.chunks.append(rest)
        deltas = [*feed(rest), *parser.finish(self._ended())]
        if deltas:
            await emit(deltas)

    @property
    def usage(self) -> dict[str, Any] | None:
        """What the upstream says that it took, with the tokens of reasoning where they are known.

        Those are counted by what the upstream says of each chunk; where it says nothing, a chunk
        is taken for a token.
        """
        if self._usage is None:
            return None
        usage = dict(self._usage)
        details = dict(usage.get("completion_tokens_details") or {})
        made = usage.get("completion_tokens")
        if self._reasoning_tokens and isinstance(made, int):
            details.setdefault("reasoning_tokens", min(self._reasoning_tokens, made))
            usage["completion_tokens_details"] = details
        return usage

    async def _received(self, connection: Connection) -> Received | None:
        try:
            with anyio.fail_after(max(self._deadline - anyio.current_time(), 0)):
                return await connection.receive()
        except TimeoutError as error:
            raise Fault("the answer takes longer than it may", status=504) from error

    def _count(self, received: Received) -> None:
        tokens = received.tokens or 1
        self._tokens += tokens
        if self.parser.in_reasoning:
            self._reasoning_tokens += tokens

    def _ended(self) -> Any:
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
        if last.stop in self._asked:
            self.stop = last.stop
            return None
        return "stop"

    @property
    def finish_reason(self) -> str:
        """Why the turn ended, in the words of Chat Completions."""
        if self.reason == "content_filter":
            return self.reason
        return self.parser.finish_reason or "stop"
