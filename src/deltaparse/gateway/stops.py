"""Stop strings, looked for in the text of the upstream.

Some upstreams leave a stop string in their text, some send what they had of it before they knew.
So it is looked for here as well, and what may become one is held back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["Stops"]


class Stops:
    """Text in, text up to the first stop string out.

    >>> stops = Stops(["END"])
    >>> stops.feed("one E"), stops.feed("ND two"), stops.found
    ('one ', '', 'END')
    >>> stops = Stops(["END"])
    >>> stops.feed("one E"), stops.rest()
    ('one ', 'E')
    """

    __slots__ = ("_held", "_pattern", "_tails", "found")

    def __init__(self, strings: Sequence[str]) -> None:
        self.found: str | None = None
        self._held = ""
        longest_first = sorted(strings, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if strings else None
        self._tails = sorted(
            {text[:size] for text in strings for size in range(1, len(text))}, key=len, reverse=True
        )

    def feed(self, text: str) -> str:
        """Return what is certain to stand before a stop string."""
        if self._pattern is None:
            return text
        text = self._held + text
        if match := self._pattern.search(text):
            self.found, self._held = match[0], ""
            return text[: match.start()]
        tail = next((tail for tail in self._tails if text.endswith(tail)), "")
        self._held = tail
        return text[: len(text) - len(tail)]

    def rest(self) -> str:
        """Return what was held back and came to nothing."""
        text, self._held = self._held, ""
        return text
