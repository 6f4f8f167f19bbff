"""Prefixes of expressions: add or remove them."""

from __future__ import annotations

from collections.abc import Mapping

from .rulebook import RuleBook
from .rules import (
    NOTHING,
    Choice,
    Expr,
    Literal,
    Ref,
    Sequence,
    Token,
    choice,
    literal,
    may_be_empty,
    seq,
    token,
)

__all__ = ["lead", "without"]


def lead(text: str, expr: Expr, rules: RuleBook) -> Expr:
    """Prepend a text to an expression, joined with the literal at the start of each option.

    An engine with a lexer does not backtrack from the longer of two literals. If two markers begin
    with the same whitespace, the text before them must be part of both literals.
    """
    if not text:
        return expr
    match expr:
        case Choice(options) if not may_be_empty(expr):
            return choice(*(lead(text, option, rules) for option in options))
        case Sequence((Choice() | Ref() | Token() as first, *rest)):
            return seq(lead(text, first, rules), *rest)
        case Token(Sequence() as body):
            return token(seq(Literal(text), body))
        case Ref(name) if _begins_with_literal(rules.rules[name], rules):
            return rules.add(f"{name}-next", lead(text, rules.rules[name], rules))
        case _:
            return seq(Literal(text), expr)


def _begins_with_literal(expr: Expr, rules: RuleBook) -> bool:
    match expr:
        case Literal() | Token(Sequence()):
            return True
        case Choice(options):
            return any(_begins_with_literal(option, rules) for option in options)
        case Sequence((first, *_)):
            return _begins_with_literal(first, rules)
        case _:
            return False


def without(prefix: str, expr: Expr, rules: Mapping[str, Expr]) -> Expr:
    """Return the matches of an expression that begin with `prefix`, without the prefix."""
    if not prefix:
        return expr
    match expr:
        case Literal(text) if text.startswith(prefix):
            return literal(text[len(prefix) :])
        case Choice(options):
            return choice(*(without(prefix, option, rules) for option in options))
        case Sequence((Literal(text), *rest)) if prefix.startswith(text):
            return without(prefix[len(text) :], seq(*rest), rules)
        case Sequence((first, *rest)):
            return seq(without(prefix, first, rules), *rest)
        case Ref(name):
            return without(prefix, rules[name], rules)
        case Token(body):
            return without(prefix, body, rules)
        case _:
            return NOTHING
