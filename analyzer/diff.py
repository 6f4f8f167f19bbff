"""Comparing two renderings, and taking a text apart into markers and what stands between.

A difference begins where two texts part, but the texts of markers overlap: `<|end_turn|>` and
`<|end_text|>` have `<|end_t` in common. So the borders of a difference are moved out of a
marker that they fall into.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "OPENED",
    "Split",
    "after",
    "begins_with_marker",
    "between",
    "common_prefix",
    "common_suffix",
    "first_marker",
    "last_marker",
    "segments",
    "split",
]

# What looks like a marker: a short run in angle or square brackets. It is a hint for where to
# cut, and never what makes a text a marker.
MARKER = re.compile(r"<[^<>\s][^<>\n]{0,80}>|\[[^\[\]\s\"'{}:,][^\[\]\n\"'{}:,]{0,80}\]")
OPENED = re.compile(r"(?:<[^<>\n]{0,80}|\[[^\[\]\n\"'{}:,]{0,80})\Z")
CLOSED = re.compile(r"\A(?:[^<>\n]{0,80}>|[^\[\]\n\"'{}:,]{0,80}\])")


@dataclass(frozen=True, slots=True)
class Split:
    """Two texts: what they begin with alike, what each has alone, what they end with alike."""

    prefix: str
    left: str
    right: str
    suffix: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a text: a marker, or the text between two."""

    text: str
    marker: bool


def split(left: str, right: str) -> Split:
    """Take two renderings apart where they differ, markers left whole."""
    prefix = common_prefix(left, right)
    rest_left, rest_right = left[len(prefix) :], right[len(prefix) :]
    suffix = common_suffix(rest_left, rest_right)
    end_left, end_right = len(rest_left) - len(suffix), len(rest_right) - len(suffix)
    return Split(prefix, rest_left[:end_left], rest_right[:end_right], suffix)


def common_prefix(*texts: str) -> str:
    """The longest text that all begin with, not ending inside a marker of any of them."""
    prefix = _alike(texts)
    opened = OPENED.search(prefix)
    if opened and any(CLOSED.match(text[len(prefix) :]) for text in texts):
        prefix = prefix[: opened.start()]
    return prefix


def common_suffix(*texts: str) -> str:
    """The longest text that all end with, not beginning inside a marker of any of them."""
    suffix = _alike([text[::-1] for text in texts])[::-1]
    closed = CLOSED.match(suffix)
    if closed and any(OPENED.search(text[: len(text) - len(suffix)]) for text in texts):
        suffix = suffix[closed.end() :]
    return suffix


def _alike(texts: Sequence[str]) -> str:
    """The longest text that all begin with."""
    # Of texts in order, the first and the last differ most; where, is found by halving.
    first, last = min(texts, default=""), max(texts, default="")
    low, high = 0, min(len(first), len(last))
    while low < high:
        middle = (low + high + 1) // 2
        if last.startswith(first[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return first[:low]


def segments(text: str) -> list[Segment]:
    """Cut a text into markers, each with the white space after it, and the texts between."""
    found: list[Segment] = []
    pos = 0
    for marker in MARKER.finditer(text):
        if marker.start() > pos:
            found.append(Segment(text[pos : marker.start()], marker=False))
        space = len(text[marker.end() :]) - len(text[marker.end() :].lstrip())
        pos = marker.end() + space
        found.append(Segment(text[marker.start() : pos], marker=True))
    if pos < len(text):
        found.append(Segment(text[pos:], marker=False))
    return found


def first_marker(text: str) -> str:
    """The marker that a text begins with, or what stands before the first, without white space."""
    return next((part.text.strip() for part in segments(text) if part.text.strip()), "")


def begins_with_marker(text: str) -> bool:
    """Whether a marker stands behind the white space that a text begins with."""
    return next((part.marker for part in segments(text) if part.text.strip()), False)


def after(text: str, probe: str) -> str:
    """What a text has behind the last `probe`."""
    return text[text.rindex(probe) + len(probe) :]


def between(text: str | None, first: str, then: str) -> str | None:
    """What a text has between the last `first` and the next `then`; None if there are no two."""
    if text is None or first not in text:
        return None
    rest = after(text, first)
    return rest[: rest.index(then)] if then in rest else None


def last_marker(text: str) -> str:
    """The marker that a text ends with, and the white space after it, or ""."""
    parts = segments(text)
    return parts[-1].text if parts and parts[-1].marker else ""
