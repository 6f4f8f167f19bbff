"""One HTTP request and its response.

The request is read and checked first. Then each choice is requested from the upstream. The response
begins only after the upstream has accepted the request, so earlier faults have an HTTP status of
their own. Meanwhile a task watches for a disconnected client, and then closes all connections of
the request.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import secrets
import time
import traceback
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from .answers import Answer, ClientGone, StreamedAnswer, WholeAnswer, whole_response
from .choice_stream import Turn
from .context import Shared
from .faults import Fault
from .parsed_request import ParsedRequest
from .protocol import Protocol
from .uploads import Upload
from .upstreams.connection import opened
from .upstreams.upstream import Generation
from .work.tasks import constrain, understand
from .work.worker import WorkerFailed

__all__ = ["Exchange", "unknown_model"]

LOG = logging.getLogger("deltaparse.gateway")

BREAKING_OFF = 1.0
"""Seconds for reporting the end of a response to its client at shutdown."""


class Exchange:
    """One HTTP request and its response."""

    def __init__(
        self, gateway: Shared, protocol: Protocol, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self.gateway = gateway
        self.protocol = protocol
        self.headers = Headers(scope=scope)
        self.id = secrets.token_hex(12)
        self.client = client_of(scope)
        self._receive = receive
        self._plain_send = send
        self._began = time.monotonic()
        self._status = 0
        self._gone = False
        self._fault: Fault | None = None
        self._answer: Answer | None = None

    async def answer(self) -> None:
        """Respond to the request, and record the result in the log and the metrics."""
        try:
            await self._answered()
        except ClientGone:
            self._gone = True
        except Exception as error:  # noqa: BLE001 - a bug is the request's end, not the server's
            await self._refuse(self._internal(error))
        finally:
            self._note()

    async def _answered(self) -> None:
        gateway = self.gateway
        try:
            gateway.check_key(self.headers)
            with gateway.uploads.upload(self.client) as upload:
                await self._read_body(upload)
                async with gateway.place(self.client):
                    await self._listening(upload)
        except Fault as fault:
            await self._refuse(fault)

    async def _listening(self, upload: Upload) -> None:
        """Parse a request and respond to it while the client is connected."""
        refused: Fault | None = None
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._watch, group.cancel_scope)
                try:
                    await self._made(upload)
                except ClientGone:
                    self._gone = True
                except Fault as fault:
                    refused = fault
                group.cancel_scope.cancel()
        except asyncio.CancelledError:
            # The server stops and does not wait any longer.
            if not self._gone:
                with anyio.move_on_after(BREAKING_OFF, shield=True):
                    await self._fail(Fault("the gateway is stopping", status=503))
            if self._answer is None or not self._answer.ended:
                raise
        if refused is not None:
            raise refused
        if self._answer is not None and self._answer.first is not None:
            self.gateway.metrics.first.observe(self._answer.first - self._began)

    async def _made(self, upload: Upload) -> None:
        """Parse a request and create its response."""
        understood = await self._understood(bytes(upload.body))
        self.gateway.uploads.drop(upload)
        name = await self._model(understood.named)
        self._answer = self._answer_of(understood, understood.named or name or "")
        await self._choices(self._answer, name)

    async def _understood(self, body: bytes) -> ParsedRequest:
        gateway = self.gateway
        found = await gateway.pool.run(
            self.client, None, understand, gateway.served, self.protocol.path, body
        )
        return ParsedRequest(model=gateway.model, upstream=gateway.upstream, **found)

    async def _watch(self, scope: anyio.CancelScope) -> None:
        """Cancel a request if its client disconnects, or does not read for too long."""
        patience = self.gateway.settings.send_timeout
        while True:
            left = False
            with anyio.move_on_after(patience / 4):
                left = (await self._receive())["type"] == "http.disconnect"
            # Servers report a completed response in the same way.
            if self._answer is not None and self._answer.ended:
                return
            since = self._answer.waits_since if self._answer is not None else None
            if left:
                break
            if since is not None and time.monotonic() - since > patience:
                break
        self._gone = True
        scope.cancel()

    async def _choices(self, answer: Answer, name: str | None) -> None:
        """Generate all choices concurrently. The first fault ends all of them."""
        if answer.asked.sampling.n == 1:
            try:
                await self._choice(answer, 0, name)
            except Fault as fault:
                await self._fail(fault)
            except ClientGone:
                raise
            except Exception as error:  # noqa: BLE001 - the protocol has an error for it
                await self._fail(self._internal(error))
            return
        ended: list[Exception] = []
        async with anyio.create_task_group() as group:

            async def make(index: int) -> None:
                try:
                    await self._choice(answer, index, name)
                except Exception as error:  # noqa: BLE001 - looked at below
                    ended.append(error)
                    group.cancel_scope.cancel()

            for index in range(answer.asked.sampling.n):
                group.start_soon(make, index)
        first = ended[0] if ended else None
        if isinstance(first, ClientGone):
            raise first
        if first is not None:
            await self._fail(first if isinstance(first, Fault) else self._internal(first))

    async def _choice(self, answer: Answer, index: int, name: str | None) -> None:
        gateway, understood = self.gateway, answer.asked
        deadline = asyncio.get_running_loop().time() + gateway.settings.total_timeout
        records = gateway.records.wanted
        turn = Turn(
            understood.parser(collect=answer.collects or records),
            understood.sampling.stop,
            keep=records or understood.with_raw,
            budget=understood.budget,
            most=gateway.settings.max_answer // understood.sampling.n,
            tokens=answer.tokens[index],
        )
        gateway.turns.add(turn)
        try:
            await self._read(turn, understood.generation(name, index), answer, index, deadline)
            if understood.with_usage and not turn.knows_prompt_tokens:
                turn.prompt_tokens = await gateway.count_tokens(
                    understood.generation(name, index).prompt, name, self._authorization
                )
        finally:
            gateway.turns.discard(turn)
            self._count(turn)
            gateway.records.add(f"{self.id}-{index}", name, understood, turn)
        if turn.fault is not None:
            raise turn.fault
        await answer.end(index, turn)

    async def _read(
        self, turn: Turn, generation: Generation, answer: Answer, index: int, deadline: float
    ) -> None:
        """Read a turn to its end. Beyond the reasoning budget, continue without reasoning."""
        gateway, emit = self.gateway, partial(answer.take, index)
        asking: Generation | None = generation
        while asking is not None:
            stream = opened(gateway.client, gateway.upstream, asking, self._authorization, deadline)
            try:
                async with stream as connection:
                    await answer.begin()
                    await turn.read(connection, emit)
                asking = None
                if turn.overspent:
                    understood = answer.asked
                    await turn.end_reasoning(understood.forced_end(turn.text), emit)
                    asking = understood.resumed(generation, turn.text, turn.made)
                    member = understood.constraining_member
                    if asking is not None and member is not None:
                        constraint = await gateway.pool.run(
                            self.client,
                            member,
                            constrain,
                            gateway.served,
                            understood.portable(),
                            understood.prompt + turn.text,
                        )
                        asking = replace(asking, constraint=constraint)
                    if asking is None:
                        turn.cut()
            except Fault as fault:
                if not turn.overspent:
                    raise
                turn.fault, asking = fault, None  # the output received before stays
        await turn.finish(emit)

    def _answer_of(self, understood: ParsedRequest, model: str) -> Answer:
        head = {
            "id": f"{self.protocol.id_prefix}{self.id}",
            "model": model,
            "created": int(time.time()),
            "fields": understood.repeated,
        }
        make = StreamedAnswer if understood.stream else WholeAnswer
        return make(understood, self.protocol, head, self._send, self._own_headers())

    async def _read_body(self, upload: Upload) -> None:
        """Read the body of the request.

        Raises:
            Fault: the body is too large, is not received in time, or is too slow while others wait.
            ClientGone: the client disconnected.
        """
        settings, uploads = self.gateway.settings, self.gateway.uploads
        more = True
        with upload.scope, anyio.move_on_after(settings.body_timeout):
            while more:
                message = await self._receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                uploads.add(upload, message.get("body", b""))
                if len(upload.body) > settings.max_body:
                    words = f"the request body exceeds the limit of {settings.max_body} bytes"
                    raise Fault(words, status=413)
                more = message.get("more_body", False)
        if upload.is_given_up:
            raise Fault("the request body is sent too slowly, and other clients wait", status=408)
        if more:
            raise Fault("timeout while reading the request body", status=408)
        uploads.arrived(upload)

    async def _model(self, given: str | None) -> str | None:
        """Return the upstream's name of the requested model.

        Raises:
            Fault: the model is unknown.
        """
        fits, name = await self.gateway.names.resolve(given or None, self._authorization)
        if not fits:
            raise unknown_model(given or "")
        return name

    @property
    def _authorization(self) -> dict[str, str]:
        return self.gateway.authorization(self.headers)

    async def _fail(self, fault: Fault) -> None:
        if self._answer is None:
            await self._refuse(fault)
            return
        self._fault = fault
        await self._answer.fail(fault)

    async def _refuse(self, fault: Fault) -> None:
        """Send an error response, unless a response has begun."""
        self._fault = fault
        if self._status:
            # The connection is aborted, so clients do not mistake it for a complete response.
            return
        body = self.protocol.error(fault, self._own_headers()["x-request-id"])
        for message in whole_response(body, fault.status, self._own_headers(), fault):
            await self._send(message)

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
        await self._plain_send(message)

    def _own_headers(self) -> dict[str, str]:
        return {"x-request-id": f"req_{self.id}", "request-id": f"req_{self.id}"}

    def _internal(self, error: Exception) -> Fault:
        """Log a bug by its location. Its message may contain data of a request."""
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, WorkerFailed):
            kind, where = error.kind, error.where
        else:
            frames = traceback.extract_tb(error.__traceback__)
            where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
            kind = type(error).__name__
        more = {"request_id": self.id, "where": where}
        LOG.error("internal error: %s at %s", kind, where[-1] if where else "?", extra=more)
        return Fault("internal error in the gateway", status=500)

    def _count(self, turn: Turn) -> None:
        """Update the metrics of a turn."""
        metrics, parser = self.gateway.metrics, turn.parser
        ended = "fault" if turn.fault else turn.finish_reason or "cancelled"
        metrics.finished.labels(ended).inc()
        # Incomplete calls also finish with "length", but are not truncated at a limit.
        metrics.truncated.inc(turn.reason == "length")
        for attempt in parser.attempts:
            metrics.calls.labels(attempt.status).inc()
        for issue in parser.issues:
            metrics.issues.labels(issue.kind).inc()
        counts = parser.counts
        for part in ("content", "reasoning", "tool_calls"):
            metrics.characters.labels(part).inc(getattr(counts, part).characters)
        usage = turn.usage
        thought = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
        metrics.tokens.labels("prompt").inc(usage["prompt_tokens"])
        metrics.tokens.labels("reasoning").inc(thought)
        metrics.tokens.labels("answer").inc(max(usage["completion_tokens"] - thought, 0))

    def _note(self) -> None:
        metrics, seconds = self.gateway.metrics, time.monotonic() - self._began
        status = self._status or 499
        metrics.requests.labels(self.protocol.name, str(status)).inc()
        metrics.seconds.observe(seconds)
        if self._gone:
            metrics.gone.inc()
        if self._fault is not None and self._fault.status >= 500:
            metrics.faults.labels(str(self._fault.status)).inc()
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


def client_of(scope: Scope) -> str:
    """Return the client of a request: its address, or its /64 network for IPv6."""
    host = (scope.get("client") or ("",))[0]
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return str(host)
    if address.version == 6 and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(getattr(address, "ipv4_mapped", None) or address)


def unknown_model(name: str) -> Fault:
    """Return the fault for an unknown model."""
    message = f"unknown model: {name!r:.200}"
    return Fault(message, status=404, code="model_not_found", param="model")
