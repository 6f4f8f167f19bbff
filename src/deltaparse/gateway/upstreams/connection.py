"""A stream from an upstream: opened, read event by event, and closed whatever happens."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from ..faults import Fault
from ..settings import Settings
from .events import server_sent_events, whole_body
from .upstream import Generation, Reader, Received, Upstream, error_text

__all__ = ["Connection", "json_of", "opened"]

DONE = b"[DONE]"
PASSED_STATUSES = (400, 413, 422, 429, 503)
"""What an upstream says of the request, or of its load, is what the client is told."""


class Connection:
    """A stream of one generation; `receive` until it returns None."""

    def __init__(self, events: AsyncGenerator[bytes], read: Reader) -> None:
        self._events = events
        self._read = read
        self._ended = False

    async def receive(self) -> Received | None:
        """Return what comes next, None at the end.

        Raises:
            Fault: the upstream failed, or sent what it should not; a reading ends there.
        """
        if self._ended:
            return None
        try:
            data = await anext(self._events, None)
        except httpx.TimeoutException as error:
            raise Fault("the upstream has fallen silent", status=504) from error
        except httpx.HTTPError as error:
            raise Fault("the upstream broke off its answer", status=502) from error
        if data is None or data.strip() == DONE:
            self._ended = True
            return None if data is None else Received(done=True)
        received = self._received(data)
        self._ended = received.done
        return received

    async def close(self) -> None:
        """Stop reading."""
        await self._events.aclose()

    def _received(self, data: bytes) -> Received:
        event = json_of(data)
        failed = error_text(event)
        if failed is not None:
            raise Fault(f"the upstream failed: {failed}", status=502)
        try:
            received = self._read(event)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise Fault("the upstream sent an event of another kind", status=502) from error
        text: object = received.text
        if not isinstance(text, str):
            raise Fault("the upstream sent text that is none", status=502)
        return received


@asynccontextmanager
async def opened(
    client: httpx.AsyncClient,
    upstream: Upstream,
    generation: Generation,
    settings: Settings,
    headers: Mapping[str, str],
) -> AsyncIterator[Connection]:
    """Ask an upstream for a stream, and close it in the end.

    Raises:
        Fault: it cannot be reached, or refuses.
    """
    request = client.build_request(
        "POST", upstream.path, json=upstream.body(generation), headers=dict(headers)
    )
    try:
        response = await client.send(request, stream=True)
    except httpx.ConnectTimeout as error:
        raise Fault("the upstream cannot be reached in time", status=504) from error
    except httpx.TimeoutException as error:
        raise Fault("the upstream does not answer in time", status=504) from error
    except httpx.HTTPError as error:
        raise Fault("the upstream cannot be reached", status=502) from error
    try:
        if not response.is_success:
            raise await _refusal(response, settings.max_line)
        connection = Connection(_data(response, settings.max_line), upstream.reader())
        try:
            yield connection
        finally:
            await connection.close()
    finally:
        await response.aclose()


async def _data(response: httpx.Response, limit: int) -> AsyncGenerator[bytes]:
    """Iterate over the events; an answer that is no stream is one event."""
    if "json" in response.headers.get("content-type", ""):
        yield await whole_body(response.aiter_bytes(), limit)
        return
    async for data in server_sent_events(response.aiter_bytes(), limit):
        yield data


async def _refusal(response: httpx.Response, limit: int) -> Fault:
    """Return the fault that an upstream's status says."""
    words = None
    try:
        body = await whole_body(response.aiter_bytes(), min(limit, 1 << 16))
        words = error_text(json.loads(body))
    except (Fault, httpx.HTTPError, ValueError, RecursionError):
        pass
    said = response.status_code
    status = said if said in PASSED_STATUSES else 502
    if status == 422:
        status = 400
    message = f"the upstream refuses with status {said}" + (f": {words}" if words else "")
    return Fault(message, status=status, retry_after=response.headers.get("retry-after"))


def json_of(data: bytes) -> Any:
    """Read JSON of an upstream.

    Raises:
        Fault: it is none.
    """
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Fault("the upstream sent what is no JSON", status=502) from error
