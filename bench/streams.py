"""Measure the parser: per chunk, for a complete text, its growth, and its construction."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import deltaparse as dp
from settings import Settings
from timing import (
    CHUNK,
    Cost,
    Feed,
    Reader,
    Trial,
    growing,
    measure,
    parts,
    repeated,
    seconds,
    throw_away,
    undisturbed,
)
from workloads import ANSWER, FORMAT, TAGGED, TOOLS, Workload

__all__ = ["Row", "Streams", "streams"]

BATCH, ANSWERS = 2_000, 200
HEADER = f"<|im_start|>user\nWill it rain in Łódź?<|im_end|>\n{TAGGED.turn.generation_prompt}"
OFFERED = dp.Tools(TOOLS)
MAKERS: Mapping[str, Feed] = {
    "JSON": lambda _: dp.StreamParser(FORMAT),
    "tagged": lambda _: dp.StreamParser(TAGGED),
    "tagged, tools, prompt": lambda _: dp.StreamParser(TAGGED, tools=OFFERED, prompt=HEADER),
}


def parse_answer(_: str) -> dp.Message:
    """Parse a complete short response."""
    return dp.parse(ANSWER, FORMAT, tools=OFFERED, finish_reason="stop")


@dataclass(frozen=True)
class Row:
    """The figures of one workload: floors and microseconds per chunk, growth, M characters/s."""

    workload: str
    kind: str
    one: float
    four: float
    four_large: float
    microseconds: float
    grows: float
    whole: float


@dataclass(frozen=True)
class Streams:
    """The figures of the workloads, of the formats of all families, and of constructing parsers.

    `answer` is the cost of a complete short response.
    """

    rows: Sequence[Row]
    families: Mapping[str, Mapping[str, Cost]]
    construction: Mapping[str, Cost]
    answer: Cost


def streams(
    workloads: Sequence[Workload], formats: Mapping[str, Mapping[str, Workload]], how: Settings
) -> Streams:
    """Measure all workloads and formats, in common rounds."""
    cells = [cell for columns in formats.values() for cell in columns.values()]
    short = {(row.name, 1): chunked(row, how, 1) for row in workloads}
    short |= {(row.name, 4): chunked(row, how, 4) for row in (*workloads, *cells)}
    short |= {(name, 0): making(make) for name, make in MAKERS.items()}
    short["answer", 0] = making(parse_answer, ANSWERS)
    costs = measure(short, how.rounds)
    large = measure({row.name: large_text(row, how) for row in workloads}, how.long_rounds)
    grow = measure(
        {row.name: growing(row.feed, row.unit, how) for row in workloads}, how.long_rounds
    )
    speeds = whole(workloads, how)
    rows = [
        Row(
            row.name,
            row.kind,
            costs[row.name, 1].floors,
            costs[row.name, 4].floors,
            large[row.name].floors,
            costs[row.name, 4].microseconds,
            grow[row.name].floors,
            speeds[row.name],
        )
        for row in workloads
    ]
    families = {
        name: {column: costs[cell.name, 4] for column, cell in columns.items()}
        for name, columns in formats.items()
    }
    made = {name: costs[name, 0] for name in MAKERS}
    return Streams(rows, families, made, costs["answer", 0])


def chunked(workload: Workload, how: Settings, size: int) -> Trial:
    """Return a trial with chunks of some length. A short text is read by many parsers."""
    text = workload.text(how.medium)
    many = repeated(text, how.medium, size)
    if len(many) > 1:
        return Trial(Reader(workload.feed, anew=True), many)
    return Trial(Reader(workload.feed), parts(text, size))


def large_text(workload: Workload, how: Settings) -> Trial:
    """Return a trial with chunks of a large text."""
    texts = repeated(workload.unit * max(how.small // len(workload.unit), 1), how.large)
    return Trial(Reader(workload.feed), texts)


def making(make: Feed, times: int = BATCH) -> Trial:
    """Return a trial that creates a parser for each chunk."""
    one: Callable[[], Feed] = lambda: make  # noqa: E731 - what makes a reader
    return Trial(Reader(one, throw_away), parts(" " * CHUNK * times))


def whole(workloads: Sequence[Workload], how: Settings) -> dict[str, float]:
    """Measure millions of characters a second, for texts in one chunk."""
    speeds: dict[str, list[float]] = {row.name: [] for row in workloads}
    for _ in range(how.long_rounds):
        for row in workloads:
            text, feed = row.unit * max(how.large // len(row.unit), 1), row.feed()
            with undisturbed():
                speeds[row.name].append(len(text) / seconds(feed, text) / 1e6)
    return {name: statistics.median(found) for name, found in speeds.items()}
