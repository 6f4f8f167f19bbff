"""Worker processes: each runs one function at a time, and can be killed meanwhile.

Threads cannot be killed, processes can. On systems with `fork`, one process (the nursery) imports
the code once and forks the workers. So a new worker starts within milliseconds and shares most of
its memory. The gateway itself has threads and must not fork. On other systems each worker is a new
interpreter.

All gateways of a process share the nursery and the idle workers. All messages are pickles between
processes of this program. Data from clients is never unpickled.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing import spawn
from pathlib import Path
from typing import IO, Any, cast

__all__ = ["Idle", "Worker", "WorkerDied", "WorkerFailed"]

MOST_IDLE = 4
"""Number of idle workers kept for further requests."""

LARGE = 1 << 20
"""Size of a job in bytes above which its worker is not reused, because it keeps the memory."""

LOWEST = 19
"""The lowest priority of a process."""

TELLS = Path("/proc/self/stat").exists()
GUESS = 2
"""Assumed ratio of wall-clock time to processor time, on systems that do not report the latter."""

FORKS = hasattr(os, "fork") and hasattr(socket, "send_fds")
START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
NURSERY = START + "from deltaparse.gateway.work.nursery import main; main(int(sys.argv[2]))"
ALONE = START + "from deltaparse.gateway.work.nursery import alone; alone()"


class WorkerDied(Exception):
    """The process ended before it responded: it was killed, or it crashed."""


class WorkerFailed(Exception):
    """The function raised an exception other than a fault.

    Args:
        kind: the type name of the exception.
        where: the code locations, innermost last.
    """

    def __init__(self, kind: str, where: list[str]) -> None:
        super().__init__(kind)
        self.kind = kind
        self.where = where


class Worker:
    """One worker process.

    `at` is the member of the request in progress, as reported by the running function.
    """

    def __init__(self) -> None:
        self.at: str | None = None
        self.is_dead = False
        self._pid: int | None = None
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._reading: IO[bytes]
        self._writing: IO[bytes]
        self._asking = False
        self._began = 0.0
        self._spent_before = 0.0
        if FORKS:
            self._socket = NURSERY_OF_PROCESS.worker()
            self._reading = self._socket.makefile("rb")
            self._writing = self._socket.makefile("wb")
        else:
            self._process = started(ALONE, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._reading = cast("IO[bytes]", self._process.stdout)
            self._writing = cast("IO[bytes]", self._process.stdin)

    def ask(self, seconds: float, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function in the process and return its result. The call blocks.

        Args:
            seconds: the time after which the process ends by itself, even without this process.
            function: a module-level function. Its first argument is a callback for the member in
                progress.
            args: the other arguments.

        Raises:
            Fault: the function raised it.
            WorkerFailed: the function raised another exception.
            WorkerDied: the process ended.
        """
        self.at, self._asking = None, True
        self._began, self._spent_before = time.monotonic(), self._processor_time()
        try:
            job = pickle.dumps((seconds, function, args), pickle.HIGHEST_PROTOCOL)
            self._writing.write(job)
            self._writing.flush()
            kind, value = self._answer()
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
            self.kill()
            raise WorkerDied from error
        finally:
            self._asking = False
            if self.is_dead:
                self.close()
        if len(job) > LARGE:
            self.kill()
        if kind == "fault":
            raise value
        if kind == "failed":
            raise WorkerFailed(*value)
        return value

    def seconds(self) -> float:
        """Return the processor time of the running job, estimated on some systems."""
        if not TELLS:
            return (time.monotonic() - self._began) / GUESS
        return self._processor_time() - self._spent_before

    def step_back(self) -> None:
        """Lower the priority of the process. It must not be reused afterwards."""
        with contextlib.suppress(OSError, AttributeError):
            if self._pid is not None:
                os.setpriority(os.PRIO_PROCESS, self._pid, LOWEST)

    def kill(self) -> None:
        """Kill the process. A thread waiting in `ask` raises `WorkerDied`."""
        if self.is_dead:
            return
        self.is_dead = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        elif self._socket is not None:
            if self._pid is not None:
                with contextlib.suppress(OSError):
                    os.kill(self._pid, signal.SIGKILL)
            # Wakes the waiting thread. A process that has not started yet reads the end.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection. If a thread is using it, that thread closes it."""
        if not self._asking:
            for one in (self._writing, self._reading, self._socket):
                with contextlib.suppress(OSError):
                    if one is not None:
                        one.close()

    def _answer(self) -> tuple[str, Any]:
        while True:
            kind, value = pickle.load(self._reading)  # noqa: S301 - from our own process
            if kind == "pid":
                self._pid = value
            elif kind == "at":
                self.at = value
            else:
                return kind, value

    def _processor_time(self) -> float:
        """Return the processor time of the process, 0 if unknown."""
        if self._pid is None:
            return 0.0
        try:
            fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Idle:
    """Idle workers, shared by all gateways of this process."""

    def __init__(self) -> None:
        self._workers: list[Worker] = []
        self._process = os.getpid()

    def prepare(self, gateway: bytes) -> None:
        """Start a prepared worker for a gateway, if possible."""
        with contextlib.suppress(OSError):
            if FORKS:
                NURSERY_OF_PROCESS.warm(gateway)
            self.give(Worker())

    def take(self) -> Worker:
        """Return an idle worker, or a new one."""
        if self._process != os.getpid():  # after a fork, the workers belong to the parent
            self._workers, self._process = [], os.getpid()
        try:
            return self._workers.pop()
        except IndexError:
            return Worker()

    def give(self, worker: Worker) -> None:
        """Keep a worker for reuse, or end it."""
        if worker.is_dead or len(self._workers) >= MOST_IDLE:
            worker.kill()
            worker.close()
        else:
            self._workers.append(worker)


class Nursery:
    """The process that forks the workers. It is started on first use, and restarted if it dies.

    It ends with this process, because its socket is closed then.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()

    def worker(self) -> socket.socket:
        """Return a socket connected to a new worker.

        Raises:
            OSError: no process can be started.
        """
        with self._lock:
            ours, theirs = socket.socketpair()
            with theirs:
                try:
                    socket.send_fds(self._started(), [b"w"], [theirs.fileno()])
                except OSError:  # the nursery died
                    again = self._started(again=True)
                    socket.send_fds(again, [b"w"], [theirs.fileno()])
            return ours

    def warm(self, gateway: bytes) -> None:
        """Prepare the data of a gateway for future workers.

        Raises:
            OSError: no process can be started.
        """
        with self._lock:
            self._started().sendall(b"m" + len(gateway).to_bytes(4) + gateway)

    def _started(self, *, again: bool = False) -> socket.socket:
        alive = self._process is not None and self._process.poll() is None
        if self._control is None or again or not alive or self._owner != os.getpid():
            if self._control is not None:
                self._control.close()
            self._control, theirs = socket.socketpair()
            with theirs:
                number = theirs.fileno()
                self._process = started(NURSERY, str(number), pass_fds=[number])
            self._owner = os.getpid()
        return self._control


def started(code: str, *args: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start an interpreter that runs `code` with this process's module path.

    `multiprocessing` is not used, because it would import the program's main module again. The
    process has its own session: Ctrl-C stops only the gateway, which first completes its responses.
    """
    executable = os.fsdecode(spawn.get_executable())
    command = [executable, "-I", "-c", code, json.dumps(sys.path), *args]
    chosen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **options}
    return subprocess.Popen(  # noqa: S603 - the command contains no input of clients
        command, start_new_session=os.name == "posix", **chosen
    )


NURSERY_OF_PROCESS = Nursery()
