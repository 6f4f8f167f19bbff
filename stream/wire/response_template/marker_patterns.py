"""Markers as patterns of a response template, with the white space that models leave out."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["SPACE", "any_of", "core", "cores", "optional", "written"]

SPACE = r"\s*"


def written(marker: str) -> str:
    """A pattern for a marker, each of its line ends as may be."""
    return r"\n?".join(re.escape(line) for line in marker.split("\n"))


def core(marker: str) -> str:
    """The same without the white space at the marker's edges."""
    return written(marker.strip())


def cores(markers: Iterable[str]) -> list[str]:
    """Patterns of the cores of markers, each once, without those that are empty."""
    return list(dict.fromkeys(core(marker) for marker in markers if marker.strip()))


def any_of(patterns: Iterable[str]) -> str:
    """A pattern for one of several, the longest first, so that no marker hides a longer one."""
    found = sorted(patterns, key=len, reverse=True)
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})"


def optional(pattern: str) -> str:
    """A pattern that may be left out."""
    return f"(?:{pattern})?"
