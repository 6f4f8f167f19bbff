"""Processes of a gateway: one, or several that accept connections from one socket.

The upstream and the template are examined once, before the processes are forked. The processes
share only the socket and a folder for their metrics.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from deltaparse.partial import UsageError

from .discovery import Found
from .gateway import Gateway
from .http_server import LimitedHttp
from .metrics import forget_process, share_numbers
from .settings import Settings
from .turn_log import Records
from .upstreams.http_client import HttpClient

__all__ = ["Service", "bound_socket", "serve"]

BACKLOG = 2048
KEEP_ALIVE = 65
"""Seconds for which an idle client connection is kept, longer than in most load balancers."""

SHORT_LIFE = 5.0
"""Minimum lifetime of a worker in seconds. Several shorter lives in a row end the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The parameters of a service.

    grace: seconds for open responses to complete at shutdown.
    """

    found: Found
    settings: Settings
    url: str
    record: Path | None = None
    workers: int = 1
    grace: int = 30

    def run(self, listening: socket.socket) -> None:
        """Serve in this process until it is stopped."""
        settings = self.settings
        gateway = Gateway(
            self.found.model,
            self.found.upstream,
            HttpClient(self.url, settings, key=settings.upstream_key),
            settings,
            Records(self.record, latest=settings.inspect),
        )
        gateway.metrics.leave_out_times()
        # asyncio logs a warning for each client that disconnects early.
        logging.getLogger("asyncio").addFilter(
            lambda record: record.getMessage() != "socket.send() raised exception."
        )
        config = uvicorn.Config(
            gateway.app(),
            http=LimitedHttp,
            log_level="warning",
            access_log=False,
            lifespan="on",
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=self.grace,
        )
        server = uvicorn.Server(config)

        def stop(*_: object) -> None:
            # After its own handling, uvicorn raises the signal again, which would look like a
            # failure.
            server.should_exit = True

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        server.run(sockets=[listening])


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        UsageError: the address does not belong to this machine, or is in use.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    listening.set_inheritable(True)
    return listening


def serve(service: Service, listening: socket.socket) -> None:
    """Serve until the process is stopped.

    Raises:
        UsageError: several workers are requested on a system without `fork`, or all workers fail.
    """
    if service.workers == 1:
        service.run(listening)
        return
    if not hasattr(os, "fork"):
        raise UsageError("--workers requires a system with fork (start several services instead)")
    with tempfile.TemporaryDirectory(prefix="deltaparse-") as folder:
        share_numbers(Path(folder))
        _supervise(lambda: service.run(listening), service.workers, listening)


def _supervise(run: Callable[[], None], count: int, listening: socket.socket) -> None:
    """Keep `count` processes running. Forward a stop signal to them, and wait for their end.

    The socket is closed at the stop signal. As long as it is open, the system would accept
    connections
    without a process to serve them.
    """
    children: dict[int, float] = {}
    stopping = False

    def stop(number: int, _: object) -> None:
        nonlocal stopping
        stopping = True
        listening.close()
        for child in list(children):
            with suppress(ProcessLookupError):
                os.kill(child, number)

    signals = (signal.SIGTERM, signal.SIGINT)

    def start() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # the child must not run `stop`
        if stopping:  # set since the last check
            signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
            return
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for number in signals:
                    signal.signal(number, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
                run()
                code = 0
            except BaseException:  # noqa: BLE001 - the process ends in any case
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        children[child] = time.monotonic()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)

    for number in signals:
        signal.signal(number, stop)
    for _ in range(count):
        start()
    failures = 0
    while children:
        child, _ = os.wait()
        began = children.pop(child, None)
        if began is None:
            continue
        forget_process(child)
        if stopping:
            continue
        failures = failures + 1 if time.monotonic() - began < SHORT_LIFE else 0
        if failures > count + 2:
            stop(signal.SIGTERM, None)
            raise UsageError("all workers exited at startup; see the log above")
        start()
