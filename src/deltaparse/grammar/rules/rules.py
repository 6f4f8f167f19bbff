"""Grammars as data: what a constrained sampler may write, apart from any engine's notation.

A grammar is rules by name; a rule's body is an expression of nine kinds. `Literal`, `Chars`,
`Sequence`, `Choice`, `Repeat` and `Ref` are what every engine has. `Token` says that its text ends
where nothing more of it fits, which engines with a lexer need to know; to others it means nothing.
`TextUntil` is raw text up to and with a marker, and `TextWithout` raw text without some: each
writer puts them in its own way, since GBNF has no negation.

A lone surrogate in a text is a special token, of which `GrammarRules.tokens` says which one it is.
No character of a class is one, so raw text, and the strings of JSON, hold none.

Build expressions with the functions: they keep them small, and repeat nothing that may be empty,
which llama.cpp takes for left recursion.
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
"""Largest bound of a `Repeat`. llama.cpp refuses from 2,000 on, and copies what repeats."""

QUANTIFIERS = {(0, 1): "?", (0, None): "*", (1, None): "+"}
"""How engines and regular expressions write the common bounds of a `Repeat`."""

JSON_SPACE = " \t\n\r"
"""What may stand before a value of JSON."""

LAST_CHAR = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)


@dataclass(frozen=True, slots=True)
class Literal:
    """This text, which is not empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of ranges of code points: sorted, apart from each other, no surrogates."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other; without parts, the empty text."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of these; without options, no text at all."""

    options: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`body`, which is never empty, from `least` to `most` times (None: any number)."""

    body: Expr
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Ref:
    """What the rule of this name says."""

    name: str


@dataclass(frozen=True, slots=True)
class Token:
    """`body`, which is not recursive, never empty, and ends where nothing more of it fits."""

    body: Expr


@dataclass(frozen=True, slots=True)
class TextUntil:
    """Any text that ends with its first `marker`, and has none of `others` before that in it.

    `most_tokens`: what stands before the marker has no more; for writers that can count tokens.
    `least`, `most`: how many characters stand before it. `not_first`: what the text does not begin
    with, nor behind `JSON_SPACE`; only where characters are counted, and none begins the marker.
    """

    marker: str
    others: tuple[str, ...] = ()
    most_tokens: int | None = None
    least: int = 0
    most: int | None = None
    not_first: str = ""


@dataclass(frozen=True, slots=True)
class TextWithout:
    """Any text, not empty, that has none of `others` in it, and ends with `end`.

    The other fields are as in `TextUntil`, the end being the marker.
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
"""What a rule is made of."""

EMPTY = Sequence(())
"""The empty text, and nothing else."""

NOTHING = Choice(())
"""No text at all: what can never be written."""


def is_special(char: str) -> bool:
    """Whether a character of a text stands for a special token."""
    return SURROGATES[0] <= ord(char) <= SURROGATES[1]


def literal(text: str) -> Expr:
    """Make a fixed text, which may be empty."""
    return Literal(text) if text else EMPTY


def chars(*ranges: tuple[int, int] | str) -> Expr:
    """Make the characters of ranges of code points, each a pair or a text like "a" or "az"."""
    pairs = sorted((ord(r[0]), ord(r[-1])) if isinstance(r, str) else r for r in ranges)
    joined: list[tuple[int, int]] = []
    for low, high in _without_surrogates(pairs):
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
    """Make all characters but these."""
    gaps, at = [], 0
    for low, high in expr.ranges if isinstance(expr, Chars) else ():
        gaps.append((at, low - 1))
        at = high + 1
    return chars(*(gap for gap in (*gaps, (at, LAST_CHAR)) if gap[0] <= gap[1]))


def class_ranges(expr: Chars) -> tuple[tuple[tuple[int, int], ...], bool]:
    """Return the ranges to write a class with, and whether they are those that it leaves out.

    That is how a class is written that goes up to the last character; of all there are, it leaves
    out none.
    """
    if expr.ranges[-1][1] < LAST_CHAR:
        return expr.ranges, False
    rest = except_chars(expr)
    return rest.ranges if isinstance(rest, Chars) else (), True


def seq(*parts: Expr) -> Expr:
    """Put parts one after the other; neighbouring literals become one."""
    flat: list[Expr] = []
    for part in parts:
        for inner in part.parts if isinstance(part, Sequence) else (part,):
            if inner == NOTHING:
                return NOTHING
            text = _only_text(inner)
            if text and flat and isinstance(flat[-1], Literal):
                flat[-1] = Literal(flat[-1].text + text)
            else:
                flat.append(Literal(text) if text else inner)
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def _only_text(expr: Expr) -> str:
    """Return the text of a literal, or of a class of one character; otherwise none."""
    match expr:
        case Literal(text):
            return text
        case Chars(((low, high),)) if low == high:
            return chr(low)
        case _:
            return ""


ANY_CHAR = chars((0, LAST_CHAR))


def choice(*options: Expr) -> Expr:
    """Let one of the options stand, each taken once; `NOTHING` is no option."""
    flat: dict[Expr, None] = {}
    for option in options:
        flat |= dict.fromkeys(option.options if isinstance(option, Choice) else (option,))
    return next(iter(flat)) if len(flat) == 1 else Choice(tuple(flat))


def optional(expr: Expr) -> Expr:
    """Let something stand or not."""
    return repeat(expr, 0, 1)


def repeat(body: Expr, least: int = 0, most: int | None = None) -> Expr:
    """Repeat `body`; one that may be empty is replaced by what else it may be."""
    if may_be_empty(body):
        body, least = not_empty(body), 0
    if most == 0 or body == NOTHING:
        return EMPTY if least == 0 else NOTHING
    if (least, most) == (1, 1):
        return body
    if isinstance(body, Repeat) and body.least == 1 >= least:
        # `(x+)*` and `(x{1,3})?`: one count says the same, and in one way only.
        if most == 1 or (most is None and body.most is None):
            return Repeat(body.body, least, body.most)
    return Repeat(body, least, most)


def token(body: Expr) -> Expr:
    """Mark a token; see `Token`."""
    return body if body == NOTHING or isinstance(body, Token) else Token(body)


def may_be_empty(expr: Expr) -> bool:
    """Whether the empty text fits. A `Ref` is not looked into: no rule made here is empty."""
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
    """Make what `expr` may be, without the empty text."""
    match expr:
        case Sequence(parts) if may_be_empty(expr):
            spend(len(parts) ** 2 // 2)
            # The first part that is not empty may be any of them.
            return choice(*(seq(not_empty(part), *parts[i + 1 :]) for i, part in enumerate(parts)))
        case Choice(options):
            return choice(*map(not_empty, options))
        case Repeat(body, 0, most):
            return repeat(body, 1, most)
        case _:
            return expr


def rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Make an expression anew of its changed parts.

    Raises:
        TypeError: it has no parts.
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
            raise TypeError(f"an expression without parts: {expr}")


def walk(expr: Expr) -> Iterator[Expr]:
    """Iterate over an expression and all in it, outermost first."""
    stack = [expr]
    while stack:
        expr = stack.pop()
        yield expr
        # Not by `match`, which takes twice as long: all rules of a grammar are walked through.
        if isinstance(expr, Sequence):
            stack += expr.parts[::-1]
        elif isinstance(expr, Choice):
            stack += expr.options[::-1]
        elif isinstance(expr, Repeat | Token):
            stack.append(expr.body)
