"""What a chunk makes the interpreter do, counted: the same each time, however busy the machine is.

    python bench/counts.py > tests/cost_budgets.json    makes today's the budgets of test_cost.py

Per chunk of four characters, over a text of some thousand: "calls" of functions, Python's and C's;
"lines" of Python that are run; "resumes" of generators, one for each that is passed through on the
way to the innermost. CPython 3.11, 3.12 and 3.13 agree on them to one in a hundred.
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
    """How often per chunk."""

    calls: float
    lines: float
    resumes: float


@contextmanager
def watched(seen: Counter[str]) -> Iterator[None]:
    """Count what happens within; whoever watched before does so again after."""
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
    gc.disable()  # what it finds is finished by calls too
    sys.settrace(trace)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
        gc.enable()


def count(workload: Workload) -> Counts:
    """Count what a chunk of a workload makes the interpreter do."""
    texts = chunks((workload.unit * (SIZE // len(workload.unit) or 1))[:SIZE])
    drain(workload.feed(), texts)  # what is found out once, such as patterns, is not counted
    feed, seen = workload.feed(), Counter[str]()
    with watched(seen):
        drain(feed, texts)
    calls = seen["c_call"] + seen["call"] - seen["resume"]
    counts = (calls, seen["line"], seen["resume"])
    return Counts(*(round(number / len(texts), 2) for number in counts))


def counted() -> dict[str, Workload]:
    """Return the workloads that are counted, by name."""
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
