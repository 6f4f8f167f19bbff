"""The figures of a run as tables."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import partial
from families import COLUMNS
from results import Results
from targets import FIGURES

__all__ = ["readme", "tables"]

READERS = ("deltaparse", "transformers", "vLLM", "SGLang")


def tables(results: Results) -> Iterator[str]:
    """Yield all tables, line by line."""
    how = results.settings
    yield f"{results.where}; {how.name} run. A floor is a generator that returns a list"
    yield "with one delta, measured beside each; floors are per chunk of so many characters."
    yield from streams(results)
    yield from servers(results)
    yield from families(results)
    yield from least(results)
    yield from parsers(results)
    lines: list[str] = []
    partial.tables(results.primitives, lines.append)
    partial.summary(results.primitives_grow, results.scanner_bytes, lines.append)
    yield from lines
    yield from written_bytes(results)
    yield from ids(results)
    yield from answers(results)
    yield from analysed(results)
    yield from verdicts(results)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """Yield a table with aligned columns, the first one to the left."""
    cells = [[title, *head], *([written(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    yield ""
    for first, *others in cells:
        right = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *right])


def written(cell: object) -> str:
    """Format a figure with its significant digits."""
    if isinstance(cell, float):
        return f"{cell:,.2f}" if cell < 100 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def streams(results: Results) -> Iterator[str]:
    """Yield the table of workloads, for us and transformers."""
    how, theirs, larger = results.settings, results.transformers, results.transformers_large
    head = [
        *("1 char", "4 chars", "us", f"4 of {how.large:,}", "grows", "whole, M/s"),
        *("transformers: 4", f"4 of {how.large:,}"),
    ]
    rows = [
        [
            *(row.workload, row.one, row.four, row.microseconds),
            *(row.four_large, row.grows, row.whole),
            *(
                given[row.workload].floors if row.workload in given else ""
                for given in (theirs, larger)
            ),
        ]
        for row in results.streams
    ]
    yield from table("workload", head, rows)
    yield "transformers emits a call as raw text, and its arguments when it has ended."


def servers(results: Results) -> Iterator[str]:
    """Yield the table of servers' parsers, if they are available."""
    names = list(results.servers)
    rows = [
        [
            row.workload,
            *(
                f"{costs[row.workload].microseconds:,.1f} us, {costs[row.workload].floors:,.0f}"
                if row.workload in costs
                else ""
                for costs in results.servers.values()
            ),
        ]
        for row in results.streams
    ]
    if names:
        yield from table(f"4 chars of {results.settings.small:,}, us and floors", names, rows)


def least(results: Results) -> Iterator[str]:
    """Yield the table of lower bounds in Python."""
    rows = [[name, cost.floors, cost.microseconds] for name, cost in results.bare.items()]
    yield from table("only patterns and deltas, 4 chars", ("floors", "us"), rows)
    passed = ", ".join(f"{name} {speed:,.0f}" for name, speed in results.passes.items())
    yield f"a JSON string, passed over in C, M characters/s: {passed}"


