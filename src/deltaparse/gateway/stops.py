"""Stop strings, looked for in the text of the upstream.

Some upstreams leave a stop string in their text, some send what they had of it before they knew.
So it is looked for here as well, and what may become one is held back.
"""

from __future__ import annotations

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

    __slots__ = ("_held", "_strings", "_tails", "found")

    def __init__(self, strings: Sequence[str]) -> None:
        self.found: str | None = None
        self._held = ""
        self._strings = tuple(strings)
        self._tails = sorted(
            {text[:size] for text in strings for size in range(1, len(text))}, key=len, reverse=True
        )

    def feed(self, text: str) -> str:
        """Return what is certain to stand before a stop string."""
        if not self._strings:
            return text
        text = self._held + text
        if ends := [(at + len(one), at) for one in self._strings if (at := text.find(one)) >= 0]:
            end, start = min(ends)
            self.found, self._held = text[start:end], ""
            return text[:start]
        tail = next((tail for tail in self._tails if text.endswith(tail)), "")
        self._held = tail
        return text[: len(text) - len(tail)]

    @property
    def held(self) -> int:
        """How many characters are held back."""
        return len(self._held)

    def rest(self) -> str:
        """Return what was held back and came to nothing."""
        text, self._held = self._held, ""
        return text
