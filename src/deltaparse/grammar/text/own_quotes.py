"""JSON in which strings stand between quotes of the format's own, and keys bare.

Seen as `{city:<|"|>Oslo<|"|>,days:3}`. Between the quotes a string stands as it is, without
escapes, so it is any text without the quote; what a schema says of one is kept as far as its
characters cannot be the quote's first.
"""

from __future__ import annotations

from ..rules.rulebook import RuleBook
from ..rules.rules import (
    NOTHING,
    Chars,
    Choice,
    Expr,
    Literal,
    Repeat,
    Sequence,
    Token,
    chars,
    choice,
    except_chars,
    repeat,
    seq,
    token,
)
from ..rules.until import text_until
from .json_text import JsonText, Spacing, common

__all__ = ["OwnQuotes"]

ANY_TEXT = Repeat(chars((0, 0x10FFFF)), 0, None)
KEY = repeat(chars("az", "AZ", "09", "_", "-", "."), 1, 64)


class OwnQuotes(JsonText):
    """What is made of such values in one book of rules, by the names that JSON has for it."""

    __slots__ = ("_quote", "_rules_of")

    def __init__(self, rules: RuleBook, spacing: Spacing, quote: str) -> None:
        super().__init__(rules, spacing)
        self._quote = quote
        self._rules_of = rules

    def quoted(self, text: Expr) -> Expr:
        """Make a string between the format's quotes."""
        quote = Literal(self._quote)
        if text == ANY_TEXT:
            return seq(quote, self._rules_of.add("quoted", text_until(self._quote)))
        inner = _raw(text, except_chars(chars(self._quote[0])), self._quote)
        return NOTHING if inner == NOTHING else token(seq(quote, inner, quote))

    def pair(self, key: Expr, value: Expr) -> Expr:
        """Write a member of an object, whose key has no quotes."""
        bare = key if isinstance(key, Literal) else KEY
        return seq(token(bare), token(Literal(":")), self.spacing.colon, value)


def _raw(expr: Expr, allowed: Expr, quote: str) -> Expr:
    """Leave out of a text what might be taken for the quote."""
    match expr:
        case Literal(text):
            return NOTHING if quote in text else expr
        case Chars():
            return common(expr, allowed)
        case Sequence(parts):
            return seq(*(_raw(part, allowed, quote) for part in parts))
        case Choice(options):
            kept = (_raw(option, allowed, quote) for option in options)
            return choice(*(option for option in kept if option != NOTHING))
        case Repeat(body, least, most):
            return repeat(_raw(body, allowed, quote), least, most)
        case Token(body):
            return token(_raw(body, allowed, quote))
        case _:
            raise TypeError(f"not a part of a string: {expr}")
