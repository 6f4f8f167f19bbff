"""Search for all matches of a pattern in a stream, independent of the chunks."""

from __future__ import annotations

from ..bypass import Emit
from ..errors import AFTER_FINISH, UsageError
from ..window import Steps, Window
from .pattern import Absent, Found, Held, Pattern

__all__ = ["PatternSearch", "until_pattern"]

STEP = 256
"""The number of characters in one search if no text is held, because `regex` scans all of them."""


class PatternSearch:
    """Finds all matches of a pattern in one stream, independent of the chunks.

    `feed` and `finish` return the text in order: plain text as `str`, each match as `Found`, whose
    `start` is its offset in the stream. The joined results equal a loop of searches over the
    complete text. Only the held tail and the examined text before it are kept.

    A match undecided within `max_hold` characters is not a match. Its first character is plain
    text, and the search continues after it. After a timeout, all text is plain. Only this case
    depends on the machine.

    Attributes:
        pattern: the `Pattern`.
        given_up: the number of matches undecided within `max_hold` characters.
        timed_out: True if a search exceeded the timeout.

    >>> numbers = PatternSearch(Pattern("[0-9]+"))
    >>> numbers.feed("a 1"), numbers.feed("2 b")
    (['a '], [Found(start=2, text='12', groups=(), groupdict={}), ' b'])
    """

    __slots__ = (
        "_finished",
        "_held",
        "_left",
        "_offset",
        "_unread",
        "given_up",
        "pattern",
        "timed_out",
    )

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.given_up = 0
        self.timed_out = False
        # True if the search ended at a held place, so the next search continues there.
        self._held = False
        self._finished = False
        # The examined text before the unread text, of bounded length.
        self._left = ""
        self._unread = ""
        self._offset = 0

    def feed(self, text: str) -> list[str | Found]:
        """Read the next chunk, and return the text and matches that are certain now.

        Raises:
            UsageError: the call follows `finish`.
        """
        if self._finished:
            raise UsageError(AFTER_FINISH)
        # Fast path: no match starts in this chunk and no text is held.
        if not self._unread and self.pattern.lane.exact(text) is None:
            self.read(text)
            self._offset += len(text)
            return [text] if text else []
        self._unread += text
        return self._segments(final=False)

    def finish(self) -> list[str | Found]:
        """End the input, and return the rest."""
        self._finished = True
        return self._segments(final=True)

    def find(self, text: str, pos: int = 0, *, final: bool = False) -> Found | Held | Absent:
        """Find the first match in `text` from index `pos` on.

        The text there must follow the text passed to `read`. Indices of the answer are indices into
        `text`.
        """
        pattern, left, start = self.pattern, self._left, pos
        # The caller may search another text next, so the flag is valid only once.
        held, self._held = self._held, False
        while not self.timed_out and start < len(text):
            # A held place is tried alone, with all characters it may see. Otherwise a step is
            # enough to find the next place, because `regex` scans all given text.
            size = pattern.max_hold if held else min(STEP, pattern.max_hold)
            stop = min(len(text), start + size)
            # At the limit a match is undecided even at the end, so chunks make no difference.
            last = final and stop == len(text) and stop - start < pattern.max_hold
            look = pattern.match if held else pattern.search
            found = look(left + text[start:stop], len(left), final=last)
            at = found.start + start - len(left)
            if isinstance(found, Found):
                return Found(at, found.text, found.groups, found.groupdict)
            if isinstance(found, Held):
                # No place sees more than `max_hold` characters, even if more are available.
                # Otherwise the given-up places would depend on the chunks.
                held = stop - at < pattern.max_hold
                # Only more text can decide the match.
                if held and stop == len(text) and not final:
                    self._held = True
                    return Held(at)
                # Waiting longer would let untrusted text fill the buffer.
                if not held:
                    self.given_up += 1
                    at += 1
            else:
                self.timed_out = found.timed_out
                # A held place without a match is skipped, because `match` tried only this place.
                at += held
                held = False
            left = self._context(left + text[start:at])
            start = at
        return Absent(len(text), timed_out=self.timed_out)

    def read(self, text: str) -> None:
        """Note that `text` was read, so that the next searched text follows it."""
        self._left = self._context(self._left + text)

    def _context(self, text: str) -> str:
        # One character more than examined, because `^` and `\A` must fail after it.
        return text[-self.pattern.behind - 1 :]

    def _segments(self, *, final: bool) -> list[str | Found]:
        """Return the certain part of the unread text as plain text and matches."""
        segments: list[str | Found] = []
        text, pos = self._unread, 0
        while pos < len(text):
            found = self.find(text, pos, final=final)
            if found.start > pos:
                segments.append(text[pos : found.start])
            # Without a match, the text up to the held place is plain.
            end = found.start
            if isinstance(found, Found):
                end = found.end
                offset = self._offset + found.start
                segments.append(Found(offset, found.text, found.groups, found.groupdict))
            self.read(text[pos:end])
            pos = end
            # The rest is held or absent, so it contains no further matches yet.
            if not isinstance(found, Found):
                break
        self._unread = text[pos:]
        self._offset += pos
        return segments


def until_pattern(src: Window, search: PatternSearch, emit: Emit) -> Steps[Found | None]:
    """Read text up to the first match, and emit it as soon as it is certain.

    Args:
        src: the window to read from.
        search: the search, which keeps the examined text between calls. Text read by others must
            be passed to its `read`.
        emit: takes the text.

    Returns:
        The match, which stays unread, with an index into `src.text` as `start`, or None at the end
        of the input.
    """

    # Bypassing text must be noted, because lookbehinds may examine it later.
    def plain(text: str) -> None:
        search.read(text)
        emit(text)

    while True:
        found = search.find(src.text, src.pos, final=src.closed)
        if found.start > src.pos:
            search.read(src.text[src.pos : found.start])
            emit(src.consume(found.start))
        if isinstance(found, Found):
            return found
        if src.closed:
            return None
        src.wait(plain, search.pattern.lane)
        yield
