"""Stop strings, looked for in the text of the upstream.

Some upstreams leave a stop string in their text, some send what they had of it before they knew.
So it is looked for here as well, and what may become one is held back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

__all__ = ["Stops"]


class Stops:
    """Text in, text up to the first stop string out: the one that ends first, as an engine does.

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
        """Return what is certain to stand before a stop string."""
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
        """Return where the longest tail starts with which a stop string begins."""
        for at in range(max(len(text) - self._longest + 1, 0), len(text)):
            if text[at] in self._firsts:
                tail = text[at:]
                place = bisect_left(self._sorted, tail)
                if place < len(self._sorted) and self._sorted[place].startswith(tail):
                    return at
        return len(text)

    @property
    def held(self) -> int:
        """How many characters are held back."""
        return len(self._held)

    def rest(self) -> str:
        """Return what was held back and came to nothing."""
        text, self._held = self._held, ""
        return text
