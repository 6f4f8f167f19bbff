"""Measure the analysis of chat templates, for each template in a directory.

    python bench/analysis.py           a table over the corpus: templates*/ in the folder of
                                       DELTAPARSE_CORPUS, or in ../shared/corpus
    python bench/analysis.py --json    the same as JSON
    python bench/analysis.py DIR       over other templates

All figures are processor time in ms. All caches are cleared before each template. "compile" is the
compilation of the template. "find" and "prove" are the analysis, each with its number of distinct
renderings. "x one" is the time of the analysis, divided by one rendering of its conversations. The
fastest of several rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import deltaparse as dp
from deltaparse.analyzer import Trace, analysis
from deltaparse.analyzer.probes import TOOLS, assistant, call, result, user
from deltaparse.analyzer.proof.proof import Proof

CORPUS = os.environ.get("DELTAPARSE_CORPUS") or Path(__file__).parents[2] / "shared" / "corpus"
TEMPLATES = Path(CORPUS)
PATTERN = "templates*/*.jinja"
ROUNDS = 3


@dataclass(frozen=True)
class Row:
    """The figures of one template, in ms of processor time."""

    template: str
    compile: float
    find: float
    prove: float
    to_find: int
    to_prove: int
    one: float
    times_one: float
    verified: bool


def forget() -> None:
    """Clear the caches of the library and of `re`."""
    re.purge()
    for name, module in list(sys.modules.items()):
        if name.startswith("deltaparse"):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def milliseconds(start: float) -> float:
    return (time.thread_time() - start) * 1e3


def conversations() -> Iterator[list[dict[str, object]]]:
    """Yield conversations similar to the ones rendered by the analysis."""
    yield [user(), assistant()]
    yield [user(), assistant("", calls=[call()])]
    yield [user(), assistant("", calls=[call()]), result(), assistant()]


def one_rendering(template: dp.ChatTemplate) -> float:
    """Return the median time of rendering a conversation with tools, in ms."""
    spent = []
    for _ in range(5):
        for messages in conversations():
            start = time.thread_time()
            try:
                template.render(messages, tools=TOOLS)
            except dp.TemplateError:
                continue
            spent.append(milliseconds(start))
    return statistics.median(spent) if spent else float("nan")


@contextmanager
def timed_proof() -> Iterator[list[float]]:
    """Measure the proofs of the analyses within a block, in ms."""
    spent: list[float] = []
    prove = analysis.prove

    @wraps(prove)
    def timed(*args: Any, **kwargs: Any) -> Proof:
        start = time.thread_time()
        proof = prove(*args, **kwargs)
        spent.append(milliseconds(start))
        return proof

    analysis.prove = timed
    try:
        yield spent
    finally:
        analysis.prove = prove


def measure(name: str, source: str) -> Row:
    """Measure one template."""
    compiling, finding, proving = [], [], []
    trace, fmt = Trace(), dp.WireFormat()
    for _ in range(ROUNDS):
        forget()
        start = time.thread_time()
        template = dp.ChatTemplate(source)
        compiling.append(milliseconds(start))
        trace, start = Trace(), time.thread_time()
        with timed_proof() as spent:
            fmt = dp.analyze(template, trace=trace)
        proving.append(sum(spent))
        finding.append(milliseconds(start) - sum(spent))
    one = one_rendering(template)
    to_prove = trace.rendered["proof"]
    return Row(
        template=name,
        compile=round(min(compiling), 1),
        find=round(min(finding), 1),
        prove=round(min(proving), 1),
        to_find=trace.rendered.total() - to_prove,
        to_prove=to_prove,
        one=round(one, 2),
        times_one=round((min(finding) + min(proving)) / one, 1),
        verified=fmt.verified,
    )


def templates() -> list[Path]:
    """Return the templates of the corpus."""
    return sorted(TEMPLATES.glob(PATTERN))


def figures(rows: Sequence[Row]) -> Iterator[tuple[str, float]]:
    """Yield the figures with targets, over all templates."""
    if rows:
        for part in ("find", "prove"):
            yield f"median ms to {part}", statistics.median(getattr(row, part) for row in rows)
            yield f"renderings to {part}", max(getattr(row, f"to_{part}") for row in rows)
        yield "most ms", max(row.compile + row.find + row.prove for row in rows)


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    options.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options.add_argument("templates", metavar="DIR", nargs="?", type=Path)
    given = options.parse_args()
    paths = sorted(given.templates.glob("*.jinja")) if given.templates else templates()
    rows = [measure(path.stem, path.read_text(encoding="utf-8")) for path in paths]
    if given.json:
        print(json.dumps({"templates": [asdict(row) for row in rows]}, indent=2))
        return 0
    print(f"Python {sys.version.split()[0]}, ms of processor time; {len(rows)} templates\n")
    heads = ("compile", "find", "prove", "to find", "to prove", "x one")
    print(f"{'template':46}{''.join(f'{head:>9}' for head in heads)}")
    for row in rows:
        shown = (row.compile, row.find, row.prove, row.to_find, row.to_prove, row.times_one)
        print(f"{row.template[:44]:46}{''.join(f'{figure:9}' for figure in shown)}")
    print()
    for name, value in figures(rows):
        print(f"{name:24}{value:9.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
