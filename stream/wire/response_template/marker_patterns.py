"""Patterns for markers in a response template, tolerant of missing whitespace."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["SPACE", "any_of", "bare", "core", "cores", "joined", "optional"]

SPACE = r"\s*"
# `re.escape` would write a backslash and a raw line break.
LINE_END = {"\n": r"\n"}


def core(marker: str) -> str:
    """Return a pattern for a marker without outer whitespace. Its line breaks are optional."""
    # Models leave out line breaks inside markers.
    return r"\n?".join(re.escape(line) for line in marker.strip().split("\n"))


def bare(marker: str) -> str:
    """Return a pattern for a marker next to a value, with optional outer whitespace.

    The value may begin or end with whitespace itself, so only the exact characters are optional.
    """
    text = marker.strip()
    head, _, tail = marker.partition(text) if text else (marker, "", "")
    # Not `\s*`, which would also match whitespace of the value.
    edges = [
        "".join(f"{LINE_END.get(char, re.escape(char))}?" for char in edge) for edge in (head, tail)
    ]
    return core(marker).join(edges)


def cores(markers: Iterable[str]) -> list[str]:
    """Return patterns for the cores of markers, without duplicates and empty markers."""
    # Formats may use one marker in several places.
    return list(dict.fromkeys(core(marker) for marker in markers if marker.strip()))


def joined(patterns: Iterable[str]) -> str:
    """Return a pattern for a sequence of patterns, with optional whitespace between them."""
    return SPACE.join(patterns)


def any_of(patterns: Iterable[str]) -> str:
    """Return a pattern for one of several, the longest first."""
    # Alternatives match in order, so a short marker would hide a longer one.
    found = sorted(patterns, key=len, reverse=True)
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})"


def optional(pattern: str) -> str:
    """Return a pattern for optional text."""
    return f"(?:{pattern})?"
