"""What the primitives over unfinished text cost per chunk, beside what others offer for it.

    python bench/partial.py           tables
    python bench/partial.py --json    the same as JSON

Microseconds of processor time per chunk of 4 characters, in one run. A reader that is fed pieces
reads the whole stream, as far as it comes in `BUDGET` seconds; of several rounds the fastest
counts. The floor is a generator that is sent the piece and hands back a list. A parser that must
read the text again for each chunk is timed at 24 cuts spread over the text, or as many as it gets
through in the budget, and the mean counts: a whole run would take it minutes to weeks. "cuts" and
"read" say how much was timed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys
import time
import tracemalloc
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import ijson
import regex

from deltaparse.partial import JsonScanner, JsonValues, Markers, Pattern, PatternSearch, Repairs

CHUNK = 4
SMALL, LARGE = 64 * 1024, 1024 * 1024
ROUNDS = 3
CUTS = 24
BUDGET = 5.0
GOLDEN = 0.618034
TRAILING = "trailing-strings"

Feed = Callable[[str], object]

PROSE = "It was a bright cold day in April, and the clocks were striking thirteen. "
CODE = 'def f(x: int) -> str:\n    """Größe, 漢字."""\n    return "a\\t" if x < 3 else "{}"\n\n'
TAGGED = PROSE * 5 + "if a < b: <b>x</b> "
MARKERS = ("<tool_call>", "</think>", "<|end|>")
PATTERN = r"<tool_call>\s*\{|<function=(\w+)>"

FLOOR = "floor"

OURS: dict[str, Callable[[], Feed]] = {
    "JsonScanner": lambda: JsonScanner().feed,
    "JsonScanner, compact": lambda: JsonScanner(compact=True).feed,
    "JsonScanner, repairs": lambda: JsonScanner(repairs=Repairs()).feed,
    "JsonValues": lambda: JsonValues().feed,
}
STRINGS = tuple(name for name in OURS if name != "JsonValues")


@dataclass(frozen=True)
class Row:
    """What one reader costs on one text, and how much of it was timed."""

    workload: str
    reader: str
    microseconds: float
    timed: str


def repeated(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def argument(unit: str, size: int) -> str:
    """JSON of an object with one long string, as a model writes a file."""
    return json.dumps({"path": "a.py", "text": repeated(unit, size)}, ensure_ascii=False)


def workloads() -> dict[str, str]:
    """The JSON texts that are read, by name."""
    draw = random.Random(0)
    numbers = [draw.choice((draw.randrange(10**9), draw.random() * 1e6)) for _ in range(2000)]
    item = {"id": 1, "name": "x \n", "tags": ["a", "é"], "ok": True, "at": {"x": 1.5, "y": None}}
    return {
        "string, 64 KB": argument(CODE, SMALL),
        "string, 1 MB": argument(CODE, LARGE),
        "2,000 numbers": json.dumps({"numbers": numbers}),
        "nested, 58 KB": json.dumps([item | {"id": n} for n in range(58_000 // 98)]),
    }


def chunks(text: str) -> Iterator[str]:
    return (text[at : at + CHUNK] for at in range(0, len(text), CHUNK))


def fed(make: Callable[[], Feed], text: str) -> tuple[float, float]:
    """Microseconds per chunk, and the share of the text read before the time was up."""
    pieces = list(chunks(text))
    best, share = float("inf"), 1.0
    for _ in range(ROUNDS):
        feed, done = make(), 0
        start = time.process_time()
        while done < len(pieces) and time.process_time() - start < BUDGET:
            for piece in pieces[done : done + 4096]:
                feed(piece)
            done = min(done + 4096, len(pieces))
        best = min(best, (time.process_time() - start) / done)
        share = done / len(pieces)
        if share < 1:
            break
    return best * 1e6, share


def read_again(parse: Feed, text: str) -> tuple[float, int]:
    """Microseconds per chunk, that is for one more parse, and at how many cuts it was timed."""
    spent: list[float] = []
    while len(spent) < CUTS and sum(spent) < BUDGET:
        # Steps of the golden ratio: however many there are, they are spread evenly.
        cut = int(len(text) * ((len(spent) + 0.5) * GOLDEN % 1))
        start = time.process_time()
        parse(text[:cut])
        spent.append(time.process_time() - start)
    return sum(spent) / len(spent) * 1e6, len(spent)


class Pushed:
    """One of ijson's push parsers, fed text."""

    def __init__(self, backend: Any) -> None:
        self.events = ijson.sendable_list()
        self.parser = backend.basic_parse_coro(self.events)

    def feed(self, text: str) -> None:
        """Take the next piece; drop what it gives."""
        self.parser.send(text.encode())
        self.events.clear()

    def __del__(self) -> None:
        # Dropped within a value it complains on the standard error.
        with suppress(ijson.JSONError):
            self.parser.close()


