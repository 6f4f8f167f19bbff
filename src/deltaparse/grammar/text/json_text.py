r"""JSON as text: white space, strings with their escapes, and values written out.

What may be written is what `json.loads` reads, and of that what serializers write: a character may
stand for itself or be escaped; `\uD83D\uDE00` is one character, and half of it is none. A text
that is fixed (a key, a value of an enum) may be spelled as `json.dumps` does, with `ensure_ascii`
or without, or as Jinja's own `tojson`, which escapes `<`, `>`, `&` and `'`.
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
"""A new line, indented. llama.cpp's rule; without the bounds some models never stop indenting."""


@dataclass(frozen=True, slots=True)
class Spacing:
    """The white space of JSON: within brackets at both ends, after a comma, after a colon."""

    inside: Expr = EMPTY
    comma: Expr = EMPTY
    colon: Expr = EMPTY


COMPACT = Spacing()
"""`{"a":1,"b":[]}`"""

DUMPS = Spacing(comma=SPACE, colon=SPACE)
"""`{"a": 1, "b": []}`, as `json.dumps` writes by default."""

EITHER = Spacing(comma=optional(token(SPACE)), colon=optional(token(SPACE)))
"""Any mixture of these two."""

_ANY_SPACE = optional(token(choice(SPACE, INDENT)))

FLEXIBLE = Spacing(_ANY_SPACE, _ANY_SPACE, _ANY_SPACE)
"""A space, or a new line and an indentation, at any of these places, or nothing."""

_SPACE_IN_TEXT = optional(token(choice(SPACE, seq(Literal("\n"), repeat(SPACE, 0, 20)))))

FLEXIBLE_IN_TEXT = Spacing(_SPACE_IN_TEXT, _SPACE_IN_TEXT, _SPACE_IN_TEXT)
r"""The same in JSON that stands in a string, where a line end is `\n` and a quote `\"`.

A lexer takes the backslash behind a line end for white space if any may begin with one.
"""

LARGEST_WHOLE = 1e15
"""Whole numbers below it may be written with a point or without."""

MAX_KEY = 40
"""Characters of a key that set it apart from others; each of them is a level of nesting."""

PLAIN = except_chars(chars((0, 0x1F), '"', "\\"))
"""Characters that may stand for themselves in a JSON string."""

SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}

ESCAPED = chars((0, 0x1F), "<", ">", "&", "'", (0x7F, 0x10FFFF))
"""Characters that some serializer writes as `\\uXXXX`."""


@lru_cache(maxsize=4096)
def common(a: Expr, b: Expr) -> Expr:
    """Make the characters that are both in `a` and in `b`."""
    ranges = [*_ranges(except_chars(a)), *_ranges(except_chars(b))]
    return except_chars(chars(*ranges))


def _ranges(expr: Expr) -> tuple[tuple[int, int], ...]:
    return expr.ranges if isinstance(expr, Chars) else ()


@lru_cache(maxsize=1024)
def _escaped(expr: Expr) -> Expr:
    """Spell one character of a class with an escape, where a serializer would."""
    short = [code for char, code in SHORT.items() if common(expr, chars(char)) != NOTHING]
    units = (_hex_units(low, high) for low, high in _ranges(common(expr, ESCAPED)))
    return seq(Literal("\\"), choice(chars(*short), *units))


def _hex_units(low: int, high: int) -> Expr:
    """Spell the characters from `low` to `high` as UTF-16 in hexadecimal, but for a backslash."""
    if low < 0x10000 <= high:
        return choice(_hex_units(low, 0xFFFF), _hex_units(0x10000, high))
    if high < 0x10000:
        return seq(Literal("u"), _hex(low, high))
    first, last = divmod(low - 0x10000, 0x400), divmod(high - 0x10000, 0x400)
    options = []
    if first[0] < last[0]:
        # Whole blocks in between go together.
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
"""Any character, spelled in any way."""

_ESCAPABLE = chars(*_ranges(ESCAPED), *SHORT)
_ESCAPE = _escaped(ANY_CHAR)


class JsonText:
    """Makes the text of JSON, adding to a book the rules that come again and again."""

    __slots__ = ("_escape", "_rules", "any_char", "spacing")

    quote = '"'
    """What a string stands in, by the name that it has in `spelled`."""

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
        """Spell a text as it stands in a JSON string. `expr` must have no `Ref`."""
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
        """Make the JSON string of a text."""
        return token(seq(Literal('"'), self.spelled(text), Literal('"')))

    def written(self, value: Any) -> Expr:
        """Write a JSON value out: its keys in order, its numbers as `json.dumps` writes them."""
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
        """Write a value that is one word: a number, a boolean or null."""
        return token(Literal(json.dumps(value)))

    def pair(self, key: Expr, value: Expr) -> Expr:
        """Write a member of an object; its key is a text, its value is JSON."""
        return seq(self.quoted(key), token(Literal(":")), self.spacing.colon, value)

    def after_comma(self, item: Expr) -> Expr:
        """Write an item that is not the first."""
        return seq(token(Literal(",")), self.spacing.comma, item)

    def _joined(self, brackets: str, items: list[Expr]) -> Expr:
        return self.within(brackets, seq(*items[:1], *map(self.after_comma, items[1:])))

    def within(self, brackets: str, inside: Expr) -> Expr:
        """Put something between brackets; nothing has one place for white space, not two."""
        opening, closing = (token(Literal(bracket)) for bracket in brackets)
        space = self.spacing.inside
        return seq(opening, space, *((inside, space) if inside != EMPTY else ()), closing)


_RUNS = re.compile(r"""[^\x00-\x1f"\\<>&'\x7f-\U0010ffff]+|.""", re.DOTALL)
"""Characters that each serializer writes as they are, and each of the others by itself."""


@lru_cache(maxsize=1024)
def _fixed(text: str) -> Expr:
    """Spell a fixed run: as any of the serializers do, and in lower case."""
    ways = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    if text in "<>&'":
        ways.add(f"\\u{ord(text):04x}")
    return choice(*map(Literal, sorted(ways)))


class Letters(NamedTuple):
    """What texts are made of: their first character and others, `least` to `most` of them all."""

    first: Expr = ANY_CHAR
    more: Expr = ANY_CHAR
    least: int = 0
    most: int | None = None


ANY_TEXT = Letters()


def other_texts(
    texts: Iterable[str], letters: Letters = ANY_TEXT, begun: Collection[str] = ()
) -> Expr:
    """Make any text that is none of `texts`: as keys must be that a schema does not name.

    None begins with one of `begun`, either. Of texts longer than `MAX_KEY`, it leaves out all that
    begin as they do.
    """
    return _other(sorted({*texts, *begun}), 0, letters, frozenset(begun))


def _other(texts: list[str], at: int, letters: Letters, begun: Collection[str]) -> Expr:
    """Texts that go on otherwise than `texts` do, which are the same up to `at`."""
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
