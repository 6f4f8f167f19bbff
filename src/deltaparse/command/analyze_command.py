"""The command `deltaparse analyze`: what one chat template tells, or a table over many."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import deltaparse as dp
from deltaparse.analyzer import Trace

from .explain import explanation, table, trace_lines
from .inputs import BadInput, chat_template

__all__ = ["add_arguments", "analysis_lines"]

PATTERNS = ("*.jinja", "*tokenizer_config.json")
"""What files in a directory are taken for templates."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add = parser.add_argument
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the wire format as JSON")
    form.add_argument("--trace", action="store_true", help="print each comparison with its diff")
    add("template", metavar="FILE|DIR", help="the chat template; of a directory, all in it")


def analysis_lines(options: argparse.Namespace) -> Iterator[str]:
    """Yield what is to be printed, as it becomes known."""
    folder = Path(options.template)
    if not folder.is_dir():
        yield from _one(options)
        return
    names = sorted({path for pattern in PATTERNS for path in folder.rglob(pattern)})
    if not names:
        raise BadInput(f"{folder}: no chat template in it: no {' or '.join(PATTERNS)}")
    if options.trace:
        raise BadInput(f"{folder}: --trace is for one template")
    rows = ((str(path.relative_to(folder)), _format(path)) for path in names)
    if options.json:
        yield json.dumps(
            {
                name: {"error": fmt} if isinstance(fmt, str) else json.loads(fmt.to_json())
                for name, fmt in rows
            },
            indent=2,
        )
    else:
        yield from table(rows)


def _one(options: argparse.Namespace) -> Iterator[str]:
    template = chat_template(options.template)
    trace = Trace()
    fmt = dp.analyze(template, trace=trace)
    if options.trace:
        yield from trace_lines(trace)
    else:
        yield explanation(fmt, trace)


def _format(path: Path) -> dp.WireFormat | str:
    """The format of a template in a file, or why there is none."""
    try:
        return dp.analyze(chat_template(str(path)))
    except (BadInput, dp.DeltaParseError) as error:
        return str(error).removeprefix(f"{path}: ")
