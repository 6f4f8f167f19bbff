"""The command `deltaparse analyze`: what one chat template tells, or a table over many."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import deltaparse as dp

from .explain import explanation, table, trace_lines
from .inputs import BadInput, chat_template
from .subcommand import TEMPLATES, Subcommand, print_json

__all__ = ["ANALYZE"]

PATTERNS = ("*.jinja", "*tokenizer_config.json")
"""What files in a directory are taken for templates."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the command takes."""
    add = parser.add_argument
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the wire format as JSON")
    form.add_argument("--trace", action="store_true", help="print each comparison with its diff")
    add("template", metavar="FILE|DIR", help="the chat template; of a directory, all in it")


def run(options: argparse.Namespace) -> None:
    """Print what the template tells, or each template in a folder.

    Raises:
        BadInput: there is no chat template, or it cannot be used.
    """
    folder = Path(options.template)
    if options.json and not folder.is_dir():
        print_json(json.loads(dp.analyze(chat_template(options.template)).to_json()), indent=2)
        return
    for line in _many(folder, options) if folder.is_dir() else _one(options):
        print(line, flush=True)


def _many(folder: Path, options: argparse.Namespace) -> Iterator[str]:
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
    from deltaparse.analyzer import Trace  # and Jinja, which no other command needs

    template = chat_template(options.template)
    trace = Trace()
    fmt = dp.analyze(template, trace=trace)
    if options.trace:
        yield from trace_lines(trace)
    else:
        yield explanation(fmt, trace)


def _format(path: Path) -> dp.WireFormat | str:
    """Return the format of a template in a file, or why there is none."""
    try:
        return dp.analyze(chat_template(str(path)))
    except (BadInput, dp.DeltaParseError) as error:
        return str(error).removeprefix(f"{path}: ")


ANALYZE = Subcommand(
    name="analyze",
    help="show what a chat template tells",
    add_arguments=add_arguments,
    run=run,
    epilog=TEMPLATES,
)
