"""Model text made safe for pictures and terminals: control characters are escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import east_asian_width

from .inspection import Inspection

__all__ = ["NAMES", "headline", "readable", "stretches", "width"]

NEW_LINE = "↵"

NAMES = {
    "content": "content",
    "reasoning": "reasoning",
    "name": "name",
    "arguments": "arguments",
    "marker": "marker",
    "end": "end",
    "dropped": "dropped",
    "unread": "not read",
}
"""Displayed names of the roles."""

# Control characters steer terminals and are invalid in XML. Bidirectional controls and characters
# without width disguise text (joiners are kept, because many scripts need them). Lone surrogates
# cannot be encoded.
HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufffe\uffff]"
)


def readable(text: str) -> str:
    """Return the text with invisible characters as Python escapes. Newlines are kept."""
    return HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def width(char: str) -> int:
    """Return the number of columns of a character."""
    return 2 if east_asian_width(char) in "WF" else 1


def stretches(inspection: Inspection) -> Iterator[tuple[str, str]]:
    """Yield the role and the text of each stretch, with visible newlines in markers."""
    for span in inspection.spans:
        text = readable(inspection.text[span.start : span.end])
        if span.role not in ("content", "reasoning", "arguments"):
            text = text.replace("\n", f"{NEW_LINE}\n")
        yield span.role, text


def headline(inspection: Inspection) -> str:
    """Return a one-line title: the name, the format and the size of the output."""
    size, chunks = len(inspection.text), max(inspection.steps - 1, 0)
    unit = "chunk" if inspection.ids is None else "token"
    facts = [
        readable(inspection.title).replace("\n", " "),
        f"format {inspection.format}" if inspection.format else "",
        f"{size:,} character{'s' * (size != 1)}",
        f"{chunks:,} {unit}{'s' * (chunks != 1)}",
        f"finish reason {inspection.finish_reason}" if inspection.finish_reason else "",
    ]
    return " · ".join(filter(None, facts))
