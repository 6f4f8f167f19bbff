"""Calls quoted in the text of an argument in tags.

A value may contain calls in its own format. Their openers nest, so the closers of quoted calls and
the suffixes of their arguments belong to the value. Only counts are kept for each kind of marker,
so the memory does not grow with the value.
"""

from __future__ import annotations

from ...wire.tag_markers import TaggedMarkers

__all__ = ["QuotedCalls"]


class QuotedCalls:
    """Counts of the call markers in the current value.

    Attributes:
        arguments: the number of open quoted arguments.
        unmatched: the number of markers that are text, but match no other marker in the value.
        names: the names of the call's own arguments that start in the value outside quoted calls.
    """

    __slots__ = ("_closers", "_open", "_openers", "arguments", "names", "unmatched")

    def __init__(self, m: TaggedMarkers) -> None:
        self._openers, self._closers = m.quoted_openers, m.quoted_closers
        # One counter for each kind of marker that has an opener and a closer.
        self._open = [0, 0, 0]
        self.arguments = self.unmatched = 0
        self.names: set[str] = set()

    @property
    def is_open(self) -> bool:
        """True in a quoted call."""
        return any(self._open)

    @property
    def unbalanced(self) -> int:
        """The number of markers without a matching marker in the value."""
        # Open quoted calls and arguments lack their closers, so their openers are unmatched.
        return self.unmatched + self.arguments + sum(self._open)

    def opens(self, core: str) -> bool:
        """Count the marker if it opens a call, and return True if it does."""
        pair = self._openers.get(core)
        # Other markers do not nest, so they are not counted here.
        if pair is None:
            return False
        self._open[pair] += 1
        return True

    def closes(self, core: str) -> bool:
        """Count the marker if it closes an opener in the value, and return True if it does."""
        pair = self._closers.get(core)
        # A closer without an opener in the value may be the closer of the call itself.
        if pair is None or not self._open[pair]:
            return False
        self._open[pair] -= 1
        return True
