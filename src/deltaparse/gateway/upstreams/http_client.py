"""HTTP/1.1 to one server, for long streams of small chunks.

A general client costs a chunk more than all that the gateway does with it: it passes through a
dozen generators, and starts and stops a timer. Here a chunk is decoded where it arrives, one timer
watches all of a stream, and whatever is not plain HTTP is refused: no redirect is followed, no
cookie kept, nothing decompressed, no proxy asked.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import urlsplit

from deltaparse.partial import UsageError

from ..settings import Settings

__all__ = ["BadAnswer", "HttpAnswer", "HttpClient", "Unreachable"]

MOST_WAITING = 1 << 18
"""Bytes that wait to be read before the server is made to wait."""

LONGEST_HEAD = 1 << 16
KEPT_OPEN = 64
"""Connections that are kept for the next request."""

STATUS = re.compile(rb"HTTP/1\.[01] ([1-9]\d\d)(?: .*)?")
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")
LONGEST_CHUNK_HEAD = 4096


class Unreachable(OSError):
    """No connection could be made."""


class BadAnswer(OSError):
    """The answer broke off, or is no HTTP."""


class _Wire(asyncio.Protocol):
    """One connection: bytes as they come, and as many at a time as somebody reads."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.ended = False
        self.used = False
        self._blocks: list[bytes] = []
        self._size = 0
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Keep bytes for whoever reads; make the server wait where they are too many."""
        self._blocks.append(data)
        self._size += len(data)
        if self._size > MOST_WAITING and not self._paused:
            self._paused = True
            self.transport.pause_reading()
        self.wake()

    def eof_received(self) -> bool:
        """Note the end; the transport closes itself."""
        self.ended = True
        self.wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Note the end."""
        self.ended = True
        self.wake()

    def wake(self) -> None:
        """Let whoever waits look again."""
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def wait(self) -> None:
        """Wait until something comes, or somebody wakes."""
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def take(self) -> bytes:
        """Return what has come, b"" if nothing has."""
        blocks = self._blocks
        if not blocks:
            return b""
        data = blocks[0] if len(blocks) == 1 else b"".join(blocks)
        blocks.clear()
        self._size = 0
        if self._paused:
            self._paused = False
            self.transport.resume_reading()
        return data

    @property
    def idle(self) -> bool:
        """Whether the next request may go here: nothing came that nobody asked for."""
        return not (self.ended or self._blocks or self.transport.is_closing())


