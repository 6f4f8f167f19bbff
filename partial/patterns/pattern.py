r"""Patterns, looked for in text that is not all there yet.

There are three answers. A match is `Found` when no text that may still come can change its span or
its groups; `Held` says from where on the text may still become one; else it is `Absent`. So the
answer is that of one search of the whole text, however it was cut. `regex` with `partial=True` does
not give that: it lets a match found later beat one that is not complete yet, takes the end of what
came for the end of the text, and so answers differently for different chunks (`a+`, `dogsbody|dog`,
`foo(?!bar)`).

How it is done. A second pattern, the probe, is `(?:P)()` and then any text and one character more,
which never matches. So `regex` makes its pass for partial matches, which tries the places and at
each the paths in their order, and stops at the first path that asks for a character that is not
there. Either that is within P: then this path may still become the match, which is `Held`. Or P was
through, and the empty group is set: then no path before this one can change anything, which is
`Found`. In the probe each `\Z` and `$` asks for a character, too, and what does not fit this scheme
is refused (see `check`). A match is held longer than needed only where what it still needs
contradicts itself, as in `a(?=b)c`.

The obvious other ways do not do. To search all of the text again with each chunk costs more with
each; here, text is cut off where it is decided, and where some is held, only that place is looked
at again. An automaton of our own would need no probe, but it would be slow in Python, and groups,
back references and lookarounds would have to mean to the last detail what they mean in `regex`.

`regex` backtracks, and the text is hostile: a model wrote it, or whoever wrote into its prompt. A
pattern that explodes would stop a server, and so would one that is quadratic in partial mode only
(`\s*<tool_call>` in a megabyte of prose takes a minute, where a plain search takes a millisecond).
So each search has a `timeout`, and a `PatternSearch`, which is what reads streams, has no need of
it with an honest pattern: it goes through text in small steps, shows no place more than `max_hold`
characters, and gives a place up that they do not decide. The markers of formats, of which there are
many more, are literals and never come here (see `markers`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import regex

from ..errors import UsageError
from ..waiting import Lane
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
"""Characters within which a match must be decided, counted from where it begins."""

TIMEOUT = 1.0
"""Seconds of processor time for one search: a pattern that takes longer explodes."""

# Behind P in the probe: the group that says that P was through; then, in one step, all the text
# up to its end, to ask there for more.
AFTER = rf"()(?s:.*+){MISSING}"

# Alternatives of one literal character each: `re` finds these three times as fast.
LITERALS = re.compile(r"(?:\\\W|[^\\\[.(|])(?:\|(?:\\\W|[^\\\[.(|]))*")


@dataclass(frozen=True, slots=True)
class Found:
    """A match that no further text can change.

    Attributes:
        start: the index of its first character; from a `PatternSearch`, the offset in the stream.
        text: the text that matched.
        groups: what `re.Match.groups()` returns.
        groupdict: what `re.Match.groupdict()` returns.
    """

    start: int
    text: str
    groups: tuple[str | None, ...]
    groupdict: dict[str, str | None]

    @property
    def end(self) -> int:
        """The index behind its last character."""
        return self.start + len(self.text)

    @property
    def span(self) -> tuple[int, int]:
        """The indices where it begins and ends."""
        return self.start, self.end


@dataclass(frozen=True, slots=True)
class Held:
    """No match yet: the text from index `start` on may become one; none begins before it."""

    start: int


@dataclass(frozen=True, slots=True)
class Absent:
    """No match begins before index `start`, and none may begin in the text that has come.

    Attributes:
        start: the end of the text that was searched. After a `match`, and after a search that ran
            out of time, it is where that was to begin.
        timed_out: whether the search ran out of time: then nothing is known about the text.
    """

    start: int
    timed_out: bool = False


class Pattern:
    r"""A pattern that is looked for in text that is not all there yet.

    Args:
        pattern: a pattern in the syntax of `regex`, version 0.
        flags: the flags of `regex` that hold for it.
        max_hold: how many characters a `PatternSearch` holds at most.
        timeout: how many seconds of processor time one search may take; None for no limit.

    Attributes:
        behind: how many characters before a match it looks at.
        lane: the `Lane` of text in which no match begins.

    Raises:
        UsageError: the pattern cannot be looked for exactly; the text says why, and what to write
            instead.

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
        if max_hold < 1 or (timeout is not None and timeout <= 0):
            raise UsageError(f"max_hold={max_hold} and timeout={timeout} must be positive")
        checked = check_pattern(pattern, flags)
        self.pattern = pattern
        self.flags = flags
        self.max_hold = max_hold
        self.behind = checked.behind
        self._timeout = timeout
        self._final = regex.compile(pattern, flags)
        self._probe = regex.compile(checked.probe + AFTER, checked.flags)
        first: Callable[[str], object] = (
            re.compile(checked.first).search
            if LITERALS.fullmatch(checked.first)
            else regex.compile(checked.first, checked.flags & (regex.A | regex.U)).search
        )
        self.lane = Lane(first, first)

    def __repr__(self) -> str:
        return f"Pattern({self.pattern!r})"

    def search(self, text: str, pos: int = 0, *, final: bool = False) -> Found | Held | Absent:
        r"""Find the first match in `text` that begins at index `pos` or after.

        Lookbehinds, `^` and `\A` see the text before `pos`. `final` says that no more text comes:
        then nothing is held, and the end of `text` is the end of the text. All indices in the
        answer are indices into `text`.
        """
        return self._look(text, pos, final, anchored=False)

    def match(self, text: str, pos: int = 0, *, final: bool = False) -> Found | Held | Absent:
        """Answer as `search` does for a match that begins at index `pos`, and nowhere else."""
        return self._look(text, pos, final, anchored=True)

    def _look(self, text: str, pos: int, final: bool, *, anchored: bool) -> Found | Held | Absent:
        compiled = self._final if final else self._probe
        look = compiled.match if anchored else compiled.search
        try:
            found = look(text, pos, partial=not final, timeout=self._timeout)
        except TimeoutError:
            return Absent(pos, timed_out=True)
        if found:
            start, end = found.span()
            groups = found.groups()
            if not final:
                through = found.end(compiled.groups)
                # (Where there is no text at all, old versions set the group to a place beyond it.)
                if not start < through <= end:
                    return Held(start) if start < end or anchored else Absent(end)
                end = through
                groups = groups[:-1]
            return Found(start, text[start:end], groups, found.groupdict())
        return Absent(pos if anchored else len(text))


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
    """Find the first match of `pattern` in `text`, of which more may come.

    Args:
        pattern: a `Pattern`, or the text of one, which is compiled once and kept.
        text: the text so far.
        pos: the index to search from; lookbehinds and anchors see the text before it.
        flags: the flags of `regex`, for a pattern that is given as text.
        final: whether no more text comes: then nothing is held.
        timeout: seconds of processor time for one search, for a pattern that is given as text.

    Returns:
        `Found` for a match that no further text can change; `Held` for the index from which on the
        text may become one; `Absent` if none may.

    Raises:
        UsageError: the pattern cannot be looked for exactly; the text says why, and what to write
            instead.

    >>> search("<tool_call>", "hello <tool")
    Held(start=6)
    """
    if isinstance(pattern, str):
        pattern = _pattern(pattern, flags, timeout)
    return pattern.search(text, pos, final=final)
