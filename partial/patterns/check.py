"""The check of a pattern: it must be possible to search for it exactly in a stream.

A pattern with inexact partial matches would lose or delay text for some chunkings only, which no
user's test would find. So patterns that `regex` is known to get wrong are refused at construction,
with an alternative in the message. `pattern.py` explains the probe.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex

from ..errors import UsageError
from .parse import Atom, Group, Kind, Node, Repeat, parse_pattern

__all__ = ["MAX_LOOKBEHIND", "MISSING", "check_pattern"]

MAX_LOOKBEHIND = 255
"""The maximum number of characters that a lookbehind may examine, because they must be kept."""

MISSING = r"[^\x00-\U0010ffff]"
r"""A class without any character. (`[^\s\S]` would be one too, but `regex` 2026.11 matches any
character with it.)"""

# The replacement of each end anchor in the probe.
ENDS = {
    Kind.END: MISSING,
    Kind.LINE_END: rf"(?=\n|{MISSING})",
    Kind.LAST_LINE_END: rf"(?=\n?{MISSING})",
}

# `regex` tests the first character of a repeated group, and fails at the end of the text. An
# alternative at the start of the group switches this test off.
UNSEEN = "(?:|(?!))"


class CheckedPattern(NamedTuple):
    """The result of `check_pattern`.

    Attributes:
        flags: the given flags and those at the start of the pattern.
        probe: the pattern without the flags, in which each end anchor demands a character.
        behind: the number of characters before a match that the pattern examines.
        first: a pattern for the first characters of matches, "" if unknown. It contains its own
            flags, except A and U.
    """

    flags: int
    probe: str
    behind: int
    first: str


def check_pattern(pattern: str, flags: int = 0) -> CheckedPattern:
    """Check that `pattern` can be searched exactly, and return the data for the search.

    Raises:
        UsageError: it cannot. The message has the reason and an alternative.
    """
    # The parser refuses unknown syntax, so each check sees only known nodes.
    flags, tree = parse_pattern(pattern, flags)
    # Collected first, because a lookbehind anywhere makes a lazy repeat inexact.
    backwards = any(map(_looks_back, _walk(tree)))
    for node in _walk(tree):
        if isinstance(node, Repeat):
            _check_repeat(node, backwards=backwards)
        elif isinstance(node, Group):
            _check_group(node)
    # An empty match exists at every place, so a search would not advance.
    if _width(tree)[0] == 0:
        raise UsageError(
            f"{pattern!r} may match the empty string: require at least one character"
            " (+ instead of *, no ? at the end)"
        )
    first = _first(tree.branches)
    return CheckedPattern(
        # The parser removed comments and whitespace, and the probe must not be read as verbose.
        flags=flags & ~regex.X,
        probe=_source(tree, ends=False),
        behind=_behind(tree),
        # Sorted, because the order of a set differs between processes.
        first="" if first is None else "|".join(map(_alternative, sorted(first))),
    )


def _alternative(characters: str) -> str:
    """Return a pattern for one character, for use among alternatives."""
    # `regex` never matches `[^a]|[^b]`, although it is every character. A lookahead avoids that.
    return f"(?={characters})" if "[^" in characters else characters


def _check_repeat(node: Repeat, *, backwards: bool) -> None:
    """Refuse a repeat with inexact partial matches. `backwards`: the pattern has a lookbehind."""
    item, whole = node.item, _source(node)
    if _width(item)[1] == 0:
        raise UsageError(f"{whole}: a part without characters cannot be repeated")
    if node.mode == "+" and not (isinstance(item, Atom) and item.one):
        raise UsageError(f"{whole}: only one character may be repeated possessively: leave + out")
    is_any = isinstance(item, Atom) and item.kind is Kind.ANY
    if node.mode == "?" and (backwards or node.high is not None or not is_any):
        raise UsageError(
            f"{whole}: only (?s:.*?) may be lazy, without a limit, and not with a lookbehind"
            " or (?m:^): write a greedy repeat of the allowed characters,"
            " for example [^<]*"
        )
    if any(isinstance(inner, Repeat) and inner.mode == "?" for inner in _walk(item)):
        raise UsageError(f"{whole}: a lazy repeat may not be repeated: use one (?s:.*?)")


def _check_group(node: Group) -> None:
    """Refuse a group with inexact partial matches."""
    low, high = _width(node, inside=True)
    if node.opening == "(?>" and (low, high) != (1, 1):
        raise UsageError(f"{_source(node)}: only one character may be atomic: write (?:...)")
    # The remaining checks are for lookbehinds only.
    if not node.behind:
        return
    # The examined text must be kept for each search, so it needs a limit.
    if high is None or _behind(node) > MAX_LOOKBEHIND:
        raise UsageError(
            f"{_source(node)}: a lookbehind may examine at most {MAX_LOOKBEHIND} characters:"
            " limit its repeats"
        )
    # Inside a lookbehind, a lookahead would depend on text after the match.
    if any(map(_looks_ahead, _walk(node))):
        raise UsageError(f"{_source(node)}: a lookbehind may not look ahead or for an end")


def _walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes in it."""
    yield node
    if isinstance(node, Repeat):
        yield from _walk(node.item)
    elif isinstance(node, Group):
        for branch in node.branches:
            for item in branch:
                yield from _walk(item)


