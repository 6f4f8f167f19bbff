"""A gateway as processes: one, or several that take connections from one socket.

What is asked of the upstream and of the template is asked once, before the processes part. They
share nothing but the socket, and a folder for their numbers.
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
"""Seconds for which an idle connection of a client is kept: longer than most balancers keep it."""

SHORT_LIFE = 5.0
"""A worker that ends sooner than that was no good; more than some of them end the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What is to be served.

    grace: seconds for which open answers may go on when the service is told to stop.
    """

    found: Found
    settings: Settings
    url: str
    record: Path | None = None
    workers: int = 1
    grace: int = 30

    def run(self, listening: socket.socket) -> None:
        """Serve in this process, until it is told to stop."""
        settings = self.settings
        gateway = Gateway(
            self.found.model,
            self.found.upstream,
            HttpClient(self.url, settings, key=settings.upstream_key),
            settings,
            Records(self.record, latest=settings.inspect),
        )
        gateway.metrics.leave_out_times()
        # asyncio warns of each client that leaves while it is sent something.
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
            # uvicorn raises the signal again when it has stopped: that is no failure.
            server.should_exit = True

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        server.run(sockets=[listening])


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        UsageError: the address is none of this machine, or is taken.
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
    """Serve until the process is told to stop.

    Raises:
        UsageError: several workers are asked for where there is no `fork`, or none of them lives.
    """
    if service.workers == 1:
        service.run(listening)
        return
    if not hasattr(os, "fork"):
        raise UsageError("--workers needs a system with fork: start several services instead")
    with tempfile.TemporaryDirectory(prefix="deltaparse-") as folder:
        share_numbers(Path(folder))
        _supervise(lambda: service.run(listening), service.workers, listening)


def _supervise(run: Callable[[], None], count: int, listening: socket.socket) -> None:
    """Keep `count` processes running; pass on the signal that stops them, and wait for them.

    The socket is closed when they are told to stop: while it is open here, the system takes
    connections that nobody serves.
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
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # `stop` is not the child's
        if stopping:  # since somebody looked
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
            except BaseException:  # noqa: BLE001 - whatever it was, the process ends
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
            raise UsageError("the workers end as soon as they are started")
        start()
