"""Heads of elements with extra or reordered attributes.

    <parameter name="city" type="text">          in the format:  <parameter name="city">
    <parameter type="text" name="city">

One attribute holds the name. Other attributes may precede or follow it, with or without quotes. An
attribute of the format may contain the type of the value.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from deltaparse.partial import Markers, marker_set

__all__ = ["LONGEST_HEAD", "ElementHead", "element_head"]

LONGEST_HEAD = 512
"""The maximum length of an element's attributes, in characters."""

# Possessive quantifiers keep these patterns linear in untrusted text.
OPENING = re.compile(r'(?P<tag>\S(?:.*\S)?)\s+(?P<name>[\w:.-]+)="')
# Values exclude angle brackets, because an unclosed quote must not swallow the rest of the call.
VALUE = r'(?:"[^"<>]*+"|\'[^\'<>]*+\'|[^\s"\'<>=]++)'
WORD = r"[\w:.-]++"
ATTRIBUTE = re.compile(rf"({WORD})(?:\s*+=\s*+({VALUE}))?+")


class ElementHead(NamedTuple):
    """The patterns for the head of an element whose attributes differ from the format.

    Attributes:
        open: the beginning of the head: the tag and a space.
        before: the pattern of the attributes before the name, as the first group. It ends with the
            quote before the name.
        behind: the pattern of the attributes after the name. It begins with the quote after the
            name and ends with the head.
        close: the end of the head.
    """

    open: Markers
    before: re.Pattern[str]
    behind: re.Pattern[str]
    close: str

    def attributes(self, text: str) -> list[tuple[str, str]]:
        """Return the attributes in a text, each with its value without quotes."""
        return [(name, value.strip("\"'")) for name, value in ATTRIBUTE.findall(text)]


def element_head(prefix: str, *suffixes: str) -> ElementHead | None:
    """Return the head of an element, None if the element has no attribute for the name.

    Args:
        prefix: the marker before the name.
        suffixes: the markers after the name, the last marker first. The first nonempty one ends the
            head.
    """
    opening = OPENING.fullmatch(prefix.strip())
    # The text after the last quote ends the head.
    _, quote, close = next(filter(None, map(str.strip, suffixes)), "").rpartition('"')
    # Only a quoted attribute can be moved without ambiguity.
    if not opening or not quote or not close.strip():
        return None
    name = re.escape(opening["name"])
    # The name's attribute is excluded from the attributes before it: the first one counts.
    before = rf"(\s*+(?:(?!{name}\s*+=){WORD}(?:\s*+=\s*+{VALUE})?+\s++)*+){name}\s*+=\s*+\""
    # An element may be closed like an empty one, with a slash.
    behind = rf"\"((?:\s++{WORD}(?:\s*+=\s*+{VALUE})?+)*+)\s*+/?{re.escape(close)}"
    return ElementHead(
        marker_set([opening["tag"] + " "]), re.compile(before), re.compile(behind), close
    )
