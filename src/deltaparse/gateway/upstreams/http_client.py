"""HTTP client for one server, for long streams of small chunks, based on aiohttp.

aiohttp is used because its parser is written in C and its reader takes no lock per chunk. A chunk
costs a third of its cost in httpx, which would dominate the gateway's work for a chunk.

Unwanted client features are disabled: redirects, cookies, decompression, proxies, and passwords
from files.
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
    """No connection could be established."""


class BadAnswer(OSError):
    """The response was interrupted or is not HTTP."""


class HttpClient:
    """Client of one server, whose URL may end with `/v1`.

    Args:
        url: the URL of the server.
        settings: the time limits.
        key: the bearer token of every request, "" for none.

    Raises:
        UsageError: the URL is invalid, or the key is not valid in a header.
    """

    def __init__(self, url: str, settings: Settings, *, key: str = "") -> None:
        self.url = url
        self.settings = settings
        self._base = base_of(url)
        self._headers = {"user-agent": "deltaparse", "accept-encoding": "identity"}
        if not (key.isascii() and key.isprintable()):
            raise UsageError("the upstream key must contain printable ASCII characters only")
        if key:
            self._headers["authorization"] = f"Bearer {key}"
        self._session: aiohttp.ClientSession | None = None

    async def ask(
        self, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> HttpAnswer:
        """Send a request and return its response after the headers.

        A request with a body is a POST.

        Raises:
            Unreachable: no connection could be established.
            TimeoutError: the time limit for the connection or the response has passed.
            BadAnswer: the response is not HTTP.
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
                    continue  # The server closed an idle connection, so the request is sent again.
                raise BadAnswer("the connection was closed early") from error
            except aiohttp.ClientError as error:
                raise BadAnswer("the response is not HTTP") from error
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
        """Return the JSON at a path, None if there is none.

        Raises:
            OSError: the server is unreachable, or the response is incomplete. Includes
                TimeoutError.
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
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _opened(self) -> aiohttp.ClientSession:
        """Return the session of the running event loop."""
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
        """Create a socket with a limit for unacknowledged data.

        Without it, unsent data of a request could keep a connection open after its client has left.
        """
        family, kind, number, *_ = address
        made = socket.socket(family, kind, number)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            patience = int(self.settings.idle_timeout * 1000)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, patience)
        return made


class HttpAnswer:
    """The response to one request: `status`, `headers`, and the body as a stream."""

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
            TimeoutError: the idle limit or the deadline has passed.
            BadAnswer: the body is incomplete or malformed.
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
        raise BadAnswer("the connection was closed early") from self._failed

    def limit(self, deadline: float) -> None:
        """Set the deadline of the body, in the time of the event loop."""
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(deadline, self._content.set_exception, TimeoutError())

    def close(self) -> None:
        """Stop reading. The connection is reused if the response was read completely."""
        if self._timer is not None:
            self._timer.cancel()
        self._answer.close()

    def _unread(self) -> bytes:
        """Return the data received before the failure, which the reader's exception hides."""
        self._content.set_exception(None)  # type: ignore[arg-type]
        return self._content.read_nowait()


async def _note_reuse(_: object, context: Any, __: object) -> None:
    context.trace_request_ctx.reused = True


def base_of(url: str) -> str:
    """Return the base URL of a server, without `/v1`.

    Raises:
        UsageError: the URL is invalid.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"invalid server URL {url}: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(f"invalid server URL {url}, expected http://HOST:PORT")
    if parts.username is not None:
        raise UsageError(
            f"invalid server URL of {parts.hostname}: user names and passwords are not supported"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/v1')}"


def check_codings(answer: aiohttp.ClientResponse) -> None:
    """Close a response with an encoding that was not requested.

    Raises:
        BadAnswer: the encoding is not supported.
    """
    encoded = answer.headers.get("content-encoding", "").lower()
    transferred = answer.headers.get("transfer-encoding", "").lower()
    if encoded not in ("", "identity") or transferred not in ("", "chunked"):
        answer.close()
        raise BadAnswer("the response has an encoding that was not requested")
