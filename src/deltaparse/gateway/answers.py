"""How an answer goes out: as a stream, or as a whole; one choice, or several at a time."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
from starlette.types import Send

from deltaparse.protocols import ChatCompletions, Encoder
from deltaparse.stream import Delta

from .asked import Asked
from .faults import Fault
from .protocol import Protocol
from .turn import Turn

__all__ = ["Answer", "ClientGone", "StreamedAnswer", "WholeAnswer", "send_json"]


class ClientGone(Exception):
    """Nobody takes the answer any more."""


class Answer(ABC):
    """One answer on its way to a client. A choice begins, takes deltas, and ends."""

    def __init__(
        self,
        asked: Asked,
        protocol: Protocol,
        head: Mapping[str, Any],
        send: Send,
        patience: float,
        headers: Mapping[str, str],
    ) -> None:
        self.asked = asked
        self.began = False
        self.first: float | None = None
        self._protocol = protocol
        self._send = send
        self._patience = patience
        self._headers = headers
        self._encoders: list[Encoder] = [
            protocol.encoder(head, asked.request, asked.thinking, index)
            for index in range(asked.sampling.n)
        ]
        self._turns: list[Turn | None] = [None] * len(self._encoders)

    @abstractmethod
    async def begin(self) -> None:
        """Take note that the upstream takes the request."""

    @abstractmethod
    async def take(self, index: int, deltas: list[Delta]) -> None:
        """Take deltas of a choice."""

    @abstractmethod
    async def end(self, index: int, turn: Turn) -> None:
        """Take the end of a choice."""

    async def fail(self, fault: Fault) -> None:
        """Say that there is no answer."""
        body = self._protocol.error(fault, self._headers["x-request-id"])
        await self._sent(send_json(self._send, body, fault.status, self._headers, fault))

    def _usage(self) -> dict[str, Any] | None:
        """Return what all choices took; they share the prompt."""
        usages = [turn.usage for turn in self._turns if turn is not None and turn.usage is not None]
        if not usages:
            return None
        whole, made = usages[0], "completion_tokens"
        if len(usages) > 1:
            whole[made] = sum(usage.get(made) or 0 for usage in usages)
            whole["total_tokens"] = (whole.get("prompt_tokens") or 0) + whole[made]
            thought = sum(
                (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
                for usage in usages
            )
            whole["completion_tokens_details"] = {"reasoning_tokens": thought}
        return whole

    async def _sent(self, sending: Any) -> None:
        """Send, and give up on a client that does not take it."""
        try:
            with anyio.fail_after(self._patience):
                await sending
        except (OSError, TimeoutError) as error:
            raise ClientGone from error


class StreamedAnswer(Answer):
    """Deltas as server-sent events, as they come."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lock = anyio.Lock()
        self._open = len(self._encoders)

    async def begin(self) -> None:
        """Send what stands before all parts, once."""
        async with self._lock:
            if self.began:
                return
            self.began = True
            headers = {
                "content-type": "text/event-stream; charset=utf-8",
                "cache-control": "no-cache",
                "x-accel-buffering": "no",
                **self._headers,
            }
            start = {"type": "http.response.start", "status": 200, "headers": raw(headers)}
            await self._sent(self._send(start))
            events = [encoder.sse(encoder.start()) for encoder in self._encoders]
            await self._write(b"".join(events))

    async def take(self, index: int, deltas: list[Delta]) -> None:
        """Send the events of deltas; whoever sends them waits for the client."""
        if self.first is None:
            self.first = time.monotonic()
        data = self._encoders[index].push_bytes(deltas)
        if data:
            async with self._lock:
                await self._write(data)

    async def end(self, index: int, turn: Turn) -> None:
        """Send the end of a choice, and behind the last one the end of all."""
        async with self._lock:
            self._turns[index] = turn
            self._open -= 1
            last = self._open == 0
            usage = self._usage() if last and self.asked.with_usage else None
            encoder = self._encoders[index]
            if isinstance(encoder, ChatCompletions):
                events = encoder.finish(turn.finish_reason, usage, last_choice=last)
            else:
                events = encoder.finish(turn.finish_reason, usage, stop_sequence=turn.stop)
            await self._write(encoder.sse(events), more=not last)

    async def fail(self, fault: Fault) -> None:
        """Send the protocol's error, as an event where the answer has begun."""
        if not self.began:
            await super().fail(fault)
            return
        async with self._lock:
            encoder = self._encoders[0]
            data = encoder.sse(encoder.error(**self._protocol.failure(fault)))
            await self._write(data, more=False)

    async def _write(self, data: bytes, *, more: bool = True) -> None:
        message = {"type": "http.response.body", "body": data, "more_body": more}
        await self._sent(self._send(message))


class WholeAnswer(Answer):
    """One JSON object, when all choices have ended."""

    async def begin(self) -> None:
        """Wait: a whole answer begins when it has ended."""

    async def take(self, index: int, deltas: list[Delta]) -> None:
        """Take deltas; the parser keeps the message."""
        del index, deltas
        if self.first is None:
            self.first = time.monotonic()

    async def end(self, index: int, turn: Turn) -> None:
        """Send the answer when the last choice has ended."""
        self._turns[index] = turn
        turns = [turn for turn in self._turns if turn is not None]
        if len(turns) == len(self._encoders):
            self.began = True
            body = self._whole(turns)
            await self._sent(send_json(self._send, body, 200, self._headers))

    def _whole(self, turns: Sequence[Turn]) -> dict[str, Any]:
        usage = self._usage()
        responses = [
            encoder.response(
                turn.parser.message, turn.finish_reason, usage, stop_sequence=turn.stop
            )
            for encoder, turn in zip(self._encoders, turns, strict=True)
        ]
        first = responses[0]
        if len(responses) > 1:
            first["choices"] = [response["choices"][0] for response in responses]
        return first


def raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return headers as a server takes them."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


async def send_json(
    send: Send, body: Any, status: int, headers: Mapping[str, str], fault: Fault | None = None
) -> None:
    """Send a JSON object as the whole response."""
    text = json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode()
    said = {"content-type": "application/json", "content-length": str(len(text)), **headers}
    if fault is not None and fault.retry_after is not None:
        said["retry-after"] = fault.retry_after
    await send({"type": "http.response.start", "status": status, "headers": raw(said)})
    await send({"type": "http.response.body", "body": text, "more_body": False})
