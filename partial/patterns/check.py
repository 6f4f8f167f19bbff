r"""The check of a pattern: whether it can be looked for exactly in a stream, and with which probe.

A pattern whose partial matches are inexact loses or delays text, and does so only for some ways of
cutting it: no test of a user would find that. So what `regex` is known to get wrong is refused when
the pattern is made, with a word on what to write instead. `pattern` says what the probe is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex

from ..errors import UsageError
from .parse import Atom, Group, Kind, Node, Repeat, parse_pattern

__all__ = ["MAX_BEHIND", "MISSING", "check_pattern"]

MAX_BEHIND = 255
"""Characters that a lookbehind may look at: as many are kept of the text that was read."""

MISSING = r"[^\x00-\U0010ffff]"
r"""No character there is. (`[^\s\S]` would say so, but `regex` 2026.11 matches any with it.)"""

# What stands in the probe for each end of the text.
ENDS = {
    Kind.END: MISSING,
    Kind.LINE_END: rf"(?=\n|{MISSING})",
    Kind.LAST_LINE_END: rf"(?=\n?{MISSING})",
}

# Where a group repeats, `regex` looks whether its first character follows, and at the end of the
# text takes none for no. It does not look past a branch.
UNSEEN = "(?:|(?!))"


class CheckedPattern(NamedTuple):
    """What `check_pattern` found out.

    Attributes:
        flags: the flags given and those that the pattern begins with.
        probe: the pattern without these, in which each end of the text asks for a character.
        behind: how many characters before a match it looks at.
        first: a pattern for the characters that a match can begin with; "" if not known. It holds
            its own flags, but for A and U.
    """

    flags: int
    probe: str
    behind: int
    first: str


def check_pattern(pattern: str, flags: int = 0) -> CheckedPattern:
    """Check that `pattern` can be looked for exactly, and return what its search needs.

    Raises:
        UsageError: it cannot; the text says why, and what to write instead.
    """
    flags, tree = parse_pattern(pattern, flags)
    backwards = any(map(_looks_back, _walk(tree)))
    for node in _walk(tree):
        if isinstance(node, Repeat):
            _check_repeat(node, backwards=backwards)
        elif isinstance(node, Group):
            _check_group(node)
    if _width(tree)[0] == 0:
        raise UsageError(
            f"{pattern!r} may match the empty text, which is everywhere: let at least one character"
            " of it be needed (+ for *, no ? at the end)"
        )
    first = _first(tree.branches)
    return CheckedPattern(
        flags=flags & ~regex.X,
        probe=_source(tree, ends=False),
        behind=_behind(tree),
        first="" if first is None else "|".join(map(_alternative, sorted(first))),
    )


def _alternative(characters: str) -> str:
    """Return a pattern for one character as it can stand among alternatives."""
    # `regex` finds nothing with `[^a]|[^b]`, which is every character; looking ahead, it does.
    return f"(?={characters})" if "[^" in characters else characters


def _check_repeat(node: Repeat, *, backwards: bool) -> None:
    """Refuse a repeat whose partial matches are inexact; `backwards`: the pattern looks back."""
    item, whole = node.item, _source(node)
    if _width(item)[1] == 0:
        raise UsageError(f"{whole}: what matches no characters cannot be repeated")
    if node.mode == "+" and not (isinstance(item, Atom) and item.one):
        raise UsageError(f"{whole}: only one character may be repeated possessively: leave + out")
    is_any = isinstance(item, Atom) and item.kind is Kind.ANY
    if node.mode == "?" and (backwards or node.high is not None or not is_any):
        raise UsageError(
            f"{whole}: only any character may be repeated lazily, as (?s:.*?), without a"
            " limit, and not beside a lookbehind or (?m:^): write a greedy repeat of what may"
            " stand there, such as [^<]*"
        )
    if any(isinstance(inner, Repeat) and inner.mode == "?" for inner in _walk(item)):
        raise UsageError(
            f"{whole}: a lazy repeat may not be repeated: let one (?s:.*?) take all of it"
        )


def _check_group(node: Group) -> None:
    """Refuse a group whose partial matches are inexact."""
    low, high = _width(node, inside=True)
    if node.opening == "(?>" and (low, high) != (1, 1):
        raise UsageError(f"{_source(node)}: only one character may be atomic: write (?:...)")
    if not node.behind:
        return
    if high is None or _behind(node) > MAX_BEHIND:
        raise UsageError(
            f"{_source(node)}: a lookbehind may look at {MAX_BEHIND} characters at most:"
            " let its repeats have a limit"
        )
    if any(map(_looks_ahead, _walk(node))):
        raise UsageError(f"{_source(node)}: a lookbehind may look neither ahead nor for an end")


def _walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes within it."""
    yield node
    if isinstance(node, Repeat):
        yield from _walk(node.item)
    elif isinstance(node, Group):
        for branch in node.branches:
            for item in branch:
                yield from _walk(item)


