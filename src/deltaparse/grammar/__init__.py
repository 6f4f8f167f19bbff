"""Grammars for constrained decoding: rules as data, writers, and compiled JSON Schema."""

from .notation.write_gbnf import to_gbnf
from .notation.write_lark import to_lark
from .rules.rulebook import GrammarRules, RuleBook
from .rules.rules import (
    EMPTY,
    NOTHING,
    Chars,
    Choice,
    Expr,
    Literal,
    Ref,
    Repeat,
    Sequence,
    TextUntil,
    TextWithout,
    Token,
    chars,
    choice,
    except_chars,
    literal,
    optional,
    repeat,
    seq,
    token,
)
from .rules.text_until import text_until, until_rules
from .schema.json_schema import NotExpressed, SchemaRules, schema_rules
from .text.json_text import COMPACT, DUMPS, EITHER, FLEXIBLE, JsonText, Spacing
from .turn.structural_tags import structural_tag
from .turn.triggers import Trigger
from .turn.wire_grammar import Grammar, gbnf

__all__ = [
    "COMPACT",
    "DUMPS",
    "EITHER",
    "EMPTY",
    "FLEXIBLE",
    "NOTHING",
    "Chars",
    "Choice",
    "Expr",
    "Grammar",
    "GrammarRules",
    "JsonText",
    "Literal",
    "NotExpressed",
    "Ref",
    "Repeat",
    "RuleBook",
    "SchemaRules",
    "Sequence",
    "Spacing",
    "TextUntil",
    "TextWithout",
    "Token",
    "Trigger",
    "chars",
    "choice",
    "except_chars",
    "gbnf",
    "literal",
    "optional",
    "repeat",
    "schema_rules",
    "seq",
    "structural_tag",
    "text_until",
    "to_gbnf",
    "to_lark",
    "token",
    "until_rules",
]
