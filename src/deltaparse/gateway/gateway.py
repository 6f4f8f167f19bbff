"""The gateway: an ASGI application in front of one upstream."""

from __future__ import annotations

import asyncio
import hmac
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from deltaparse.protocols.wire_text import json_bytes

from .exchange import Exchange, unknown_model
from .faults import Fault
from .metrics import Metrics
from .model import Model
from .names import Names
from .protocol import PROTOCOLS, Protocol
from .records import Records
from .settings import Settings
from .turn import Turn
from .upstreams.http_client import HttpClient
from .upstreams.upstream import Upstream, token_count

__all__ = ["Gateway"]

COUNTING = 5.0
"""Seconds in which an upstream may say how many tokens a prompt has."""

SHARING = 1.0
"""Seconds after which a process looks what it holds back, for others that are asked."""

ENDING = 2.0
"""Seconds in which answers that were broken off may say so."""


class Gateway:
    """All that answers share: nothing of one request is kept for another.

    Args:
        model: how the model writes.
        upstream: what is asked.
        client: what asks it; it is closed when the application stops.
        settings: limits and keys.
        records: takes note of each turn.
    """

    def __init__(
        self,
        model: Model,
        upstream: Upstream,
        client: HttpClient,
        settings: Settings = Settings(),  # noqa: B008 - frozen
        records: Records | None = None,
    ) -> None:
        self.model = model
        self.upstream = upstream
        self.client = client
        self.settings = settings
        self.metrics = Metrics()
        self.names = Names(client, settings)
        self.records = records or Records(latest=settings.inspect)
        self.turns: set[Turn] = set()
        self.open = 0
        # Whoever renders holds the interpreter: more threads would only keep streams waiting. Two,
        # so that a request which takes long does not keep all others waiting either.
        self.renders = asyncio.Semaphore(2)

    def app(self) -> Starlette:
        """Return the application."""
        routes = [
            Route(path, Endpoint(self, protocol), methods=["POST"])
            for path, protocol in PROTOCOLS.items()
        ]
        routes += [
            Route("/v1/models", self.models_page),
            Route("/v1/models/{name:path}", self.models_page),
            Route("/health", self.health_page),
            Route("/metrics", self.metrics_page),
        ]
        if self.settings.inspect:
            routes.append(Route("/inspect", self.inspect_page))
        return Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={HTTPException: self._no_such_page},
        )

    async def models_page(self, request: HttpRequest) -> Response:
        """Answer which models there are, or whether one is there."""
        try:
            self.check_key(request.headers)
            names = await self.names.served(self.authorization(request.headers))
            wanted = request.path_params.get("name")
            if wanted is not None and wanted not in names:
                raise unknown_model(wanted)
        except Fault as fault:
            return self._said(fault)
        models = [
            {"id": name, "object": "model", "created": 0, "owned_by": "deltaparse"}
            for name in names
            if wanted in (None, name)
        ]
        return _json(models[0] if wanted else {"object": "list", "data": models})

    async def health_page(self, _: HttpRequest) -> Response:
        """Answer that the gateway is there; the upstream is not asked."""
        verified = self.model.fmt.verified
        return _json({"status": "ok", "kind": self.upstream.kind, "verified": verified})

    async def metrics_page(self, _: HttpRequest) -> Response:
        """Answer with the metrics."""
        self._look()
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def inspect_page(self, request: HttpRequest) -> Response:
        """Answer with the inspector's page of the last turns, the newest first."""
        from deltaparse.inspector import POLICY, live_page

        try:
            self.check_reader(request.headers)
        except Fault as fault:
            response = self._said(fault)
            if fault.status == 401:
                response.headers["www-authenticate"] = 'Basic realm="deltaparse"'
            return response
        turns = list(self.records.latest)[::-1]
        page = await to_thread.run_sync(live_page, turns, self.model.fmt)
        headers = {"content-security-policy": POLICY, "cache-control": "no-store"}
        return HTMLResponse(page, headers=headers)

    def check_reader(self, headers: Mapping[str, str]) -> None:
        """Raise `Fault` for whoever may not see what others asked.

        A browser shows the key as the password of any user. Where there is none, it must have
        asked for this machine by its number: a name may be anybody's, whose page would then read
        what is here.
        """
        if not self.settings.api_key:
            if not is_number(headers.get("host", "")):
                raise Fault("without an API key, ask by the address of this machine", status=403)
            return
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            self.check_key(headers)
            return
        try:
            password = b64decode(shown, validate=True).partition(b":")[2]
        except ValueError:
            password = b""
        if not hmac.compare_digest(password, self.settings.api_key.encode()):
            raise Fault("the API key is missing, or wrong", status=401)

    def check_key(self, headers: Mapping[str, str]) -> None:
        """Raise `Fault` for a client that does not show the key.

        Without a key, whoever reaches the port may ask; but a web page of elsewhere, for which the
        browser of somebody who does may speak, may not.
        """
        key = self.settings.api_key
        if not key:
            origin = headers.get("origin", "")
            if origin.startswith(("http", "null")) and not is_own(origin, headers.get("host", "")):
                raise Fault("pages of other origins may ask only with an API key", status=403)
            return
        bearer = headers.get("authorization", "")
        shown = headers.get("x-api-key") or bearer.partition(" ")[2].strip()
        if not hmac.compare_digest(shown.encode("latin-1"), key.encode()):
            raise Fault("the API key is missing, or wrong", status=401)

    def authorization(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return what the upstream is shown of a client's key; its own the client has.

        Raises:
            Fault: it could not be shown as it came.
        """
        settings = self.settings
        if settings.forward_authorization and not settings.upstream_key:
            if "authorization" in headers:
                shown = headers["authorization"]
                if not (shown.isascii() and shown.isprintable()):
                    raise Fault("an authorization is of printable ASCII characters")
                return {"authorization": shown}
        return {}

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold one of the places for answers.

        Raises:
            Fault: all are taken.
        """
        if self.open >= self.settings.max_streams:
            raise Fault("too many requests at a time", status=503, retry_after="1")
        self.open += 1
        self.metrics.open.inc()
        try:
            yield
        finally:
            self.open -= 1
            self.metrics.open.dec()

    async def count_tokens(self, prompt: str, model: str | None, headers: Mapping[str, str]) -> int:
        """Return how many tokens a prompt has: what the upstream says, or about that."""
        upstream = self.upstream
        asked = upstream.tokenizing(prompt, model, special=upstream.adds_bos)
        try:
            answer = await self.client.json("/tokenize", asked, headers=headers, patience=COUNTING)
        except OSError:
            answer = None
        count = token_count(answer)
        return -(-len(prompt) // 4) if count is None else count

    def _look(self) -> None:
        """Measure what is looked at only when somebody asks."""
        self.metrics.held.set(sum(turn.held for turn in self.turns))

    async def _look_often(self) -> None:
        """Measure again and again, for another process may be asked."""
        while True:
            self._look()
            await asyncio.sleep(SHARING)

    async def _no_such_page(self, _: HttpRequest, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        words = "no such path" if status == 404 else "no such method here"
        return self._said(Fault(words, status=status, code="not_found"))

    def _said(self, fault: Fault) -> Response:
        """Return the response that says what went wrong, where no protocol is asked for."""
        return _json(PROTOCOLS["/v1/chat/completions"].error(fault, ""), fault.status)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        del app
        looking = asyncio.create_task(self._look_often()) if self.metrics.are_shared else None
        async with self.client:
            yield
            for _ in range(int(ENDING / 0.02)):
                if not self.open:
                    break
                await asyncio.sleep(0.02)
        if looking is not None:
            looking.cancel()
        self.records.close()


class Endpoint:
    """One protocol of a gateway, as an ASGI application."""

    def __init__(self, gateway: Gateway, protocol: Protocol) -> None:
        self.gateway = gateway
        self.protocol = protocol

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await Exchange(self.gateway, self.protocol, scope, receive, send).answer()


def is_own(origin: str, host: str) -> bool:
    """Return whether a page comes from this machine's own address, by which it was asked for.

    A name that is not the machine's own may be anybody's.
    """
    try:
        parts = urlsplit(origin)
        name = parts.hostname
    except ValueError:
        return False
    return parts.netloc == host and name in ("localhost", "127.0.0.1", "::1")


def is_number(host: str) -> bool:
    """Return whether a host is this machine's own name, or an address and no name."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or bool(ip_address(name))
    except ValueError:
        return False


def _json(body: Any, status: int = 200) -> Response:
    return Response(json_bytes(body), status, media_type="application/json")
