"""Measure a chunk while many parsers take turns, relative to one parser after another.

A server reads many responses concurrently. Between two chunks of one response it reads chunks of
all others, so the processor caches no longer have its data. Here many parsers read the same chunks
in one loop, in tasks of one event loop, and in threads. Then they read one after another. The
result is the median ratio of all rounds, in processor time of all threads. The cost of the tasks
themselves is measured without parsers, and subtracted.

For comparison, as many functions take turns that only traverse small objects of their own, as many
as a parser touches for a chunk. This shows the pure cost of cache misses.
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
"""Chunks for each parser, fewer for calls."""
THREADS = 8
TOUCHED = 32
SHORTEST = time.get_clock_info("process_time").resolution
"""Lower limit of the base time, since the clock may return zero for short texts."""
BARE = f"nothing, but over {TOUCHED} objects"

Run = Callable[[Sequence[Feed], Sequence[str]], None]


@dataclass(frozen=True)
class Row:
    """The ratio of the costs for a chunk, for each way of taking turns."""

    workload: str
    kind: str
    loop: float
    tasks: float
    threads: float


def alone(feeds: Sequence[Feed], texts: Sequence[str]) -> None:
    """Run one parser after another on all texts."""
    for feed in feeds:
        drain(feed, texts)


def in_turn(feeds: Sequence[Feed], texts: Sequence[str]) -> None:
    """Run all parsers on one chunk, then on the next."""
    for text in texts:
        for feed in feeds:
            for _ in feed(text):
                pass


def in_tasks(feeds: Sequence[Feed], texts: Sequence[str]) -> None:
    """Run each parser in its own task, and switch tasks after each chunk."""

    async def read(feed: Feed) -> None:
        for text in texts:
            for _ in feed(text):
                pass
            await asyncio.sleep(0)

    async def read_all() -> None:
        await asyncio.gather(*map(read, feeds))

    asyncio.run(read_all())


def in_threads(feeds: Sequence[Feed], texts: Sequence[str]) -> None:
    """Distribute the parsers over threads, in which they take turns."""
    threads = [
        threading.Thread(target=in_turn, args=(feeds[at::THREADS], texts)) for at in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def nothing(_: str) -> Sequence[object]:
    """Return an empty result."""
    return ()


class Link:
    """A small object that refers to the next."""

    __slots__ = ("next", "value")

    def __init__(self, behind: Link | None) -> None:
        self.value: list[int] = []
        self.next = behind


def chain() -> Feed:
    """Return a function that only traverses its own objects."""
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
    """Measure one way of taking turns, in rounds."""
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
    """Measure all workloads, and the traversal as the last row."""
    runs: Sequence[Run] = (in_turn, in_tasks, in_threads)
    found = []
    for row in WORKLOADS:
        texts = chunks(row.text(CHUNKS * 4))[:CHUNKS]
        found.append(Row(row.name, row.kind, *(ratio(row.feed, texts, run, how) for run in runs)))
    texts = ["four"] * CHUNKS
    return [*found, Row(BARE, "bare", *(ratio(chain, texts, run, how) for run in runs))]
