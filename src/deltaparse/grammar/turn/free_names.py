"""Words chosen by the model: ids, and names of arguments outside the schema.

A parser must read each word exactly to its end. Markers must therefore not occur in a word or
across its end. A name must not be one from the schema, and must not begin a longer marker than its
own.
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
"""All whitespace characters."""

SPACES = frozenset(chr(code) for low, high in WHITE for code in range(low, high + 1))

LONGEST_ID = LONGEST_NAME - 56
"""Most characters of an id. The parser also counts the whitespace at its markers."""

NO_WORD = frozenset("\"'`<>{}()")
"""Other characters that end a word when the parser reads ids."""

IN_TOKENS = frozenset("[]")
"""Characters of special tokens, excluded because xgrammar also matches a token as its text."""

PYTHON_NAME = Letters(
    chars("az", "AZ", "_"), chars("az", "AZ", "_", "09", "-", "."), 1, LONGEST_NAME
)
"""Names of Python arguments. Only ASCII, since all scripts together are many ranges."""


def call_id(fmt: WireFormat) -> Expr:
    """Return an id between markers."""
    ends = tagged_markers(fmt).id_ends.literals
    # The rules of ids must not depend on the vocabulary.
    lost = _lost(ends, _across(ends, SPACES | NO_WORD | IN_TOKENS))
    return token(repeat(except_chars(chars(*sorted(lost))), 1, LONGEST_ID))


def other_python_name(named: Collection[str]) -> Expr:
    """Return the name of an argument of a Python call, except the names in `named`."""
    return other_texts(named, PYTHON_NAME)


def other_argument(fmt: WireFormat, before: str, behind: str, named: Collection[str]) -> Expr:
    """Return the text before the value of an argument, except for arguments in `named`.

    The name is between `before` and `behind`, without quotes and brackets. If a marker precedes it,
    it may have several words separated by one space. Its first word then differs from the first
    words of all other names.
    """
    markers = tagged_markers(fmt)
    one_word, start = markers.names_unmarked, before.lstrip()
    inside = {*markers.key_end.literals, *stripped((*fmt.derived.closers, *fmt.turn.ends))}
    no_word = NO_WORD | IN_TOKENS | (SPACES if one_word else SPACES - {" "})
    # Names must differ from escaped names and from the start of an escape.
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
    """Add one character of each possible marker to the characters excluded from a word."""
    found = set(lost)
    for marker in sorted(markers):
        if any(map(is_special, marker)):
            found |= IN_TOKENS
        if not any(char in found or is_special(char) for char in marker):
            found.add(next((char for char in marker if not char.isalnum()), marker[0]))
    return found


def _across(ends: Collection[str], lost: frozenset[str]) -> frozenset[str]:
    """Add to `lost` the last characters of markers that could overlap the end of a word.

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
    """Iterate over names that form a marker together with the text after them."""
    for rest in longer:
        for at in range(1, len(rest)):
            if behind.startswith(rest[at:]) or rest[at:].startswith(behind):
                yield rest[:at]
