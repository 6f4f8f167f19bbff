"""Whether what is asked of a parser costs more the longer its turn is: counted, not timed.

    python bench/growth.py

Each row is a turn of many units and what is asked at its end. The work for the units from the
three hundredth on is divided by that for those from the hundredth on, behind which no more issues
are kept: 1.0 does not grow. `bytes_of_call` is what is kept of a call of no arguments.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from collections.abc import Callable, Mapping

import deltaparse as dp
from counts import watched
from protocols import MACHINES
from timing import chunks
from tokens import Ids
from workloads import FORMAT, Workload

__all__ = ["bytes_of_call", "grown"]

CHUNK = 24
UNITS = 10
EARLY, LATE = 100, 300
CALLS = 20_000

CALL = '<call>\n{"name": "f", "arguments": {}}\n</call>\n'
STRAY = "a stray marker</think> "
TURN = Workload("calls and text", "calls", FORMAT, "", f"some text, {CALL}")
STRAYS = Workload("stray markers", "beginnings", FORMAT, "", STRAY)


def read(workload: Workload, units: int, ask: Callable[[dp.StreamParser], object]) -> None:
    """Read a turn of so many units, and ask for something at its end."""
    parser = dp.StreamParser(workload.fmt)
    for chunk in chunks(workload.unit, CHUNK) * units:
        parser.feed(chunk)
    parser.finish("stop")
    ask(parser)


def by_ids(ids: Ids, units: int) -> None:
    """Read a turn by token ids, and ask which of them each part came from."""
    parser = dp.TokenParser(TURN.fmt, ids.vocabulary)
    for part in ids.parts:
        for id in part * units:
            parser.feed(id)
    parser.finish("stop")
    _ = parser.message, parser.roles


def by_protocol(name: str, units: int) -> None:
    """Write a turn as the bytes of a protocol."""
    parser, machine = dp.StreamParser(TURN.fmt), MACHINES[name]()
    machine.start()
    for chunk in chunks(TURN.unit, CHUNK) * units:
        machine.push_bytes(parser.feed(chunk))


def runs() -> Mapping[str, Callable[[int], None]]:
    """Return what is run, each for a number of units."""
    ids = Ids(TURN, [chunks(TURN.unit, CHUNK)])
    found: dict[str, Callable[[int], None]] = {
        "message": lambda units: read(TURN, units, lambda parser: parser.message),
        "attempts": lambda units: read(TURN, units, lambda parser: parser.attempts),
        "issues": lambda units: read(STRAYS, units, lambda parser: parser.issues),
        "token spans": lambda units: by_ids(ids, units),
    }
    for name in MACHINES:
        found[f"bytes of {name}"] = lambda units, name=name: by_protocol(name, units)
    return found


def work(run: Callable[[int], None], units: int) -> int:
    """Count what so many units make the interpreter do: lines, and calls of Python and C."""
    seen = Counter[str]()
    with watched(seen):
        run(units)
    return seen["line"] + seen["call"] + seen["c_call"]


def grown(late: int = LATE) -> dict[str, float]:
    """Return by how much a unit of a long turn costs more than one of a short turn."""
    found = {}
    for name, run in runs().items():
        run(1)  # what is found out once, such as patterns, is not counted
        early, later = (work(run, at + UNITS) - work(run, at) for at in (EARLY, late))
        found[name] = later / early
    return found


def bytes_of_call(calls: int = CALLS) -> float:
    """Return how many bytes are kept of a call of no arguments, its deltas aside."""
    parser = dp.StreamParser(FORMAT)
    parser.feed(CALL)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(calls):
            parser.feed(CALL)
        return (tracemalloc.get_traced_memory()[0] - before) / calls
    finally:
        tracemalloc.stop()


if __name__ == "__main__":
    for name, ratio in grown().items():
        print(f"{name:32} {ratio:.3f}")
    print(f"{'bytes of a call':32} {bytes_of_call():.0f}")