def _looks_back(node: Node) -> bool:
    """Return whether a node, apart from what is in it, looks at the text before it."""
    if isinstance(node, Group):
        return node.behind
    return isinstance(node, Atom) and node.kind is Kind.LINE_START


def _looks_ahead(node: Node) -> bool:
    """Return whether a node, apart from what is in it, looks ahead or for the end of the text."""
    if isinstance(node, Group):
        return node.ahead
    return isinstance(node, Atom) and node.kind in ENDS


def _source(node: Node, *, ends: bool = True) -> str:
    """Return the pattern again; without `ends`, as it stands in the probe."""
    if isinstance(node, Atom):
        return node.source if ends else ENDS.get(node.kind, node.source)
    if isinstance(node, Repeat):
        item = _source(node.item, ends=ends)
        if not ends and not (isinstance(node.item, Atom) and node.item.one):
            item = f"(?:{UNSEEN}{item})"
        return item + node.quantifier + node.mode
    branches = ("".join(_source(item, ends=ends) for item in branch) for branch in node.branches)
    return f"{node.opening}{'|'.join(branches)})"


def _width(node: Node, *, inside: bool = False) -> tuple[int, int | None]:
    """Return how many characters a node matches: the fewest and the most, None for no limit."""
    if isinstance(node, Atom):
        if node.kind is Kind.BACK:
            return 0, None
        one = int(node.one)
        return one, one
    if isinstance(node, Repeat):
        low, high = _width(node.item)
        most = None if high is None or node.high is None else high * node.high
        return low * node.low, most
    if (node.ahead or node.behind) and not inside:
        return 0, 0
    lows, highs = [], []
    for branch in node.branches:
        widths = [_width(item) for item in branch]
        lows.append(sum(low for low, _ in widths))
        known = [high for _, high in widths if high is not None]
        highs.append(sum(known) if len(known) == len(widths) else None)
    limits = [high for high in highs if high is not None]
    return min(lows), max(limits) if len(limits) == len(highs) else None


def _behind(node: Node) -> int:
    """Return how many characters before a match a node looks at, nested lookbehinds added up."""
    if isinstance(node, Atom):
        return 0
    if isinstance(node, Repeat):
        return _behind(node.item)
    inner = max((_behind(item) for branch in node.branches for item in branch), default=0)
    return inner + (_width(node, inside=True)[1] or 0 if node.behind else 0)


def _first(branches: tuple[tuple[Node, ...], ...]) -> set[str] | None:
    """Return patterns for the characters that a match may begin with; None if not known."""
    found: set[str] = set()
    for branch in branches:
        for node in branch:
            more = _first_of(node)
            if more is None:
                return None
            found |= more
            if _width(node)[0]:
                break
    return found


def _first_of(node: Node) -> set[str] | None:
    """Return the same for one node."""
    if isinstance(node, Repeat):
        return _first_of(node.item)
    if isinstance(node, Group):
        return set() if node.ahead or node.behind else _first(node.branches)
    if node.kind is Kind.BACK:
        return None
    if not node.one:
        return set()
    on = "".join(letter for letter in "is" if letter in node.flags)
    return {f"(?{on}:{node.source})" if on else node.source}
