r"""The command `deltaparse formats`, and what `deltaparse parse` says when it found no calls.

The list has a line of names for each format, and one with a sample of what a model writes in it,
cut where it is long, with line ends as `\n`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from typing import Any

import deltaparse as dp
from deltaparse.stream import models_of

from .explain import explanation, sample

__all__ = ["Glance", "add_arguments", "format_lines"]

WIDTH = 180
ENOUGH = 1 << 20
"""Bytes of an output that are looked at for another format."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="show this one, in words")
    add("--json", action="store_true", help="as JSON; with NAME: its wire format")


def format_lines(options: argparse.Namespace) -> Iterator[str]:
    """The lines that the options ask for.

    Raises:
        UsageError: there is no format of that name.
    """
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


class Glance:
    """Keeps the first of an output while it passes, to say what it looks like."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._room = ENOUGH

    def passing(self, texts: Iterable[bytes]) -> Iterator[bytes]:
        """The pieces as they come."""
        for text in texts:
            if self._room > 0:
                self._kept.append(text[: self._room])
                self._room -= len(text)
            yield text

    def note(self) -> str:
        """Which format would find calls in the output, "" if none."""
        output = b"".join(self._kept).decode(errors="replace")
        found = next((one for one in dp.suggest_formats(output) if one.calls), None)
        if found is None:
            return ""
        others = f", or {', '.join(found.also)}" if found.also else ""
        return f"no call was parsed, but this looks like --format {found.name}{others}: {found.why}"
