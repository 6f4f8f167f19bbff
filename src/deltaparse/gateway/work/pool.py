"""Fair scheduling of the workers, with deadlines.

A job is slow after `SHARE` seconds of processor time, and continues at the lowest priority. So slow
requests do not delay short ones. If all places are taken and another client waits, the client with
the most jobs loses its oldest slow one. Waiting clients take turns, however many requests each has.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..faults import Fault
from .worker import Idle, Worker, WorkerDied

__all__ = ["Pool"]

SHARE = 0.1
"""Seconds of processor time after which a job is slow."""

MOST = 32
"""Number of places for running jobs."""

LARGE = 2 << 20
MOST_OF_ONE = 8
"""A job takes one more place per `LARGE` bytes, up to this number, because it needs more memory."""

WAITING = 30.0
"""Seconds for which a job may wait for a worker."""

TICK = 0.05
BY_THE_CLOCK = 3
"""Limit of wall-clock time, as a multiple of the processor time."""

ENDING = 1.0
"""Seconds after the deadline until a worker ends by itself."""

IDLE = Idle()


@dataclass(eq=False)
class Turn:
    """A waiting job and its number of places."""

    places: int
    comes: asyncio.Future[None]


@dataclass(eq=False)
class Job:
    """A running job."""

    client: str
    worker: Worker
    places: int
    is_slow: bool = False
    is_given_up: bool = False


class Pool:
    """Runs functions in worker processes, for one event loop.

    Args:
        seconds: the limit of processor time for a job.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running: list[Job] = []
        self._taken = 0  # places
        self._waiting: OrderedDict[str, deque[Turn]] = OrderedDict()
        self._threads: ThreadPoolExecutor | None = None

    async def run(
        self, client: str, param: str | None, function: Callable[..., Any], *args: Any
    ) -> Any:
        """Run a module-level function in a worker, and return its result.

        If the task is cancelled, the worker is killed immediately.

        Args:
            client: the client of the job.
            param: the member of the request in progress, until the function reports another one.
            function: the function. Its first argument is a callback for the member in progress.
            args: the other arguments.

        Raises:
            Fault: the function raised it, exceeded its time, or no worker was free in time.
            WorkerFailed: the function raised another exception.
        """
        size = sum(len(arg) for arg in args if isinstance(arg, bytes | str))
        places = min(1 + size // LARGE, MOST_OF_ONE)
        await self._admitted(client, places)
        try:
            job = Job(client, IDLE.take(), places)
        except OSError as error:
            self._free(places)
            raise busy() from error
        self._running.append(job)
        try:
            return await self._result(job, param, function, args)
        except asyncio.CancelledError:
            job.worker.kill()
            raise
        finally:
            if job.is_slow:
                job.worker.kill()  # a lowered priority cannot be raised again
            IDLE.give(job.worker)
            if job in self._running:
                self._running.remove(job)
                self._free(job.places)

    @staticmethod
    def prepare(gateway: bytes) -> None:
        """Start a worker before the first request."""
        IDLE.prepare(gateway)

    def close(self) -> None:
        """Stop the threads, and kill running workers."""
        for job in self._running:
            job.worker.kill()
        if self._threads is not None:
            self._threads.shutdown(wait=False)

    async def _result(
        self, job: Job, param: str | None, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> Any:
        worker, loop = job.worker, asyncio.get_running_loop()
        if self._threads is None:
            self._threads = ThreadPoolExecutor(MOST, "deltaparse-work")
        answer = loop.run_in_executor(
            self._threads, worker.ask, BY_THE_CLOCK * self._seconds + ENDING, function, *args
        )
        answer.add_done_callback(_looked_at)
        began = time.monotonic()
        while not answer.done():
            await asyncio.wait({answer}, timeout=TICK)
            if answer.done() or job.is_given_up:
                break
            spent, passed = worker.seconds(), time.monotonic() - began
            if spent > self._seconds or passed > BY_THE_CLOCK * self._seconds:
                job.worker.kill()
                raise too_long(worker.at or param, self._seconds)
            if not job.is_slow and spent > SHARE:
                job.is_slow = True
                worker.step_back()
                self._admit()
        try:
            return await answer
        except WorkerDied as error:
            if job.is_given_up:
                raise given_up(worker.at or param) from error
            message = "the worker process ended while processing the request"
            raise Fault(message, status=500, param=worker.at or param) from error

    async def _admitted(self, client: str, places: int) -> None:
        """Wait until a job of this client may run, and take its places.

        Raises:
            Fault: the waiting time is exceeded.
        """
        turn = Turn(places, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(client, deque()).append(turn)
        self._admit()
        try:
            async with asyncio.timeout(WAITING):
                await turn.comes
        except BaseException as error:
            if turn.comes.cancelled():
                self._leave(client, turn)
            else:
                self._free(places)
            if isinstance(error, TimeoutError):
                raise busy() from error
            raise

    def _leave(self, client: str, turn: Turn) -> None:
        """Remove a job from the queue."""
        self._waiting[client].remove(turn)
        if not self._waiting[client]:
            del self._waiting[client]
        self._admit()

    def _free(self, places: int) -> None:
        self._taken -= places
        self._admit()

    def _admit(self) -> None:
        """Start waiting jobs while there are free places, client after client."""
        waiting = deque(self._waiting)
        while waiting:
            client = waiting.popleft()
            turn = self._waiting[client][0]
            if turn.comes.done() or not self._has_places(turn.places):
                continue
            self._waiting[client].popleft()
            if self._waiting[client]:
                self._waiting.move_to_end(client)
                waiting.append(client)
            else:
                del self._waiting[client]
            self._taken += turn.places
            turn.comes.set_result(None)

    def _has_places(self, places: int) -> bool:
        """Return True if enough places are free, killing slow jobs if necessary."""
        slow = [job for job in self._running if job.is_slow]
        if self._taken + places - sum(job.places for job in slow) > MOST:
            return False
        while self._taken + places > MOST:
            jobs = Counter(job.client for job in self._running)
            # Max returns the first of equals, the oldest
            job = max(slow, key=lambda job: jobs[job.client])
            job.is_given_up = True
            job.worker.kill()
            slow.remove(job)
            self._running.remove(job)
            self._taken -= job.places
        return True


def _looked_at(answer: asyncio.Future[Any]) -> None:
    """Retrieve the exception of an abandoned job, so that asyncio does not log it."""
    if not answer.cancelled():
        answer.exception()


def busy() -> Fault:
    """Return the fault for a request without a free worker."""
    return Fault("too many requests at a time", status=503, retry_after="1")


def too_long(param: str | None, seconds: float) -> Fault:
    """Return the fault for a request that exceeds its processing time."""
    message = f"{param or 'the request'} takes more than {seconds:g} seconds to process"
    return Fault(message, param=param, code="too_complex")


def given_up(param: str | None) -> Fault:
    """Return the fault for a request that was cancelled in favor of others."""
    message = (
        f"{param or 'the request'} takes long to process while other requests wait; try again later"
    )
    return Fault(message, status=429, param=param, retry_after="1")
