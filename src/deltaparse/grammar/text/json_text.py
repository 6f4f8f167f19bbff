r"""JSON as text: whitespace, strings with escapes, and fixed values.

The rules accept everything serializers write, as a subset of the input of `json.loads`. A character
may be literal or escaped. `\uD83D\uDE00` is one character, and half of it is invalid. A fixed text
(a key, or a value of an enum) may be spelled as by `json.dumps`, with or without `ensure_ascii`, or
as by Jinja's `tojson`, which escapes `<`, `>`, `&` and `'`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from ..rules.rulebook import RuleBook
from ..rules.rules import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    Chars,
    Expr,
    Literal,
    Repeat,
    Token,
    chars,
    choice,
    except_chars,
    literal,
    optional,
    rebuilt,
    repeat,
    seq,
    token,
)
from ..rules.work import spend
from .number_ranges import digit_span

__all__ = [
    "COMPACT",
    "DUMPS",
    "EITHER",
    "FLEXIBLE",
    "FLEXIBLE_IN_TEXT",
    "JsonText",
    "Letters",
    "Spacing",
    "common",
    "other_texts",
]

SPACE = Literal(" ")

INDENT = seq(repeat(Literal("\n"), 1, 2), repeat(chars(" ", "\t"), 0, 20))
"""A new line, indented, as in llama.cpp. Without the bounds some models never stop indenting."""


@dataclass(frozen=True, slots=True)
class Spacing:
    """JSON whitespace: at both ends of brackets, after a comma, and after a colon."""

    inside: Expr = EMPTY
    comma: Expr = EMPTY
    colon: Expr = EMPTY


COMPACT = Spacing()
"""`{"a":1,"b":[]}`"""

DUMPS = Spacing(comma=SPACE, colon=SPACE)
"""`{"a": 1, "b": []}`, as `json.dumps` writes by default."""

EITHER = Spacing(comma=optional(token(SPACE)), colon=optional(token(SPACE)))
"""Any mixture of `COMPACT` and `DUMPS`."""

_ANY_SPACE = optional(token(choice(SPACE, INDENT)))

FLEXIBLE = Spacing(_ANY_SPACE, _ANY_SPACE, _ANY_SPACE)
"""An optional space, or a new line and an indentation, at any of these places."""

_SPACE_IN_TEXT = optional(token(choice(SPACE, seq(Literal("\n"), repeat(SPACE, 0, 20)))))

FLEXIBLE_IN_TEXT = Spacing(_SPACE_IN_TEXT, _SPACE_IN_TEXT, _SPACE_IN_TEXT)
r"""The same for JSON within a string, with line ends as `\n` and quotes as `\"`.

