"""Count the interpreter's work for a chunk. The counts are reproducible on a busy machine.

    python bench/counts.py > tests/cost_budgets.json    set the budgets of test_cost.py

The counts are averages per chunk of four characters, over a text of some thousand. "calls" counts
calls of Python and C functions, "lines" executed lines of Python, and "resumes" resumed generators,
including the outer ones of a chain. CPython 3.11, 3.12 and 3.13 agree to one in a hundred.
"""

from __future__ import annotations

import gc
import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from inspect import CO_GENERATOR
from types import FrameType
from typing import Any

from families import FAMILIES
from timing import chunks, drain
from workloads import WORKLOADS, Workload

__all__ = ["Counts", "count", "counted"]

SIZE = 4_000


@dataclass(frozen=True)
class Counts:
    """Counts per chunk."""

    calls: float
    lines: float
    resumes: float


@contextmanager
def watched(seen: Counter[str]) -> Iterator[None]:
    """Count events within a block. Existing trace functions are restored afterwards."""
    ours = (drain.__code__, watched.__wrapped__.__code__)  # type: ignore[attr-defined]

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code in ours:
            return None
        seen[event] += 1
        return trace

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_flags & CO_GENERATOR:
            seen["resume"] += 1
        elif event == "c_call":
            seen[event] += 1

    before = sys.gettrace(), sys.getprofile()
    gc.disable()  # garbage collection runs finalizers, which would be counted
    sys.settrace(trace)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
        gc.enable()


def count(workload: Workload) -> Counts:
    """Count the interpreter's work for a chunk of a workload."""
    texts = chunks((workload.unit * (SIZE // len(workload.unit) or 1))[:SIZE])
    drain(workload.feed(), texts)  # one-time work, e.g. compiling patterns, is not counted
    feed, seen = workload.feed(), Counter[str]()
    with watched(seen):
        drain(feed, texts)
    calls = seen["c_call"] + seen["call"] - seen["resume"]
    counts = (calls, seen["line"], seen["resume"])
    return Counts(*(round(number / len(texts), 2) for number in counts))


def counted() -> dict[str, Workload]:
    """Return the counted workloads by name."""
    families = (row for columns in FAMILIES.values() for row in columns.values())
    return {row.name: row for row in (*WORKLOADS, *families)}


def main() -> int:
    """Print the counts."""
    rows = (
        f"  {json.dumps(name)}: {json.dumps(asdict(count(workload)))}"
        for name, workload in counted().items()
    )
    print("{\n" + ",\n".join(rows) + "\n}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
