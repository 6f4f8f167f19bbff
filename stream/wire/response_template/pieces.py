r"""A pattern of a response template as pieces: what of it is text, white space, or a capture.

    \s*<tool_call>\s*<function=(?P<name>[^>]+)>     space text space text capture text

What a capture matches is not asked: the markers round it say where it ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import product
from typing import Any

from deltaparse.partial import FormatError, UsageError
from deltaparse.partial.patterns.parse import Atom, Group, Kind, Node, Repeat, parse_pattern

__all__ = ["Piece", "What", "anchors", "literals"]

CONTROL = {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\f": "\f"}
SPACES = frozenset({r"\s", r"\n", " ", r"\ ", r"[ \n]", r"[\s]", r"[\n ]", r"[ \t]", "\n"})
MOST = 32
"""Alternatives that an anchor may have."""


class What(Enum):
    """What a piece is."""

    TEXT = auto()
    SPACE = auto()
    CAPTURE = auto()
    OPTIONAL = auto()
    EDGE = auto()
    """A condition on what stands beside, or the end of the text."""


@dataclass(frozen=True, slots=True)
class Piece:
    """`text` is that of a text, or of an optional one, or the name of a capture."""

    what: What
    text: str = ""


def literals(field: Mapping[str, Any], key: str, where: str) -> list[str]:
    """The texts of an anchor that is nothing but text; none if there is no such anchor."""
    found = []
    for pieces in anchors(field, key, where):
        texts = [piece.text for piece in pieces if piece.what in (What.TEXT, What.OPTIONAL)]
        if any(piece.what in (What.CAPTURE, What.OPTIONAL) for piece in pieces) or len(texts) > 1:
            raise FormatError(f"{where}: {key} has more than one text that markers can stand for")
        found += texts
    return found


def anchors(field: Mapping[str, Any], key: str, where: str) -> list[list[Piece]]:
    """The alternatives of an anchor, `key` or `key_pattern`, each as its pieces."""
    pattern = field.get(f"{key}_pattern")
    if pattern is not None and key in field:
        raise FormatError(f"{where}: {key} and {key}_pattern are both given")
    if pattern is not None:
        return _of_pattern(pattern, f"{where}.{key}_pattern")
    given = field.get(key, [])
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise FormatError(f"{where}.{key} must be a text or a list of texts")
    return [[Piece(What.TEXT, text)] for text in texts]


def _of_pattern(pattern: object, where: str) -> list[list[Piece]]:
    try:
        _, tree = parse_pattern(pattern)  # type: ignore[arg-type]
    except UsageError as error:
        raise FormatError(f"{where}: {error}") from error
    return [_joined(branch) for branch in _branches(tree, where)]


def _branches(group: Group, where: str) -> list[list[Piece]]:
    found: list[list[Piece]] = []
    for branch in group.branches:
        parts = [_alternatives(node, where) for node in branch]
        if len(found) + _count(parts) > MOST:
            raise FormatError(f"{where} has more than {MOST} alternatives")
        found += [[piece for part in chosen for piece in part] for chosen in product(*parts)]
    return found


def _count(parts: list[list[list[Piece]]]) -> int:
    count = 1
    for part in parts:
        count = min(count * len(part), MOST + 1)
    return count


def _alternatives(node: Node, where: str) -> list[list[Piece]]:
    """The alternatives that one node of a pattern stands for."""
    match node:
        case Atom(kind=Kind.CHAR, source=source):
            if source in CONTROL or len(source) == 1:
                return [[Piece(What.TEXT, CONTROL.get(source, source))]]
            if source == r"\s":
                return [[Piece(What.SPACE)]]
            if len(source) == 2 and not source[1].isalnum():
                return [[Piece(What.TEXT, source[1])]]
        case Atom(kind=kind) if kind not in (Kind.ANY, Kind.BACK):
            return [[Piece(What.EDGE)]]
        case Repeat(item=Atom(source=source)) if source in SPACES:
            return [[Piece(What.SPACE)]]
        case Repeat(item=Group() as group, low=0, high=1):
            inner = _branches(group, where)
            texts = ["".join(piece.text for piece in branch) for branch in inner]
            if all(piece.what in (What.TEXT, What.SPACE) for part in inner for piece in part):
                if len(texts) == 1:
                    return [[Piece(What.OPTIONAL, texts[0])]]
        case Group(opening=opening) as group if group.ahead or group.behind:
            return [[Piece(What.EDGE)]]
        case Group(opening=opening) as group if opening.startswith(("(?P<", "(?<")):
            return [[Piece(What.CAPTURE, opening.partition("<")[2].rstrip(">"))]]
        case Group(opening=opening) as group if opening in ("(", "(?:"):
            return _branches(group, where)
        case _:
            pass
    raise FormatError(
        f"{where}: markers can only stand for text, white space that may be left out, and named "
        f"groups; this has {_shown(node)}"
    )


def _shown(node: Node) -> str:
    match node:
        case Atom(source=source):
            return repr(source)
        case Repeat(item=item, quantifier=quantifier):
            return f"{_shown(item)} with {quantifier!r}"
        case Group(opening=opening):
            return f"a group {opening!r}"


def _joined(pieces: list[Piece]) -> list[Piece]:
    """The pieces with texts that stand side by side joined."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and piece.what is joined[-1].what is What.TEXT:
            joined[-1] = Piece(What.TEXT, joined[-1].text + piece.text)
        elif not (joined and piece.what is joined[-1].what is What.SPACE):
            joined.append(piece)
    return joined
