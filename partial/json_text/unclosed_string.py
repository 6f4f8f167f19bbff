"""Detection of a string whose closing quote is missing.

Such a string would swallow all text up to the next quote. No text proves this alone, because a
string may contain any text. The proof is an unescaped quote with text after it that cannot follow a
string. So at a marker that might be the string's true end, the reader looks ahead. Its pattern has
bounded length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from ..markers import Markers
from ..window import Steps, Window
from .string_lane import string_lane

__all__ = ["UnclosedString"]


class UnclosedString:
    """A test for the true end of a string that was not closed.

    Immutable, and made once for a format.

    Args:
        markers: the markers that a string may have overrun. Their first characters must be allowed
            in a string.
        beyond: takes the quote at the end of the string, and returns a pattern for text from a
            marker on. A match is proof. The pattern must have bounded length, and must not match
            the text of a string.
        outside: the markers not allowed in an unquoted key (default: `markers`).

    Attributes:
        watched: the only first character of all markers, or "", which every text contains.
        lane: the text that may bypass the reader of a string: without any marker.
    """

    __slots__ = ("_beyond", "lane", "markers", "outside", "watched")

    def __init__(
        self,
        markers: Markers,
        beyond: Callable[[str], str],
        outside: Markers | None = None,
    ) -> None:
        self.markers = markers
        self.outside = outside or markers
        self._beyond = beyond
        # A single character allows the fastest test, `in`, before any pattern.
        self.watched = markers.firsts if len(markers.firsts) == 1 else ""
        self.lane = string_lane(markers)

    def stands_at(self, text: str, pos: int, quote: str, *, final: bool = False) -> bool | None:
        """Return True if the text from index `pos` on is proof, None if more text is needed."""
        # A partial match means: further text may still complete the proof.
        found = _compiled(self._beyond(quote)).match(text, pos, partial=not final)
        return None if found and found.partial else found is not None

    def may_occur(self, text: str, pos: int, end: int) -> bool:
        """Return True if a marker, or a prefix of one, starts between two indices."""
        # A cheap test first, because most texts have no such character.
        if any(text.find(first, pos, end) >= 0 for first in self.markers.firsts):
            return self.first(text, pos, end) < end
        return False

    def first(self, text: str, pos: int, end: int) -> int:
        """Return the start of the first marker between two indices, or `end`.

        At the end of the text, a prefix of a marker counts.
        """
        # The search is limited: one long text may contain many short strings.
        near = text[pos : end + self.markers.longest]
        # Inside the text a prefix cannot be completed any more.
        final = pos + len(near) < len(text)
        return min(pos + self.markers.find(near, final=final)[0], end)

    def starts(self, text: str, pos: int, end: int) -> Iterator[int]:
        """Yield the starts of markers in `text` between two indices."""
        while (start := self.first(text, pos, end)) < end:
            yield start
            # Markers may overlap, and each start needs its own test.
            pos = start + 1

    def is_here(self, src: Window, quote: str) -> Steps[bool]:
        """Return True if the unread text is proof, without reading it."""
        while (answer := self.stands_at(src.text, src.pos, quote, final=src.closed)) is None:
            yield
        return answer

    def clear(self, src: Window, end: int, quote: str) -> Steps[int | None]:
        """Return the index up to which the text of an open string belongs to the string.

        The index is at most `end`, and is valid for the window after it was fed. None means
        an overrun: the unread text does not belong to the string.
        """
        start = self.first(src.text, src.pos, end)
        # Text before a marker belongs to the string in any case.
        if start > src.pos or start == end:
            return start
        # One character is enough to pass, because another marker may begin right after.
        return None if (yield from self.is_here(src, quote)) else src.pos + 1


# The patterns depend on the format and the quote, so there are few of them.
@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    import regex  # imported lazily: slow, and rarely needed

    return regex.compile(pattern)
