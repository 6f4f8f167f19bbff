"""What a chunk costs, as a ratio to the floor of the language, measured in the same run.

    python bench/bench.py           a table
    python bench/bench.py --json    the same as JSON

The floor is a generator that is sent a chunk and hands back a list with one delta. Each figure
is the median over interleaved rounds, each round timing the floor beside the workload, so that
what else the machine does falls on both. "grows" is the cost per chunk of an output of a
megabyte over that of one of 16 KB: 1.0 is linear.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass

import deltaparse as dp

ROUNDS = 9
CHUNK = 4
SMALL, LARGE = 16_000, 1_000_000

FORMAT = dp.WireFormat(
    turn=dp.TurnFormat(headers=("<|model|>",), ends=("<|end|>",)),
    reasoning=dp.ReasoningFormat(
        mode=dp.ReasoningMode.TAG_BASED, start="<think>\n", end="\n</think>\n"
    ),
    tools=dp.ToolsFormat(
        format=dp.ToolFormat.JSON_NATIVE,
        per_call_start="<call>\n",
        per_call_end="\n</call>",
        separator="\n",
        name_field="name",
        arguments_field="arguments",
    ),
)
CALL = '<call>\n{"name": "write", "arguments": {"text": "'
PROSE = "It was a bright cold day in April, and the clocks were striking. "
CODE = 'def f(x):\\n    return \\"a\\\\b\\" if x < 3 else {}\\n'
NESTED = '{"a": 1, "b": [true, null, "x"], "c": {"d": 1.5}}, '


@dataclass(frozen=True)
class Workload:
    """A text that repeats, after a beginning that puts the parser into its state."""

    name: str
    start: str
    unit: str


WORKLOADS = (
    Workload("content", "", PROSE),
    Workload("content full of < and {", "", "if (a < b && c <d> e) { <call } "),
    Workload("reasoning", "<think>\n", PROSE),
    Workload("string argument", CALL, PROSE),
    Workload("string argument, code", CALL, CODE),
    Workload("nested JSON arguments", '<call>\n{"name": "f", "arguments": {"l": [', NESTED),
    Workload("many calls", "", CALL + 'x"}}\n</call>\n'),
)


def chunks(text: str, size: int = CHUNK) -> list[str]:
    """The text in pieces of `size` characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def seconds(run: Callable[[], None]) -> float:
    """How long one run takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def floor() -> Generator[list[dp.Delta], str, None]:
    """The least that a streaming parser in Python can do for a chunk."""
    text = yield []
    while True:
        text = yield [dp.ContentDelta(text)]


def time_floor(pieces: list[str]) -> float:
    """Seconds that the floor takes for the pieces."""
    generator = floor()
    next(generator)

    def run() -> None:
        send = generator.send
        for piece in pieces:
            for _ in send(piece):
                pass

    return seconds(run)


def time_parser(start: str, pieces: list[str]) -> float:
    """Seconds that a parser takes for the pieces, once it has read `start`."""
    parser = dp.StreamParser(FORMAT)
    parser.feed(start)

    def run() -> None:
        feed = parser.feed
        for piece in pieces:
            for _ in feed(piece):
                pass

    return seconds(run)


def measure(workload: Workload) -> dict[str, float | str]:
    """The figures of one workload."""
    small = chunks((workload.unit * (SMALL // len(workload.unit) + 1))[:SMALL])
    large = chunks((workload.unit * (LARGE // len(workload.unit) + 1))[:LARGE])
    ratios, costs = [], []
    for _ in range(ROUNDS):
        cost = time_parser(workload.start, small)
        ratios.append(cost / time_floor(small))
        costs.append(cost / len(small))
    per_large = min(time_parser(workload.start, large) for _ in range(3)) / len(large)
    whole = "".join(large)
    return {
        "workload": workload.name,
        "floors": round(statistics.median(ratios), 2),
        "microseconds": round(statistics.median(costs) * 1e6, 2),
        "grows": round(per_large / min(costs), 2),
        "whole_mb_per_second": round(LARGE / time_parser(workload.start, [whole]) / 1e6, 1),
    }


@dataclass(frozen=True)
class Construction:
    """What making a parser costs, in floors of one chunk."""

    floors: float
    microseconds: float


def measure_construction(times: int = 2000) -> Construction:
    """Make many parsers of one format."""

    def run() -> None:
        for _ in range(times):
            dp.StreamParser(FORMAT)

    one = statistics.median(seconds(run) for _ in range(ROUNDS)) / times
    pieces = chunks(PROSE * 200)
    per_chunk = statistics.median(time_floor(pieces) for _ in range(ROUNDS)) / len(pieces)
    return Construction(round(one / per_chunk, 1), round(one * 1e6, 2))


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    options.add_argument("--json", action="store_true", help="print JSON instead of a table")
    as_json = options.parse_args().json
    rows = [measure(workload) for workload in WORKLOADS]
    construction = measure_construction()
    if as_json:
        print(json.dumps({"workloads": rows, "construction": asdict(construction)}, indent=2))
        return 0
    print(f"Python {sys.version.split()[0]}, chunks of {CHUNK} characters\n")
    print(f"{'workload':26}{'floors':>8}{'us/chunk':>10}{'grows':>8}{'whole, MB/s':>13}")
    for row in rows:
        print(
            f"{row['workload']:26}{row['floors']:8}{row['microseconds']:10}"
            f"{row['grows']:8}{row['whole_mb_per_second']:13}"
        )
    print(f"\nmaking a parser: {construction.floors} floors, {construction.microseconds} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
