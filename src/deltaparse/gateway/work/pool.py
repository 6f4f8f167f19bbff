"""Fair use of the workers: deadlines, and turns by client.

A job is quick until it has taken `SHARE` seconds of the processor. As many quick jobs run at a
time as the machine has processors, at least two, and up to `MOST_SLOW` slow ones beside them. So a
slow job keeps no quick one waiting. If even those places are taken and somebody waits, the client
with the most jobs loses its oldest slow one. Clients that wait are served in turns, whatever each
of them has asked for.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..faults import Fault
from .worker import Idle, Worker, WorkerDied

__all__ = ["Pool"]

SHARE = 0.5
"""Seconds of the processor after which a job is slow."""

QUICK = max(os.cpu_count() or 1, 2)
MOST_SLOW = 8
WAITING = 30.0
"""Seconds for which a job may wait for a worker."""

TICK = 0.1
ENDING = 1.0
"""Seconds behind the deadline after which a worker ends by itself."""

IDLE = Idle()


@dataclass(eq=False)
class Job:
    """A job that runs."""

    client: str
    worker: Worker
    is_slow: bool = False
    is_given_up: bool = False


class Pool:
    """Runs functions in worker processes, for one event loop.

    Args:
        seconds: how long a job may run.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running: list[Job] = []
        self._starting = 0
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._threads: ThreadPoolExecutor | None = None

    async def run(
        self, client: str, param: str | None, function: Callable[..., Any], *args: Any
    ) -> Any:
        """Run a function of a module in a worker, and return its result.

        A task that is cancelled ends its worker at once.

        Args:
            client: whose job it is.
            param: the member of the request that the job works on, as long as it reports no other.
            function: the function; its first argument reports the member that it works on.
            args: its other arguments.

        Raises:
            Fault: the function raised it, it took too long, or no worker was free in time.
            WorkerFailed: the function raised something else.
        """
        await self._admitted(client)
        self._starting -= 1
        job = Job(client, self._worker())
        self._running.append(job)
        try:
            return await self._result(job, param, function, args)
        except asyncio.CancelledError:
            job.worker.kill()
            raise
        finally:
            IDLE.give(job.worker)
            if job in self._running:
                self._running.remove(job)
            self._admit()

    def prepare(self) -> None:
        """Start a worker, before the first request waits for it."""
        with suppress(OSError):
            IDLE.give(IDLE.take())

    def close(self) -> None:
        """Let the threads end; workers that still run are ended."""
        for job in self._running:
            job.worker.kill()
        if self._threads is not None:
            self._threads.shutdown(wait=False)

    async def _result(
        self, job: Job, param: str | None, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> Any:
        worker, loop = job.worker, asyncio.get_running_loop()
        if self._threads is None:
            self._threads = ThreadPoolExecutor(QUICK + MOST_SLOW, "deltaparse-work")
        answer = loop.run_in_executor(
            self._threads, worker.ask, self._seconds + ENDING, function, *args
        )
        answer.add_done_callback(_looked_at)
        began = time.monotonic()
        while not answer.done():
            await asyncio.wait({answer}, timeout=TICK)
            if answer.done() or job.is_given_up:
                break
            if time.monotonic() - began > self._seconds:
                job.worker.kill()
                raise too_long(worker.at or param, self._seconds)
            if not job.is_slow and worker.seconds() > SHARE:
                job.is_slow = True
                self._admit()
        try:
            return await answer
        except WorkerDied as error:
            if job.is_given_up:
                raise given_up(worker.at or param) from error
            message = "the request ended the process that worked on it"
            raise Fault(message, status=500, param=worker.at or param) from error

    async def _admitted(self, client: str) -> None:
        """Wait until a job of this client may run.

        Raises:
            Fault: that takes too long.
        """
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        self._admit()
        try:
            async with asyncio.timeout(WAITING):
                await turn
        except BaseException as error:
            if turn.cancelled():
                self._leave(client, turn)
            else:
                self._starting -= 1
                self._admit()
            if isinstance(error, TimeoutError):
                raise busy() from error
            raise

    def _leave(self, client: str, turn: asyncio.Future[None]) -> None:
        """Wait no longer."""
        turns = self._waiting.get(client, deque())
        if turn in turns:
            turns.remove(turn)
            if not turns:
                del self._waiting[client]

    def _worker(self) -> Worker:
        try:
            return IDLE.take()
        except OSError as error:
            self._admit()
            raise busy() from error

    def _admit(self) -> None:
        """Let those who wait run, as long as there are places for them."""
        while self._waiting and self._has_place():
            client, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._waiting[client] = turns  # behind all others
            if not turn.done():
                self._starting += 1
                turn.set_result(None)

    def _has_place(self) -> bool:
        """Return whether one more job may run, giving up a slow one for it if need be."""
        slow = [job for job in self._running if job.is_slow]
        if len(self._running) - len(slow) + self._starting >= QUICK:
            return False
        if len(slow) >= MOST_SLOW:
            jobs = Counter(job.client for job in self._running)
            job = max(slow, key=lambda job: jobs[job.client])  # the first of equals: the oldest
            job.is_given_up = True
            self._running.remove(job)
            job.worker.kill()
        return True


def _looked_at(answer: asyncio.Future[Any]) -> None:
    """Retrieve the exception of an answer that nobody waits for any more."""
    if not answer.cancelled():
        answer.exception()


def busy() -> Fault:
    """Return the fault of a request for which there is no worker."""
    return Fault("too many requests at a time", status=503, retry_after="1")


def too_long(param: str | None, seconds: float) -> Fault:
    """Return the fault of a request whose work takes too long."""
    message = f"{param or 'the request'} takes more than {seconds:g} seconds to process"
    return Fault(message, param=param, code="too_complex")


def given_up(param: str | None) -> Fault:
    """Return the fault of a request that was given up for others."""
    message = f"{param or 'the request'} takes long to process, and other requests wait: try later"
    return Fault(message, status=429, param=param, retry_after="1")
