r"""Heads of elements whose attributes models write in another order.

    <parameter name="city" type="text">          as the format has it:  <parameter name="city">
    <parameter type="text" name="city">

One attribute holds the name. Others stand before or behind it, with or without quotes; those that
the format writes itself may say what type the value has.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from deltaparse.partial import Markers, marker_set

__all__ = ["LONGEST_HEAD", "ElementHead", "element_head"]

LONGEST_HEAD = 512
"""Characters that the attributes of an element may have."""

OPENING = re.compile(r'(?P<tag>\S(?:.*\S)?)\s+(?P<name>[\w:.-]+)="')
VALUE = r'(?:"[^"<>]*+"|\'[^\'<>]*+\'|[^\s"\'<>=]++)'
WORD = r"[\w:.-]++"
ATTRIBUTE = re.compile(rf"({WORD})(?:\s*+=\s*+({VALUE}))?+")


class ElementHead(NamedTuple):
    """How the head of an element is read that is not as the format writes it.

    open:    what such a head begins with: the tag and a space.
    before:  the attributes before the name, as the first group, up to the quote before the name.
    behind:  those from the quote behind the name on, up to the end of the head.
    close:   what ends the head.
    """

    open: Markers
    before: re.Pattern[str]
    behind: re.Pattern[str]
    close: str

    def attributes(self, text: str) -> list[tuple[str, str]]:
        """List the attributes that stand in a text, each with its value without quotes."""
        return [(name, value.strip("\"'")) for name, value in ATTRIBUTE.findall(text)]


def element_head(prefix: str, *suffixes: str) -> ElementHead | None:
    """Return the head of an element with `prefix` before the name; None if it has no attributes.

    `suffixes` are the markers behind the name; the last that is not empty ends the head.
    """
    opening = OPENING.fullmatch(prefix.strip())
    _, quote, close = next(filter(None, map(str.strip, suffixes)), "").rpartition('"')
    if not opening or not quote or not close.strip():
        return None
    name = re.escape(opening["name"])
    before = rf"(\s*+(?:(?!{name}\s*+=){WORD}(?:\s*+=\s*+{VALUE})?+\s++)*+){name}\s*+=\s*+\""
    behind = rf"\"((?:\s++{WORD}(?:\s*+=\s*+{VALUE})?+)*+)\s*+/?{re.escape(close)}"
    return ElementHead(
        marker_set([opening["tag"] + " "]), re.compile(before), re.compile(behind), close
    )
