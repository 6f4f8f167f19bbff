"""A string that is open where its closing quote was forgotten: what proves that it has overrun.

Without it, such a string swallows all that follows, up to the next quote. No text proves it by
itself, for a string may hold any; but a text that holds an unescaped quote, with something behind
it that can follow no string, was none. So where a marker stands in a string that might be its end,
the reader looks ahead, as far as a pattern of bounded length may match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from ..markers import Markers
from ..window import Steps, Window
from .string_lane import string_lane

__all__ = ["Overrun"]


class Overrun:
    """What shows that a string which is open should have ended before.

    Immutable, and made once for a format.

    Args:
        markers: what a string may have overrun; none of them may begin with what a string cannot
            hold as it stands.
        beyond: given the quote that would end the string, a pattern for the text from a marker
            on that proves it. It must be of bounded length, and match no text that a string can
            hold with what follows it.
        outside: what stands in no key without quotes; by default `markers`.

    `watched` is the only character that markers begin with, or "", which stands in any text;
    `lane` is the text that may pass in a string, as it may where nothing is
    overrun, but for the markers.
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
        self.watched = markers.firsts if len(markers.firsts) == 1 else ""
        self.lane = string_lane(markers)

    def stands_at(self, text: str, pos: int, quote: str, *, final: bool = False) -> bool | None:
        """Whether the text from index `pos` on is proof; None if more text is needed to tell."""
        found = _compiled(self._beyond(quote)).match(text, pos, partial=not final)
        return None if found and found.partial else found is not None

    def may_stand(self, text: str, pos: int, end: int) -> bool:
        """Whether a marker, or the beginning of one, begins between two indices."""
        if any(text.find(first, pos, end) >= 0 for first in self.markers.firsts):
            return self.first(text, pos, end) < end
        return False

    def first(self, text: str, pos: int, end: int) -> int:
        """Return where the first marker begins between two indices, `end` if none does.

        At the end of the text it may be the beginning of one.
        """
        # No further: there may be many short strings in one long text.
        near = text[pos : end + self.markers.longest]
        final = pos + len(near) < len(text)
        return min(pos + self.markers.find(near, final=final)[0], end)

    def starts(self, text: str, pos: int, end: int) -> Iterator[int]:
        """Yield where markers begin in `text` between two indices."""
        while (start := self.first(text, pos, end)) < end:
            yield start
            pos = start + 1

    def is_here(self, src: Window, quote: str) -> Steps[bool]:
        """Return whether the text that is unread is proof; read nothing."""
        while (answer := self.stands_at(src.text, src.pos, quote, final=src.closed)) is None:
            yield
        return answer

    def clear(self, src: Window, end: int, quote: str) -> Steps[int | None]:
        """Return up to which index the text of a string that is open is its own.

        It ends at the index `end` at the latest; the window is fed meanwhile, and the index is
        right for it then. None: the string has overrun here, and what is unread is not its text.
        """
        start = self.first(src.text, src.pos, end)
        if start > src.pos or start == end:
            return start
        return None if (yield from self.is_here(src, quote)) else src.pos + 1


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    import regex  # slow to import, and hardly ever needed

    return regex.compile(pattern)
