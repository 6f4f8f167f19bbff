"""A stream from an upstream: opened, read event by event, and closed whatever happens."""

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
"""What an upstream says of the request, or of its load, is what the client is told."""

LONGEST_RETRY_AFTER = 40
LONGEST_REFUSAL = 1 << 16


class Connection:
    """A stream of one generation; `receive` until it returns None."""

    def __init__(self, answer: HttpAnswer, read: Reader, limit: int) -> None:
        self._answer = answer
        self._read = read
        self._limit = limit
        self._events = EventReader(limit)
        self._waiting: deque[bytes] = deque()
        self._ended = False
        self._is_whole = "json" in answer.headers.get("content-type", "")

    async def receive(self) -> Received | None:
        """Return what comes next, None at the end.

        Raises:
            Fault: the upstream failed, or sent what it should not; a reading ends there.
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
        """Set when the stream ends at the latest, in the time of the event loop."""
        self._answer.limit(deadline)

    async def _next(self) -> bytes | None:
        """Return the data of the next event, None at the end of the stream.

        An answer that is no stream is one event.
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
            raise Fault("the upstream has fallen silent, or takes too long", status=504) from error
        except OSError as error:
            raise Fault("the upstream broke off its answer", status=502) from error
        return self._waiting.popleft()

    def _received(self, data: bytes) -> Received:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise Fault("the upstream sent what is no JSON", status=502) from error
        if b'"error"' in data or b'"detail"' in data:
            failed = error_text(event)
            if failed is not None:
                raise Fault(f"the upstream failed: {failed}", status=502)
        try:
            received = self._read(event)
        except (ArithmeticError, LookupError, AttributeError, TypeError, ValueError) as error:
            raise Fault("the upstream sent an event of another kind", status=502) from error
        text: object = received.text
        if not isinstance(text, str):
            raise Fault("the upstream sent text that is none", status=502)
        return received


@asynccontextmanager
async def opened(
    client: HttpClient,
    upstream: Upstream,
    generation: Generation,
    headers: Mapping[str, str],
    deadline: float,
) -> AsyncIterator[Connection]:
    """Ask an upstream for a stream, and close it in the end.

    Raises:
        Fault: it cannot be reached, or refuses.
    """
    limit = client.settings.max_line
    try:
        answer = await client.ask(upstream.path, upstream.body(generation), headers)
    except TimeoutError as error:
        raise Fault("the upstream does not answer in time", status=504) from error
    except Unreachable as error:
        raise Fault("the upstream cannot be reached", status=502) from error
    except BadAnswer as error:
        raise Fault("the upstream broke off before it answered", status=502) from error
    try:
        answer.limit(deadline)
        if not 200 <= answer.status < 300:
            raise await _refusal(answer)
        yield Connection(answer, upstream.reader(), limit)
    finally:
        answer.close()


async def _whole(answer: HttpAnswer, limit: int) -> bytes:
    """Return all of a body.

    Raises:
        Fault: it has more bytes than the limit.
    """
    body = bytearray()
    while block := await answer.read():
        body += block
        if len(body) > limit:
            message = f"the upstream sent an event of more than {limit} bytes"
            raise Fault(message, status=502)
    return bytes(body)


async def _refusal(answer: HttpAnswer) -> Fault:
    """Return the fault that an upstream's status says."""
    words = None
    with suppress(Fault, OSError, ValueError, RecursionError):
        words = error_text(json.loads(await _whole(answer, LONGEST_REFUSAL)))
    said = answer.status
    status = said if said in PASSED_STATUSES else 502
    if status == 422:
        status = 400
    message = f"the upstream refuses with status {said}" + (f": {words}" if words else "")
    again = answer.headers.get("retry-after", "")
    if not (again.isascii() and again.isprintable() and 0 < len(again) <= LONGEST_RETRY_AFTER):
        again = ""
    return Fault(message, status=status, retry_after=again or None)
