"""Compare two runs of the benchmark: the ratios of the costs of a chunk.

    python bench/bench.py --json old.json       before a change
    python bench/bench.py --json new.json       after it
    python bench/compare.py old.json new.json   the ratios new / old, worst first

Costs are compared in floors, so the speed of the machine does not matter. Single rows still differ
by some per cent between runs of the same code, so repeat a surprising run. The exit status is 1 if
a row is more than `--limit` per cent slower.
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
"""Name prefixes of our own readers."""


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
    # Older files of figures do not have decisions.
    for name, cost in results.get("decisions", {}).items():
        yield (f"a decision: {name}", "made"), cost["floors"]


def ratios(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> list[tuple[float, float, float, str, str]]:
    """Return ratio, new cost, old cost, name and chunk size of the common rows, worst first."""
    before, after = dict(floors(old)), dict(floors(new))
    rows = [
        (after[row] / before[row], after[row], before[row], *row) for row in after if row in before
    ]
    return sorted(rows, reverse=True)


def main(given: list[str] | None = None) -> int:
    """Print the ratios, and return 1 if one is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("old", type=Path, help="figures of the old run")
    parser.add_argument("new", type=Path, help="figures of the new run")
    parser.add_argument(
        "--limit",
        type=float,
        default=3.0,
        help="allowed slowdown of a row in per cent (default: 3)",
    )
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
