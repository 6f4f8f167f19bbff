"""What the analysis of a chat template costs, for each template in a directory.

    python bench/analysis.py           a table over the corpus: templates/ in the folder that
                                       DELTAPARSE_CORPUS names, or in ../shared/corpus
    python bench/analysis.py --json    the same as JSON
    python bench/analysis.py DIR       over other templates

Processor time in ms, each template as if it were the first of the process: nothing that was
compiled, matched or analyzed before is remembered. "compile" makes a program of the template;
"analysis" is the rest, with so many "renderings" of the template and the parsing of what proves
the format. "x one" is the analysis in renderings: what it costs over what one rendering of its
conversations costs by itself. Of several rounds the fastest counts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import deltaparse as dp
from deltaparse.analyzer import Trace
from deltaparse.analyzer.probes import TOOLS, assistant, call, result, user

CORPUS = os.environ.get("DELTAPARSE_CORPUS") or Path(__file__).parents[2] / "shared" / "corpus"
TEMPLATES = Path(CORPUS) / "templates"
ROUNDS = 3
TO_REACH = 150


@dataclass(frozen=True)
class Row:
    """The figures of one template, in ms of processor time."""

    template: str
    compile: float
    analysis: float
    total: float
    renderings: int
    one: float
    times_one: float
    verified: bool


def forget() -> None:
    """Drop what the library and `re` remember, as if the process had just begun."""
    re.purge()
    for name, module in list(sys.modules.items()):
        if name.startswith("deltaparse"):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def milliseconds(start: float) -> float:
    return (time.thread_time() - start) * 1e3


def conversations() -> Iterator[list[dict[str, object]]]:
    """Yield conversations such as the analysis renders."""
    yield [user(), assistant()]
    yield [user(), assistant("", calls=[call()])]
    yield [user(), assistant("", calls=[call()]), result(), assistant()]


def one_rendering(template: dp.ChatTemplate) -> float:
    """Measure a rendering of a conversation with tools, in ms; return the median of many."""
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


def measure(name: str, source: str) -> Row:
    """Measure one template."""
    compiling, analysing, trace, fmt = [], [], Trace(), dp.WireFormat()
    for _ in range(ROUNDS):
        forget()
        start = time.thread_time()
        template = dp.ChatTemplate(source)
        compiling.append(milliseconds(start))
        trace, start = Trace(), time.thread_time()
        fmt = dp.analyze(template, trace=trace)
        analysing.append(milliseconds(start))
    one = one_rendering(template)
    conversations_rendered = {made.parts for made in trace.renderings}
    return Row(
        template=name,
        compile=round(min(compiling), 1),
        analysis=round(min(analysing), 1),
        total=round(min(compiling) + min(analysing), 1),
        renderings=len(conversations_rendered),
        one=round(one, 2),
        times_one=round(min(analysing) / one, 1),
        verified=fmt.verified,
    )


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    options.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options.add_argument("templates", metavar="DIR", nargs="?", type=Path, default=TEMPLATES)
    given = options.parse_args()
    paths = sorted(given.templates.glob("*.jinja"))
    rows = [measure(path.stem, path.read_text(encoding="utf-8")) for path in paths]
    if given.json:
        print(json.dumps({"templates": [asdict(row) for row in rows]}, indent=2))
        return 0
    print(f"Python {sys.version.split()[0]}, ms of processor time; {len(rows)} templates\n")
    print(f"{'template':46}{'compile':>9}{'analysis':>9}{'total':>8}{'renderings':>12}{'x one':>7}")
    for row in rows:
        print(
            f"{row.template[:44]:46}{row.compile:9}{row.analysis:9}{row.total:8}"
            f"{row.renderings:12}{row.times_one:7}"
        )
    if rows:
        slow = sum(row.total >= TO_REACH for row in rows)
        median = statistics.median(row.total for row in rows)
        print(f"\nmedian {median} ms in total; {slow} of {len(rows)} take {TO_REACH} ms or more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
