"""Server-sent events out of the bytes of a socket, with a limit on each."""

from __future__ import annotations

from ..faults import Fault

__all__ = ["EventReader"]


class EventReader:
    r"""Blocks of bytes in, the data of whole events out.

    A line that the end of the stream cuts off is none.

    >>> events = EventReader(limit=1000)
    >>> events.feed(b'data: {"a": 1}\n\ndata: {"b"'), events.feed(b": 2}\n\n: ping\n\n")
    ([b'{"a": 1}'], [b'{"b": 2}'])
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, block: bytes) -> list[bytes]:
        """Return the data of the events that a block ends.

        Raises:
            Fault: an event has more bytes than the limit.
        """
        if block.startswith(b"data: ") and not (self._line or self._data):
            # Nearly always a block is one event.
            if block.find(b"\n") == len(block) - 2 and block.endswith(b"\n\n"):
                self._check(len(block))
                return [block[6:-2]]
        found: list[bytes] = []
        *ends, rest = block.split(b"\n")
        for end in ends:
            line = b"".join([*self._line, end]).rstrip(b"\r") if self._line else end.rstrip(b"\r")
            self._line = []
            self._size += len(end)
            self._check(self._size)
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line:
                found += self.end()
        if rest:
            self._line.append(rest)
            self._size += len(rest)
            self._check(self._size)
        return found

    def end(self) -> list[bytes]:
        """Return the data of the event that the end of the stream ends, if there is one."""
        data, self._data, self._size = self._data, [], 0
        return [b"\n".join(data)] if data else []

    def _check(self, size: int) -> None:
        if size > self._limit:
            message = f"the upstream sent an event of more than {self._limit} bytes"
            raise Fault(message, status=502)
