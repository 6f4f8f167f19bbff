"""The code of worker processes: the nursery and the loop of a worker.

A worker ignores the stop signals of a service. It ends when the gateway closes its socket or kills
it. It also ends by itself if a job exceeds its limit. This timer is a C thread and works without
the interpreter lock.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import signal
import socket
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ..faults import Fault
from .tasks import warm

__all__ = ["alone", "main"]

MEMORY = 1 << 30
"""Limit of allocated bytes in a worker, on systems with such limits."""


WARMING = 5.0
"""Seconds for preparing the shared state of all workers."""


def main(number: int) -> None:
    """Execute the commands of a socket until it is closed.

    "w" is sent with another socket, for a new worker. "m" is followed by the length and the bytes
    of a gateway's data. The nursery prepares it once for all workers.
    """
    _ignore_stops()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps the workers
    control = socket.socket(fileno=number)
    gc.collect()
    gc.freeze()
    while True:
        message, found, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        if message == b"m":
            size = int.from_bytes(control.recv(4, socket.MSG_WAITALL))
            _warm(control.recv(size, socket.MSG_WAITALL))
            continue
        if os.fork() == 0:
            try:
                control.close()
                connection = socket.socket(fileno=found[0])
                serve(connection.makefile("rb"), connection.makefile("wb"))
            finally:
                os._exit(0)
        for one in found:
            os.close(one)


def _warm(gateway: bytes) -> None:
    faulthandler.dump_traceback_later(WARMING, exit=True)
    with suppress(Exception):
        warm(gateway)
    faulthandler.cancel_dump_traceback_later()
    gc.collect()
    gc.freeze()


def alone() -> None:
    """Run one worker in this process, over standard input and output."""
    _ignore_stops()
    reading, writing = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    serve(reading, writing)


def serve(reading: IO[bytes], writing: IO[bytes]) -> None:
    """Run jobs one after another, until the end of the input."""
    _limit_memory()
    quiet = Path(os.devnull).open("w")  # noqa: SIM115 - open as long as the process runs
    send(writing, ("pid", os.getpid()))
    while True:
        try:
            seconds, function, args = pickle.load(reading)  # noqa: S301 - from the gateway
        except (EOFError, OSError):
            return
        faulthandler.dump_traceback_later(seconds, exit=True, file=quiet)
        try:
            send(writing, ("done", function(lambda member: send(writing, ("at", member)), *args)))
        except Fault as fault:
            send(writing, ("fault", fault))
        except MemoryError:
            send(writing, ("fault", Fault("the request needs too much memory", status=413)))
        except Exception as error:  # noqa: BLE001 - the gateway reports it
            with suppress(OSError):
                send(writing, ("failed", _failure(error)))
        finally:
            faulthandler.cancel_dump_traceback_later()


def send(writing: IO[bytes], message: tuple[str, Any]) -> None:
    """Write a message. If it cannot be pickled, the stream stays unchanged."""
    writing.write(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
    writing.flush()


def _failure(error: Exception) -> tuple[str, list[str]]:
    """Return the type and locations of an exception. Its message may contain data of a request."""
    frames = traceback.extract_tb(error.__traceback__)
    where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return type(error).__name__, where


def _ignore_stops() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _limit_memory() -> None:
    try:
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        limit = MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
    except (ImportError, OSError, ValueError):
        return
