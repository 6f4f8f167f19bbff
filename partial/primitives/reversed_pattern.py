"""Partial matches by reversed text, the construction of llama.cpp, for comparison."""

from __future__ import annotations

from ..errors import UsageError
from ..patterns.parse import Atom, Group, Node, Repeat, parse_pattern

__all__ = ["reversed_partial_pattern"]

MAX_COPIES = 1000
"""The maximum number of copies of an item, including copies of items in it."""


def reversed_partial_pattern(pattern: str) -> str:
    r"""Return a pattern that finds a partial match of `pattern` at the end of reversed text.

    Match it (do not search) on the reversed text. The end of its group 1, counted from the end of
    the text, is the start of the longest partial match. `abc` may be cut after a, b or c, which
    reversed is "a", "ba" or "cba". So each character is preceded by an option for the characters
    that follow it.

    >>> reversed_partial_pattern("abc")
    '^((?:(?:c)?b)?a)'

    This is the construction of llama.cpp's streaming parser. (It appended `[\s\S]*`, because its
    engine matches the complete text.) It is here for comparison only, because it is not exact.
    Alternatives are tried in their order, which differs when reversed (`bc|aba` on "ab" holds only
    "b"). Lazy repeats count as greedy, and groups are lost. Use `Pattern` instead.

    Raises:
        UsageError: the pattern has anchors, lookarounds or back references, or `Pattern` cannot
            read it.
    """
    _, tree = parse_pattern(pattern)
    return f"^({_backwards(tree.branches)})"


def _backwards(branches: tuple[tuple[Node, ...], ...]) -> str:
    return "|".join(map(_branch_backwards, branches))


def _branch_backwards(branch: tuple[Node, ...]) -> str:
    parts: list[str] = []
    # A repeat becomes several items, because the text may be cut between its copies.
    for node in branch:
        parts += _copies(node) if isinstance(node, Repeat) else [_item_backwards(node)]
    whole = ""
    # From the last item on, because its option is nested most deeply.
    for part in reversed(parts):
        whole = f"(?:{whole})?{part}" if whole else part
    return whole


def _copies(node: Repeat) -> list[str]:
    """Return a repeat as a sequence of items."""
    low, high = node.low, node.high
    copies = _written_out(node)
    # Nested repeats multiply, so a short pattern could exhaust the memory.
    if copies > MAX_COPIES:
        raise UsageError(f"the pattern needs {copies} copies of items, more than {MAX_COPIES}")
    text = _item_backwards(node.item)
    # Without a limit the last copy is repeated, because it cannot be written out.
    if high is None:
        return [text] * (low - 1) + [text + ("+" if low else "*")]
    return [text] * low + [text + "?"] * (high - low)


def _written_out(node: Node) -> int:
    """Return the number of items that a part of a pattern expands to."""
    if isinstance(node, Repeat):
        return max(node.low, node.high or 1) * _written_out(node.item)
    if isinstance(node, Group):
        return max(1, sum(_written_out(inner) for branch in node.branches for inner in branch))
    return 1


def _item_backwards(item: Node) -> str:
    if isinstance(item, Atom) and item.one:
        return item.source
    # Lookarounds and atomic groups depend on the direction, so they cannot be reversed.
    if isinstance(item, Group) and not (item.ahead or item.behind or item.opening == "(?>"):
        return f"(?:{_backwards(item.branches)})"
    raise UsageError("only characters, groups and their repeats can be reversed")
