"""Reader of server-sent events from bytes, with a size limit for each event."""

from __future__ import annotations

from ..faults import Fault

__all__ = ["EventReader"]


BOM = b"\xef\xbb\xbf"


class EventReader:
    r"""Returns the data of complete events, by the rules of WHATWG's EventSource.

    A byte order mark may precede the first event. Lines end with LF, CR or CRLF. A truncated last
    line is ignored, but the last event is returned even without its empty line.

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
        self._start: bytes | None = b""  # the first bytes, until they cannot be a BOM
        self._after_cr = False

    def feed(self, block: bytes) -> list[bytes]:
        """Return the data of the events that end in a block.

        Raises:
            Fault: an event exceeds the limit of bytes.
        """
        if block.startswith(b"data: ") and not (self._line or self._data or self._start):
            # Fast path: nearly every block is one complete event.
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
        for part in block.splitlines(keepends=True):  # bytes split only at LF, CR and CRLF
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
        """Return a block without the stream's byte order mark. An incomplete mark is buffered."""
        if self._start is None:
            return block
        self._start += block
        if len(self._start) < len(BOM) and BOM.startswith(self._start):
            return b""
        block, self._start = self._start.removeprefix(BOM), None
        return block

    def _end_line(self) -> list[bytes]:
        """Process a complete line. Return the data of its event if the event is complete."""
        line, self._line, self._line_size = b"".join(self._line), [], 0
        if not line:
            return self.end()
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._data_size += len(line)
        return []

    def end(self) -> list[bytes]:
        """Return the data of the last event at the end of the stream, if there is one."""
        data, self._data, self._data_size = self._data, [], 0
        return [b"\n".join(data)] if data else []

    def _check(self, size: int) -> None:
        if size > self._limit:
            message = f"the upstream sent an event of more than {self._limit} bytes"
            raise Fault(message, status=502)
