"""Measurement of a chunk's cost, also for readers too slow for a complete text."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from settings import Settings
from timing import (
    CHUNK,
    FLOOR,
    Cost,
    Feed,
    Reader,
    Trial,
    chunks,
    measure,
    one_round,
    parts,
    seconds,
    undisturbed,
)

__all__ = ["read_again", "sampled"]

SAMPLE, LONGER, ENOUGH = 128, 256, 2_000
GOLDEN = 0.618034


def sampled(reader: Reader, text: str, how: Settings) -> Cost:
    """Measure the cost of a chunk for an incremental reader.

    A slow reader is timed for a few chunks at positions spread over the text.
    """
    found = at_places(reader, text, how.cuts)
    if len(text) / CHUNK * found.microseconds / 1e6 > how.budget:
        return found
    return measure({"": Trial(reader, parts(text))}, how.rounds)[""]


def at_places(reader: Reader, text: str, count: int) -> Cost:
    """Return the mean cost at some positions. The text between them is fed in longer chunks."""
    feed, done, spent = reader.make(), 0, []
    fed = Reader(lambda: feed, reader.loop)
    size = len(text) // count
    for end in range(size, len(text) + 1, size):
        start = max(end - SAMPLE * CHUNK, done)
        reader.loop(feed, chunks(text[done:start], LONGER))
        spent.append(one_round(FLOOR, fed, [chunks(text[start:end])]))
        done = end
    return mean(spent)


def read_again(parse: Feed, text: str, how: Settings) -> Cost:
    """Measure the cost of a chunk for a reader that starts over for each chunk.

    It is timed at sample positions, as many as the budget allows.
    """
    spent: list[tuple[float, float]] = []
    some = [chunks(text[: ENOUGH * CHUNK])]
    for at in range(how.cuts):
        # The golden ratio spreads any number of positions evenly.
        came = text[: int(len(text) * ((at + 0.5) * GOLDEN % 1))]
        if sum(again for _, again in spent) <= how.budget:
            with undisturbed():
                again = seconds(parse, came)
            spent.append((min(one_round(FLOOR, FLOOR, some)), again))
    return mean(spent)


def mean(spent: Sequence[tuple[float, float]]) -> Cost:
    """Return the cost for the times of the floor and a task, at positions of a text."""
    least = statistics.median(least for least, _ in spent)
    average = statistics.mean(task for _, task in spent)
    return Cost(average / least, average * 1e6, f"{len(spent)} cuts")
