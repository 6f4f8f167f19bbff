"""Colors and progress, shown on terminals only."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from os import environ
from typing import TextIO, TypeVar

__all__ = ["BAD", "DIM", "GOOD", "paint", "progress", "wants_colour"]

GOOD, BAD, DIM = "32", "31", "2"
Item = TypeVar("Item")


def wants_colour(out: TextIO) -> bool:
    """Return True if `out` should be colored.

    NO_COLOR turns colors off and FORCE_COLOR turns them on. Otherwise `out` must be a terminal.
    """
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return out.isatty() and environ.get("TERM") != "dumb"


def paint(text: str, code: str, out: TextIO) -> str:
    """Return the text in a color if `out` should be colored, otherwise unchanged."""
    return f"\x1b[{code}m{text}\x1b[0m" if wants_colour(out) else text


def progress(items: Iterable[Item], words: str, total: int | None = None) -> Iterator[Item]:
    """Iterate over the items, with a progress bar on stderr.

    The bar requires rich and a terminal as stderr. It is not shown if stdout is a terminal too,
    because both outputs would overwrite each other.
    """
    if sys.stderr is None or not sys.stderr.isatty() or sys.stdout.isatty():
        return iter(items)
    try:
        from rich.console import Console
        from rich.progress import track
    except ImportError:
        return iter(items)
    console = Console(stderr=True)
    return iter(track(items, words, total, console=console, transient=True))
