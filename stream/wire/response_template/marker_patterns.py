"""Markers as patterns of a response template, with the white space that models leave out."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["SPACE", "any_of", "bare", "core", "cores", "joined", "optional"]

SPACE = r"\s*"
LINE_END = {"\n": r"\n"}


def core(marker: str) -> str:
    """A pattern for a marker without the white space at its edges, its line ends as may be."""
    return r"\n?".join(re.escape(line) for line in marker.strip().split("\n"))


def bare(marker: str) -> str:
    """The same with that white space, each character of it as may be: behind it stands a text."""
    text = marker.strip()
    head, _, tail = marker.partition(text) if text else (marker, "", "")
    edges = [
        "".join(f"{LINE_END.get(char, re.escape(char))}?" for char in edge) for edge in (head, tail)
    ]
    return core(marker).join(edges)


def cores(markers: Iterable[str]) -> list[str]:
    """Patterns of the cores of markers, each once, without those that are empty."""
    return list(dict.fromkeys(core(marker) for marker in markers if marker.strip()))


def joined(patterns: Iterable[str]) -> str:
    """A pattern for several, one behind the other, with white space between them or none."""
    return SPACE.join(patterns)


def any_of(patterns: Iterable[str]) -> str:
    """A pattern for one of several, the longest first, so that no marker hides a longer one."""
    found = sorted(patterns, key=len, reverse=True)
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})"


def optional(pattern: str) -> str:
    """A pattern that may be left out."""
    return f"(?:{pattern})?"
