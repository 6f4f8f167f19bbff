r"""Special tokens split out of terminals, for engines with a byte lexer.

A lexer cannot match a special token within a terminal. The text before it, the token and the text
after it therefore become a sequence. For example, raw text up to `\n</think>` becomes raw text that
ends with `\n`, and the token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from deltaparse.partial.surrogates import SURROGATES, is_whole

from ..rules.rulebook import GrammarRules
from ..rules.rules import (
    Choice,
    Expr,
    Literal,
    Ref,
    Repeat,
    Sequence,
    TextUntil,
    TextWithout,
    Token,
    choice,
    is_special,
    literal,
    may_be_empty,
    not_empty,
    optional,
    rebuilt,
    seq,
    token,
    walk,
)

__all__ = ["APART", "tokens_apart"]

APART = re.compile(f"([{SURROGATES}])")
"""Splits a text at its special tokens."""


def tokens_apart(grammar: GrammarRules) -> Mapping[str, Expr]:
    """Return equivalent rules without special tokens in a `Token` or in raw text."""
    if not grammar.tokens:
        return grammar.rules
    apart = _Apart(grammar.rules)
    return {name: apart.of(body) for name, body in grammar.rules.items()}


class _Apart:
    def __init__(self, rules: Mapping[str, Expr]) -> None:
        self._with_tokens: set[str] = set()
        while more := {
            name
            for name, body in rules.items()
            if name not in self._with_tokens and self._has_tokens(body)
        }:
            self._with_tokens |= more

    def of(self, expr: Expr) -> Expr:
        """Rewrite an expression."""
        match expr:
            case Sequence() | Choice() | Repeat():
                return rebuilt(expr, self.of)
            case Token(body) if self._has_tokens(body):
                return self._split(body)
            case TextUntil():
                return self._raw(expr)
            case TextWithout(others):
                return replace(expr, others=tuple(filter(is_whole, others)))
            case _:
                return expr

    def _has_tokens(self, expr: Expr) -> bool:
        for inner in walk(expr):
            match inner:
                case Literal(text) | TextUntil(text):
                    if not is_whole(text):
                        return True
                case Ref(name):
                    if name in self._with_tokens:
                        return True
                case _:
                    pass
        return False

    def _split(self, body: Expr) -> Expr:
        """Return a token for each stretch of a token without special tokens."""
        match body:
            case Choice(options):
                return choice(*map(self._split, options))
            case Sequence(parts):
                return self._stretches(parts)
            case Literal():
                return self._stretches((body,))
            case Repeat():
                return rebuilt(body, self._split)
            case _:
                return self.of(body) if self._has_tokens(body) else _terminal(body)

    def _stretches(self, parts: tuple[Expr, ...]) -> Expr:
        done: list[Expr] = []
        stretch: list[Expr] = []
        for part in parts:
            if isinstance(part, Literal):
                for char in part.text:
                    if is_special(char):
                        done += [_terminal(seq(*stretch)), Literal(char)]
                        stretch = []
                    else:
                        stretch.append(Literal(char))
            elif self._has_tokens(part):
                done += [_terminal(seq(*stretch)), self._split(part)]
                stretch = []
            else:
                stretch.append(part)
        return seq(*done, _terminal(seq(*stretch)))

    def _raw(self, until: TextUntil) -> Expr:
        """Return raw text up to a marker, split at the first special token of the marker."""
        others = tuple(filter(is_whole, until.others))
        at = next((i for i, char in enumerate(until.marker) if is_special(char)), None)
        if at is None:
            return replace(until, others=others, most_tokens=None)
        # If the text must end with part of the marker, a token budget cannot cut it.
        most = None if at else until.most_tokens
        end = until.marker[:at]
        text = TextWithout(others, end, most, until.least, until.most, until.not_first)
        may_be_none = not at and not until.least
        if until.most == 0 and may_be_none:
            return literal(until.marker)
        return seq(optional(text) if may_be_none else text, literal(until.marker[at:]))


def _terminal(expr: Expr) -> Expr:
    """Return a token of an expression, optional if the expression may be empty."""
    if may_be_empty(expr):
        rest = not_empty(expr)
        return optional(token(rest)) if rest != Choice(()) else expr
    return token(expr)
