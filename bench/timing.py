"""Seconds of processor time, beside those of the floor, in interleaved rounds.

The floor is a generator that is sent a chunk and returns a list with one delta: the least that
a streaming parser in Python can do. A stream is read in parts, some thousand chunks each; the
floor and what is measured read each part one after the other, and so see the same neighbours on
the machine. Of each round the ratio of the sums is taken, and of the rounds the median. They take
turns in being first, and all chunks of a part are touched before: bringing them from memory costs
up to a floor, and not always the same one should pay. Garbage is collected between rounds only.
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
    """What a chunk costs, and how much of the text was timed."""

    floors: float
    microseconds: float
    timed: str


def chunks(text: str, size: int = CHUNK) -> list[str]:
    """Cut the text into chunks of `size` characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def parts(text: str, size: int = CHUNK) -> Parts:
    """Cut the text into chunks, some thousand in each part."""
    cut = chunks(text, size)
    return [cut[at : at + PART] for at in range(0, len(cut), PART)]


def repeated(text: str, total: int, size: int = CHUNK) -> Parts:
    """Repeat the text, as a part each time, up to a total length."""
    return [chunks(text, size)] * max(total // len(text), 1)


def floor() -> Feed:
    """Return the least that a streaming parser in Python can do with a chunk."""

    def steps() -> Generator[list[dp.Delta], str, None]:
        text = yield []
        while True:
            text = yield [dp.ContentDelta(text)]

    generator = steps()
    next(generator)
    return generator.send


def drain(feed: Feed, texts: Sequence[str]) -> None:
    """Feed the texts and go through the deltas of each, as a loop that sends them does."""
    for text in texts:
        for _ in feed(text):
            pass


def throw_away(feed: Feed, texts: Sequence[str]) -> None:
    """Feed the texts to a reader that returns no list."""
    for text in texts:
        feed(text)


@dataclass(frozen=True)
class Reader:
    """What reads a stream.

    `anew`: another one reads each part. All of them live until the last is done: else the memory
    of the first would serve the next, and short texts would be cheaper for that alone.
    """

    make: Make
    loop: Loop = drain
    anew: bool = False

    def feeds(self, count: int) -> Sequence[Feed]:
        """Return a `feed` for each of so many parts."""
        return [self.make() for _ in range(count)] if self.anew else [self.make()] * count


FLOOR = Reader(floor)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Collect no garbage within."""
    gc.collect(1)  # what the run before left, which is young: a whole collection takes long
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
    """Return the seconds per chunk of both, which take turns part by part."""
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
    """A reader of some texts, which is to be timed, and the reader that it is compared with."""

    reader: Reader
    texts: Parts
    base: Reader = FLOOR


def measure(trials: Mapping[K, Trial], rounds: int) -> dict[K, Cost]:
    """Measure each trial, in costs of the reader that it is compared with.

    A round is one of all of them: what disturbs the machine for a while spoils a round of each,
    not all rounds of one.
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
    """Return a trial of a long text beside many short ones: a cost of 1.0 does not grow.

    The same chunks are fed to one reader, and to as many as there are short texts.
    """
    texts = repeated(unit * max(how.small // len(unit), 1), how.large)
    return Trial(Reader(make, loop), texts, Reader(make, loop, anew=True))
