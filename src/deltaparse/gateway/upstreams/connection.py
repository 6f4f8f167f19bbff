"""A stream from an upstream: opened, read event by event, and always closed."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

from ..faults import Fault
from .events import EventReader
from .http_client import BadAnswer, HttpAnswer, HttpClient, Unreachable
from .upstream import Generation, Reader, Received, Upstream, error_text

__all__ = ["Connection", "opened"]

DONE = b"[DONE]"
PASSED_STATUSES = (400, 413, 422, 429, 503)
"""Statuses of the upstream that are forwarded, since they are about the request or the load."""

LONGEST_RETRY_AFTER = 40
LONGEST_REFUSAL = 1 << 16


class Connection:
    """The stream of one generation. Call `receive` until it returns None."""

    def __init__(self, answer: HttpAnswer, read: Reader, limit: int) -> None:
        self._answer = answer
        self._read = read
        self._limit = limit
        self._events = EventReader(limit)
        self._waiting: deque[bytes] = deque()
        self._ended = False
        self._is_whole = "json" in answer.headers.get("content-type", "")

    async def receive(self) -> Received | None:
        """Return the next event, None at the end.

        Raises:
            Fault: the upstream failed or sent invalid data. Do not read on after it.
        """
        if self._ended:
            return None
        data = self._waiting.popleft() if self._waiting else await self._next()
        if data is None or data.strip() == DONE:
            self._ended = True
            return None if data is None else Received(done=True)
        received = self._received(data)
        if received.done:
            self._ended = True
        return received

    def limit(self, deadline: float) -> None:
        """Set the deadline of the stream, in the time of the event loop."""
        self._answer.limit(deadline)

    async def _next(self) -> bytes | None:
        """Return the data of the next event, None at the end of the stream.

        A response that is not a stream counts as one event.
        """
        try:
            if self._is_whole:
                self._is_whole = False
                self._waiting.append(await _whole(self._answer, self._limit))
            while not self._waiting:
                block = await self._answer.read()
                if not block:
                    return next(iter(self._events.end()), None)
                self._waiting += self._events.feed(block)
        except TimeoutError as error:
            raise Fault("timeout while reading from the upstream", status=504) from error
        except OSError as error:
            raise Fault("the upstream closed the connection early", status=502) from error
        return self._waiting.popleft()

    def _received(self, data: bytes) -> Received:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise Fault("the upstream sent invalid JSON", status=502) from error
        if b'"error"' in data or b'"detail"' in data:
            failed = error_text(event)
            if failed is not None:
                raise Fault(f"the upstream failed: {failed}", status=502)
        try:
            received = self._read(event)
        except (ArithmeticError, LookupError, AttributeError, TypeError, ValueError) as error:
            raise Fault("the upstream sent an unexpected event", status=502) from error
        text: object = received.text
        if not isinstance(text, str):
            raise Fault("the upstream sent text that is not a string", status=502)
        return received


@asynccontextmanager
async def opened(
    client: HttpClient,
    upstream: Upstream,
    generation: Generation,
    headers: Mapping[str, str],
    deadline: float,
) -> AsyncIterator[Connection]:
    """Open a stream of the upstream, and close it at the end.

    Raises:
        Fault: the upstream is unreachable or rejects the request.
    """
    limit = client.settings.max_line
    try:
        answer = await client.ask(upstream.path, upstream.body(generation), headers)
    except TimeoutError as error:
        raise Fault("timeout while waiting for the upstream", status=504) from error
    except Unreachable as error:
        raise Fault("cannot reach the upstream", status=502) from error
    except BadAnswer as error:
        raise Fault("the upstream closed the connection without a response", status=502) from error
    try:
        answer.limit(deadline)
        if not 200 <= answer.status < 300:
            raise await _refusal(answer)
        yield Connection(answer, upstream.reader(), limit)
    finally:
        answer.close()


async def _whole(answer: HttpAnswer, limit: int) -> bytes:
    """Return a complete body.

    Raises:
        Fault: the body exceeds the limit of bytes.
    """
    body = bytearray()
    while block := await answer.read():
        body += block
        if len(body) > limit:
            message = f"the upstream sent an event of more than {limit} bytes"
            raise Fault(message, status=502)
    return bytes(body)


async def _refusal(answer: HttpAnswer) -> Fault:
    """Return the fault for an error status of the upstream."""
    words = None
    with suppress(Fault, OSError, ValueError, RecursionError):
        words = error_text(json.loads(await _whole(answer, LONGEST_REFUSAL)))
    said = answer.status
    status = said if said in PASSED_STATUSES else 502
    if status == 422:
        status = 400
    message = f"the upstream returned status {said}" + (f": {words}" if words else "")
    again = answer.headers.get("retry-after", "")
    if not (again.isascii() and again.isprintable() and 0 < len(again) <= LONGEST_RETRY_AFTER):
        again = ""
    return Fault(message, status=status, retry_after=again or None)
