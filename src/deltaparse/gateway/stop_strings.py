"""Detection of stop strings in the text of the upstream.

Some upstreams include the stop string, or a part of it, in their text. So the gateway detects stop
strings too, and buffers a possible prefix of one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

__all__ = ["Stops"]


class Stops:
    """Returns text up to the first stop string: the one that ends first, as in engines.

    >>> stops = Stops(["END"])
    >>> stops.feed("one E"), stops.feed("ND two"), stops.found
    ('one ', '', 'END')
    >>> stops = Stops(["END"])
    >>> stops.feed("one E"), stops.rest()
    ('one ', 'E')
    """

    __slots__ = ("_firsts", "_held", "_longest", "_sorted", "_strings", "found")

    def __init__(self, strings: Sequence[str]) -> None:
        self.found: str | None = None
        self._held = ""
        self._strings = tuple(strings)
        self._sorted = sorted(strings)
        self._firsts = {text[0] for text in strings}
        self._longest = max(map(len, strings), default=0)

    def feed(self, text: str) -> str:
        """Return the text that cannot be part of a stop string."""
        if not self._strings:
            return text
        text = self._held + text
        if ends := [(at + len(one), at) for one in self._strings if (at := text.find(one)) >= 0]:
            end, start = min(ends)
            self.found, self._held = text[start:end], ""
            return text[:start]
        begin = self._begin(text)
        self._held = text[begin:]
        return text[:begin]

    def _begin(self, text: str) -> int:
        """Return the start of the longest tail that is a prefix of a stop string."""
        for at in range(max(len(text) - self._longest + 1, 0), len(text)):
            if text[at] in self._firsts:
                tail = text[at:]
                place = bisect_left(self._sorted, tail)
                if place < len(self._sorted) and self._sorted[place].startswith(tail):
                    return at
        return len(text)

    @property
    def held(self) -> int:
        """Number of buffered characters."""
        return len(self._held)

    def rest(self) -> str:
        """Return and clear the buffered text."""
        text, self._held = self._held, ""
        return text
