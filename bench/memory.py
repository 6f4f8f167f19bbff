"""Measure the memory of a parser over a long stream, without a collected message."""

from __future__ import annotations

import gc
import itertools
import tracemalloc
from collections.abc import Iterable, Sequence

from settings import Settings
from timing import Feed, chunks
from workloads import Workload

__all__ = ["growth"]

CHUNK = 64
UNITS = 8


def growth(workload: Workload, how: Settings, size: int = CHUNK) -> int:
    """Return the maximum growth of the memory in use, including the parser, in bytes."""
    # Few units are repeated, so that the chunks themselves need no memory during the measurement.
    texts = chunks(workload.unit * UNITS, size)
    times = how.memory // sum(map(len, texts)) + 1
    read(workload.parser(collect=False).feed, texts, 1)  # creates the objects shared by all parsers
    gc.collect()
    tracemalloc.start()
    try:
        start, _ = tracemalloc.get_traced_memory()
        read(workload.parser(collect=False).feed, texts, times)
        return tracemalloc.get_traced_memory()[1] - start
    finally:
        tracemalloc.stop()


def read(feed: Feed, texts: Sequence[str], times: int) -> None:
    """Feed the texts `times` times."""
    again: Iterable[Sequence[str]] = itertools.repeat(texts, times)
    for text in itertools.chain.from_iterable(again):
        for _ in feed(text):
            pass
