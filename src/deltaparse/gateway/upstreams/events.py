"""Server-sent events out of the bytes of a socket, with a limit on each."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

from ..faults import Fault

__all__ = ["server_sent_events", "whole_body"]


async def server_sent_events(blocks: AsyncIterable[bytes], limit: int) -> AsyncIterator[bytes]:
    """Iterate over the data of the events.

    A line that the end of the stream cuts off is none.

    Raises:
        Fault: an event has more than `limit` bytes.
    """
    line: list[bytes] = []
    data: list[bytes] = []
    size = 0
    async for block in blocks:
        *ends, rest = block.split(b"\n")
        for end in ends:
            whole = b"".join([*line, end]).rstrip(b"\r")
            line = []
            size += len(end)
            _check(size, limit)
            if whole.startswith(b"data:"):
                data.append(whole[5:].removeprefix(b" "))
            elif not whole:
                if data:
                    yield b"\n".join(data)
                data, size = [], 0
        line.append(rest)
        size += len(rest)
        _check(size, limit)
    if data:
        yield b"\n".join(data)


async def whole_body(blocks: AsyncIterable[bytes], limit: int) -> bytes:
    """Return all bytes.

    Raises:
        Fault: they are more than `limit`.
    """
    body = bytearray()
    async for block in blocks:
        body += block
        _check(len(body), limit)
    return bytes(body)


def _check(size: int, limit: int) -> None:
    if size > limit:
        raise Fault(f"the upstream sent an event of more than {limit} bytes", status=502)
