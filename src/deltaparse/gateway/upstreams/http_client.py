"""HTTP to one server, for long streams of small chunks: what the gateway asks of aiohttp.

aiohttp's parser is written in C, and its reader sets no lock for a chunk: a chunk costs a third of
what it does in httpx, whose price would be more than all else that the gateway does with it. What
is said here is what is not wanted of a client: no redirect is followed, no cookie kept, nothing
decompressed, no proxy asked, no password read out of files.
"""

from __future__ import annotations

import asyncio
import io
import json
import socket
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp

from deltaparse.partial import UsageError

from ..settings import Settings

__all__ = ["BadAnswer", "HttpAnswer", "HttpClient", "Unreachable"]


class Unreachable(OSError):
    """No connection could be made."""


class BadAnswer(OSError):
    """The answer broke off, or is no HTTP."""


class HttpClient:
    """Asks one server, whose URL may end with `/v1`.

    Args:
        url: of the server.
        settings: its time limits are kept.
        key: shown as the bearer of every request, "" for none.

    Raises:
        UsageError: the URL is none of a server, or the key cannot stand in a header.
    """

    def __init__(self, url: str, settings: Settings, *, key: str = "") -> None:
        self.url = url
        self.settings = settings
        self._base = base_of(url)
        self._headers = {"user-agent": "deltaparse", "accept-encoding": "identity"}
        if not (key.isascii() and key.isprintable()):
            raise UsageError("the key for the upstream has characters that no header may have")
        if key:
            self._headers["authorization"] = f"Bearer {key}"
        self._session: aiohttp.ClientSession | None = None

    async def ask(
        self, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> HttpAnswer:
        """Send a request, a POST where it has a body, and return its answer as it begins.

        Raises:
            Unreachable: no connection could be made.
            TimeoutError: in time none could be made, or nothing was answered.
            BadAnswer: what came is no HTTP.
        """
        data, said = None, dict(headers or {})
        if body is not None:
            data = json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode("ascii")
            said["content-type"] = "application/json"
        method = "GET" if data is None else "POST"
        while True:
            about = SimpleNamespace(reused=False)
            try:
                async with asyncio.timeout(self.settings.idle_timeout):
                    answer = await self._opened().request(
                        method,
                        self._base + path,
                        data=None if data is None else io.BytesIO(data),
                        headers=said,
                        allow_redirects=False,
                        trace_request_ctx=about,
                    )
            except TimeoutError:
                raise
            except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
                raise Unreachable(str(error)) from error
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                if about.reused:
                    continue  # the server closed a connection that it had kept
                raise BadAnswer("the answer broke off") from error
            except aiohttp.ClientError as error:
                raise BadAnswer("the answer is no HTTP") from error
            check_codings(answer)
            return HttpAnswer(answer)

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
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _opened(self) -> aiohttp.ClientSession:
        """Return the session, which belongs to the event loop that runs."""
        if self._session is None:
            settings = self.settings
            watch = aiohttp.TraceConfig()
            watch.on_connection_reuseconn.append(_note_reuse)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, socket_factory=self._socket),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(
                    connect=settings.connect_timeout, sock_read=settings.idle_timeout
                ),
                trace_configs=[watch],
            )
        return self._session

    def _socket(self, address: Any) -> socket.socket:
        """Make a socket that does not wait for ever for a server that takes nothing.

        What is not yet taken of a request would keep its connection open even where nobody wants
        the answer any more.
        """
        family, kind, number, *_ = address
        made = socket.socket(family, kind, number)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            patience = int(self.settings.idle_timeout * 1000)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, patience)
        return made


class HttpAnswer:
    """The answer to one request: `status` and `headers`, and the body as it comes."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.status = answer.status
        self.headers: Mapping[str, str] = answer.headers
        self._answer = answer
        self._content = answer.content
        self._failed: Exception | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def read(self) -> bytes:
        """Return more of the body, b"" at its end.

        Raises:
            TimeoutError: nothing comes in time, or the deadline has passed.
            BadAnswer: the body breaks off, or is not in the form that its head says.
        """
        if self._failed is None:
            try:
                return await self._content.readany()
            except (OSError, RuntimeError, aiohttp.ClientError) as error:
                self._failed = error
                if rest := self._unread():
                    return rest
        if isinstance(self._failed, TimeoutError):
            raise self._failed
        raise BadAnswer("the answer broke off") from self._failed

    def limit(self, deadline: float) -> None:
        """Set when reading ends at the latest, in the time of the event loop."""
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(deadline, self._content.set_exception, TimeoutError())

    def close(self) -> None:
        """Stop reading; a connection whose answer was read to its end is kept."""
        if self._timer is not None:
            self._timer.cancel()
        self._answer.close()

    def _unread(self) -> bytes:
        """Return what had come before the body failed: the reader's exception hides it."""
        self._content.set_exception(None)  # type: ignore[arg-type]
        return self._content.read_nowait()


async def _note_reuse(_: object, context: Any, __: object) -> None:
    context.trace_request_ctx.reused = True


def base_of(url: str) -> str:
    """Return what stands before the path of each request to a server.

    Raises:
        UsageError: the URL is none of a server.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{url}: not the URL of a server: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(f"{url}: not the URL of a server: http://HOST:PORT")
    if parts.username is not None:
        raise UsageError(f"{parts.hostname}: a URL with a password in it is not taken")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/v1')}"


def check_codings(answer: aiohttp.ClientResponse) -> None:
    """Close an answer whose body comes in a coding that nobody asked for.

    Raises:
        BadAnswer: it does.
    """
    encoded = answer.headers.get("content-encoding", "").lower()
    transferred = answer.headers.get("transfer-encoding", "").lower()
    if encoded not in ("", "identity") or transferred not in ("", "chunked"):
        answer.close()
        raise BadAnswer("the answer comes in a coding that nobody asked for")
