r"""Anchors of a response template, split into text, whitespace and captures.

    \s*<tool_call>\s*<function=(?P<name>[^>]+)>     space text space text capture text

The pattern inside a capture is ignored, because the markers around the capture determine its end.
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

# The pattern parser returns escapes as they are written.
CONTROL = {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\f": "\f"}
SPACES = frozenset({r"\s", r"\n", r"\ ", r"[ \n]", r"[\s]", r"[\n ]", r"[ \t]", "\\\n"})
"""Spellings of whitespace that may be repeated, as in the pattern parser."""
# Alternatives multiply, so a short pattern could have millions of them.
MOST = 32
"""Maximum number of alternatives of an anchor."""


class PartKind(Enum):
    """The kind of a part of an anchor.

    TEXT:      literal text.
    SPACE:     optional whitespace.
    CAPTURE:   a named group.
    OPTIONAL:  optional text.
    AHEAD:     a condition on the following text.
    EDGE:      a condition on the preceding text, or the end of the text.
    """

    TEXT = auto()
    SPACE = auto()
    CAPTURE = auto()
    OPTIONAL = auto()
    AHEAD = auto()
    EDGE = auto()


@dataclass(frozen=True, slots=True)
class AnchorPart:
    """A part of an anchor.

    Attributes:
        kind: the kind of the part.
        text: the literal text, or the name of a capture. For a condition on preceding text, the
            required text, if it is literal.
    """

    kind: PartKind
    text: str = ""


def literals(field: Mapping[str, Any], key: str, where: str) -> list[str]:
    """Return the texts of an anchor without captures and optional text.

    A closing anchor may also match the end of the text, which closes every field. An opening anchor
    needs a text.

    Args:
        field: a field of the template, or the template.
        key: "open", "close" or "start_anchor".
        where: name of the field, for messages.

    Returns:
        The texts, [] if there is no such anchor.

    Raises:
        FormatError: the anchor is more than one text.
    """
    found = []
    for parts in read_anchor(field, key, where):
        # Read separately, see `strays`.
        if key == "close" and is_conditional(parts):
            continue
        kinds = {part.kind for part in parts}
        texts = [part.text for part in parts if part.kind is PartKind.TEXT]
        if kinds & {PartKind.CAPTURE, PartKind.OPTIONAL} or len(texts) > 1:
            raise FormatError(
                f"{where}: {key} has more than one text or a group, expected one marker"
            )
        # Without a text, the field could open anywhere.
        if not texts and key != "close":
            raise FormatError(f"{where}: {key}_pattern can match without a text, expected a marker")
        found += texts
    return found


def is_conditional(parts: Sequence[AnchorPart]) -> bool:
    """Return True if an alternative matches only after or before other text."""
    # Whitespace before a condition does not change it.
    kinds = [part.kind for part in parts if part.kind is not PartKind.SPACE]
    return kinds[:1] in ([PartKind.EDGE], [PartKind.AHEAD]) and PartKind.TEXT in kinds


def read_anchor(field: Mapping[str, Any], key: str, where: str) -> list[list[AnchorPart]]:
    """Return the alternatives of an anchor, each as its parts.

    Args:
        field: a field of the template, or the template.
        key: name of the anchor. The name of its pattern ends in `_pattern`.
        where: name of the field, for messages.

    Raises:
        FormatError: markers cannot express the anchor.
    """
    pattern = field.get(f"{key}_pattern")
    if pattern is not None and key in field:
        raise FormatError(f"{where}: {key} and {key}_pattern are both given")
    if pattern is not None:
        return _of_pattern(pattern, f"{where}.{key}_pattern")
    given = field.get(key, [])
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise FormatError(f"{where}.{key} must be a string or a list of strings")
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
        # Checked before the product is computed.
        if len(found) + prod(map(len, choices)) > MOST:
            raise FormatError(f"{where} has more than {MOST} alternatives")
        found += [list(chain.from_iterable(chosen)) for chosen in product(*choices)]
    return found


def _alternatives(node: Node, where: str) -> list[list[AnchorPart]]:
    """Return the alternatives for one node of a pattern."""
    match node:
        # Characters without case are the same with this flag.
        case Atom(flags=flags, source=source) if "i" in flags and source.lower() != source.upper():
            raise FormatError(
                f"{where}: letters in either case are not supported, because markers have one"
            )
        case Atom(kind=Kind.CHAR, source=source):
            # A dot matches any character, so it is not literal.
            if source in CONTROL or (len(source) == 1 and source != "."):
                return [[AnchorPart(PartKind.TEXT, CONTROL.get(source, source))]]
            if source == r"\s":
                return [[AnchorPart(PartKind.SPACE)]]
            # An escaped character other than a letter or digit means itself.
            if len(source) == 2 and not source[1].isalnum():
                return [[AnchorPart(PartKind.TEXT, source[1])]]
        # Anchors such as `^` match a position.
        case Atom(kind=kind) if kind not in (Kind.ANY, Kind.BACK):
            return [[AnchorPart(PartKind.EDGE)]]
        case Repeat(item=Atom(source=source)) if source in SPACES:
            return [[AnchorPart(PartKind.SPACE)]]
        # Only literal optional text has a field in wire formats.
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
            # Python and the `regex` module spell named groups with and without `P`.
            return [[AnchorPart(PartKind.CAPTURE, opening.partition("<")[2].rstrip(">"))]]
        case Group(opening=opening) as group if opening in ("(", "(?:"):
            return _branches(group, where)
        case _:
            pass
    raise FormatError(
        f"{where}: only text, optional whitespace and named groups are supported, "
        f"but this has {_shown(node)}"
    )


def _behind(group: Group, where: str) -> AnchorPart:
    """Return the condition on the preceding text.

    Its text is the literal text, or else the opening of the group.
    """
    kinds = {PartKind.TEXT, PartKind.SPACE, PartKind.EDGE}
    try:
        inner = _branches(group, where)
    # A condition may be any pattern, because only a literal one is used.
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
    """Return the parts, with adjacent texts and adjacent whitespace merged."""
    joined: list[AnchorPart] = []
    for part in parts:
        if joined and part.kind is joined[-1].kind is PartKind.TEXT:
            joined[-1] = AnchorPart(PartKind.TEXT, joined[-1].text + part.text)
        elif not (joined and part.kind is joined[-1].kind is PartKind.SPACE):
            joined.append(part)
    return joined
