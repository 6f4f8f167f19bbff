"""Try the properties of the tests on many more inputs than the test suite does.

    python fuzz/fuzz.py --seconds 60        run all targets, half of the time guided by coverage
    python fuzz/fuzz.py --redo              replay the kept inputs

A target is a property or a state machine of tests/. A failing input is shrunk and kept in .fuzz/,
in a folder with the target's name, until the target passes on it again. `CONTRIBUTING.md` explains
how to turn it into a test.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from typing import NamedTuple

import coverage_guided
from fuzz_targets import Target, find

LONGEST_TURN = 20.0
"""Seconds for one target before the next one, since hypothesis keeps each input in memory."""


class Row(NamedTuple):
    """The figures of one target."""

    name: str
    inputs: int
    guided: int
    seconds: float
    failure: str

    @property
    def verdict(self) -> str:
        """The result of the target: broken, holds or untried."""
        return "broken" if self.failure else "holds" if self.inputs + self.guided else "untried"


def explore(found: list[Target], end: float) -> None:
    """Run the targets in turns until the time is over. Each gets a fair share of the rest."""
    left = found
    while left:
        random.shuffle(left)
        for at, target in enumerate(left):
            share = (end - time.monotonic()) / (len(left) - at)
            target.run(max(0.0, min(LONGEST_TURN, share)))
        left = [target for target in left if not target.failure and time.monotonic() < end]


def redo(found: list[Target]) -> None:
    """Replay the kept inputs of each target."""
    for target in found:
        target.redo()


def kept(found: list[Target]) -> list[Target]:
    """Return the targets with kept inputs."""
    return [target for target in found if target.kept.is_dir() or coverage_guided.raw(target.name)]


def guided_part(options: argparse.Namespace) -> list[coverage_guided.Run]:
    """Spend half of the time guided by coverage. If that is impossible, print the reason."""
    seconds = options.seconds
    if options.redo:
        return coverage_guided.guided(0, options.match, redo=True) if coverage_guided.raw() else []
    if not coverage_guided.is_possible():
        print("not guided by coverage: atheris is not installed (wheels exist for Linux)")
        return []
    if seconds / 2 < coverage_guided.LEAST:
        print(
            f"not guided by coverage: guidance requires {2 * coverage_guided.LEAST} seconds or more"
        )
        return []
    return coverage_guided.guided(seconds / 2, options.match)


def rows(found: list[Target], runs: list[coverage_guided.Run]) -> list[Row]:
    """Return the figures of each target, summed over both drivers."""
    made = {run.name: run for run in runs}
    none = coverage_guided.Run("", 0, 0.0, "")
    return [
        Row(
            target.name,
            target.tried,
            made.get(target.name, none).tried,
            round(target.seconds + made.get(target.name, none).seconds, 2),
            target.failure or made.get(target.name, none).ended,
        )
        for target in sorted(found, key=lambda target: target.name)
    ]


def report(table: list[Row]) -> dict[str, int]:
    """Print the figures and failures of the targets. Return the sums."""
    print(f"{'':8}{'inputs':>9}{'guided':>9}{'crashes':>9}")
    for row in table:
        crashes = int(bool(row.failure))
        print(f"{row.verdict:8}{row.inputs:9,}{row.guided:9,}{crashes:9}  {row.name}")
    for row in table:
        if row.failure:
            print(f"\n{row.name}\n{row.failure}")
    sums = {
        "held": sum(row.verdict == "holds" for row in table),
        "crashes": sum(row.verdict == "broken" for row in table),
        "inputs": sum(row.inputs for row in table),
        "guided": sum(row.guided for row in table),
    }
    print(
        f"\n{sums['held']} of {len(table)} properties held, {sums['crashes']} crashes,"
        f" on {sums['inputs']:,} inputs and {sums['guided']:,} guided by coverage"
    )
    return sums


def main() -> int:
    """Run, and return 1 if a property is broken."""
    options = coverage_guided.arguments(__doc__).parse_args()
    found = kept(find(options.match)) if options.redo else find(options.match)
    start = time.monotonic()
    runs = guided_part(options)
    try:
        # Inputs that failed under guidance were kept. They are replayed first, and shrunk.
        redo(found) if options.redo else explore(found, start + options.seconds)
    except KeyboardInterrupt:
        print("stopped")
    table = rows(found, runs)
    sums = report(table)
    if options.json:
        document = {"seconds": round(time.monotonic() - start, 1), **sums}
        document |= {"targets": [row._asdict() for row in table]}
        options.json.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return bool(sums["crashes"])


if __name__ == "__main__":
    sys.exit(main())
