"""What a chunk costs where many parsers take turns, over what it costs them one after another.

A server reads the answers to many requests at once: between two chunks of one, those of all others
come, and what the processor had at hand of it is gone. So as many parsers read the same chunks each
in three ways, in one loop, in tasks of one event loop, and in threads, and in the end one after
another; of each round the ratio is taken, and of the rounds the median. Time is that of the
processor, of all threads. What the tasks themselves cost is measured without parsers, and left out.

To compare with, so many functions take turns that read nothing, and pass over as many small objects
of their own as a chunk of a parser touches: what it costs that they are no longer at hand.
"""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from settings import Settings
from timing import Feed, Make, chunks, drain, undisturbed
from workloads import WORKLOADS

__all__ = ["BARE", "Row", "measure_interleaved"]

CHUNKS = 40
"""Chunks that each parser reads; those of a call are fewer."""
THREADS = 8
TOUCHED = 32
SHORTEST = time.get_clock_info("process_time").resolution
"""What the floor takes at the least, of which the clock may see nothing where texts are short."""
BARE = f"nothing, but over {TOUCHED} objects"

Run = Callable[[Sequence[Feed], Sequence[str]], None]


@dataclass(frozen=True)
class Row:
    """What a chunk costs in each way, over what it costs alone."""

    workload: str
    kind: str
    loop: float
    tasks: float
    threads: float


def alone(feeds: Sequence[Feed], texts: Sequence[str]) -> None:
    """Let one parser after another read all."""
    for feed in feeds:
        drain(feed, texts)


def in_turn(feeds: Sequence[Feed], texts: Sequence[str]) -> None:
    """Let all parsers read a chunk, then the next."""
    for text in texts:
        for feed in feeds:
            for _ in feed(text):
                pass


def in_tasks(feeds: Sequence[Feed], texts: Sequence[str]) -> None:
    """Let each parser read in a task of its own, and all others between two chunks."""

    async def read(feed: Feed) -> None:
        for text in texts:
            for _ in feed(text):
                pass
            await asyncio.sleep(0)

    async def read_all() -> None:
        await asyncio.gather(*map(read, feeds))

    asyncio.run(read_all())


def in_threads(feeds: Sequence[Feed], texts: Sequence[str]) -> None:
    """Share the parsers among some threads, in which they take turns."""
    threads = [
        threading.Thread(target=in_turn, args=(feeds[at::THREADS], texts)) for at in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def nothing(_: str) -> Sequence[object]:
    """Read nothing."""
    return ()


class Link:
    """A small object that leads to the next."""

    __slots__ = ("next", "value")

    def __init__(self, behind: Link | None) -> None:
        self.value: list[int] = []
        self.next = behind


def chain() -> Feed:
    """Return what reads nothing, and passes over objects of its own."""
    first: Link | None = None
    for _ in range(TOUCHED):
        first = Link(first)

    def feed(_: str) -> Sequence[object]:
        link = first
        while link:
            link = link.next if link.value is not None else None
        return ()

    return feed


def spent(run: Run, feeds: Sequence[Feed], texts: Sequence[str]) -> float:
    """Return the processor time of one run."""
    with undisturbed():
        start = time.process_time()
        run(feeds, texts)
        return time.process_time() - start


def ratio(make: Make, texts: Sequence[str], run: Run, how: Settings) -> float:
    """Measure one way, in rounds."""
    found = []
    for _ in range(how.long_rounds):
        base = spent(alone, [make() for _ in range(how.parsers)], texts)
        cost = spent(run, [make() for _ in range(how.parsers)], texts)
        if run is in_tasks:
            cost -= spent(run, [nothing] * how.parsers, texts)
            base -= spent(alone, [nothing] * how.parsers, texts)
        found.append(cost / max(base, SHORTEST))
    return statistics.median(found)


def measure_interleaved(how: Settings) -> list[Row]:
    """Measure all workloads, and at last what reads nothing."""
    runs: Sequence[Run] = (in_turn, in_tasks, in_threads)
    found = []
    for row in WORKLOADS:
        texts = chunks(row.text(CHUNKS * 4))[:CHUNKS]
        found.append(Row(row.name, row.kind, *(ratio(row.feed, texts, run, how) for run in runs)))
    texts = ["four"] * CHUNKS
    return [*found, Row(BARE, "bare", *(ratio(chain, texts, run, how) for run in runs))]
