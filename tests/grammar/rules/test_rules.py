"""Tests of rules: expressions stay small, and only readable rules become a grammar."""

from __future__ import annotations

import pytest

from deltaparse import UsageError
from deltaparse.grammar import (
    EMPTY,
    NOTHING,
    Literal,
    Ref,
    Repeat,
    RuleBook,
    chars,
    choice,
    except_chars,
    literal,
    optional,
    repeat,
    seq,
)
from deltaparse.grammar.rules.rulebook import MAX_SIZE

A, B = literal("a"), literal("b")


def test_equal_expressions_are_simplified():
    assert seq(A, EMPTY, seq(B, A)) == Literal("aba")
    assert seq(A, chars("b")) == Literal("ab")
    assert seq(A, NOTHING, B) == NOTHING
    assert choice(A, choice(B, A)) == choice(A, B)
    assert choice(A, NOTHING) == A
    assert literal("") == EMPTY


def test_repeat_drops_the_empty_match_of_its_body():
    assert repeat(optional(A)) == repeat(repeat(A)) == Repeat(A, 0, None)
    assert repeat(seq(optional(A), optional(B)), 2, 3) == Repeat(
        choice(seq(A, optional(B)), B), 0, 3
    )
    assert optional(repeat(A, 1, 3)) == Repeat(A, 0, 3)
    assert repeat(A, 1, 1) == A
    assert repeat(A, 0, 0) == repeat(NOTHING) == EMPTY
    assert repeat(NOTHING, 1) == NOTHING


def test_characters():
    assert chars("az", "b", "{") == chars((97, 123))
    assert except_chars(except_chars(chars("a"))) == chars("a")
    assert except_chars(except_chars(NOTHING)) == NOTHING
    assert chars((0xD000, 0xE000)).ranges == ((0xD000, 0xD7FF), (0xE000, 0xE000))


def test_names_are_unlike_and_engines_read_them():
    book = RuleBook()
    names = [book.reserve(name).name for name in ("a b", "A_b", "root", "start", "9é", "")]
    assert names == ["a-b", "a-b-2", "root-2", "start-2", "rule-9", "rule"]
    assert book.add("same", A) == book.add("same", A) != book.add("same", B)


def test_grammar_omits_unused_and_endless_rules():
    book = RuleBook()
    endless = book.reserve("endless")
    book.define(endless, seq(A, endless))
    kept = book.add("kept", choice(A, seq(B, endless)))
    book.add("unused", B)
    assert book.grammar(kept).rules == {"root": kept, "kept": A}
    with pytest.raises(UsageError, match="no finite text"):
        book.grammar(endless)


def test_no_rule_begins_with_itself():
    book = RuleBook()
    left, right = book.reserve("left"), book.reserve("right")
    book.define(left, choice(A, seq(optional(B), right)))
    book.define(right, choice(B, left))
    with pytest.raises(UsageError, match="refers only to itself"):
        book.grammar(left)


def test_an_optional_rule_is_never_empty():
    book = RuleBook()
    assert book.add("maybe", optional(A)) == optional(Ref("maybe"))
    assert book.rules["maybe"] == A


def test_a_grammar_has_an_end():
    book = RuleBook()
    with pytest.raises(UsageError, match="too large"):
        book.add("large", choice(*(literal(str(i)) for i in range(MAX_SIZE))))
