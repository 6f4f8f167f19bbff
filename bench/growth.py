"""Check that the work of a parser does not grow with the length of its turn, by counting.

    python bench/growth.py

Each row is a turn of many units, with a request at its end. The work for the units after the three
hundredth is divided by the work for the units after the hundredth. From there on no more issues are
stored. A ratio of 1.0 means no growth. `bytes_of_call` is the memory of a call without arguments.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import TypeAlias

import deltaparse as dp
from counts import watched
from protocols import MACHINES
from timing import chunks
from tokens import Ids
from workloads import FORMAT, Workload

__all__ = ["CALL", "CALLS", "bytes_of_call", "grown"]

CHUNK = 24
UNITS = 10
EARLY, LATE = 100, 300
CALLS = 20_000

CALL = '<call>\n{"name": "f", "arguments": {}}\n</call>\n'
STRAY = "a stray marker</think> "
TURN = Workload("calls and text", "calls", FORMAT, "", f"some text, {CALL}")
STRAYS = Workload("stray markers", "beginnings", FORMAT, "", STRAY)

Run: TypeAlias = Iterator[None]
"""Reads the first units of a turn without counting, pauses, and reads the others."""


def read(
    workload: Workload, before: int, units: int, ask: Callable[[dp.StreamParser], object]
) -> Run:
    """Read a turn of several units, and run a request at its end."""
    parser, texts = dp.StreamParser(workload.fmt), chunks(workload.unit, CHUNK)
    for chunk in texts * before:
        parser.feed(chunk)
    yield
    for chunk in texts * units:
        parser.feed(chunk)
    parser.finish("stop")
    ask(parser)


def by_ids(ids: Ids, before: int, units: int) -> Run:
    """Read a turn by token ids, and request the roles of all tokens."""
    parser = dp.TokenParser(TURN.fmt, ids.vocabulary)
    for id in chain.from_iterable(ids.parts * before):
        parser.feed(id)
    yield
    for id in chain.from_iterable(ids.parts * units):
        parser.feed(id)
    parser.finish("stop")
    _ = parser.message, parser.roles


def by_protocol(name: str, before: int, units: int) -> Run:
    """Write a turn as the bytes of a protocol."""
    parser, machine = dp.StreamParser(TURN.fmt), MACHINES[name]()
    texts = chunks(TURN.unit, CHUNK)
    machine.start()
    for chunk in texts * before:
        machine.push_bytes(parser.feed(chunk))
    yield
    for chunk in texts * units:
        machine.push_bytes(parser.feed(chunk))


def runs() -> Mapping[str, Callable[[int, int], Run]]:
    """Return the runs. Each takes a number of uncounted and a number of counted units."""
    ids = Ids(TURN, [chunks(TURN.unit, CHUNK)])
    found: dict[str, Callable[[int, int], Run]] = {
        "message": partial(read, TURN, ask=lambda parser: parser.message),
        "attempts": partial(read, TURN, ask=lambda parser: parser.attempts),
        "issues": partial(read, STRAYS, ask=lambda parser: parser.issues),
        "token spans": partial(by_ids, ids),
    }
    for name in MACHINES:
        found[f"bytes of {name}"] = partial(by_protocol, name)
    return found


def work(run: Callable[[int, int], Run], before: int, units: int) -> int:
    """Count the interpreter's work for some units: lines, and calls of Python and C."""
    going, seen = run(before, units), Counter[str]()
    next(going)
    with watched(seen):
        for _ in going:
            pass
    return seen["line"] + seen["call"] + seen["c_call"]


def grown(late: int = LATE) -> dict[str, float]:
    """Return the ratio of the cost of a unit in a long turn to one in a short turn."""
    found = {}
    for name, run in runs().items():
        for _ in run(1, 1):  # one-time work, e.g. compiling patterns, is not counted
            pass
        early, later = (work(run, at, UNITS) - work(run, at, 0) for at in (EARLY, late))
        found[name] = later / early
    return found


def bytes_of_call(calls: int = CALLS) -> float:
    """Return the memory of a call without arguments in bytes, except its deltas."""
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
