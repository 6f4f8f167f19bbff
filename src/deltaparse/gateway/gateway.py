"""The gateway: an ASGI application in front of one upstream.

A request is understood first, then the upstream is asked, for each choice by itself, and only when
it takes the request does the answer begin: until then a fault has a status of its own. While an
answer is made somebody listens whether the client is still there; when it is gone, all that was
opened for it is closed.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TextIO

import anyio
import httpx
from anyio import to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from .answers import Answer, ClientGone, StreamedAnswer, WholeAnswer, send_json
from .asked import Asked, asked, read_body
from .faults import Fault
from .metrics import Metrics
from .model import Model
from .names import Names
from .protocol import PROTOCOLS, Protocol
from .records import write_record
from .settings import Settings
from .turn import Turn
from .upstreams.connection import opened
from .upstreams.upstream import Upstream

__all__ = ["Gateway", "upstream_client"]

LOG = logging.getLogger("deltaparse.gateway")


def upstream_client(url: str, settings: Settings) -> httpx.AsyncClient:
    """Return a client of an upstream, whose URL may end with `/v1`."""
    base = url.rstrip("/").removesuffix("/v1")
    timeout = httpx.Timeout(settings.idle_timeout, connect=settings.connect_timeout)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
    headers = {"accept-encoding": "identity", "user-agent": "deltaparse"}
    return httpx.AsyncClient(
        base_url=base, timeout=timeout, limits=limits, headers=headers, trust_env=False
    )


class Gateway:
    """All that answers share: nothing of one request is kept for another.

    Args:
        model: how the model writes.
        upstream: what is asked.
        client: what asks it; it is closed when the application stops.
        settings: limits and keys.
        record: where each turn is written to, as a line of JSON.
    """

    def __init__(
        self,
        model: Model,
        upstream: Upstream,
        client: httpx.AsyncClient,
        settings: Settings = Settings(),  # noqa: B008 - frozen
        record: TextIO | None = None,
    ) -> None:
        self.model = model
        self.upstream = upstream
        self.client = client
        self.settings = settings
        self.metrics = Metrics()
        self.names = Names(client, settings)
        self._record = record
        self._open = 0

    def app(self) -> Starlette:
        """Return the application."""
        routes = [
            Route(path, Endpoint(self, protocol), methods=["POST"])
            for path, protocol in PROTOCOLS.items()
        ]
        routes += [
            Route("/v1/models", self.models),
            Route("/v1/models/{name:path}", self.models),
            Route("/health", self.health),
            Route("/metrics", self.numbers),
        ]
        return Starlette(routes=routes, lifespan=self._lifespan)

    async def models(self, request: HttpRequest) -> Response:
        """Answer which models there are, or whether one is there."""
        chat = PROTOCOLS["/v1/chat/completions"]
        try:
            self.check_key(request.headers)
            names = await self.names.served(self.authorization(request.headers))
            wanted = request.path_params.get("name")
            if wanted is not None and wanted not in names:
                raise unknown_model(wanted)
        except Fault as fault:
            return JSONResponse(chat.error(fault, ""), fault.status)
        models = [
            {"id": name, "object": "model", "created": 0, "owned_by": "deltaparse"}
            for name in names
            if wanted in (None, name)
        ]
        return JSONResponse(models[0] if wanted else {"object": "list", "data": models})

    async def health(self, _: HttpRequest) -> Response:
        """Answer that the gateway is there; the upstream is not asked."""
        verified = self.model.fmt.verified
        return JSONResponse({"status": "ok", "kind": self.upstream.kind, "verified": verified})

    async def numbers(self, _: HttpRequest) -> Response:
        """Answer with the metrics."""
        return PlainTextResponse(self.metrics.text(), media_type="text/plain; version=0.0.4")

    def check_key(self, headers: Mapping[str, str]) -> None:
        """Raise `Fault` for a client that does not show the key."""
        key = self.settings.api_key
        if not key:
            return
        bearer = headers.get("authorization", "")
        shown = headers.get("x-api-key") or bearer.partition(" ")[2].strip()
        if not hmac.compare_digest(shown.encode(), key.encode()):
            raise Fault("the API key is missing, or wrong", status=401)

    def authorization(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return what the upstream is shown."""
        if self.settings.upstream_key:
            return {"authorization": f"Bearer {self.settings.upstream_key}"}
        if self.settings.forward_authorization and "authorization" in headers:
            return {"authorization": headers["authorization"]}
        return {}

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold one of the places for answers.

        Raises:
            Fault: all are taken.
        """
        if self._open >= self.settings.max_streams:
            raise Fault("too many requests at a time", status=503, retry_after="1")
        self._open += 1
        self.metrics.open.add()
        try:
            yield
        finally:
            self._open -= 1
            self.metrics.open.add(by=-1)

    def note(self, turn: Turn, asked: Asked, id: str, index: int) -> None:
        """Count what came of a turn, and write it down if that is asked for."""
        metrics, parser = self.metrics, turn.parser
        metrics.finished.add("fault" if turn.fault else turn.finish_reason)
        metrics.truncated.add(by=parser.finish_reason == "length")
        for attempt in parser.attempts:
            metrics.calls.add(attempt.status)
        for issue in parser.issues:
            metrics.issues.add(issue.kind)
        counts = parser.counts
        for part in ("content", "reasoning", "tool_calls"):
            metrics.characters.add(part, by=getattr(counts, part).characters)
        usage = turn.usage or {}
        thought = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
        metrics.tokens.add("prompt", by=usage.get("prompt_tokens") or 0)
        metrics.tokens.add("reasoning", by=thought)
        metrics.tokens.add("answer", by=max((usage.get("completion_tokens") or 0) - thought, 0))
        if self._record is not None:
            write_record(self._record, f"{id}-{index}", asked, turn)

    @property
    def records(self) -> bool:
        """Whether turns are written down."""
        return self._record is not None

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        async with self.client:
            yield


class Endpoint:
    """One protocol of a gateway, as an ASGI application."""

    def __init__(self, gateway: Gateway, protocol: Protocol) -> None:
        self.gateway = gateway
        self.protocol = protocol

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await Exchange(self.gateway, self.protocol, scope, receive, send).answer()


class Exchange:
    """One request and its answer."""

    def __init__(
        self, gateway: Gateway, protocol: Protocol, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self.gateway = gateway
        self.protocol = protocol
        self.headers = Headers(scope=scope)
        self.id = secrets.token_hex(12)
        self._receive = receive
        self._send = self._noting(send)
        self._began = time.monotonic()
        self._status = 0
        self._gone = False
        self._fault: Fault | None = None

    async def answer(self) -> None:
        """Answer, and say in the log and in the metrics what came of it."""
        try:
            await self._answered()
        except ClientGone:
            self._gone = True
        except Exception:
            LOG.exception("internal error", extra={"request_id": self.id})
            self._fault = Fault("the gateway failed", status=500)
            if self._status:
                raise  # the connection ends in the middle: no client takes that for an answer
            await self._refuse(self._fault)
        finally:
            self._note()

    async def _answered(self) -> None:
        gateway, settings = self.gateway, self.gateway.settings
        try:
            gateway.check_key(self.headers)
            async with gateway.place():
                body = read_body(await self._body())
                given = body.get("model")
                name = await self._model(given)
                understood = await to_thread.run_sync(
                    asked, body, self.protocol, gateway.model, gateway.upstream, settings
                )
                await self._listening(self._answer_of(understood, given or name or ""), name)
        except Fault as fault:
            self._fault = fault
            await self._refuse(fault)

    async def _listening(self, answer: Answer, name: str | None) -> None:
        """Make an answer while the client is there."""
        async with anyio.create_task_group() as group:

            async def listen() -> None:
                while (await self._receive())["type"] != "http.disconnect":
                    pass
                self._gone = True
                group.cancel_scope.cancel()

            group.start_soon(listen)
            try:
                await self._choices(answer, name)
            except ClientGone:
                self._gone = True
            group.cancel_scope.cancel()
        if answer.first is not None:
            self.gateway.metrics.first.observe(value=answer.first - self._began)

    async def _choices(self, answer: Answer, name: str | None) -> None:
        """Make all choices of an answer at a time; the first fault ends all."""
        faults: list[Fault] = []
        gone: list[ClientGone] = []
        async with anyio.create_task_group() as group:

            async def make(index: int) -> None:
                try:
                    await self._choice(answer, index, name)
                except Fault as fault:
                    faults.append(fault)
                    group.cancel_scope.cancel()
                except ClientGone as error:
                    gone.append(error)
                    group.cancel_scope.cancel()

            for index in range(answer.asked.sampling.n):
                group.start_soon(make, index)
        if gone:
            raise gone[0]
        if faults:
            self._fault = faults[0]
            await answer.fail(faults[0])

    async def _choice(self, answer: Answer, index: int, name: str | None) -> None:
        gateway, asked = self.gateway, answer.asked
        deadline = anyio.current_time() + gateway.settings.total_timeout
        generation = asked.generation(gateway.upstream, name, index)
        parser = asked.parser(collect=isinstance(answer, WholeAnswer))
        turn = Turn(parser, asked.sampling.stop, deadline)
        headers = gateway.authorization(self.headers)
        stream = opened(gateway.client, gateway.upstream, generation, gateway.settings, headers)
        async with stream as connection:
            await answer.begin()

            async def emit(deltas: Any) -> None:
                await answer.take(index, deltas)

            try:
                await turn.run(connection, emit, record=gateway.records)
            finally:
                gateway.note(turn, asked, self.id, index)
        if turn.fault is not None:
            raise turn.fault
        await answer.end(index, turn)

    def _answer_of(self, understood: Asked, model: str) -> Answer:
        head = {
            "id": f"{self.protocol.id_prefix}{self.id}",
            "model": model,
            "created": int(time.time()),
            "fields": understood.repeated,
        }
        make = StreamedAnswer if understood.stream else WholeAnswer
        patience = self.gateway.settings.send_timeout
        return make(understood, self.protocol, head, self._send, patience, self._own_headers())

    async def _body(self) -> bytes:
        """Return the body of the request.

        Raises:
            Fault: it is too large.
        """
        limit, body, more = self.gateway.settings.max_body, bytearray(), True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            body += message.get("body", b"")
            if len(body) > limit:
                raise Fault(f"a request has at most {limit} bytes", status=413)
            more = message.get("more_body", False)
        return bytes(body)

    async def _model(self, given: Any) -> str | None:
        """Return the upstream's name of the model that a request names.

        Raises:
            Fault: there is no such model.
        """
        if given is not None and not isinstance(given, str):
            raise Fault(f"model is a name, not {given!r:.80}", param="model")
        names = self.gateway.names
        authorization = self.gateway.authorization(self.headers)
        if given and not await names.knows(given, authorization):
            raise unknown_model(given)
        return await names.upstream(given, authorization)

    async def _refuse(self, fault: Fault) -> None:
        body = self.protocol.error(fault, self._own_headers()["x-request-id"])
        await send_json(self._send, body, fault.status, self._own_headers(), fault)

    def _own_headers(self) -> dict[str, str]:
        return {"x-request-id": f"req_{self.id}", "request-id": f"req_{self.id}"}

    def _noting(self, send: Send) -> Send:
        async def noting(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._status = message["status"]
            await send(message)

        return noting

    def _note(self) -> None:
        metrics, seconds = self.gateway.metrics, time.monotonic() - self._began
        status = self._status or 499
        metrics.requests.add(self.protocol.name, str(status))
        metrics.seconds.observe(value=seconds)
        if self._gone:
            metrics.gone.add()
        if self._fault is not None and self._fault.status >= 500:
            metrics.upstream.add(str(self._fault.status))
        LOG.info(
            "answered",
            extra={
                "request_id": self.id,
                "protocol": self.protocol.name,
                "status": status,
                "seconds": round(seconds, 4),
                "client_gone": self._gone,
                "fault": self._fault.status if self._fault else None,
            },
        )


def unknown_model(name: str) -> Fault:
    """Return the fault of a request for a model that is not there."""
    message = f"there is no model {name!r:.200}"
    return Fault(message, status=404, code="model_not_found", param="model")
