"""Responses to clients, streamed or complete, with one or several choices."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.datastructures import Headers
from starlette.types import Send

from deltaparse.protocols import ChatCompletions, Encoder
from deltaparse.protocols.sse_writer import json_bytes
from deltaparse.stream import Delta

from .choice_stream import Turn
from .faults import Fault
from .logprobs import TokenTexts
from .parsed_request import ParsedRequest
from .protocol import Protocol

__all__ = ["Answer", "ClientGone", "StreamedAnswer", "WholeAnswer", "whole_response"]


class ClientGone(Exception):
    """The client no longer reads the response."""


class Answer(ABC):
    """A response that is being sent to a client.

    Each choice is started by `begin`, receives deltas in `take`, and is completed by `end`.

    `waits_since` is the time since which a sent message awaits the client, None if all are
    delivered.
    """

    def __init__(
        self,
        asked: ParsedRequest,
        protocol: Protocol,
        head: Mapping[str, Any],
        send: Send,
        headers: Mapping[str, str],
    ) -> None:
        self.asked = asked
        self.began = False
        self.ended = False
        self.first: float | None = None
        self.waits_since: float | None = None
        self.tokens = [
            None if asked.sampling.logprobs is None else TokenTexts()
            for _ in range(asked.sampling.n)
        ]
        self._protocol = protocol
        self._send = send
        self._waiting = 0
        self._headers = headers
        self._encoders: list[Encoder] = [
            protocol.encoder(head, asked.thinking, tokens, index)
            for index, tokens in enumerate(self.tokens)
        ]
        self._turns: list[Turn | None] = [None] * len(self._encoders)

    @property
    @abstractmethod
    def collects(self) -> bool:
        """True if the parsers must keep the message."""

    @abstractmethod
    async def begin(self) -> None:
        """Start the response: the upstream accepted the request."""

    @abstractmethod
    async def take(self, index: int, deltas: list[Delta]) -> None:
        """Process the deltas of a choice."""

    @abstractmethod
    async def end(self, index: int, turn: Turn) -> None:
        """Process the end of a choice."""

    async def fail(self, fault: Fault) -> None:
        """Report the fault to the client."""
        body = self._protocol.error(fault, self._headers["x-request-id"])
        await self._sent_whole(body, fault.status, fault)

    def _usage(self) -> dict[str, Any] | None:
        """Return the usage of all choices. They share the prompt."""
        usages = [turn.usage for turn in self._turns if turn is not None]
        if not usages or not self.asked.with_usage:
            return None
        whole, made = dict(usages[0]), "completion_tokens"
        if len(usages) > 1:
            whole[made] = sum(usage[made] for usage in usages)
            whole["total_tokens"] = whole["prompt_tokens"] + whole[made]
            thought = sum(
                (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
                for usage in usages
            )
            whole["completion_tokens_details"] = {"reasoning_tokens": thought}
        return whole

    async def _sent(self, message: Any) -> None:
        """Send a message, and wait until the client reads it."""
        self._waiting += 1
        if self._waiting == 1:
            self.waits_since = time.monotonic()
        try:
            await self._send(message)
        except OSError as error:
            raise ClientGone from error
        finally:
            self._waiting -= 1
            self.waits_since = time.monotonic() if self._waiting else None

    async def _sent_whole(self, body: Any, status: int, fault: Fault | None = None) -> None:
        """Send a JSON object as the complete response."""
        self.ended = True
        for message in whole_response(body, status, self._headers, fault):
            await self._sent(message)


class StreamedAnswer(Answer):
    """A response that sends deltas immediately, as server-sent events.

    Each write contains complete events, so concurrent choices need no lock between them.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._open = len(self._encoders)
        self._started = asyncio.Event()

    @property
    def collects(self) -> bool:
        """False: the deltas are sent, and the message is not needed."""
        return False

    async def begin(self) -> None:
        """Send the headers and the first events, once."""
        if self.began:
            await self._started.wait()
            return
        self.began = True
        headers = {
            "content-type": "text/event-stream; charset=utf-8",
            "cache-control": "no-cache",
            "x-accel-buffering": "no",
            **self._headers,
        }
        start = {"type": "http.response.start", "status": 200, "headers": Headers(headers).raw}
        events = b"".join([encoder.sse(encoder.start()) for encoder in self._encoders])
        await self._sent(start)
        await self._write(events)
        self._started.set()

    async def take(self, index: int, deltas: list[Delta]) -> None:
        """Send the events of the deltas, and wait for the client."""
        if self.first is None:
            self.first = time.monotonic()
        data = self._encoders[index].push_bytes(deltas)
        if data:
            await self._write(data)

    async def end(self, index: int, turn: Turn) -> None:
        """Send the end of a choice. The last choice also ends the response."""
        self._turns[index] = turn
        self._open -= 1
        last = self._open == 0
        usage = self._usage() if last else None
        encoder = self._encoders[index]
        if isinstance(encoder, ChatCompletions):
            events = encoder.finish(turn.finish_reason, usage, last_choice=last)
        else:
            events = encoder.finish(turn.finish_reason, usage, stop_sequence=turn.stop)
        if self.asked.with_raw:
            for event in events:
                self._protocol.add_raw(event, turn.text)
        await self._write(encoder.sse(events), more=not last)

    async def fail(self, fault: Fault) -> None:
        """Send the protocol's error, as an event if the response has begun."""
        if not self.began:
            await super().fail(fault)
        elif not self.ended:
            encoder = self._encoders[0]
            failure = encoder.error(**self._protocol.failure(fault))
            await self._write(encoder.sse(failure), more=False)

    async def _write(self, data: bytes, *, more: bool = True) -> None:
        self.ended = self.ended or not more
        await self._sent({"type": "http.response.body", "body": data, "more_body": more})


