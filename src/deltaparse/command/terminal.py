"""What a terminal gets and a pipe does not: colours, and how far a long run has come."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from os import environ
from typing import TextIO, TypeVar

__all__ = ["BAD", "DIM", "GOOD", "paint", "progress", "wants_colour"]

GOOD, BAD, DIM = "32", "31", "2"
Item = TypeVar("Item")


def wants_colour(out: TextIO) -> bool:
    """Whether to write in colour: NO_COLOR says no, FORCE_COLOR yes, else what `out` is."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return out.isatty() and environ.get("TERM") != "dumb"


def paint(text: str, code: str, out: TextIO) -> str:
    """The text in a colour, where there are any."""
    return f"\x1b[{code}m{text}\x1b[0m" if wants_colour(out) else text


def progress(items: Iterable[Item], words: str, total: int | None = None) -> Iterator[Item]:
    """The items; on a terminal, stderr shows how many there were, if rich is installed.

    What is printed meanwhile must not go to a terminal too, or one would write over the other.
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
