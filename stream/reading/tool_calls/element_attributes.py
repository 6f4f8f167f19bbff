"""Attributes in the head of an element, before and after the name: see `wire/element_heads.py`."""

from __future__ import annotations

import re

from deltaparse.partial import Steps, Window, peek_marker

from ...wire.element_heads import LONGEST_HEAD, ElementHead
from .call import Call

__all__ = ["attributes_after", "attributes_before", "leave_out"]

Attributes = list[tuple[str, str]]


def attributes_before(src: Window, head: ElementHead | None) -> Steps[Attributes | None]:
    """Read the start of a head up to the name, if other attributes precede the name.

    Returns None if there is no such head. Then all text stays unread.
    """
    # The lookahead costs a search, so it is limited to formats with such heads.
    if head is None or not (opened := (yield from peek_marker(src, head.open))):
        return None
    return (yield from _attributes(src, head, head.before, len(opened)))


def attributes_after(src: Window, head: ElementHead | None) -> Steps[Attributes | None]:
    """Read the end of a head after the name's quote, or return None if it has another form."""
    if head is None:
        return None
    return (yield from _attributes(src, head, head.behind, 0))


def _attributes(
    src: Window, head: ElementHead, pattern: re.Pattern[str], skipped: int
) -> Steps[Attributes | None]:
    while True:
        # The marker was only peeked at, so a failed match leaves the text unread.
        start = src.pos + skipped
        text = src.text[start : start + LONGEST_HEAD]
        if found := pattern.match(text):
            src.pos = start + found.end()
            return head.attributes(found[1])
        # The limit bounds the buffer for a head without an end.
        if src.closed or len(text) == LONGEST_HEAD or head.close in text:
            return None
        yield


def leave_out(call: Call, attributes: Attributes) -> None:
    """Record attributes without a meaning for the report."""
    for name, _ in attributes:
        call.extra_members.append(", " * bool(call.extra_members) + f"the attribute {name}")
