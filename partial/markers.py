"""Literal markers, searched together in incomplete text.

The result equals one search of the complete text: the leftmost marker, and the longest of the
markers at the same place. A marker is reported once no later text can change the result. Of
the text before it, only the longest possible prefix of a marker is buffered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from .bypass import Lane, Waiter, nowhere
from .errors import UsageError
from .json_text.compact import spelled
from .surrogates import SURROGATES

if TYPE_CHECKING:
    from .window import Window

__all__ = ["LONGEST_MARKER", "Markers", "marker_set"]

LONGEST_MARKER = 256
"""The maximum length of a marker in characters. Real markers have fewer than 40; all their prefixes
are stored."""

NEVER = "(?!)"

KNOWN = 3
r"""The number of characters of a prefix that a pattern compares: `\n\nTh` and `</p` differ."""

Search = Callable[..., re.Match[str] | None]
"""The `search` method of a pattern."""


class Markers:
    """A set of literal markers, without empty ones.

    Attributes:
        longest: the length of the longest marker.
        firsts: the characters that markers start with.

    Raises:
        UsageError: a marker has more than `LONGEST_MARKER` characters.

    >>> Markers(["<tool_call>", "</s>"]).find("hi <tool")
    (3, 3)
    >>> Markers(["<tool_call>", "</s>"]).find("hi <b> </s>")
    (7, 11)
    """

    def __init__(self, literals: Iterable[str]) -> None:
        # The longest first, because the first alternative of a pattern wins at the same place.
        self.literals = tuple(sorted(set(literals) - {""}, key=lambda text: (-len(text), text)))
        self.longest = len(self.literals[0]) if self.literals else 0
        # All prefixes are stored, so their total size is quadratic in the length of a marker.
        if self.longest > LONGEST_MARKER:
            message = (
                f"a marker has {self.longest} characters; at most {LONGEST_MARKER} are allowed"
            )
            raise UsageError(message)
        self._whole = frozenset(self.literals)
        # A hash lookup decides if a tail is a prefix, independent of the number of markers.
        self._beginnings = frozenset(
            text[:size] for text in self.literals for size in range(1, len(text))
        )
        self.firsts = "".join(sorted({text[0] for text in self.literals}))
        # Without markers the pattern must never match, but an empty pattern always matches.
        self._pattern = re.compile("|".join(map(re.escape, self.literals)) or NEVER)

    # Compiled on first use, because a text meets few of a format's markers.

    @cached_property
    def exact(self) -> Search:
        """Search for a marker, a prefix of one at the end of the text, and half a character."""
        # `re` skips to the first characters of a pattern if it starts with a set, so the cost is
        # that of a search for the set. `re` does not skip if alternatives start with characters.
        odd = f"(?<=[{SURROGATES}])"
        rests = (f"(?<={re.escape(first)})(?:{rest})" for first, rest in self._rests())
        any_of_them = "|".join([odd, *rests])
        pattern = f"[{re.escape(self.firsts)}{SURROGATES}](?:{any_of_them})"
        return re.compile(pattern, re.DOTALL).search

    @cached_property
    def quick_json(self) -> Search:
        """Search for first characters of markers, and for characters escaped in JSON strings."""
        # A single character class is the fastest search of `re`, so a false match is cheaper than
        # precision.
        return re.compile(rf'[{re.escape(self.firsts)}"\\\x00-\x1f{SURROGATES}]').search

    @cached_property
    def lane(self) -> Lane:
        """A lane for text without a marker."""
        # `exact` is as fast as a character class, so a separate `quick` would only add a pass.
        return Lane(self.exact, self.exact, self.split)

    @cached_property
    def string_lane(self) -> Lane:
        """A lane for text without a marker, spelled as the inside of a JSON string."""
        return Lane(self.quick_json, self.exact, self.split, spelled)

    @cached_property
    def waiter(self) -> Waiter:
        """A waiter for the rest of a possible marker at this position, as in `match`."""

        def step(window: Window) -> str | None:
            # Still a prefix, so the sub-parser would only wait again.
            return "" if window.text[window.pos :] in self._beginnings else None

        # The waiter has no state of a stream, so one object serves all streams.
        return Waiter(nowhere, step, nowhere, known=self._beginnings)

    @cached_property
    def _search(self) -> Search:
        found = "|".join(f"{re.escape(first)}(?:{rest})" for first, rest in self._rests())
        return re.compile(found or NEVER, re.DOTALL).search

    def tails(self) -> Iterator[str]:
        """Yield patterns for a prefix of a marker at the end of a text.

        A pattern compares the first three characters and the length, which is nearly exact.
        """
        # Grouped by first character, because only markers with the same first character can match.
        for first in self.firsts:
            yield re.escape(first) + self._tail(first)

    def _tail(self, first: str) -> str:
        """Return a pattern of the rests of prefixes that start with `first`, at the end of text."""
        rests = [text[1:] for text in self.literals if text[0] == first]
        return self._beginning(rests, KNOWN - 1) + r"\Z"

    def _beginning(self, texts: Sequence[str], known: int) -> str:
        """Return a pattern of prefixes of `texts` that compares `known` of their characters."""
        # The remaining characters are not compared, because the pattern would grow with each
        # marker.
        if not known:
            return f".{{0,{self.longest}}}+"
        # A trie of the first characters, so no alternative is tried twice.
        ways = [
            re.escape(first)
            + self._beginning([text[1:] for text in texts if text[:1] == first], known - 1)
            for first in sorted({text[0] for text in texts if text})
        ]
        return f"(?:{'|'.join(ways)})?+" if ways else ""

    def _rests(self) -> Iterator[tuple[str, str]]:
        """Yield each first character with a pattern of the rest of markers and their prefixes."""
        for first in self.firsts:
            # Complete markers precede their prefixes, because the first matching alternative wins.
            rests = [re.escape(text[1:]) for text in self.literals if text[0] == first]
            yield first, "|".join([*rests, self._tail(first)])

    def find(self, text: str, pos: int = 0, *, final: bool = False) -> tuple[int, int]:
        """Find the first marker in `text` from index `pos` on.

        Args:
            text: the text to search.
            pos: the index to start at.
            final: True if no more text follows; then no text is buffered.

        Returns:
            `(start, end)`. With `end > start` this is the span of a marker. With `end == start`,
            the text before `start` has no marker, and the text from `start` on may become one.
        """
        # Without further text, a prefix is ordinary text.
        if final:
            found = self._pattern.search(text, pos)
            return found.span() if found else (len(text), len(text))
        search = self._search
        found = search(text, pos)
        while found:
            start, end = found.span()
            # The tail may become a longer marker than the one found at the same place.
            if len(text) - start < self.longest and text[start:] in self._beginnings:
                return start, start
            # A match at the end of the text may be only a prefix by its length, because tails
            # compare three characters.
            if end < len(text) or text[start:] in self._whole:
                return start, end
            # The match was a false prefix, so the search continues one character later.
            found = search(text, start + 1)
        return len(text), len(text)

    def split(self, text: str) -> int:
        """Return the start of a possible marker at the end, or -1 if a marker precedes it."""
        found = self._search(text)
        if found is None:
            # Without any marker or prefix, the complete text is certain.
            return len(text)
        start = found.start()
        if len(text) - start < self.longest and text[start:] in self._beginnings:
            return start
        start, end = self.find(text, start)
        return start if start == end else -1

    def match(self, text: str, pos: int = 0, *, final: bool = False) -> int:
        """Return the end of the marker that starts at index `pos`.

        Returns `pos` if later text could complete a marker there, and -1 if no marker starts there.
        """
        # Text as long as the longest marker cannot be a proper prefix, so the lookup is skipped.
        if len(text) - pos < self.longest and not final:
            if pos == len(text) or text[pos:] in self._beginnings:
                return pos
        found = self._pattern.match(text, pos)
        return found.end() if found else -1


def marker_set(literals: Iterable[str]) -> Markers:
    """Return one `Markers` object for equal literals, so that patterns are compiled once."""
    # Order and duplicates do not matter, so equal sets share one cache entry.
    return _markers(frozenset(literals))


@lru_cache(maxsize=256)
def _markers(literals: frozenset[str]) -> Markers:
    return Markers(literals)