class HttpClient:
    """Asks one server, whose URL may end with `/v1`.

    Args:
        url: of the server.
        settings: its time limits are kept.
        key: shown as the bearer of every request, "" for none.

    Raises:
        UsageError: the URL is none of a server.
    """

    def __init__(self, url: str, settings: Settings, *, key: str = "") -> None:
        self.url = url
        self.settings = settings
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise UsageError(f"{url}: not the URL of a server: {error}") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url}: not the URL of a server: http://HOST:PORT")
        if parts.username is not None:
            raise UsageError(f"{parts.hostname}: a URL with a password in it is not taken")
        self._ssl = ssl.create_default_context() if parts.scheme == "https" else None
        self._address = parts.hostname, port or (443 if self._ssl else 80)
        self._base = parts.path.rstrip("/").removesuffix("/v1")
        shown = f"authorization: Bearer {key}\r\n" if key else ""
        self._head = f"host: {parts.netloc}\r\nuser-agent: deltaparse\r\naccept: */*\r\n{shown}"
        self._idle: list[_Wire] = []

    async def ask(
        self, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> HttpAnswer:
        """Send a request, a POST where it has a body, and return its answer as it begins.

        Raises:
            Unreachable: no connection could be made.
            TimeoutError: in time none could be made, or nothing was answered.
            BadAnswer: what came is no HTTP.
        """
        data = self._request(path, body, headers or {})
        while True:
            wire = await self._wire()
            again, wire.used = wire.used, True
            answer = HttpAnswer(self, wire)
            try:
                wire.transport.write(data)
                await answer.begin()
            except BadAnswer:
                answer.close()
                if again and answer.empty:
                    continue  # the server closed a connection that it had kept
                raise
            except BaseException:
                answer.close()
                raise
            return answer

    async def json(
        self,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        patience: float,
    ) -> Any:
        """Return the JSON at a path, None where there is none.

        Raises:
            OSError: the server cannot be reached, or breaks off; TimeoutError is one.
        """
        async with asyncio.timeout(patience):
            answer = await self.ask(path, body, headers)
            try:
                data = bytearray()
                while block := await answer.read():
                    data += block
                    if len(data) > self.settings.max_line:
                        return None
            finally:
                answer.close()
        if not 200 <= answer.status < 300:
            return None
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            return None

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        idle, self._idle = self._idle, []
        for wire in idle:
            wire.transport.close()
        await asyncio.sleep(0)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def keep(self, wire: _Wire) -> None:
        """Keep a connection for the next request."""
        if len(self._idle) < KEPT_OPEN and wire.idle:
            self._idle.append(wire)
        else:
            wire.transport.close()

    def _request(self, path: str, body: Any, headers: Mapping[str, str]) -> bytes:
        more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        if body is None:
            return f"GET {self._base}{path} HTTP/1.1\r\n{self._head}{more}\r\n".encode("latin-1")
        text = json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode("ascii")
        said = f"content-type: application/json\r\ncontent-length: {len(text)}\r\n"
        head = f"POST {self._base}{path} HTTP/1.1\r\n{self._head}{more}{said}\r\n"
        return head.encode("latin-1") + text

    async def _wire(self) -> _Wire:
        """Return a connection: the one that was used last, or a new one."""
        while self._idle:
            wire = self._idle.pop()
            if wire.idle:
                return wire
            wire.transport.close()
        host, port = self._address
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.settings.connect_timeout):
                _, wire = await loop.create_connection(_Wire, host, port, ssl=self._ssl)
        except TimeoutError:
            raise
        except (OSError, UnicodeError) as error:  # a name that is none of a host is the latter
            raise Unreachable(str(error)) from error
        return wire


