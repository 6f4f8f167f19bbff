"""Partial matches found in the reversed text, as llama.cpp found them: to compare with."""

from __future__ import annotations

from ..errors import UsageError
from .parse import Atom, Group, Node, Repeat, parse_pattern

__all__ = ["reversed_partial_pattern"]

MAX_COPIES = 1000
"""How often an item may be written out, those within it counted too."""


def reversed_partial_pattern(pattern: str) -> str:
    r"""Return a pattern that finds in reversed text what may begin a match of `pattern` at its end.

    Matched (not searched) on the reversed text, the end of its group 1 is, counted from the end
    of the text, where a partial match begins. It is the longest one there: `abc` may be cut after
    a, b or c, which backwards is "a", "ba" or "cba", so each character is preceded by an option
    for what follows it.

    >>> reversed_partial_pattern("abc")
    '^((?:(?:c)?b)?a)'

    This is the construction of llama.cpp's streaming parser (which appended `[\s\S]*` where its
    engine wanted a match of the whole text), here to compare with, not to use: it is not exact.
    Alternatives are tried in their order, which backwards means something else (`bc|aba` on "ab"
    holds "b" only), lazy repeats count as greedy, groups are lost. Use `Pattern`.

    Raises:
        UsageError: the pattern has anchors, lookarounds or back references, or is one that
            `Pattern` cannot read.
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
    """Return a repeat written out as items one after the other."""
    low, high = node.low, node.high
    copies = _written_out(node)
    if copies > MAX_COPIES:
        raise UsageError(f"{copies} repeats would be written out as often")
    text = _item_backwards(node.item)
    if high is None:
        return [text] * (low - 1) + [text + ("+" if low else "*")]
    return [text] * low + [text + "?"] * (high - low)


def _written_out(node: Node) -> int:
    """Return how many items a part of a pattern is written out as."""
    if isinstance(node, Repeat):
        return max(node.low, node.high or 1) * _written_out(node.item)
    if isinstance(node, Group):
        return max(1, sum(_written_out(inner) for branch in node.branches for inner in branch))
    return 1


def _item_backwards(item: Node) -> str:
    if isinstance(item, Atom) and item.one:
        return item.source
    if isinstance(item, Group) and not (item.ahead or item.behind or item.opening == "(?>"):
        return f"(?:{_backwards(item.branches)})"
    raise UsageError("only characters, groups and their repeats can be reversed")