class WholeAnswer(Answer):
    """A response that is one JSON object, sent after all choices have ended."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._logprobs: list[list[Any]] = [[] for _ in self._encoders]

    @property
    def collects(self) -> bool:
        """True: the response is built from the message."""
        return True

    async def begin(self) -> None:
        """Do nothing: a complete response is sent at its end."""

    async def take(self, index: int, deltas: list[Delta]) -> None:
        """Record the time and the log probabilities. The parser keeps the message."""
        if self.first is None:
            self.first = time.monotonic()
        tokens = self.tokens[index]
        if tokens is not None:
            for delta in deltas:
                self._logprobs[index] += tokens.of(delta) or ()

    async def end(self, index: int, turn: Turn) -> None:
        """Send the response after the last choice has ended."""
        self._turns[index] = turn
        turns = [turn for turn in self._turns if turn is not None]
        if len(turns) == len(self._encoders):
            self.began = True
            await self._sent_whole(self._whole(turns), 200)

    def _whole(self, turns: Sequence[Turn]) -> dict[str, Any]:
        usage = self._usage()
        responses = []
        for index, turn in enumerate(turns):
            encoder = self._encoders[index]
            made = encoder.response(
                turn.parser.message, turn.finish_reason, usage, stop_sequence=turn.stop
            )
            if self.tokens[index] is not None:
                self._protocol.add_logprobs(made, self._logprobs[index])
            if self.asked.with_raw:
                self._protocol.add_raw(made, turn.text)
            responses.append(made)
        first = responses[0]
        if len(responses) > 1:
            first["choices"] = [response["choices"][0] for response in responses]
        return first


def whole_response(
    body: Any, status: int, headers: Mapping[str, str], fault: Fault | None = None
) -> list[dict[str, Any]]:
    """Return the ASGI messages of a response with a JSON body."""
    text = json_bytes(body)
    said = {"content-type": "application/json", "content-length": str(len(text)), **headers}
    if fault is not None and fault.retry_after is not None:
        said["retry-after"] = fault.retry_after
    return [
        {"type": "http.response.start", "status": status, "headers": Headers(said).raw},
        {"type": "http.response.body", "body": text, "more_body": False},
    ]
