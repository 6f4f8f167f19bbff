"""Measure the primitives for incomplete text per chunk, and compare them with other libraries.

    python bench/partial.py                   tables
    python bench/partial.py --json            the same as JSON
    python bench/partial.py --quick           a shorter run

`bench/bench.py` runs this too. A chunk has 4 characters. Costs are in floors (see `timing`) and
microseconds of processor time. An incremental reader within the time budget is timed in interleaved
rounds. A slower one is timed at sample positions, and the text between them is fed in longer
chunks. A parser that reads all previous text again for each chunk is also timed at sample
positions, as many as the budget allows, since a complete run would take minutes to weeks. The
column "timed" has the method.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import regex

import peers
from deltaparse.partial import JsonScanner, JsonValues, Markers, Pattern, PatternSearch, Repairs
from sampling import read_again, sampled
from settings import FULL, QUICK, Settings
from texts import PROSE
from timing import Cost, Feed, Make, Reader, floor, growing, measure, throw_away
from workloads import WORKLOADS, Workload

__all__ = [
    "FLOOR",
    "Row",
    "growth",
    "measure_json",
    "measure_text",
    "state_size",
    "summary",
    "tables",
]

TAGGED = PROSE + "if a < b: <b>x</b> "
MARKERS = ("<tool_call>", "</think>", "<|end|>")
PATTERN = r"<tool_call>\s*\{|<function=(\w+)>"
FLOOR = "floor"
STRING, NESTED = "string argument", "nested arguments"

OURS: dict[str, Make] = {
    "JsonScanner": lambda: JsonScanner().feed,
    "JsonScanner, compact": lambda: JsonScanner(compact=True).feed,
    "JsonScanner, repairs": lambda: JsonScanner(repairs=Repairs()).feed,
    "JsonValues": lambda: JsonValues().feed,
}
STRINGS = tuple(name for name in OURS if name != "JsonValues")


@dataclass(frozen=True)
class Row:
    """The cost of one reader on one text."""

    workload: str
    reader: str
    cost: Cost


def workload(name: str) -> Workload:
    """Return a workload of the parser."""
    return next(row for row in WORKLOADS if row.name == name)


def texts(how: Settings) -> dict[str, str]:
    """Return the JSON texts by name."""
    draw = random.Random(0)
    numbers = [draw.choice((draw.randrange(10**9), draw.random() * 1e6)) for _ in range(2000)]
    return {
        STRING: workload(STRING).arguments(how.medium),
        NESTED: workload(NESTED).arguments(how.medium),
        "2,000 numbers": json.dumps({"numbers": numbers}),
        f"{STRING}, {how.large:,}": workload(STRING).arguments(how.large),
    }


def measure_json(how: Settings) -> list[Row]:
    """Measure all readers on all texts."""
    rows: list[Row] = []
    fed_chunks = {FLOOR: floor} | OURS | peers.push()
    for name, text in texts(how).items():
        for reader, make in fed_chunks.items():
            rows.append(Row(name, reader, sampled(Reader(make, throw_away), text, how)))
        for reader, parse in peers.again().items():
            try:
                rows.append(Row(name, reader, read_again(parse, text, how)))
            except (ValueError, RecursionError, IndexError) as error:
                print(f"{reader} cannot read {name}: {error!r}", file=sys.stderr)
    return rows


def markers() -> Feed:
    """Return a reader of literal markers that buffers only a possible marker prefix."""
    find = Markers(MARKERS)
    held = ""

    def feed(text: str) -> None:
        nonlocal held
        if held or find.exact(text):
            held += text
            held = held[find.find(held)[0] :]

    return feed


def measure_text(how: Settings) -> list[Row]:
    """Measure markers and patterns, and `regex` on the complete text for each chunk."""
    alternatives = "|".join(map(regex.escape, MARKERS))
    naive = {
        "regex, markers": partial(regex.compile(alternatives).search, partial=True),
        "regex, pattern": partial(regex.compile(PATTERN).search, partial=True),
    }
    ours: dict[str, Make] = {
        "Markers": markers,
        "PatternSearch": lambda: PatternSearch(Pattern(PATTERN)).feed,
    }
    rows = []
    for size in (how.medium, how.large):
        name, text = f"text, {size:,}", TAGGED * (size // len(TAGGED) + 1)
        for reader, make in ours.items():
            rows.append(Row(name, reader, sampled(Reader(make, throw_away), text, how)))
        for reader, search in naive.items():
            rows.append(Row(name, reader, read_again(search, text, how)))
    return rows


def growth(how: Settings) -> dict[str, float]:
    """Measure the ratio of a chunk's cost in a long string to one in a short string.

    A ratio of 1.0 means linear time.
    """
    row = workload(STRING)

    def started(name: str) -> Feed:
        feed = OURS[name]()
        feed(row.json)
        return feed

    trials = {name: growing(partial(started, name), row.unit, how, throw_away) for name in STRINGS}
    costs = measure(trials, how.long_rounds)
    return {name: cost.floors for name, cost in costs.items()}


def state_size(how: Settings) -> int:
    """Return the maximum memory of a scanner that keeps no text, for a long string, in bytes."""
    text = workload(STRING).arguments(how.large)
    tracemalloc.start()
    start, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    scanner = JsonScanner(keep=False)
    for at in range(0, len(text), 4):
        scanner.feed(text[at : at + 4])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - start


def tables(rows: Sequence[Row], say: Callable[[str], object] = print) -> None:
    """Write the rows, a table for each text."""
    name = ""
    for row in rows:
        if row.workload != name:
            name = row.workload
            say(f"\n{name:30}{'floors':>14}{'us/chunk':>16}  timed")
        spent = row.cost
        say(f"  {row.reader:28}{spent.floors:14,.2f}{spent.microseconds:16,.2f}  {spent.timed}")


def summary(grows: Mapping[str, float], state: int, say: Callable[[str], object] = print) -> None:
    """Write the figures without a table."""
    say("\na long string over short ones, per chunk (to reach: at most 1.2)")
    for reader, ratio in grows.items():
        say(f"  {reader:28}{ratio:14.2f}")
    say(f"\nstate of JsonScanner(keep=False): {state:,} bytes (to reach: below 65,536)")


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    options.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options.add_argument(
        "--quick", action="store_true", help="measure with fewer rounds and smaller texts"
    )
    given = options.parse_args()
    how = QUICK if given.quick else FULL
    rows, grows, state = measure_json(how) + measure_text(how), growth(how), state_size(how)
    if given.json:
        result = {"rows": [asdict(row) for row in rows], "grows": grows, "state_bytes": state}
        print(json.dumps(result | {"missing": peers.missing()}, indent=2))
        return 0
    print(f"Python {sys.version.split()[0]}")
    tables(rows)
    summary(grows, state)
    return 0


if __name__ == "__main__":
    sys.exit(main())
