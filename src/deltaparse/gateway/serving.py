"""Processes of a gateway: one, or several that accept connections from one socket.

The upstream and the template are examined once, before the processes start. The processes share
only the socket and a folder for their metrics.
"""

from __future__ import annotations

import json
import logging
import signal
import socket
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from deltaparse.partial import UsageError

from .discovery import Found
from .gateway import Gateway
from .http_server import LimitedHttp
from .metrics import forget_process, share_numbers
from .settings import Settings
from .turn_log import Records
from .upstreams.http_client import HttpClient

__all__ = ["Service", "bound_socket", "serve"]

LOG = logging.getLogger("deltaparse.gateway")

KEEP_ALIVE = 65
"""Seconds for which an idle client connection is kept, longer than in most load balancers."""

UNRESPONSIVE = 60
"""Seconds after which a worker without a sign of life is replaced. It must cover the startup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The parameters of a service. Each worker process receives a copy.

    grace: seconds for open responses to complete at shutdown.
    log: write one JSON line per request to stderr.
    """

    found: Found
    settings: Settings
    url: str
    record: Path | None = None
    workers: int = 1
    grace: int = 30
    log: bool = False

    def config(self) -> uvicorn.Config:
        """Return the configuration of the server."""
        return uvicorn.Config(
            self.app,
            factory=True,
            workers=self.workers,
            http=LimitedHttp,
            log_level="warning",
            access_log=False,
            lifespan="on",
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=self.grace,
            timeout_worker_healthcheck=UNRESPONSIVE,
        )

    def app(self) -> Starlette:
        """Create the application of this process.

        Raises:
            SystemExit: it cannot be created. The supervisor starts no further worker then.
        """
        try:
            gateway = self._gateway()
        except Exception:
            LOG.exception("cannot create the gateway")
            sys.exit(STARTUP_FAILURE)
        gateway.metrics.leave_out_times()
        if self.log:
            _log_as_json()
        # asyncio logs a warning for each client that disconnects early.
        logging.getLogger("asyncio").addFilter(
            lambda record: record.getMessage() != "socket.send() raised exception."
        )
        return gateway.app()

    def _gateway(self) -> Gateway:
        settings = self.settings
        client = HttpClient(self.url, settings, key=settings.upstream_key)
        records = Records(self.record, latest=settings.inspect)
        return Gateway(self.found.model, self.found.upstream, client, settings, records)


class Workers(Multiprocess):
    """uvicorn's supervisor, extended by the end of the socket and of metrics."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        self._known: set[int] = set()

    def keep_subprocess_alive(self) -> None:
        """Replace dead workers, and remove the gauges of all that have ended."""
        super().keep_subprocess_alive()
        running = {process.pid for process in self.processes if process.pid is not None}
        for ended in self._known - running:
            forget_process(ended)
        self._known = running

    def terminate_all(self) -> None:
        """Stop the workers.

        The socket is closed before. As long as it is open, the system would accept connections
        without a process to serve them.
        """
        for listening in self.sockets:
            listening.close()
        super().terminate_all()


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        UsageError: the address does not belong to this machine, or is in use.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(address, family=family, dualstack_ipv6=both)
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error


def serve(service: Service, listening: socket.socket) -> None:
    """Serve until the process is stopped.

    Raises:
        UsageError: a worker cannot start.
    """
    if service.workers == 1:
        _serve_alone(service.config(), listening)
        return
    with tempfile.TemporaryDirectory(prefix="deltaparse-") as folder:
        share_numbers(Path(folder))
        workers = Workers(service.config(), [listening])
        workers.run()
    if any(process.exitcode == STARTUP_FAILURE for process in workers.processes):
        raise UsageError("a worker failed at startup; see the log above")


def _serve_alone(config: uvicorn.Config, listening: socket.socket) -> None:
    server = uvicorn.Server(config)

    def stop(*_: object) -> None:
        # After its own handling, uvicorn raises the signal again, which would look like a failure.
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    server.run(sockets=[listening])


class _JsonLines(logging.Formatter):
    """Formats a record as JSON, with the fields given by the gateway."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {"time": round(record.created, 3), "event": record.getMessage()}
        plain = vars(logging.makeLogRecord({}))
        given = {name: value for name, value in vars(record).items() if name not in plain}
        return json.dumps(fields | given, default=str)


def _log_as_json() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
