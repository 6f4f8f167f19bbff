r"""The command `deltaparse formats`: the formats that have names.

The list has a line of names for each format, and one with a sample of what a model writes in it,
cut where it is long, with line ends as `\n`.
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
    """Describe what the command takes."""
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="show this one, in words")
    add("--json", action="store_true", help="as JSON; with NAME: its wire format")


def run(options: argparse.Namespace) -> None:
    """Print the list, or the one format that the options name.

    Raises:
        UsageError: there is no format of that name.
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
    help="list the formats with names",
    add_arguments=add_arguments,
    run=run,
)
