"""What a parser keeps and takes over a long stream, the message aside, which is not collected."""

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
    """Return the bytes by which the memory in use grew at most, with the parser itself."""
    # A few units cut into chunks, over and over: the chunks take no memory while it is measured.
    texts = chunks(workload.unit * UNITS, size)
    times = how.memory // sum(map(len, texts)) + 1
    read(workload.parser(collect=False).feed, texts, 1)  # what is made once for all parsers
    gc.collect()
    tracemalloc.start()
    try:
        start, _ = tracemalloc.get_traced_memory()
        read(workload.parser(collect=False).feed, texts, times)
        return tracemalloc.get_traced_memory()[1] - start
    finally:
        tracemalloc.stop()


def read(feed: Feed, texts: Sequence[str], times: int) -> None:
    """Feed the texts so many times."""
    again: Iterable[Sequence[str]] = itertools.repeat(texts, times)
    for text in itertools.chain.from_iterable(again):
        for _ in feed(text):
            pass
