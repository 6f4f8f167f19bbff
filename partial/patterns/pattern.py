r"""Patterns, looked for in text that is not all there yet.

The answer is that of one search of the whole text, however it was cut: a match is `Found` when no
text that may still come can change its span or its groups; `Held` says where the text begins that
may still become one; else it is `Absent`. `regex` with `partial=True` does not give that: it lets
a match found later beat one that is not complete yet, takes the end of what came for the end of
the text, and so answers differently for different chunks (`a+`, `dogsbody|dog`, `foo(?!bar)`).

How it is done. A second pattern, the probe, is `(?:P)()` and then any text and one character
more, which never matches. So `regex` makes its pass for partial matches, which tries the places
and at each the paths in their order, and stops at the first path that asks for a character that
is not there. Either that is within P: then this path may still become the match, which is
`Held`. Or P was through, and the empty group is set: then no path before this one can change
anything, which is `Found`. In the probe each `\Z` and `$` asks for a character, too, and what
does not fit this scheme is refused (see `pattern_check`). A match is held longer than needed only
where what it still needs contradicts itself, as in `a(?=b)c`.
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
"""Seconds of processor time for one search: what takes longer is a pattern that explodes."""

# That P was through; then to the end of the text in one step, to ask there for more.
AFTER = rf"()(?s:.*+){MISSING}"

# Alternatives of one literal character each: `re` finds these three times as fast.
LITERALS = re.compile(r"(?:\\\W|[^\\\[.(|])(?:\|(?:\\\W|[^\\\[.(|]))*")


@dataclass(frozen=True, slots=True)
class Found:
    """A match, which no further text can change. `groups` and `groupdict` as of `re.Match`."""

    start: int
    text: str
    groups: tuple[str | None, ...]
    groupdict: dict[str, str | None]

    @property
    def end(self) -> int:
        """Where the text after it begins."""
        return self.start + len(self.text)

    @property
    def span(self) -> tuple[int, int]:
        """Where it begins and ends."""
        return self.start, self.end


@dataclass(frozen=True, slots=True)
class Held:
    """The text from `start` on may become a match; no match begins before."""

    start: int


@dataclass(frozen=True, slots=True)
class Absent:
    """No match begins before `start`, and none is in sight.

    `start` is the end of the text that was searched. After a `match` it is where that was to
    begin, and after a search that ran out of time (`timed_out`) too: then nothing is known.
    """

    start: int
    timed_out: bool = False


class Pattern:
    r"""A pattern that is looked for in text that is not all there yet.

    `pattern` and `flags` are those of `regex`, version 0; a pattern that cannot be looked for
    exactly raises `UsageError`, which says why and what to write instead. `behind` is how many
    characters before a match it looks at. `max_hold` is for `PatternSearch`. text in which
    no match begins may pass its `lane`.

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

        The text before `pos` is seen by lookbehinds, `^` and `\A`. `final` says that no more text
        comes: then nothing is held, and the end of `text` is the end of the text.
        """
        return self._look(text, pos, final, anchored=False)

    def match(self, text: str, pos: int = 0, *, final: bool = False) -> Found | Held | Absent:
        """Say whether a match begins at index `pos`, as `search` does."""
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
    """Find the first match of `pattern` in `text`, of which more may come: `Pattern.search`.

    >>> search("<tool_call>", "hello <tool")
    Held(start=6)
    """
    if isinstance(pattern, str):
        pattern = _pattern(pattern, flags, timeout)
    return pattern.search(text, pos, final=final)
