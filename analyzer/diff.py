"""Comparison of renderings, and splitting of texts into markers and plain text.

Different markers may share a prefix: `<|end_turn|>` and `<|end_text|>` both begin with `<|end_t`.
If the border of a difference falls inside a marker, it is therefore moved out of the marker.
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

# A short run in angle or square brackets looks like a marker. This only decides the places of
# cuts. It never decides whether a text is a marker of the format.
MARKER = re.compile(r"<[^<>\s][^<>\n]{0,80}>|\[[^\[\]\s\"'{}:,][^\[\]\n\"'{}:,]{0,80}\]")
OPENED = re.compile(r"(?:<[^<>\n]{0,80}|\[[^\[\]\n\"'{}:,]{0,80})\Z")
CLOSED = re.compile(r"\A(?:[^<>\n]{0,80}>|[^\[\]\n\"'{}:,]{0,80}\])")


@dataclass(frozen=True, slots=True)
class Split:
    """Two texts, split into common prefix, differing middle parts and common suffix."""

    prefix: str
    left: str
    right: str
    suffix: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A marker, or the plain text between two markers."""

    text: str
    marker: bool


def split(left: str, right: str) -> Split:
    """Split two renderings at their difference, without splitting a marker."""
    prefix = common_prefix(left, right)
    rest_left, rest_right = left[len(prefix) :], right[len(prefix) :]
    suffix = common_suffix(rest_left, rest_right)
    end_left, end_right = len(rest_left) - len(suffix), len(rest_right) - len(suffix)
    return Split(prefix, rest_left[:end_left], rest_right[:end_right], suffix)


def common_prefix(*texts: str) -> str:
    """Return the longest common prefix that does not end inside a marker of any text."""
    prefix = _alike(texts)
    opened = OPENED.search(prefix)
    if opened and any(CLOSED.match(text[len(prefix) :]) for text in texts):
        prefix = prefix[: opened.start()]
    return prefix


def common_suffix(*texts: str) -> str:
    """Return the longest common suffix that does not begin inside a marker of any text."""
    suffix = _alike([text[::-1] for text in texts])[::-1]
    closed = CLOSED.match(suffix)
    if closed and any(OPENED.search(text[: len(text) - len(suffix)]) for text in texts):
        suffix = suffix[closed.end() :]
    return suffix


def _alike(texts: Sequence[str]) -> str:
    """Return the longest common prefix."""
    # In sorted order, the first and last texts have the shortest common prefix. Binary search with
    # `startswith` finds its length faster than a loop over characters.
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
    """Split a text into markers, each with its trailing whitespace, and the texts between them."""
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
    """Return the first segment of a text, marker or plain text, without whitespace."""
    return next((part.text.strip() for part in segments(text) if part.text.strip()), "")


def begins_with_marker(text: str) -> bool:
    """Return True if a text begins with a marker, after optional whitespace."""
    return next((part.marker for part in segments(text) if part.text.strip()), False)


def after(text: str, probe: str) -> str:
    """Return the part of a text after the last `probe`."""
    return text[text.rindex(probe) + len(probe) :]


def between(text: str | None, first: str, then: str) -> str | None:
    """Return the text between the last `first` and the next `then`, or None if one is missing."""
    if text is None or first not in text:
        return None
    rest = after(text, first)
    return rest[: rest.index(then)] if then in rest else None


def last_marker(text: str) -> str:
    """Return the marker at the end of a text, including trailing whitespace, or ""."""
    parts = segments(text)
    return parts[-1].text if parts and parts[-1].marker else ""
