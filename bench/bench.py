"""Measure the parser, relative to a lower bound of the language and to other parsers.

    python bench/bench.py            full run: some minutes
    python bench/bench.py --quick    shorter run: some seconds
    python bench/bench.py --json FILE --plot FILE
    python bench/bench.py --readme FILE   only the README's table from saved figures

The run prints tables and the results of the targets. It writes the figures as JSON and as two SVG
charts. Modules: `timing` defines floors and costs. `workloads` and `families` define the inputs,
`interleaved` many concurrent parsers, `peers` and `servers` other parsers, `bare` lower bounds,
`decisions` the gate, `protocols` output, `tokens` token ids, and `targets` the targets. `partial`
and `analysis` also run separately. Only ratios within one run are meaningful.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import re
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import analysis
import bare
import counts
import decisions
import growth
import interleaved
import memory
import ordinary
import partial
import peers
import plot
import protocols
import servers
import tokens
from deltaparse import list_formats
from families import FAMILIES
from results import Results
from settings import FULL, QUICK, Settings
from streams import streams
from tables import readme, tables
from timing import Cost
from workloads import WORKLOADS

__all__ = ["main", "run"]

BUILD = Path(__file__).parents[1] / "build"


def run(how: Settings) -> Results:
    """Measure everything."""
    gc.freeze()  # imported objects stay, so collections between runs skip them
    start = time.monotonic()

    def doing(what: str) -> None:
        print(f"{time.monotonic() - start:4.0f} s  {what}", file=sys.stderr)

    doing("streams")
    found = streams(WORKLOADS, FAMILIES, how)
    doing("many parsers")
    taking_turns = interleaved.measure_interleaved(how)
    doing("transformers")
    theirs, theirs_large = (transformers(size, how) for size in (how.medium, how.large))
    doing("the least")
    least, passes = bare.measure_bare(how), bare.measure_passes(how)
    doing("memory")
    kept = {workload.name: memory.growth(workload, how) for workload in WORKLOADS}
    done = {workload.name: counts.count(workload) for workload in WORKLOADS}
    doing("primitives and other readers of JSON")
    primitives = partial.measure_json(how) + partial.measure_text(how)
    grow, scanner_bytes = partial.growth(how), partial.state_size(how)
    doing("decisions")
    decided = decisions.measure_decisions(how)
    doing("protocols")
    written = protocols.measure_protocols(how)
    doing("tokens")
    by_ids = tokens.measure_tokens(how)
    doing("ordinary text")
    as_answers = ordinary.measure(list(list_formats())[: how.templates])
    doing("analysis")
    analysed, absent = analyses(how), peers.missing()
    doing("servers")  # last, because many of their imports are replaced by stubs
    others = {name: of_server(name, how) for name in servers.SERVERS}
    return Results(
        where=where(),
        settings=how,
        streams=found.rows,
        transformers=theirs,
        transformers_large=theirs_large,
        servers={name: costs for name, costs in others.items() if costs},
        bare=least,
        passes=passes,
        families=found.families,
        construction=found.construction,
        answer=found.answer,
        decisions=decided,
        growth=growth.grown(),
        bytes_of_call=growth.bytes_of_call(min(growth.CALLS, how.memory // len(growth.CALL))),
        interleaved=taking_turns,
        memory=kept,
        counts=done,
        primitives=primitives,
        primitives_grow=grow,
        scanner_bytes=scanner_bytes,
        analysis=analysed,
        ordinary=as_answers,
        protocols=written,
        tokens=by_ids,
        missing=[*servers.missing(), *absent],
    )


def where() -> str:
    """Return the date, the processors and the versions of the run."""
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8") if info.exists() else ""
    name = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    today = datetime.now(UTC)
    processors = f"{os.cpu_count()} processors, {name[1] if name else platform.machine()}"
    said = [f"{today.day} {today:%B %Y}", processors, f"CPython {platform.python_version()}"]
    with suppress(PackageNotFoundError):
        said.append(f"transformers {version('transformers')}")
    said += [f"{name} {number}" for name, number in servers.there().items()]
    return "; ".join(said)


def transformers(size: int, how: Settings) -> dict[str, Cost]:
    """Measure transformers on the workloads, if it is installed."""
    costs = {row.name: peers.transformers(row, size, how) for row in WORKLOADS}
    return {name: cost for name, cost in costs.items() if cost is not None}


def of_server(name: str, how: Settings) -> dict[str, Cost]:
    """Measure a server's parser on its supported workloads, if it is available."""
    costs = {row.name: servers.server(name, row, how) for row in WORKLOADS}
    return {workload: cost for workload, cost in costs.items() if cost is not None}


def analyses(how: Settings) -> list[analysis.Row]:
    """Measure the analysis of the templates, if they are available."""
    paths: Sequence[Path] = analysis.templates()[: how.templates]
    return [analysis.measure(path.stem, path.read_text(encoding="utf-8")) for path in paths]


def main(given: Sequence[str] | None = None, how: Settings = FULL) -> int:
    """Measure, print and write."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    options.add_argument(
        "--quick", action="store_true", help="measure with fewer rounds and smaller texts"
    )
    options.add_argument(
        "--readme",
        metavar="FILE",
        type=Path,
        help="only print the README's table from the figures in FILE",
    )
    for name, what in {"json": "the figures", "plot": "an SVG chart"}.items():
        default = BUILD / f"bench.{'svg' if name == 'plot' else name}"
        options.add_argument(
            f"--{name}", metavar="FILE", type=Path, default=default, help=f"write {what} to FILE"
        )
    chosen = options.parse_args(given)
    if chosen.readme:
        print("\n".join(readme(json.loads(chosen.readme.read_text(encoding="utf-8")))))
        return 0
    results = run(QUICK if chosen.quick else how)
    print("\n".join(tables(results)))
    for path, text in {
        chosen.json: json.dumps(results.to_json(), indent=2, allow_nan=False),
        chosen.plot: plot.draw(results),
        chosen.plot.with_stem(f"{chosen.plot.stem}-short"): plot.draw_short(results),
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
