"""Calls that the text of an argument in tags quotes.

A value may hold calls of its own format. Their openers nest: the markers that close a quoted call,
and the suffixes that end its arguments, belong to the value. Only counts are kept, one for each
kind of marker, so that a value of any length costs the same.
"""

from __future__ import annotations

from ...wire.tag_markers import TaggedMarkers

__all__ = ["QuotedCalls"]


class QuotedCalls:
    """Counts the markers of calls in the value that is read.

    `arguments` is how many quoted arguments are open, `unmatched` how many markers were text that
    no other marker in the value opened or closed. `names` are those of the call's own arguments
    that began in the value, but in no quoted call.
    """

    __slots__ = ("_closers", "_open", "_openers", "arguments", "names", "unmatched")

    def __init__(self, m: TaggedMarkers) -> None:
        self._openers, self._closers = m.quoted_openers, m.quoted_closers
        self._open = [0, 0, 0]
        self.arguments = self.unmatched = 0
        self.names: set[str] = set()

    @property
    def is_open(self) -> bool:
        """Whether a quoted call is open."""
        return any(self._open)

    @property
    def unbalanced(self) -> int:
        """How many markers no other marker in the value matches."""
        return self.unmatched + self.arguments + sum(self._open)

    def opens(self, core: str) -> bool:
        """Count a marker if it opens a call, and return whether it does."""
        pair = self._openers.get(core)
        if pair is None:
            return False
        self._open[pair] += 1
        return True

    def closes(self, core: str) -> bool:
        """Count a marker if it closes what an opener in the value opened; return whether so."""
        pair = self._closers.get(core)
        if pair is None or not self._open[pair]:
            return False
        self._open[pair] -= 1
        return True
