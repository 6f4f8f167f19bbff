"""Words that a model makes up: ids, and the names of arguments that no schema names.

A parser must read such a word to its end and no further. So none of the markers stands in it or
across its end, and no name is one that a schema has, or begins a longer marker than its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from deltaparse.stream import WireFormat
from deltaparse.stream.wire.call_names import LONGEST_NAME
from deltaparse.stream.wire.spellings import stripped
from deltaparse.stream.wire.tag_markers import tagged_markers

from ..rules.rules import (
    EMPTY,
    Expr,
    Literal,
    chars,
    except_chars,
    is_special,
    literal,
    repeat,
    seq,
    token,
)
from ..text.json_text import Letters, other_texts

__all__ = ["LONGEST_ID", "WHITE", "call_id", "other_argument", "other_python_name"]

WHITE = (
    *((0x09, 0x0D), (0x1C, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
    *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
)
"""White space of any kind."""

SPACES = frozenset(chr(code) for low, high in WHITE for code in range(low, high + 1))

LONGEST_ID = LONGEST_NAME - 56
"""Characters of an id: to the parser, the white space at its markers counts too."""

NO_WORD = frozenset("\"'`<>{}()")
"""What else ends a word, as the parser reads ids."""

IN_TOKENS = frozenset("[]")
"""What special tokens are written with, besides: to xgrammar one may be its letters, too."""

PYTHON_NAME = Letters(
    chars("az", "AZ", "_"), chars("az", "AZ", "_", "09", "-", "."), 1, LONGEST_NAME
)
"""Names of arguments in Python: those in ASCII, for the letters of all scripts are many ranges."""


def call_id(fmt: WireFormat) -> Expr:
    """Make an id between markers."""
    ends = tagged_markers(fmt).id_ends.literals
    # An id is the same with and without a vocabulary.
    lost = _lost(ends, _across(ends, SPACES | NO_WORD | IN_TOKENS))
    return token(repeat(except_chars(chars(*sorted(lost))), 1, LONGEST_ID))


def other_python_name(named: Collection[str]) -> Expr:
    """Make the name of an argument of a call in Python, which is none of those `named`."""
    return other_texts(named, PYTHON_NAME)


def other_argument(fmt: WireFormat, before: str, behind: str, named: Collection[str]) -> Expr:
    """Make what stands before the value of an argument that is none of those `named`.

    `before` and `behind` are the markers round its name. There are no quotes and brackets in it.
    Where a marker stands before it, it may be of several words, with a space between; the first
    of them is the first of no other name.
    """
    markers = tagged_markers(fmt)
    one_word, start = markers.names_unmarked, before.lstrip()
    inside = {*markers.key_end.literals, *stripped((*fmt.derived.closers, *fmt.turn.ends))}
    no_word = NO_WORD | IN_TOKENS | (SPACES if one_word else SPACES - {" "})
    # What is spelled otherwise is none of these names, nor is what a spelling begins with.
    pairs = fmt.arguments.name_escapes
    spelled = {*pairs[::2], *(text[0] for text in pairs[1::2])}
    lost = _lost(inside, _across(markers.key_end.literals, no_word | spelled))
    letter = except_chars(chars(" ", *sorted(lost)))
    longer = [
        marker.removeprefix(start)
        for marker in markers.in_arguments.literals
        if marker.startswith(start) and marker != start
    ]
    taken = [*(name.split(" ")[0] for name in named), *_within(longer, behind)]
    most = LONGEST_ID if one_word else None
    name = other_texts(taken, Letters(letter, letter, 1, most), longer)
    more = EMPTY if one_word else repeat(seq(Literal(" "), repeat(letter, 1)))
    return token(seq(literal(before), name, more, literal(behind)))


def _lost(markers: Iterable[str], lost: Collection[str]) -> set[str]:
    """Add to what cannot stand in a word one character of each marker that might."""
    found = set(lost)
    for marker in sorted(markers):
        if any(map(is_special, marker)):
            found |= IN_TOKENS
        if not any(char in found or is_special(char) for char in marker):
            found.add(next((char for char in marker if not char.isalnum()), marker[0]))
    return found


def _across(ends: Collection[str], lost: frozenset[str]) -> frozenset[str]:
    """Add to `lost` the last characters with which a marker could reach across the end of a word.

    A word that cannot contain the beginning of a marker cannot end in it.
    """
    return lost | {
        end[at - 1]
        for end in ends
        for at in range(1, len(end))
        if lost.isdisjoint(end[:at])
        and not is_special(end[at - 1])
        and any(one.startswith(end[at:]) for one in ends)
    }


def _within(longer: Iterable[str], behind: str) -> Iterator[str]:
    """Names that make a marker together with what stands behind them."""
    for rest in longer:
        for at in range(1, len(rest)):
            if behind.startswith(rest[at:]) or rest[at:].startswith(behind):
                yield rest[:at]
