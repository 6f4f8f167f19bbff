"""What closes a marker, by its name: `</think>` closes `<think>`."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["CLOSERS", "NAMED_TAG", "closing", "closings"]

CLOSERS = ("</", "[/", "<|/")
"""What a marker begins with that closes something."""

NAMED_TAG = re.compile(r"<[A-Za-z][\w-]*>|\[[A-Za-z][\w-]*\]")
"""A marker of which XML, or BBCode, says how the other is spelled that closes it."""

WORDS = (("begin", "end"), ("start", "end"), ("open", "close"))
"""Words in markers that open and in those that close."""


def closing(marker: str) -> str:
    """The closing marker of a pair: `</think>` for `<think>`."""
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