def readme(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield the README's table from the JSON: microseconds per chunk of four characters.

    Other parsers are measured at different times, when the machine may be slower. So their floors
    are
    converted by our microseconds per floor, and columns are comparable.
    """
    theirs = {"transformers": figures["transformers"], **figures["servers"]}
    names = [name for name in READERS[1:] if name in theirs]
    yield f"| a chunk of four characters, in us | {' | '.join([READERS[0], *names])} |"
    yield "|---" * (len(names) + 2) + "|"
    for row in figures["streams"]:
        floor = row["microseconds"] / row["four"]
        costs = [row["microseconds"]]
        for name in names:
            floors = theirs[name].get(row["workload"], {}).get("floors")
            costs.append(None if floors is None else floors * floor)
        if None not in costs[:2] and row["kind"] in TOLD:
            told = (_short(cost) for cost in costs)
            yield f"| {TOLD[row['kind']]} | {' | '.join(told)} |"
    yield ""
    yield f"{figures['where']}."


TOLD = {
    "content": "content",
    "reasoning": "reasoning",
    "string": "a string argument, in JSON",
    "tagged string": "a string argument, in tags",
    "nested": "nested arguments",
    "calls": "20 parallel calls",
}


def _short(cost: float | None) -> str:
    if cost is None:
        return ""
    return f"{cost:,.0f}" if cost >= 10 else f"{cost:.2g}"


def families(results: Results) -> Iterator[str]:
    """Yield the table of formats of all families."""
    rows = [
        [name, *(cells[column].floors if column in cells else "" for column in COLUMNS)]
        for name, cells in results.families.items()
    ]
    yield from table("format, 4 chars", COLUMNS, rows)


def parsers(results: Results) -> Iterator[str]:
    """Yield the tables of construction, decisions, growth and memory."""
    made = [[name, cost.floors, cost.microseconds] for name, cost in results.construction.items()]
    answer = results.answer
    made.append(["a whole short answer, parsed", answer.floors, answer.microseconds])
    yield from table("making a parser", ("floors", "us"), made)
    decided = [[name, cost.floors, cost.microseconds] for name, cost in results.decisions.items()]
    yield from table("a decision of the gate", ("floors", "us"), decided)
    longer = [[name, ratio] for name, ratio in results.growth.items()]
    yield from table("asked of a long turn over a short one, counted", ("ratio",), longer)
    yield f"of a call of no arguments {results.bytes_of_call:.0f} bytes are kept"
    turns = [[row.workload, row.loop, row.tasks, row.threads] for row in results.interleaved]
    title = f"{results.settings.parsers:,} parsers that take turns, over one"
    yield from table(title, ("in a loop", "in tasks", "in threads"), turns)
    kept = [[name, size] for name, size in results.memory.items()]
    size = f"peak growth over {results.settings.memory:,} characters, the message aside"
    yield from table(size, ("bytes",), kept)
    counted = [[name, *astuple(done)] for name, done in results.counts.items()]
    yield from table("counted, 4 chars", ("calls", "lines", "resumes"), counted)


def written_bytes(results: Results) -> Iterator[str]:
    """Yield the table of writing deltas as bytes of a protocol."""
    head = ("floors more than the delta, 4 chars", "us for 16 KB")
    rows = [[f"{row.writer}, {row.workload}", row.more, row.large] for row in results.protocols]
    yield from table("bytes of a protocol", head, rows)


def ids(results: Results) -> Iterator[str]:
    """Yield the table of the additional cost of token ids."""
    head = ("floors more than text, 4 chars", "without spans")
    rows = [[row.workload, row.more, row.without_spans] for row in results.tokens]
    yield from table("a token, by its id", head, rows)


def answers(results: Results) -> Iterator[str]:
    """Yield the table of ordinary texts that were changed by a parser."""
    head = ("texts", "changed", "of", "held back", "with a marker: changed", "of", "became")
    rows = [
        [
            *(row.kind, row.texts, row.plain_changed, row.plain, row.held),
            *(row.marked_changed, row.marked),
            ", ".join(f"{what} {times}" for what, times in sorted(row.became.items())),
        ]
        for row in results.ordinary
    ]
    yield from table("ordinary text as an answer, in each format", head, rows)


def analysed(results: Results) -> Iterator[str]:
    """Yield the cost of the analysis, and the missing libraries."""
    spent = [row.compile + row.find + row.prove for row in results.analysis]
    yield ""
    if spent:
        figures = f"median {statistics.median(spent):.1f} ms, at most {max(spent):.1f} ms"
        yield f"analysis of {len(spent)} templates: {figures} (bench/analysis.py has each)"
    if results.missing:
        yield f"not installed, so not measured: {', '.join(results.missing)}"


def verdicts(results: Results) -> Iterator[str]:
    """Yield the targets, and the number of targets met."""
    checks = results.checks()
    rows = [
        [f"{row.name}: {row.figure}", row.value, row.target, "yes" if row.met else "NO"]
        for row in checks
    ]
    yield from table("target", ("measured", "to reach", "met"), rows)
    yield ""
    yield from (f"{name}: {what}" for name, what in FIGURES.items())
    yield f"\n{sum(row.met for row in checks)} of {len(checks)} targets met"
