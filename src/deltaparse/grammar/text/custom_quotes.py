"""JSON with the format's own string quotes, and keys without quotes.

An example is `{city:<|"|>Oslo<|"|>,days:3}`. A string is written between the quotes without
escapes, so it is any text without the quote. Strings with constraints in the schema exclude the
first character of the quote.
"""

from __future__ import annotations

from deltaparse.partial import UsageError

from ..rules.rulebook import RuleBook
from ..rules.rules import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    Chars,
    Expr,
    Literal,
    chars,
    except_chars,
    rebuilt,
    repeat,
    seq,
    token,
)
from ..rules.text_until import text_until
from .intersection import both
from .json_text import JsonText, Spacing, common

__all__ = ["OwnQuotes"]

ANY_TEXT = repeat(ANY_CHAR)
NO_KEY = frozenset(",[]{}\n\r\u2028\u2029")
"""Characters that end a key."""

KEY = repeat(chars("az", "AZ", "09", "_", "-", "."), 1, 64)


class OwnQuotes(JsonText):
    """Builds the text of JSON values in this notation."""

    __slots__ = ("_quote", "_rules_of")

    def __init__(self, rules: RuleBook, spacing: Spacing, quote: str) -> None:
        super().__init__(rules, spacing)
        self._quote = quote
        self._rules_of = rules

    def quoted(self, text: Expr) -> Expr:
        """Return a string between the format's quotes."""
        quote = Literal(self._quote)
        if text == ANY_TEXT:
            return seq(quote, self._rules_of.add("quoted", text_until(self._quote)))
        inner = _raw(text, except_chars(chars(self._quote[0])), self._quote)
        return NOTHING if inner == NOTHING else token(seq(quote, inner, quote))

    def pair(self, key: Expr, value: Expr) -> Expr:
        """Write a member of an object, with its key unquoted.

        Raises:
            UsageError: the key cannot be read back without quotes.
        """
        name = _key(key)
        if name == NOTHING:
            return NOTHING
        return seq(token(name), token(Literal(":")), self.spacing.colon, value)


def _key(key: Expr) -> Expr:
    if key == EMPTY or isinstance(key, Literal):
        text = key.text if isinstance(key, Literal) else ""
        if not text or text != text.strip() or text[0] in "\"'" or not NO_KEY.isdisjoint(text):
            raise UsageError(f"the name {text!r} cannot be written without quotes")
        return key
    found = both((key, KEY))
    return KEY if found is None else found


def _raw(expr: Expr, allowed: Expr, quote: str) -> Expr:
    """Remove anything from a text that might be read as the quote."""
    match expr:
        case Literal(text):
            return NOTHING if quote in text else expr
        case Chars():
            return common(expr, allowed)
        case _:
            return rebuilt(expr, lambda part: _raw(part, allowed, quote))
