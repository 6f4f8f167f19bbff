"""Processor time relative to the floor, in interleaved rounds.

The floor is a generator that receives a chunk and returns a list with one delta. This is the
minimum for a streaming parser in Python. A stream is divided into parts of some thousand chunks.
The floor and the reader process each part one after the other, so both see the same load of the
machine. The result is the median of all rounds' ratios. The two alternate in being first, and all
chunks of a part are touched before. Loading them from memory costs up to a floor, and must not
always affect the same reader. Garbage is collected between rounds only.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import deltaparse as dp
from settings import Settings

__all__ = [
    "CHUNK",
    "FLOOR",
    "Cost",
    "Feed",
    "Make",
    "Parts",
    "Reader",
    "Trial",
    "chunks",
    "drain",
    "floor",
    "growing",
    "measure",
    "one_round",
    "parts",
    "repeated",
    "seconds",
    "throw_away",
    "undisturbed",
]

CHUNK = 4
PART = 2_000

K = TypeVar("K")
Feed = Callable[[str], Any]
Make = Callable[[], Feed]
Loop = Callable[[Feed, Sequence[str]], None]
Parts = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Cost:
    """The cost of a chunk, and the method of measurement."""

    floors: float
    microseconds: float
    timed: str


def chunks(text: str, size: int = CHUNK) -> list[str]:
    """Split the text into chunks of `size` characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def parts(text: str, size: int = CHUNK) -> Parts:
    """Split the text into chunks, some thousand in each part."""
    cut = chunks(text, size)
    return [cut[at : at + PART] for at in range(0, len(cut), PART)]


def repeated(text: str, total: int, size: int = CHUNK) -> Parts:
    """Repeat the text up to a total length. Each repetition is a part."""
    return [chunks(text, size)] * max(total // len(text), 1)


def floor() -> Feed:
    """Return the minimal streaming parser in Python."""

    def steps() -> Generator[list[dp.Delta], str, None]:
        text = yield []
        while True:
            text = yield [dp.ContentDelta(text)]

    generator = steps()
    next(generator)
    return generator.send


def drain(feed: Feed, texts: Sequence[str]) -> None:
    """Feed the texts and iterate over the deltas of each, as a sending loop does."""
    for text in texts:
        for _ in feed(text):
            pass


def throw_away(feed: Feed, texts: Sequence[str]) -> None:
    """Feed the texts to a reader that returns no list."""
    for text in texts:
        feed(text)


@dataclass(frozen=True)
class Reader:
    """A reader of a stream.

    `anew`: a new reader for each part. All of them live until the end. Otherwise the memory of the
    first would be reused by the next, which would make short texts cheaper.
    """

    make: Make
    loop: Loop = drain
    anew: bool = False

    def feeds(self, count: int) -> Sequence[Feed]:
        """Return a `feed` for each of `count` parts."""
        return [self.make() for _ in range(count)] if self.anew else [self.make()] * count


FLOOR = Reader(floor)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Disable garbage collection within a block."""
    gc.collect(1)  # removes young garbage of the previous run, since a full collection takes long
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds(run: Callable[..., object], *arguments: Any) -> float:
    """Return the processor time of one call."""
    start = time.thread_time()
    run(*arguments)
    return time.thread_time() - start


def one_round(base: Reader, task: Reader, texts: Parts) -> tuple[float, float]:
    """Return the seconds per chunk of both readers, which alternate part by part."""
    spent = [0.0, 0.0]
    turns = [(at, reader.loop, reader.feeds(len(texts))) for at, reader in enumerate((base, task))]
    with undisturbed():
        for at, part in enumerate(texts):
            list(map(str, part))
            for which, loop, feeds in turns:
                spent[which] += seconds(loop, feeds[at], part)
            turns.reverse()
    count = sum(map(len, texts))
    return spent[0] / count, spent[1] / count


@dataclass(frozen=True)
class Trial:
    """A reader and its texts to time, and the reader to compare it with."""

    reader: Reader
    texts: Parts
    base: Reader = FLOOR


def measure(trials: Mapping[K, Trial], rounds: int) -> dict[K, Cost]:
    """Measure the cost of each trial, relative to its base.

    Each round contains all trials. So a temporary disturbance affects one round of each trial,
    instead
    of all rounds of one trial.
    """
    measured: dict[K, list[tuple[float, float]]] = {name: [] for name in trials}
    for _ in range(rounds):
        for name, trial in trials.items():
            measured[name].append(one_round(trial.base, trial.reader, trial.texts))
    return {
        name: Cost(
            statistics.median(spent / least for least, spent in pairs),
            statistics.median(spent for _, spent in pairs) * 1e6,
            f"{rounds} rounds",
        )
        for name, pairs in measured.items()
    }


def growing(make: Make, unit: str, how: Settings, loop: Loop = drain) -> Trial:
    """Return a trial of a long text against many short ones. A cost of 1.0 means no growth.

    The same chunks are fed to one reader, and to one reader per short text.
    """
    texts = repeated(unit * max(how.small // len(unit), 1), how.large)
    return Trial(Reader(make, loop), texts, Reader(make, loop, anew=True))
