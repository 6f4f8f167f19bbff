r"""Python literals as text: the output of `repr`, and mixtures with JSON by models.

Strings have quotes of either kind, and `True` and `true` are equivalent. Only escapes common to
Python and JSON are used, because parsers repair almost-JSON, and `\x` is invalid in JSON.
"""

from __future__ import annotations

from functools import lru_cache

from ..rules.rules import (
    ANY_CHAR,
    NOTHING,
    Chars,
    Expr,
    Literal,
    chars,
    choice,
    except_chars,
    rebuilt,
    seq,
    token,
)
from .json_text import JsonText, common

__all__ = ["PythonText", "ReprText"]

WORDS = {True: ("True", "true"), False: ("False", "false"), None: ("None", "null")}
SHORT = {"\n": "n", "\r": "r", "\t": "t", "\\": "\\"}
HEX = chars("09", "af")

_UNIT = choice(seq(chars("09", "ac", "ef"), HEX), seq(Literal("d"), chars("07")))
UNIT = seq(Literal("u"), _UNIT, HEX, HEX)
"""An escape JSON has too, without halves of surrogate pairs."""


class PythonText(JsonText):
    """Builds the text of JSON values as Python literals."""

    __slots__ = ()

    def word(self, value: float | bool | None) -> Expr:
        """Write a number, a boolean or None, with JSON's spellings of the last two too."""
        if value is None or isinstance(value, bool):
            return choice(*(token(Literal(word)) for word in WORDS[value]))
        return super().word(value)

    def quoted(self, text: Expr) -> Expr:
        """Return the string of a text, in double or single quotes."""
        ways = (seq(Literal(mark), _spelled(text, mark), Literal(mark)) for mark in "\"'")
        return choice(*map(token, ways))


class ReprText(PythonText):
    """Python literals with single quotes only, which distinguish them from JSON."""

    __slots__ = ()

    quote = "'"

    def spelled(self, expr: Expr) -> Expr:
        """Spell a text for a string. `expr` must not contain a `Ref`."""
        return _spelled(expr, "'")

    def quoted(self, text: Expr) -> Expr:
        """Return the string of a text, in single quotes."""
        return token(seq(Literal("'"), self.spelled(text), Literal("'")))


def _spelled(expr: Expr, quote: str) -> Expr:
    match expr:
        case Literal(text):
            return Literal("".join(_escaped(char, quote) for char in text))
        case Chars():
            return _char(expr, quote)
        case _:
            return rebuilt(expr, lambda part: _spelled(part, quote))


def _escaped(char: str, quote: str) -> str:
    """Escape a character as `repr` does, for quotes of this kind."""
    if char in "\"'":
        return f"\\{char}" if char == quote else char
    return repr(char)[1:-1]


@lru_cache(maxsize=512)
def _char(expr: Chars, quote: str) -> Expr:
    """Write one character of a class, literally or with its short escape."""
    plain = common(expr, except_chars(chars((0, 0x1F), (0x7F, 0x9F), "\\", quote)))
    # The other quote does not need an escape, and JSON does not have one for it.
    codes = SHORT | {quote: quote}
    short = [code for char, code in codes.items() if common(expr, chars(char)) != NOTHING]
    escapes = [chars(*short)] if short else []
    if expr == ANY_CHAR:
        escapes.append(UNIT)
    escape = seq(Literal("\\"), choice(*escapes)) if escapes else NOTHING
    return choice(plain, escape)