Whitespace here excludes tabs. Otherwise a lexer would treat the backslash after a line end as
whitespace.
"""

LARGEST_WHOLE = 1e15
"""Whole numbers below this limit may be written with or without a decimal point."""

MAX_KEY = 40
"""Most characters that distinguish a key from others. Each is a level of nesting."""

PLAIN = except_chars(chars((0, 0x1F), '"', "\\"))
"""Characters with a literal form in JSON strings."""

SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}

ESCAPED = chars((0, 0x1F), "<", ">", "&", "'", (0x7F, 0x10FFFF))
r"""Characters some serializer writes as `\uXXXX`."""


@lru_cache(maxsize=4096)
def common(a: Expr, b: Expr) -> Expr:
    """Return the characters in both classes."""
    ranges = [*_ranges(except_chars(a)), *_ranges(except_chars(b))]
    return except_chars(chars(*ranges))


def _ranges(expr: Expr) -> tuple[tuple[int, int], ...]:
    return expr.ranges if isinstance(expr, Chars) else ()


@lru_cache(maxsize=1024)
def _escaped(expr: Expr) -> Expr:
    """Spell one character of a class with an escape used by a serializer."""
    short = [code for char, code in SHORT.items() if common(expr, chars(char)) != NOTHING]
    units = (_hex_units(low, high) for low, high in _ranges(common(expr, ESCAPED)))
    return seq(Literal("\\"), choice(chars(*short), *units))


def _hex_units(low: int, high: int) -> Expr:
    """Spell a range of characters as UTF-16 in hexadecimal, without the first backslash."""
    if low < 0x10000 <= high:
        return choice(_hex_units(low, 0xFFFF), _hex_units(0x10000, high))
    if high < 0x10000:
        return seq(Literal("u"), _hex(low, high))
    first, last = divmod(low - 0x10000, 0x400), divmod(high - 0x10000, 0x400)
    options = []
    if first[0] < last[0]:
        # Complete blocks between the ends share one alternative.
        if first[1]:
            options.append(_pairs(first[0], first[0], first[1], 0x3FF))
        if last[1] < 0x3FF:
            options.append(_pairs(last[0], last[0], 0, last[1]))
        blocks = first[0] + bool(first[1]), last[0] - (last[1] < 0x3FF)
        if blocks[0] <= blocks[1]:
            options.append(_pairs(*blocks, 0, 0x3FF))
    else:
        options.append(_pairs(first[0], last[0], first[1], last[1]))
    return choice(*options)


def _pairs(high_from: int, high_to: int, low_from: int, low_to: int) -> Expr:
    return seq(
        Literal("u"),
        _hex(0xD800 + high_from, 0xD800 + high_to),
        Literal("\\u"),
        _hex(0xDC00 + low_from, 0xDC00 + low_to),
    )


def _hex(low: int, high: int) -> Expr:
    digits = [tuple(int(digit, 16) for digit in f"{code:04x}") for code in (low, high)]
    return digit_span(*digits, radix=16)


JSON_CHAR = choice(
    PLAIN,
    seq(
        Literal("\\"),
        choice(chars(*SHORT.values()), *(_hex_units(*pair) for pair in _ranges(ANY_CHAR))),
    ),
)
"""Any character, in any spelling."""

_ESCAPABLE = chars(*_ranges(ESCAPED), *SHORT)
_ESCAPE = _escaped(ANY_CHAR)


class JsonText:
    """Builds JSON text, and adds shared rules to a book."""

    __slots__ = ("_escape", "_rules", "any_char", "spacing")

    quote = '"'
    """The delimiter of a string, as spelled by `spelled`."""

    def __init__(self, rules: RuleBook, spacing: Spacing) -> None:
        self._rules = rules
        self.spacing = Spacing(*map(self._space, (spacing.inside, spacing.comma, spacing.colon)))
        self.any_char = rules.add("char", JSON_CHAR)
        self._escape = rules.add("escape", _ESCAPE)

    def _space(self, expr: Expr) -> Expr:
        if isinstance(expr, Repeat) and isinstance(expr.body, Token):
            return optional(self._rules.add("space", expr.body))
        return expr

    def spelled(self, expr: Expr) -> Expr:
        """Spell a text for a JSON string. `expr` must not contain a `Ref`."""
        match expr:
            case Literal(text):
                return seq(*map(_fixed, _RUNS.findall(text)))
            case Chars():
                return self.any_char if expr == ANY_CHAR else self._char(expr)
            case _:
                return rebuilt(expr, self.spelled)

    def _char(self, expr: Chars) -> Expr:
        """Spell one character of a class."""
        spend(1)
        escape = self._escape if common(expr, _ESCAPABLE) == _ESCAPABLE else _escaped(expr)
        return choice(common(expr, PLAIN), escape)

    def quoted(self, text: Expr) -> Expr:
        """Return the JSON string of a text."""
        return token(seq(Literal('"'), self.spelled(text), Literal('"')))

    def written(self, value: Any) -> Expr:
        """Write a JSON value, with its keys in order and numbers as by `json.dumps`."""
        match value:
            case str():
                return self.quoted(literal(value))
            case list():
                return self._joined("[]", list(map(self.written, value)))
            case dict():
                pairs = (self.pair(literal(key), self.written(v)) for key, v in value.items())
                return self._joined("{}", list(pairs))
            case float() if value.is_integer() and abs(value) < LARGEST_WHOLE:
                return choice(self.word(value), self.word(int(value)))
            case _:
                return self.word(value)

    def word(self, value: float | bool | None) -> Expr:
        """Write a number, a boolean or null."""
        return token(Literal(json.dumps(value)))

    def pair(self, key: Expr, value: Expr) -> Expr:
        """Write a member of an object, from the text of its key and the JSON of its value."""
        return seq(self.quoted(key), token(Literal(":")), self.spacing.colon, value)

    def after_comma(self, item: Expr) -> Expr:
        """Write an item after the first."""
        return seq(token(Literal(",")), self.spacing.comma, item)

    def _joined(self, brackets: str, items: list[Expr]) -> Expr:
        return self.within(brackets, seq(*items[:1], *map(self.after_comma, items[1:])))

    def within(self, brackets: str, inside: Expr) -> Expr:
        """Put an expression between brackets. Empty brackets have only one place for whitespace."""
        opening, closing = (token(Literal(bracket)) for bracket in brackets)
        space = self.spacing.inside
        return seq(opening, space, *((inside, space) if inside != EMPTY else ()), closing)


_RUNS = re.compile(r"""[^\x00-\x1f"\\<>&'\x7f-\U0010ffff]+|.""", re.DOTALL)
"""Runs of characters all serializers write literally, and each other character by itself."""


@lru_cache(maxsize=1024)
def _fixed(text: str) -> Expr:
    """Spell a fixed run in the ways of the serializers, with lowercase hexadecimal digits."""
    ways = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    if text in "<>&'":
        ways.add(f"\\u{ord(text):04x}")
    return choice(*map(Literal, sorted(ways)))


class Letters(NamedTuple):
    """Alphabet and length of texts: the first character, later ones, `least` and `most`."""

    first: Expr = ANY_CHAR
    more: Expr = ANY_CHAR
    least: int = 0
    most: int | None = None


ANY_TEXT = Letters()


def other_texts(
    texts: Iterable[str], letters: Letters = ANY_TEXT, begun: Collection[str] = ()
) -> Expr:
    """Return any text except `texts`, for keys without a name in a schema.

    The texts also do not begin with any of `begun`. For texts longer than `MAX_KEY`, all texts with
    the same first `MAX_KEY` characters are excluded.
    """
    return _other(sorted({*texts, *begun}), 0, letters, frozenset(begun))


def _other(texts: list[str], at: int, letters: Letters, begun: Collection[str]) -> Expr:
    """Return texts that differ from `texts` from position `at` on."""
    by_char: dict[str, list[str]] = {}
    for text in texts:
        if len(text) > at:
            by_char.setdefault(text[at], []).append(text)
    if by_char and at == MAX_KEY:
        return NOTHING
    first = letters.more if at else letters.first
    left = None if letters.most is None else letters.most - at
    may_end = at >= letters.least and not any(len(text) == at for text in texts)
    if not by_char and first == letters.more:
        return repeat(first, int(not may_end), left)
    options = [
        seq(common(first, chars(char)), _other(inner, at + 1, letters, begun))
        for char, inner in by_char.items()
        if inner[0][: at + 1] not in begun
    ]
    more = repeat(letters.more, 0, None if left is None else left - 1)
    other = seq(common(first, except_chars(chars(*by_char))), more)
    return optional(choice(*options, other)) if may_end else choice(*options, other)
