r"""The command `deltaparse formats`: list the built-in formats.

The list has two lines per format: its names, and a sample turn. Long samples are truncated, and
newlines are shown as `\n`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import deltaparse as dp
from deltaparse.stream import models_of

from .explain import explanation, sample
from .subcommand import Subcommand

__all__ = ["FORMATS"]

WIDTH = 180


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to a parser."""
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="describe this format (default: list all)")
    add("--json", action="store_true", help="print JSON (with NAME: the wire format)")


def run(options: argparse.Namespace) -> None:
    """Print the list of formats, or the format in the options.

    Raises:
        UsageError: the format name is unknown.
    """
    for line in _lines(options):
        print(line)


def _lines(options: argparse.Namespace) -> Iterator[str]:
    if options.name is not None:
        fmt = dp.get_format(options.name)
        yield fmt.to_json() if options.json else explanation(fmt)
        return
    names = dp.list_formats()
    if options.json:
        shown: dict[str, Any] = {
            name: {
                "aliases": aliases,
                "models": models_of(name),
                "sample": sample(dp.get_format(name)),
            }
            for name, aliases in names.items()
        }
        yield json.dumps(shown, indent=2)
        return
    for name, aliases in names.items():
        models = models_of(name)
        yield ", ".join((name, *aliases)) + (f": {models}" if models else "")
        one_call = dp.get_format(name).replace(tools={"supports_parallel_calls": False})
        line = sample(one_call).replace("\n", "\\n")
        yield f"    {line}" if len(line) <= WIDTH else f"    {line[:WIDTH]} ..."


FORMATS = Subcommand(
    name="formats",
    help="list the built-in formats, or describe one",
    add_arguments=add_arguments,
    run=run,
)
