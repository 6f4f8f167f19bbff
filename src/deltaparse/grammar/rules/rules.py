"""Grammars as data, independent of any engine's notation.

A grammar maps names to rules. The body of a rule is an expression of one of nine kinds. All engines
support `Literal`, `Chars`, `Sequence`, `Choice`, `Repeat` and `Ref`. `Token` marks a longest match
for engines with a lexer, and is ignored by others. `TextUntil` is raw text up to and including a
marker. `TextWithout` is raw text without some strings. Each writer encodes these two in its own
way, since GBNF has no negation.

A lone surrogate in a text represents a special token from `GrammarRules.tokens`. Character classes
exclude surrogates, so raw text and JSON strings never contain special tokens.

Build expressions with the functions of this module. They simplify expressions, and never repeat a
body with an empty match, which llama.cpp takes for left recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from .work import spend

__all__ = [
    "ANY_CHAR",
    "EMPTY",
    "JSON_SPACE",
    "MAX_REPEAT",
    "NOTHING",
    "QUANTIFIERS",
    "Chars",
    "Choice",
    "Expr",
    "Literal",
    "Ref",
    "Repeat",
    "Sequence",
    "TextUntil",
    "TextWithout",
    "Token",
    "chars",
    "choice",
    "class_ranges",
    "except_chars",
    "is_special",
    "literal",
    "may_be_empty",
    "not_empty",
    "optional",
    "rebuilt",
    "repeat",
    "seq",
    "token",
    "walk",
]

MAX_REPEAT = 1_000
"""Largest bound of a `Repeat`. llama.cpp copies repeated bodies, and refuses bounds from 2,000 on.
"""

QUANTIFIERS = {(0, 1): "?", (0, None): "*", (1, None): "+"}
"""Common bounds of a `Repeat`, as engines and regular expressions write them."""

JSON_SPACE = " \t\n\r"
"""Whitespace before a JSON value."""

LAST_CHAR = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)


@dataclass(frozen=True, slots=True)
class Literal:
    """A fixed text, never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Chars:
    """One character from ranges of code points: sorted, disjoint, without surrogates."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """Expressions in order. Without parts, it is the empty text."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Any one of the options. Without options, no text matches."""

    options: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`body`, never empty, from `least` to `most` times (None: any number)."""

    body: Expr
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference to the rule of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Token:
    """A longest match of `body`, which is not recursive and never empty."""

    body: Expr


@dataclass(frozen=True, slots=True)
class TextUntil:
    """Any text that ends with its first `marker`, without any of `others` before it.

    `most_tokens` limits the tokens before the marker, for writers with token counts. `least` and
    `most` limit the characters before it. `not_first` lists characters the text must not begin
    with, also after `JSON_SPACE`. It needs a character limit, and the marker must not begin with
    any of them.
    """

    marker: str
    others: tuple[str, ...] = ()
    most_tokens: int | None = None
    least: int = 0
    most: int | None = None
    not_first: str = ""


@dataclass(frozen=True, slots=True)
class TextWithout:
    """Any text, not empty, that ends with `end` and does not contain any of `others`.

    The other fields are as in `TextUntil`, with `end` as the marker.
    """

    others: tuple[str, ...] = ()
    end: str = ""
    most_tokens: int | None = None
    least: int = 0
    most: int | None = None
    not_first: str = ""


Expr: TypeAlias = (
    Literal | Chars | Sequence | Choice | Repeat | Ref | Token | TextUntil | TextWithout
)
"""Any expression, for the body of a rule."""

EMPTY = Sequence(())
"""Only the empty text."""

NOTHING = Choice(())
"""No text at all. It can never be written."""


def is_special(char: str) -> bool:
    """Return True if a character represents a special token."""
    return SURROGATES[0] <= ord(char) <= SURROGATES[1]


def literal(text: str) -> Expr:
    """Return a fixed text, possibly empty."""
    return Literal(text) if text else EMPTY


def chars(*ranges: tuple[int, int] | str) -> Expr:
    """Return a class of characters, from pairs of code points and texts like "a" or "az"."""
    pairs = sorted((ord(r[0]), ord(r[-1])) if isinstance(r, str) else r for r in ranges)
    joined: list[tuple[int, int]] = []
    for low, high in _without_surrogates(pairs):
        # Adjacent ranges are merged, so that equal classes compare equal.
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(high, joined[-1][1])
        else:
            joined.append((low, high))
    return Chars(tuple(joined)) if joined else NOTHING


def _without_surrogates(pairs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for low, high in pairs:
        if high < SURROGATES[0]:
            yield low, high
            continue
        for span in ((low, min(high, SURROGATES[0] - 1)), (max(low, SURROGATES[1] + 1), high)):
            if span[0] <= span[1]:
                yield span


def except_chars(expr: Expr) -> Expr:
    """Return the class of all other characters."""
    gaps, at = [], 0
    for low, high in expr.ranges if isinstance(expr, Chars) else ():
        gaps.append((at, low - 1))
        at = high + 1
    return chars(*(gap for gap in (*gaps, (at, LAST_CHAR)) if gap[0] <= gap[1]))


def class_ranges(expr: Chars) -> tuple[tuple[tuple[int, int], ...], bool]:
    """Return the ranges to write for a class, and True if the class must be negated.

    A class up to the last code point is written as its complement. The complement of all characters
    is empty.
    """
    if expr.ranges[-1][1] < LAST_CHAR:
        return expr.ranges, False
    rest = except_chars(expr)
    return rest.ranges if isinstance(rest, Chars) else (), True


def seq(*parts: Expr) -> Expr:
    """Concatenate parts, and join adjacent literals."""
    flat: list[Expr] = []
    for part in parts:
        for inner in part.parts if isinstance(part, Sequence) else (part,):
            # A sequence with an impossible part is impossible as a whole.
            if inner == NOTHING:
                return NOTHING
            text = _only_text(inner)
            if text and flat and isinstance(flat[-1], Literal):
                flat[-1] = Literal(flat[-1].text + text)
            else:
                flat.append(Literal(text) if text else inner)
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def _only_text(expr: Expr) -> str:
    """Return the text of a literal or of a one-character class, otherwise ""."""
    match expr:
        case Literal(text):
            return text
        case Chars(((low, high),)) if low == high:
            return chr(low)
        case _:
            return ""


ANY_CHAR = chars((0, LAST_CHAR))


def choice(*options: Expr) -> Expr:
    """Return a choice of distinct options, without `NOTHING`."""
    flat: dict[Expr, None] = {}
    for option in options:
        flat |= dict.fromkeys(option.options if isinstance(option, Choice) else (option,))
    return next(iter(flat)) if len(flat) == 1 else Choice(tuple(flat))


def optional(expr: Expr) -> Expr:
    """Return an expression for `expr` or the empty text."""
    return repeat(expr, 0, 1)


def repeat(body: Expr, least: int = 0, most: int | None = None) -> Expr:
    """Repeat `body`. If it matches the empty text, repeat its other matches."""
    if may_be_empty(body):
        body, least = not_empty(body), 0
    if most == 0 or body == NOTHING:
        return EMPTY if least == 0 else NOTHING
    if (least, most) == (1, 1):
        return body
    if isinstance(body, Repeat) and body.least == 1 >= least:
        # `(x+)*` and `(x{1,3})?` simplify to one unambiguous count.
        if most == 1 or (most is None and body.most is None):
            return Repeat(body.body, least, body.most)
    return Repeat(body, least, most)


def token(body: Expr) -> Expr:
    """Mark a token (see `Token`)."""
    return body if body == NOTHING or isinstance(body, Token) else Token(body)


def may_be_empty(expr: Expr) -> bool:
    """Return True if the empty text matches. A `Ref` is never empty, as rules are not."""
    match expr:
        case Sequence(parts):
            return all(map(may_be_empty, parts))
        case Choice(options):
            return any(map(may_be_empty, options))
        case Repeat(_, least, _):
            return least == 0
        case _:
            return False


def not_empty(expr: Expr) -> Expr:
    """Return `expr` without its empty match."""
    match expr:
        case Sequence(parts) if may_be_empty(expr):
            spend(len(parts) ** 2 // 2)
            # Any part may be the first one with a character.
            return choice(*(seq(not_empty(part), *parts[i + 1 :]) for i, part in enumerate(parts)))
        case Choice(options):
            return choice(*map(not_empty, options))
        case Repeat(body, 0, most):
            return repeat(body, 1, most)
        case _:
            return expr


def rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Rebuild an expression from its changed parts.

    Raises:
        TypeError: the expression has no parts.
    """
    match expr:
        case Sequence(parts):
            return seq(*map(change, parts))
        case Choice(options):
            return choice(*map(change, options))
        case Repeat(body, least, most):
            return repeat(change(body), least, most)
        case Token(body):
            return token(change(body))
        case _:
            raise TypeError(f"expected an expression with parts, not {expr}")


def walk(expr: Expr) -> Iterator[Expr]:
    """Iterate over an expression and all its parts, outermost first."""
    stack = [expr]
    while stack:
        expr = stack.pop()
        yield expr
        # Without `match`, which takes twice as long: all rules of a grammar are walked.
        if isinstance(expr, Sequence):
            stack += expr.parts[::-1]
        elif isinstance(expr, Choice):
            stack += expr.options[::-1]
        elif isinstance(expr, Repeat | Token):
            stack.append(expr.body)
