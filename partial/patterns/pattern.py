r"""Patterns for searches in incomplete text.

There are three answers. `Found`: a match whose span and groups no further text can change. `Held`:
the index from which the text may still become a match. `Absent`: no match. So the answer equals one
search of the complete text, for any chunking. `regex` with `partial=True` does not achieve that. A
later match beats an earlier incomplete one, and the end of the received text counts as the end of
the text. So its answer depends on the chunks (`a+`, `dogsbody|dog`, `foo(?!bar)`).

The search uses a second pattern, the probe: `(?:P)()`, then any text, then one impossible
character. So the probe never matches, and `regex` makes its pass for partial matches. It tries all
places, and at each place all paths in order, and stops at the first path demanding a missing
character. If the path is inside P, it may still become the match: `Held`. If P is complete, the
empty group is set, and no earlier path can change the result: `Found`. In the probe `\Z` and `$`
demand a character too. Patterns that do not fit this scheme are refused (see `check`). A match is
held longer than necessary only if the missing part contradicts itself, as in `a(?=b)c`.

Two simpler ways fail. A new search of all text with each chunk is quadratic. Here, decided text is
removed, and for held text only its first place is tried again. An automaton of our own would be
slow in Python, and would have to copy all details of groups, back references and lookarounds in
`regex`.

`regex` backtracks, and the text is untrusted. An exponential pattern would stop a server. So would
a pattern that is quadratic in partial mode only: `\s*<tool_call>` in a megabyte of prose takes a
minute, and a millisecond in a plain search. So each search has a `timeout`. A `PatternSearch`,
which reads streams, does not need it for a harmless pattern. It reads text in small steps, shows
each place at most `max_hold` characters, and gives up a place that these do not decide. The markers
of formats are literals, and do not use this module (see `markers`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import regex

from ..bypass import Lane
from ..errors import UsageError
from .check import MISSING, check_pattern

__all__ = [
    "MAX_HOLD",
    "TIMEOUT",
    "Absent",
    "Found",
    "Held",
    "Pattern",
    "search",
]

MAX_HOLD = 4096
"""The maximum number of characters from the start of a match within which it must be decided."""

TIMEOUT = 1.0
"""The default limit of processor time for one search, in seconds."""

# The end of the probe: a group set only after a complete P, then all text in one step, then an
# impossible character.
# `(?s:.*+)` is possessive, so the probe ends in one step at the end of the text.
AFTER = rf"()(?s:.*+){MISSING}"

# Alternatives of one literal character each, which `re` finds three times as fast.
LITERALS = re.compile(r"(?:\\\W|[^\\\[.(|])(?:\|(?:\\\W|[^\\\[.(|]))*")


@dataclass(frozen=True, slots=True)
class Found:
    """A certain match. Further text cannot change it.

    Attributes:
        start: the index of its first character; from a `PatternSearch`, the offset in the stream.
        text: the matched text.
        groups: as `re.Match.groups()` returns them.
        groupdict: as `re.Match.groupdict()` returns it.
    """

    # Plain data, because a match object would keep the complete searched text alive.
    start: int
    text: str
    groups: tuple[str | None, ...]
    groupdict: dict[str, str | None]

    @property
    def end(self) -> int:
        """The index after its last character."""
        return self.start + len(self.text)

    @property
    def span(self) -> tuple[int, int]:
        """The indices of its start and end."""
        return self.start, self.end


@dataclass(frozen=True, slots=True)
class Held:
    """No match yet. Only the text from index `start` on may become one."""

    start: int


@dataclass(frozen=True, slots=True)
class Absent:
    """No match starts before index `start`, and the received text cannot become one.

    Attributes:
        start: the end of the searched text. After `match`, or after a timeout, the index at which
            the search started.
        timed_out: True if the search exceeded its time, so the text is undecided.
    """

    start: int
    timed_out: bool = False


class Pattern:
    r"""A pattern for searches in incomplete text.

    Args:
        pattern: a pattern in the syntax of `regex`, version 0.
        flags: flags of `regex`.
        max_hold: the maximum number of characters held by a `PatternSearch`.
        timeout: the limit of processor time for one search, in seconds; None for no limit.

    Attributes:
        behind: the number of characters examined before a match.
        lane: the `Lane` of text in which no match starts.

    Raises:
        UsageError: the pattern cannot be searched exactly. The message has the reason and an
            alternative.

    >>> number = Pattern(r"[0-9]+(?:\.[0-9]+)?")
    >>> number.search("about 3.")
    Held(start=6)
    >>> number.search("about 3.4 m").text
    '3.4'
    >>> number.search("about")
    Absent(start=5, timed_out=False)
    """

    __slots__ = ("_final", "_probe", "_timeout", "behind", "flags", "lane", "max_hold", "pattern")

    def __init__(
        self,
        pattern: str,
        flags: int = 0,
        *,
        max_hold: int = MAX_HOLD,
        timeout: float | None = TIMEOUT,
    ) -> None:
        # Zero would hold no text at all, so every match across chunks would be lost.
        if max_hold < 1 or (timeout is not None and timeout <= 0):
            raise UsageError(f"max_hold={max_hold} and timeout={timeout} must be positive")
        checked = check_pattern(pattern, flags)
        self.pattern = pattern
        self.flags = flags
        self.max_hold = max_hold
        self.behind = checked.behind
        self._timeout = timeout
        # For the final search the pattern itself is exact, because no text follows.
        self._final = regex.compile(pattern, flags)
        self._probe = regex.compile(checked.probe + AFTER, checked.flags)
        # A plain search for first characters is much faster than a partial match.
        first: Callable[[str], object] = (
            re.compile(checked.first).search
            if LITERALS.fullmatch(checked.first)
            else regex.compile(checked.first, checked.flags & (regex.A | regex.U)).search
        )
        self.lane = Lane(first, first)

    def __repr__(self) -> str:
        return f"Pattern({self.pattern!r})"

    def search(self, text: str, pos: int = 0, *, final: bool = False) -> Found | Held | Absent:
        r"""Find the first match in `text` at index `pos` or later.

        Lookbehinds, `^` and `\A` see the text before `pos`. All indices of the answer are indices
        into `text`.

        Args:
            text: the text so far.
            pos: the index to start at.
            final: True if no more text follows, so that no text is held.
        """
        return self._look(text, pos, final, anchored=False)

    def match(self, text: str, pos: int = 0, *, final: bool = False) -> Found | Held | Absent:
        """Return the answer of `search` for a match at index `pos` only."""
        return self._look(text, pos, final, anchored=True)

    def _look(self, text: str, pos: int, final: bool, *, anchored: bool) -> Found | Held | Absent:
        compiled = self._final if final else self._probe
        # A held place is tried alone, because earlier places are already decided.
        look = compiled.match if anchored else compiled.search
        try:
            found = look(text, pos, partial=not final, timeout=self._timeout)
        # An exception would lose the text, so the caller decides how to continue.
        except TimeoutError:
            return Absent(pos, timed_out=True)
        if found:
            start, end = found.span()
            groups = found.groups()
            # The last group of the probe marks the end of the pattern itself.
            if not final:
                through = found.end(compiled.groups)
                # Old versions of `regex` set the group to a place beyond an empty text.
                if not start < through <= end:
                    return Held(start) if start < end or anchored else Absent(end)
                end = through
                # The additional group of the probe is not part of the result.
                groups = groups[:-1]
            return Found(start, text[start:end], groups, found.groupdict())
        return Absent(pos if anchored else len(text))


# Checking and compiling is slow, and callers repeat patterns.
@lru_cache(maxsize=256)
def _pattern(pattern: str, flags: int, timeout: float | None) -> Pattern:
    return Pattern(pattern, flags, timeout=timeout)


def search(
    pattern: str | Pattern,
    text: str,
    pos: int = 0,
    *,
    flags: int = 0,
    final: bool = False,
    timeout: float | None = TIMEOUT,
) -> Found | Held | Absent:
    """Find the first match of `pattern` in `text`, which may be incomplete.

    Args:
        pattern: a `Pattern`, or its source, which is compiled once and cached.
        text: the text so far.
        pos: the index to start at; lookbehinds and anchors see the text before it.
        flags: flags of `regex`, if the pattern is given as source.
        final: True if no more text follows, so that no text is held.
        timeout: the limit of processor time in seconds, if the pattern is given as source.

    Returns:
        `Found` for a certain match, `Held` for the index of a possible match, or `Absent`.

    Raises:
        UsageError: the pattern cannot be searched exactly. The message has the reason and an
            alternative.

    >>> search("<tool_call>", "hello <tool")
    Held(start=6)
    """
    # A compiled `Pattern` already has its flags and timeout.
    if isinstance(pattern, str):
        pattern = _pattern(pattern, flags, timeout)
    return pattern.search(text, pos, final=final)
