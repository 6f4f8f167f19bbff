"""Closing markers derived from the name of an opening marker, e.g. `</think>` from `<think>`."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["CLOSERS", "NAMED_TAG", "closing", "closings"]

CLOSERS = ("</", "[/", "<|/")
"""Prefixes of closing markers."""

NAMED_TAG = re.compile(r"<[A-Za-z][\w-]*>|\[[A-Za-z][\w-]*\]")
"""An XML or BBCode tag. The syntax of both determines its closing tag."""

WORDS = (("begin", "end"), ("start", "end"), ("open", "close"))
"""Pairs of words in opening and closing markers."""


def closing(marker: str) -> str:
    """Return the closing marker of a pair: `</think>` for `<think>`."""
    return f"{marker[:1]}/{marker[1:]}"


def closings(marker: str) -> Iterator[str]:
    """Yield possible closing markers: with a slash, a bar at the end, or an end word."""
    yield closing(marker)
    yield f"{marker[:2]}/{marker[2:]}"
    if marker.startswith("<|") and not marker.endswith("|>"):
        yield f"<{marker[2:-1]}|>"
    for begin, end in WORDS:
        for one, other in ((begin, end), (begin.upper(), end.upper())):
            if one in marker:
                yield marker.replace(one, other)
