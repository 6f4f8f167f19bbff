r"""An anchor of a response template, taken apart into text, white space and captures.

    \s*<tool_call>\s*<function=(?P<name>[^>]+)>     space text space text capture text

What a capture matches is not looked at: the markers round it say where it ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain, product
from math import prod
from typing import Any

from deltaparse.partial import FormatError, UsageError
from deltaparse.partial.patterns.parse import Atom, Group, Kind, Node, Repeat, parse_pattern

__all__ = ["AnchorPart", "PartKind", "is_conditional", "literals", "read_anchor"]

CONTROL = {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\f": "\f"}
SPACES = frozenset({r"\s", r"\n", r"\ ", r"[ \n]", r"[\s]", r"[\n ]", r"[ \t]", "\\\n"})
"""White space of which any number may stand somewhere, as the reader of patterns spells it."""
MOST = 32
"""Alternatives that an anchor may have."""


class PartKind(Enum):
    """What a part of an anchor stands for.

    TEXT:      a text.
    SPACE:     white space, which may be left out.
    CAPTURE:   what a named group matches.
    OPTIONAL:  a text that may be left out.
    AHEAD:     a condition on what follows.
    EDGE:      a condition on what stands before, or the end of the text.
    """

    TEXT = auto()
    SPACE = auto()
    CAPTURE = auto()
    OPTIONAL = auto()
    AHEAD = auto()
    EDGE = auto()


@dataclass(frozen=True, slots=True)
class AnchorPart:
    """A part of an anchor; `text` is the text that it stands for, or the name of a capture.

    Of a condition on what stands before, it is the text that must stand there, if it is one.
    """

    kind: PartKind
    text: str = ""


def literals(field: Mapping[str, Any], key: str, where: str) -> list[str]:
    """The texts of an anchor that is nothing but text; none if there is no such anchor.

    A close may be the end of the text too: that ends everything. What opens a field is a text.
    """
    found = []
    for parts in read_anchor(field, key, where):
        if key == "close" and is_conditional(parts):
            continue
        kinds = {part.kind for part in parts}
        texts = [part.text for part in parts if part.kind is PartKind.TEXT]
        if kinds & {PartKind.CAPTURE, PartKind.OPTIONAL} or len(texts) > 1:
            raise FormatError(f"{where}: {key} has more than one text that markers can stand for")
        if not texts and key != "close":
            raise FormatError(f"{where}: {key}_pattern opens it without a text too")
        found += texts
    return found


def is_conditional(parts: Sequence[AnchorPart]) -> bool:
    """Whether an alternative holds only behind something else, where nothing is open."""
    kinds = [part.kind for part in parts if part.kind is not PartKind.SPACE]
    return kinds[:1] in ([PartKind.EDGE], [PartKind.AHEAD]) and PartKind.TEXT in kinds


def read_anchor(field: Mapping[str, Any], key: str, where: str) -> list[list[AnchorPart]]:
    """The alternatives of an anchor, `key` or `key_pattern`, each as its parts."""
    pattern = field.get(f"{key}_pattern")
    if pattern is not None and key in field:
        raise FormatError(f"{where}: {key} and {key}_pattern are both given")
    if pattern is not None:
        return _of_pattern(pattern, f"{where}.{key}_pattern")
    given = field.get(key, [])
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise FormatError(f"{where}.{key} must be a text or a list of texts")
    return [[AnchorPart(PartKind.TEXT, text)] for text in texts]


def _of_pattern(pattern: object, where: str) -> list[list[AnchorPart]]:
    try:
        _, tree = parse_pattern(pattern)  # type: ignore[arg-type]
    except UsageError as error:
        raise FormatError(f"{where}: {error}") from error
    return [_joined(branch) for branch in _branches(tree, where)]


def _branches(group: Group, where: str) -> list[list[AnchorPart]]:
    found: list[list[AnchorPart]] = []
    for branch in group.branches:
        choices = [_alternatives(node, where) for node in branch]
        if len(found) + prod(map(len, choices)) > MOST:
            raise FormatError(f"{where} has more than {MOST} alternatives")
        found += [list(chain.from_iterable(chosen)) for chosen in product(*choices)]
    return found


def _alternatives(node: Node, where: str) -> list[list[AnchorPart]]:
    """The alternatives that one node of a pattern stands for."""
    match node:
        case Atom(flags=flags, source=source) if "i" in flags and source.lower() != source.upper():
            raise FormatError(f"{where}: markers cannot stand for letters in either case")
        case Atom(kind=Kind.CHAR, source=source):
            if source in CONTROL or (len(source) == 1 and source != "."):
                return [[AnchorPart(PartKind.TEXT, CONTROL.get(source, source))]]
            if source == r"\s":
                return [[AnchorPart(PartKind.SPACE)]]
            if len(source) == 2 and not source[1].isalnum():
                return [[AnchorPart(PartKind.TEXT, source[1])]]
        case Atom(kind=kind) if kind not in (Kind.ANY, Kind.BACK):
            return [[AnchorPart(PartKind.EDGE)]]
        case Repeat(item=Atom(source=source)) if source in SPACES:
            return [[AnchorPart(PartKind.SPACE)]]
        case Repeat(item=Group() as group, low=0, high=1):
            inner = _branches(group, where)
            if len(inner) == 1 and {part.kind for part in inner[0]} <= {
                PartKind.TEXT,
                PartKind.SPACE,
            }:
                text = "".join(part.text for part in inner[0])
                return [[AnchorPart(PartKind.OPTIONAL, text)]]
        case Group() as group if group.ahead or group.behind:
            return [[AnchorPart(PartKind.AHEAD) if group.ahead else _behind(group, where)]]
        case Group(opening=opening) as group if opening.startswith(("(?P<", "(?<")):
            return [[AnchorPart(PartKind.CAPTURE, opening.partition("<")[2].rstrip(">"))]]
        case Group(opening=opening) as group if opening in ("(", "(?:"):
            return _branches(group, where)
        case _:
            pass
    raise FormatError(
        f"{where}: markers can only stand for text, white space that may be left out, and named "
        f"groups; this has {_shown(node)}"
    )


def _behind(group: Group, where: str) -> AnchorPart:
    """The condition on what stands before; its text is the pattern, where that is no text."""
    kinds = {PartKind.TEXT, PartKind.SPACE, PartKind.EDGE}
    try:
        inner = _branches(group, where)
    except FormatError:
        inner = []
    known = len(inner) == 1 and {part.kind for part in inner[0]} <= kinds
    text = "".join(part.text for part in inner[0]) if known else group.opening
    return AnchorPart(PartKind.EDGE, text)


def _shown(node: Node) -> str:
    match node:
        case Atom(source=source):
            return repr(source)
        case Repeat(item=item, quantifier=quantifier):
            return f"{_shown(item)} with {quantifier!r}"
        case Group(opening=opening):
            return f"a group {opening!r}"


def _joined(parts: list[AnchorPart]) -> list[AnchorPart]:
    """The parts, with texts that stand side by side as one, and white space too."""
    joined: list[AnchorPart] = []
    for part in parts:
        if joined and part.kind is joined[-1].kind is PartKind.TEXT:
            joined[-1] = AnchorPart(PartKind.TEXT, joined[-1].text + part.text)
        elif not (joined and part.kind is joined[-1].kind is PartKind.SPACE):
            joined.append(part)
    return joined
