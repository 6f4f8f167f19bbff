"""Compare two runs of the benchmark: what a chunk costs now, over what it cost before.

    python bench/bench.py --json old.json       before a change
    python bench/bench.py --json new.json       after it
    python bench/compare.py old.json new.json   the ratios new / old, the worst first

Costs are compared in floors, so that a slower machine does not look like a slower parser; single
rows still differ by some per cent between two runs of the same code, so repeat a run that
surprises. The exit status is 1 if a row is more than `--limit` per cent slower.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["floors", "main", "ratios"]

CHUNKS = {"one": "1 character", "four": "4 characters", "four_large": "4, a large text"}
OURS = ("Json", "Markers", "Pattern")
"""How the names begin of readers that are not a peer's."""


def floors(results: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield the cost of each row of a run, in floors, by its name and chunk size."""
    for row in results["streams"]:
        for figure, size in CHUNKS.items():
            yield (row["workload"], size), row[figure]
    for name, columns in results["families"].items():
        for column, cost in columns.items():
            yield (f"{name}: {column}", CHUNKS["four"]), cost["floors"]
    for row in results["primitives"]:
        if row["reader"].startswith(OURS):
            yield (f"{row['workload']}: {row['reader']}", CHUNKS["four"]), row["cost"]["floors"]
    for name, cost in results["construction"].items():
        yield (f"a parser: {name}", "made"), cost["floors"]
    # Figures of before November 2026 have none.
    for name, cost in results.get("decisions", {}).items():
        yield (f"a decision: {name}", "made"), cost["floors"]


def ratios(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> list[tuple[float, float, float, str, str]]:
    """Return ratio, new and old cost, name and chunk size of the rows of both, the worst first."""
    before, after = dict(floors(old)), dict(floors(new))
    rows = [
        (after[row] / before[row], after[row], before[row], *row) for row in after if row in before
    ]
    return sorted(rows, reverse=True)


def main(given: list[str] | None = None) -> int:
    """Print the ratios; return 1 if one is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("old", type=Path, help="the figures of the run before")
    parser.add_argument("new", type=Path, help="the figures of the run after")
    parser.add_argument("--limit", type=float, default=3.0, help="per cent that a row may lose")
    options = parser.parse_args(given)
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (options.old, options.new))
    rows = ratios(old, new)
    print(f"{'ratio':>6}{'new':>12}{'old':>12}")
    for ratio, after, before, name, size in rows:
        print(f"{ratio:6.3f}{after:12,.2f}{before:12,.2f}  {name}, {size}")
    slower = sum(ratio > 1 + options.limit / 100 for ratio, *_ in rows)
    print(f"{slower} of {len(rows)} rows are more than {options.limit:g} % slower")
    return bool(slower)


if __name__ == "__main__":
    sys.exit(main())