def _looks_back(node: Node) -> bool:
    """Return True if a node itself examines the text before it."""
    if isinstance(node, Group):
        return node.behind
    return isinstance(node, Atom) and node.kind is Kind.LINE_START


def _looks_ahead(node: Node) -> bool:
    """Return True if a node itself is a lookahead or an end anchor."""
    if isinstance(node, Group):
        return node.ahead
    return isinstance(node, Atom) and node.kind in ENDS


def _source(node: Node, *, ends: bool = True) -> str:
    """Return the source of a node, or without `ends` its source in the probe."""
    if isinstance(node, Atom):
        return node.source if ends else ENDS.get(node.kind, node.source)
    if isinstance(node, Repeat):
        item = _source(node.item, ends=ends)
        # Single characters have no group, so `regex` makes no such test for them.
        if not ends and not (isinstance(node.item, Atom) and node.item.one):
            item = f"(?:{UNSEEN}{item})"
        return item + node.quantifier + node.mode
    branches = ("".join(_source(item, ends=ends) for item in branch) for branch in node.branches)
    return f"{node.opening}{'|'.join(branches)})"


def _width(node: Node, *, inside: bool = False) -> tuple[int, int | None]:
    """Return the minimum and maximum number of characters of a node (None: no limit)."""
    if isinstance(node, Atom):
        if node.kind is Kind.BACK:
            # The referenced group may be empty or of any length.
            return 0, None
        one = int(node.one)
        return one, one
    if isinstance(node, Repeat):
        low, high = _width(node.item)
        most = None if high is None or node.high is None else high * node.high
        return low * node.low, most
    # Lookarounds consume no characters.
    if (node.ahead or node.behind) and not inside:
        return 0, 0
    lows, highs = [], []
    for branch in node.branches:
        widths = [_width(item) for item in branch]
        lows.append(sum(low for low, _ in widths))
        # One unlimited item makes the branch unlimited.
        known = [high for _, high in widths if high is not None]
        highs.append(sum(known) if len(known) == len(widths) else None)
    limits = [high for high in highs if high is not None]
    return min(lows), max(limits) if len(limits) == len(highs) else None


def _behind(node: Node) -> int:
    """Return the number of characters before a match that a node examines, nested ones added."""
    if isinstance(node, Atom):
        return 0
    if isinstance(node, Repeat):
        return _behind(node.item)
    inner = max((_behind(item) for branch in node.branches for item in branch), default=0)
    # Nested lookbehinds may examine text before each other, so their widths add up.
    return inner + (_width(node, inside=True)[1] or 0 if node.behind else 0)


def _first(branches: tuple[tuple[Node, ...], ...]) -> set[str] | None:
    """Return patterns for the first characters of a match, or None if unknown."""
    found: set[str] = set()
    for branch in branches:
        for node in branch:
            more = _first_of(node)
            # One unknown item makes the set useless, because a lane must never miss a match.
            if more is None:
                return None
            found |= more
            # Later items cannot supply the first character after a non-empty item.
            if _width(node)[0]:
                break
    return found


def _first_of(node: Node) -> set[str] | None:
    """Return patterns for the first characters of one node, or None if unknown."""
    if isinstance(node, Repeat):
        return _first_of(node.item)
    if isinstance(node, Group):
        return set() if node.ahead or node.behind else _first(node.branches)
    # The text of a group is unknown until the match.
    if node.kind is Kind.BACK:
        return None
    # Anchors consume no character, so the next item supplies the first one.
    if not node.one:
        return set()
    # A and U apply to the complete pattern, but I and S can differ between atoms.
    on = "".join(letter for letter in "is" if letter in node.flags)
    return {f"(?{on}:{node.source})" if on else node.source}
