"""Literal markers, looked for together, in text that is not all there yet.

The answer is that of one search of the whole text: the leftmost marker, the longest of those
that begin at the same place. So a marker is reported only when no text that may still come
can change the answer, and of the text before it nothing is held back but the longest tail
that may still become a marker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from .errors import UsageError

__all__ = ["LONGEST_MARKER", "Markers", "markers"]

LONGEST_MARKER = 256
"""Characters that a marker may have: no real one has 40, and all its beginnings are kept."""

NEVER = "(?!)"


class Markers:
    """A set of literal markers; empty ones are left out.

    `longest` is the length of the longest; `wake(text)` is None for a text in which no marker
    begins. A marker of more than `LONGEST_MARKER` characters raises `UsageError`.

    >>> Markers(["<tool_call>", "</s>"]).find("hi <tool")
    (3, 3)
    >>> Markers(["<tool_call>", "</s>"]).find("hi <b> </s>")
    (7, 11)
    """

    __slots__ = ("_beginnings", "_pattern", "literals", "longest", "wake")

    def __init__(self, literals: Iterable[str]) -> None:
        self.literals = tuple(sorted(set(literals) - {""}, key=lambda text: (-len(text), text)))
        self.longest = len(self.literals[0]) if self.literals else 0
        if self.longest > LONGEST_MARKER:
            message = (
                f"a marker has {self.longest} characters; at most {LONGEST_MARKER} are allowed"
            )
            raise UsageError(message)
        self._pattern = re.compile("|".join(map(re.escape, self.literals)) or NEVER)
        self._beginnings = frozenset(
            text[:size] for text in self.literals for size in range(1, len(text))
        )
        firsts = "".join(sorted({re.escape(text[0]) for text in self.literals}))
        self.wake = re.compile(f"[{firsts}]" if firsts else NEVER).search

    def find(self, text: str, pos: int = 0, *, final: bool = False) -> tuple[int, int]:
        """Find the first marker in `text` from index `pos` on.

        Returns `(start, end)`. With `end > start` that is a marker. With `end == start` there is
        none yet: the text before `start` is free of markers for good, the text from `start` on
        is held back because it may become one. `final` says that no more text comes: then
        nothing is held back.
        """
        found = self._pattern.search(text, pos)
        if final:
            return found.span() if found else (len(text), len(text))
        edge = len(text) - self.longest + 1
        if found and found.start() < edge:
            return found.span()
        # Only the last `longest - 1` characters can be a beginning: no more is searched twice.
        held = len(text)
        begins = self.wake(text, max(pos, edge))
        while begins:
            if text[begins.start() :] in self._beginnings:
                held = begins.start()
                break
            begins = self.wake(text, begins.end())
        # At the same place, what is held may become a longer marker than the one found.
        return found.span() if found and found.start() < held else (held, held)

    def match(self, text: str, pos: int = 0, *, final: bool = False) -> int:
        """Where the marker that begins at index `pos` ends.

        `pos` itself if text that may come could make one; -1 if none begins here.
        """
        if len(text) - pos < self.longest and not final:
            if pos == len(text) or text[pos:] in self._beginnings:
                return pos
        found = self._pattern.match(text, pos)
        return found.end() if found else -1


@lru_cache(maxsize=256)
def markers(literals: frozenset[str]) -> Markers:
    """The same `Markers` object for the same literals: patterns are compiled once."""
    return Markers(literals)
