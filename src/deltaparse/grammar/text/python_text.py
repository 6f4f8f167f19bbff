r"""Python literals as text: what `repr` writes, and what models write that mix it with JSON.

A string stands in quotes of either kind, `True` and `true` are the same. Escapes are those that
Python and JSON share, for parsers repair what is nearly JSON, where `\x` is none.
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
"""An escape that JSON has too; no half of a pair."""


class PythonText(JsonText):
    """Makes the text of Python literals, by the names that JSON has for them."""

    __slots__ = ()

    def word(self, value: float | bool | None) -> Expr:
        """Write a value that is one word, `None` as well as `null`."""
        if value is None or isinstance(value, bool):
            return choice(*(token(Literal(word)) for word in WORDS[value]))
        return super().word(value)

    def quoted(self, text: Expr) -> Expr:
        """Make the string of a text, in double quotes or single ones."""
        ways = (seq(Literal(q), _spelled(text, q), Literal(q)) for q in "\"'")
        return choice(*map(token, ways))


class ReprText(PythonText):
    """The same with strings in single quotes only: they set Python apart from JSON."""

    __slots__ = ()

    quote = "'"

    def spelled(self, expr: Expr) -> Expr:
        """Spell a text as it stands in such a string. `expr` must have no `Ref`."""
        return _spelled(expr, "'")

    def quoted(self, text: Expr) -> Expr:
        """Make the string of a text, in single quotes."""
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
    """Write a character as `repr` does, in quotes of this kind."""
    if char in "\"'":
        return f"\\{char}" if char == quote else char
    return repr(char)[1:-1]


@lru_cache(maxsize=512)
def _char(expr: Chars, quote: str) -> Expr:
    """Write one character of a class: as it is, or with an escape where it has a short one."""
    plain = common(expr, except_chars(chars((0, 0x1F), (0x7F, 0x9F), "\\", quote)))
    # The other quote needs no escape, and JSON has none for it.
    codes = SHORT | {quote: quote}
    short = [code for char, code in codes.items() if common(expr, chars(char)) != NOTHING]
    escapes = [chars(*short)] if short else []
    if expr == ANY_CHAR:
        escapes.append(UNIT)
    escape = seq(Literal("\\"), choice(*escapes)) if escapes else NOTHING
    return choice(plain, escape)