def floor() -> Feed:
    """The least that a reader in Python can do with a piece."""

    def steps() -> Generator[list[str], str, None]:
        text = yield []
        while True:
            text = yield [text]

    generator = steps()
    next(generator)
    return generator.send


def pushed(backend: Any) -> Feed:
    return Pushed(backend).feed


AGAIN: dict[str, Callable[[Any], Feed]] = {
    "jiter": lambda lib: lambda text: lib.from_json(text.encode(), partial_mode=TRAILING),
    "pydantic_core": lambda lib: lambda text: lib.from_json(text, allow_partial=TRAILING),
    "partial_json_parser": lambda lib: lib.loads,
    "json_repair": lambda lib: lib.loads,
}
PUSHED = ("ijson.backends.yajl2_c", "ijson.backends.python")


def installed(module: str) -> Any:
    """The module, or None."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def measure_json() -> list[Row]:
    """All readers on all texts."""
    push = {name: partial(pushed, lib) for name in PUSHED if (lib := installed(name))}
    again = {name: make(lib) for name, make in AGAIN.items() if (lib := installed(name))}
    rows = []
    for workload, text in workloads().items():
        for reader, make in ({FLOOR: floor} | OURS | push).items():
            cost, share = fed(make, text)
            rows.append(Row(workload, reader, round(cost, 2), f"{share:.0%} read"))
        for reader, parse in again.items():
            try:
                cost, cuts = read_again(parse, text)
            except (ValueError, RecursionError, IndexError) as error:
                rows.append(Row(workload, reader, float("nan"), type(error).__name__))
            else:
                rows.append(Row(workload, reader, round(cost, 2), f"{cuts} cuts"))
    return rows


def markers() -> Feed:
    """Literal markers, of the text only what may still become one being kept."""
    find = Markers(MARKERS)
    held = ""

    def feed(text: str) -> None:
        nonlocal held
        if held or find.wake(text):
            held += text
            held = held[find.find(held)[0] :]

    return feed


def measure_text() -> list[Row]:
    """Markers and patterns in text, beside partial matches of the whole text for each chunk."""
    alternatives = "|".join(map(regex.escape, MARKERS))
    naive = {
        "regex, markers": partial(regex.compile(alternatives).search, partial=True),
        "regex, pattern": partial(regex.compile(PATTERN).search, partial=True),
    }
    ours = {"Markers": markers, "PatternSearch": lambda: PatternSearch(Pattern(PATTERN)).feed}
    rows = []
    for workload, size in {"text, 64 KB": SMALL, "text, 1 MB": LARGE}.items():
        text = repeated(TAGGED, size)
        for reader, make in ours.items():
            cost, share = fed(make, text)
            rows.append(Row(workload, reader, round(cost, 2), f"{share:.0%} read"))
        for reader, search in naive.items():
            cost, cuts = read_again(search, text)
            rows.append(Row(workload, reader, round(cost, 2), f"{cuts} cuts"))
    return rows


def growth(reader: str) -> float:
    """Cost per chunk of a string of a megabyte over that of one of 64 KB; 1.0 is linear."""
    small, large = (argument(CODE, size) for size in (SMALL, LARGE))
    costs = [(fed(OURS[reader], small)[0], fed(OURS[reader], large)[0]) for _ in range(ROUNDS)]
    return round(min(cost for _, cost in costs) / min(cost for cost, _ in costs), 2)


def state_size() -> int:
    """Bytes that a scanner which keeps no text takes at most, reading a megabyte."""
    text = argument(CODE, LARGE)
    tracemalloc.start()
    start, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    scanner = JsonScanner(keep=False)
    for piece in chunks(text):
        scanner.feed(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - start


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    options.add_argument("--json", action="store_true", help="print JSON instead of tables")
    as_json = options.parse_args().json
    rows = measure_json() + measure_text()
    grows = {reader: growth(reader) for reader in STRINGS}
    state = state_size()
    missing = [name for name in (*AGAIN, *PUSHED) if installed(name) is None]
    if as_json:
        result = {"rows": [asdict(row) for row in rows], "grows": grows, "state_bytes": state}
        print(json.dumps(result | {"missing": missing}, indent=2))
        return 0
    print(f"Python {sys.version.split()[0]}, us of processor time per chunk of {CHUNK} characters")
    print(f"cuts: read again from the start at each chunk, timed at up to {CUTS} cuts")
    workload = ""
    for row in rows:
        if row.workload != workload:
            workload = row.workload
            print(f"\n{workload}")
        print(f"  {row.reader:24}{row.microseconds:14,.2f}  {row.timed}")
    print("\na string of 1 MB over one of 64 KB, per chunk (to reach: at most 1.2)")
    for reader, ratio in grows.items():
        print(f"  {reader:24}{ratio:14}")
    print(f"\nstate of JsonScanner(keep=False) over 1 MB: {state:,} bytes (to reach: below 65,536)")
    if missing:
        print(f"not installed, so not measured: {', '.join(missing)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
