"""Server-sent events out of the bytes of a socket, with a limit on each."""

from __future__ import annotations

from ..faults import Fault

__all__ = ["EventReader"]


BOM = b"\xef\xbb\xbf"


class EventReader:
    r"""Blocks of bytes in, the data of whole events out, by the rules of WHATWG's EventSource.

    A byte order mark may stand first; a line ends with LF, CR or both. A line that the end of the
    stream cuts off is none, but the event before it counts without its empty line.

    >>> events = EventReader(limit=1000)
    >>> events.feed(b'data: {"a": 1}\n\ndata: {"b"'), events.feed(b": 2}\n\n: ping\n\n")
    ([b'{"a": 1}'], [b'{"b": 2}'])
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line: list[bytes] = []
        self._line_size = 0
        self._data: list[bytes] = []
        self._data_size = 0
        self._start: bytes | None = b""  # the first bytes, until they are known to be no BOM
        self._after_cr = False

    def feed(self, block: bytes) -> list[bytes]:
        """Return the data of the events that a block ends.

        Raises:
            Fault: an event has more bytes than the limit.
        """
        if block.startswith(b"data: ") and not (self._line or self._data or self._start):
            # Nearly always a block is one event.
            is_one = block.find(b"\n") == len(block) - 2 and block.endswith(b"\n\n")
            if is_one and b"\r" not in block:
                self._start, self._after_cr = None, False
                self._check(len(block))
                return [block[6:-2]]
        block = self._without_bom(block)
        if self._after_cr and block:
            block = block.removeprefix(b"\n")
            self._after_cr = False
        found: list[bytes] = []
        for part in block.splitlines(keepends=True):  # of bytes: LF, CR and both
            text = part.rstrip(b"\r\n")
            if text:
                self._line.append(text)
                self._line_size += len(text)
                self._check(self._line_size + self._data_size)
            if len(text) < len(part):
                found += self._end_line()
                self._after_cr = part.endswith(b"\r")
        return found

    def _without_bom(self, block: bytes) -> bytes:
        """Return a block without the byte order mark of the stream; b"" while it may be one."""
        if self._start is None:
            return block
        self._start += block
        if len(self._start) < len(BOM) and BOM.startswith(self._start):
            return b""
        block, self._start = self._start.removeprefix(BOM), None
        return block

    def _end_line(self) -> list[bytes]:
        """Take the line that has ended, and return the data of the event that it ends."""
        line, self._line, self._line_size = b"".join(self._line), [], 0
        if not line:
            return self.end()
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._data_size += len(line)
        return []

    def end(self) -> list[bytes]:
        """Return the data of the event that the end of the stream ends, if there is one."""
        data, self._data, self._data_size = self._data, [], 0
        return [b"\n".join(data)] if data else []

    def _check(self, size: int) -> None:
        if size > self._limit:
            message = f"the upstream sent an event of more than {self._limit} bytes"
            raise Fault(message, status=502)
