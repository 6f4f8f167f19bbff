"""The gateway: an ASGI application for one upstream."""

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

from deltaparse.protocols.sse_writer import json_bytes

from .context import Shared
from .exchange import Exchange, unknown_model
from .faults import Fault
from .protocol import PROTOCOLS, Protocol

__all__ = ["Gateway"]

SHARING = 1.0
"""Interval in seconds at which a process publishes its gauges to other processes."""

ENDING = 2.0
"""Seconds at shutdown for sending errors to clients with open responses."""


class Gateway(Shared):
    """The server: its pages, and an endpoint for each protocol.

    Args:
        model: the template and the format of the model.
        upstream: the kind of the upstream server.
        client: the HTTP client for the upstream. It is closed when the application stops.
        settings: limits and keys.
        records: records each turn.
    """

    def app(self) -> Starlette:
        """Return the ASGI application."""
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
        """Return the list of models, or one model."""
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
        """Return the gateway's own status. It does not depend on the upstream."""
        verified = self.model.fmt.verified
        return _json({"status": "ok", "kind": self.upstream.kind, "verified": verified})

    async def metrics_page(self, _: HttpRequest) -> Response:
        """Return the metrics in Prometheus text format."""
        self._look()
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def inspect_page(self, request: HttpRequest) -> Response:
        """Return the inspector page of the last turns, newest first."""
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
        """Check that the client may read other clients' turns.

        A browser sends the key as the password of any user. If no key is configured, the browser
        must use this machine's address. A domain name may belong to an attacker, whose page could
        then read the turns.

        Raises:
            Fault: access is denied.
        """
        if not self.settings.api_key:
            if not is_number(headers.get("host", "")):
                raise Fault("without an API key, use localhost or the IP address", status=403)
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
            raise Fault("missing or wrong API key", status=401)

    def _look(self) -> None:
        """Update the gauges that are computed on demand."""
        self.metrics.held.set(sum(turn.held for turn in self.turns))

    async def _look_often(self) -> None:
        """Update the gauges periodically, since another process may serve `/metrics`."""
        while True:
            self._look()
            await asyncio.sleep(SHARING)

    async def _no_such_page(self, _: HttpRequest, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        words = "unknown path" if status == 404 else "method not allowed"
        return self._said(Fault(words, status=status, code="not_found"))

    def _said(self, fault: Fault) -> Response:
        """Return the error response of a page outside the protocols."""
        return _json(PROTOCOLS["/v1/chat/completions"].error(fault, ""), fault.status)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        del app
        looking = asyncio.create_task(self._look_often()) if self.metrics.are_shared else None
        self.pool.prepare(self.served)
        async with self.client:
            yield
            for _ in range(int(ENDING / 0.02)):
                if not self.open:
                    break
                await asyncio.sleep(0.02)
        if looking is not None:
            looking.cancel()
        self.pool.close()
        self.records.close()


class Endpoint:
    """One protocol of a gateway, as an ASGI application."""

    def __init__(self, gateway: Gateway, protocol: Protocol) -> None:
        self.gateway = gateway
        self.protocol = protocol

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request."""
        await Exchange(self.gateway, self.protocol, scope, receive, send).answer()


def is_number(host: str) -> bool:
    """Return True if a host is localhost or an IP address."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or bool(ip_address(name))
    except ValueError:
        return False


def _json(body: Any, status: int = 200) -> Response:
    return Response(json_bytes(body), status, media_type="application/json")
