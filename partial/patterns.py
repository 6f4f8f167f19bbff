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

from .errors import UsageError
from .pattern_check import MISSING, ONE, Atom, Group, Node, Repeat, check_pattern, parse_pattern
from .source import Source, Steps

__all__ = [
    "MAX_HOLD",
    "TIMEOUT",
    "Absent",
    "Found",
    "Held",
    "Pattern",
    "PatternSearch",
    "reversed_partial_pattern",
    "search",
    "until_pattern",
]

MAX_HOLD = 4096
"""Characters within which a match must be decided, counted from where it begins."""

TIMEOUT = 1.0
"""Seconds of processor time for one search: what takes longer is a pattern that explodes."""

STEP = 256

# That P was through; then to the end of the text in one step, to ask there for more.
AFTER = rf"()(?s:.*+){MISSING}"

MAX_COPIES = 1000

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
    characters before a match it looks at. `max_hold` is for `PatternSearch`. `wake(text)` is None
    for a text in which no match begins.

    >>> number = Pattern(r"[0-9]+(?:\.[0-9]+)?")
    >>> number.search("about 3.")
    Held(start=6)
    >>> number.search("about 3.4 m").text
    '3.4'
    >>> number.search("about")
    Absent(start=5, timed_out=False)
    """

    __slots__ = ("_final", "_probe", "_timeout", "behind", "flags", "max_hold", "pattern", "wake")

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
        self.wake: Callable[[str], object] = (
            re.compile(checked.first).search
            if LITERALS.fullmatch(checked.first)
            else regex.compile(checked.first, checked.flags & (regex.A | regex.U)).search
        )

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


class PatternSearch:
    """All matches of a pattern in one stream: what was read of it, and whether it was given up.

    Text goes in by `feed` and `finish`, and comes out in order as pieces of plain text and
    matches (whose `start` is the offset in the stream), whatever the chunks were: the same as
    from one loop of searches over the whole. Only the held tail is kept, and before it as much as
    the pattern looks behind.

    A match that is not decided within `max_hold` characters is no match: the text is released
    from its first character on, and the search goes on behind it; `given_up` counts that. A search
    that takes more than the timeout is the last: all further text is plain, and `timed_out` is
    True. (That alone depends on the machine.)

    >>> numbers = PatternSearch(Pattern("[0-9]+"))
    >>> numbers.feed("a 1"), numbers.feed("2 b")
    (['a '], [Found(start=2, text='12', groups=(), groupdict={}), ' b'])
    """

    __slots__ = ("_held", "_left", "_offset", "_unread", "given_up", "pattern", "timed_out")

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.given_up = 0
        self.timed_out = False
        self._held = False
        self._left = ""
        self._unread = ""
        self._offset = 0

    def feed(self, text: str) -> list[str | Found]:
        """Take the next `text`; return what is certain now."""
        if not self._unread and self.pattern.wake(text) is None:
            self.read(text)
            self._offset += len(text)
            return [text] if text else []
        self._unread += text
        return self._pieces(final=False)

    def finish(self) -> list[str | Found]:
        """Say that no more text comes; return the rest."""
        return self._pieces(final=True)

    def find(self, text: str, pos: int = 0, *, final: bool = False) -> Found | Held | Absent:
        """Find the first match in `text` from index `pos` on, which follows what was `read`."""
        pattern, left, start = self.pattern, self._left, pos
        held, self._held = self._held, False
        while not self.timed_out and start < len(text):
            # Where the text was held, that place is looked at alone, and as far as it may see.
            # Else a step is enough to find where to look: `regex` goes through all that it gets.
            size = pattern.max_hold if held else min(STEP, pattern.max_hold)
            stop = min(len(text), start + size)
            last = final and stop == len(text) and stop - start < pattern.max_hold
            look = pattern.match if held else pattern.search
            found = look(left + text[start:stop], len(left), final=last)
            at = found.start + start - len(left)
            if isinstance(found, Found):
                return Found(at, found.text, found.groups, found.groupdict)
            if isinstance(found, Held):
                # No place sees more than `max_hold` characters, not even when they are there:
                # so it is the same for all chunks which places are given up.
                held = stop - at < pattern.max_hold
                if held and stop == len(text) and not final:
                    self._held = True
                    return Held(at)
                if not held:
                    self.given_up += 1
                    at += 1
            else:
                self.timed_out = found.timed_out
                at += held
                held = False
            left = self._context(left + text[start:at])
            start = at
        return Absent(len(text), timed_out=self.timed_out)

    def read(self, text: str) -> None:
        """Note that `text` was read: what is looked at next comes after it."""
        self._left = self._context(self._left + text)

    def _context(self, text: str) -> str:
        # One character more than is looked at, for `^` and `\A` are not true after it.
        return text[-self.pattern.behind - 1 :]

    def _pieces(self, *, final: bool) -> list[str | Found]:
        pieces: list[str | Found] = []
        text, pos = self._unread, 0
        while pos < len(text):
            found = self.find(text, pos, final=final)
            if found.start > pos:
                pieces.append(text[pos : found.start])
            end = found.start
            if isinstance(found, Found):
                end = found.end
                offset = self._offset + found.start
                pieces.append(Found(offset, found.text, found.groups, found.groupdict))
            self.read(text[pos:end])
            pos = end
            if not isinstance(found, Found):
                break
        self._unread = text[pos:]
        self._offset += pos
        return pieces


def until_pattern(
    src: Source, search: PatternSearch, emit: Callable[[str], None]
) -> Steps[Found | None]:
    """Read text up to the first match, handing it to `emit` as soon as it is certain.

    Returns the match, which is left unread, its `start` an index into `src.text`; or None at the
    end of input. `search` carries what was read here from one call to the next: what is read by
    others it does not see, unless its `read` is told.
    """

    def plain(text: str) -> None:
        search.read(text)
        emit(text)

    while True:
        found = search.find(src.text, src.pos, final=src.closed)
        if found.start > src.pos:
            search.read(src.text[src.pos : found.start])
            emit(src.take(found.start))
        if isinstance(found, Found):
            return found
        if src.closed:
            return None
        src.sleep(search.pattern.wake, plain)
        yield


def reversed_partial_pattern(pattern: str) -> str:
    r"""A pattern that finds, in the reversed text, what at its end may begin a match of `pattern`.

    Matched (not searched) on the reversed text, the end of its group 1 is, counted from the end
    of the text, where a partial match begins. It is the longest one there: `abc` may be cut after
    a, b or c, which backwards is "a", "ba" or "cba", so each character is preceded by an option
    for what follows it.

    >>> reversed_partial_pattern("abc")
    '^((?:(?:c)?b)?a)'

    This is the construction of llama.cpp's streaming parser (which appended `[\s\S]*` where its
    engine wanted a match of the whole text), here to compare with, not to use: it is not exact.
    Alternatives are tried in their order, which backwards means something else (`bc|aba` on "ab"
    holds "b" only), lazy repeats count as greedy, groups are lost. Use `Pattern`. Anchors,
    lookarounds and back references raise `UsageError`, as does what `Pattern` cannot read.
    """
    _, tree = parse_pattern(pattern)
    return f"^({_backwards(tree.branches)})"


def _backwards(branches: tuple[tuple[Node, ...], ...]) -> str:
    return "|".join(map(_branch_backwards, branches))


def _branch_backwards(branch: tuple[Node, ...]) -> str:
    parts: list[str] = []
    for node in branch:
        parts += _copies(node) if isinstance(node, Repeat) else [_item_backwards(node)]
    whole = ""
    for part in reversed(parts):
        whole = f"(?:{whole})?{part}" if whole else part
    return whole


def _copies(node: Repeat) -> list[str]:
    """A repeat as items one after the other, of which each but the last is at most optional."""
    low, high, text = node.low, node.high, _item_backwards(node.item)
    if max(low, high or 0) > MAX_COPIES:
        raise UsageError(f"{max(low, high or 0)} repeats would be written out as often")
    if high is None:
        return [text] * (low - 1) + [text + ("+" if low else "*")]
    return [text] * low + [text + "?"] * (high - low)


def _item_backwards(item: Node) -> str:
    if isinstance(item, Atom) and item.kind in ONE:
        return item.source
    if isinstance(item, Group) and not (item.ahead or item.behind or item.opening == "(?>"):
        return f"(?:{_backwards(item.branches)})"
    raise UsageError("only characters, groups and their repeats can be reversed")