class HttpAnswer:
    """The answer to one request: `status` and `headers`, and the body as it comes.

    `deadline`, in the time of the loop, is when reading ends at the latest; None for never.
    """

    def __init__(self, client: HttpClient, wire: _Wire) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.empty = True
        self.deadline: float | None = None
        self._client = client
        self._wire: _Wire | None = wire
        self._patience = client.settings.idle_timeout
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._since: float | None = None
        self._late = False
        # What is left of the body, or of the chunk: None for all up to the end of the connection.
        self._left: int | None = 0
        self._chunked = False
        self._gap = b""
        self._rest = b""
        self._whole = False
        self._keeps = True

    async def begin(self) -> None:
        """Read the head; those that only say that another follows are skipped.

        Raises:
            TimeoutError: it does not come in time.
            BadAnswer: it is none.
        """
        while True:
            while (end := self._rest.find(b"\r\n\r\n")) < 0:
                if len(self._rest) > LONGEST_HEAD:
                    raise BadAnswer("the head of the answer has no end")
                block = await self._block()
                if not block:
                    raise BadAnswer("the answer broke off")
                self.empty = False
                self._rest += block
            head, self._rest = self._rest[:end], self._rest[end + 4 :]
            self._read_head(head)
            if self.status >= 200:
                break
        self._choose_length()

    async def read(self) -> bytes:
        """Return more of the body, b"" at its end.

        Raises:
            TimeoutError: nothing comes in time, or the deadline has passed.
            BadAnswer: the body breaks off, or is not in the form that its head says.
        """
        while not self._whole:
            block = self._rest or await self._block()
            self._rest = b""
            if self._chunked:
                data = self._unchunked(block)
                if not (data or block or self._whole):
                    raise BadAnswer("the answer broke off")
            else:
                data = self._counted(block)
            if data:
                return data
        return b""

    def limit(self, deadline: float) -> None:
        """Set when reading ends at the latest."""
        self.deadline = deadline
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._watch()

    def close(self) -> None:
        """Stop reading; a connection whose answer was read to its end is kept."""
        wire, self._wire = self._wire, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if wire is None:
            return
        if self._whole and self._keeps and not self._rest:
            self._client.keep(wire)
        else:
            wire.transport.abort()

    async def _block(self) -> bytes:
        """Return the next bytes of the connection, b"" at its end."""
        wire = self._wire
        if wire is None:
            return b""
        while not (data := wire.take()):
            if wire.ended:
                return b""
            self._since = self._loop.time()
            if self._timer is None:
                self._watch()
            try:
                await wire.wait()
            finally:
                self._since = None
            if self._late:
                raise TimeoutError
        if self.deadline is not None and self._late:
            raise TimeoutError
        return data

    def _watch(self) -> None:
        """Look whether it is too late, and come back when it may be.

        So a stream has one timer, however many chunks come.
        """
        now, since = self._loop.time(), self._since
        until = (now if since is None else since) + self._patience
        if self.deadline is not None:
            until = min(until, self.deadline)
        if now < until:
            self._timer = self._loop.call_at(until, self._watch)
            return
        self._late = True
        if self._wire is not None:
            self._wire.wake()

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.split(b"\r\n")
        found = STATUS.fullmatch(first)
        if found is None:
            raise BadAnswer("the answer is no HTTP")
        self.status, self.headers = int(found[1]), {}
        for line in lines:
            name, colon, value = line.decode("latin-1").partition(":")
            if not colon or name != name.strip():
                raise BadAnswer("the answer has a header that is none")
            name, value = name.lower(), value.strip()
            if name in ("content-length", "transfer-encoding") and name in self.headers:
                raise BadAnswer("the answer has two lengths")
            self.headers[name] = value
        if first.startswith(b"HTTP/1.0") or "close" in self.headers.get("connection", "").lower():
            self._keeps = False

    def _choose_length(self) -> None:
        """Take note of how the body ends."""
        coding = self.headers.get("transfer-encoding", "").lower()
        length = self.headers.get("content-length")
        if self.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            raise BadAnswer("the answer is compressed, which nobody asked for")
        if coding:
            if coding != "chunked" or length is not None:
                raise BadAnswer("the answer comes in a coding that nobody asked for")
            self._chunked = True
        elif length is None:
            self._left, self._keeps = None, False
        elif length.isascii() and length.isdigit() and len(length) < 19:
            self._left = int(length)
            self._whole = self._left == 0
        else:
            raise BadAnswer("the answer has a length that is none")

    def _counted(self, block: bytes) -> bytes:
        if self._left is None:
            self._whole = not block
            return block
        if not block:
            raise BadAnswer("the answer broke off")
        data, self._rest = block[: self._left], block[self._left :]
        self._left -= len(data)
        self._whole = self._left == 0
        return data

    def _unchunked(self, block: bytes) -> bytes:
        """Return what chunks hold; what is left of the block waits for the next."""
        data = self._gap + block if self._gap else block
        pos, size, out = 0, len(data), []
        left = self._left or 0
        while pos < size:
            if left > 2:
                part = data[pos : pos + left - 2]
                out.append(part)
                pos += len(part)
                left -= len(part)
                continue
            if left:  # the end of its line
                if data[pos : pos + left] != b"\r\n"[2 - left :][: size - pos]:
                    raise BadAnswer("the answer has a chunk that is none")
                took = min(left, size - pos)
                pos, left = pos + took, left - took
                continue
            end = data.find(b"\r\n", pos)
            if end < 0:
                break
            found = CHUNK_SIZE.fullmatch(data, pos, end)
            if found is None:
                raise BadAnswer("the answer has a chunk that is none")
            pos, left = end + 2, int(found[1], 16) + 2
            if left == 2:
                self._end_chunks(data[pos:])
                return b"".join(out)
        self._left, self._gap = left, data[pos:]
        if len(self._gap) > LONGEST_CHUNK_HEAD:
            raise BadAnswer("the answer has a chunk that is none")
        return out[0] if len(out) == 1 else b"".join(out)

    def _end_chunks(self, rest: bytes) -> None:
        """End the body; the connection is kept where nothing more than its last line came."""
        self._whole = True
        if rest != b"\r\n":
            self._keeps = False
