"""Tests of GBNF: read back like llama.cpp, it has the same meaning, and the engines agree."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse.grammar import (
    GrammarRules,
    Ref,
    TextWithout,
    chars,
    choice,
    except_chars,
    literal,
    optional,
    repeat,
    schema_rules,
    seq,
    text_until,
    to_gbnf,
    token,
)
from deltaparse.grammar.notation.write_gbnf import LLAMA_CPP, XGRAMMAR

from ...strategies.schemas import CASES
from ..machines import Gbnf, Lark, Sampler, accepts, grammar_of, read_gbnf

ALPHABET = 'ab-]^\\"/\n\té\u2028😀x0[{|'
TEXTS = st.text(ALPHABET, max_size=6)
PAIRS = st.tuples(*[st.sampled_from(ALPHABET)] * 2).map(
    lambda pair: (ord(min(pair)), ord(max(pair)))
)
CLASSES = st.lists(PAIRS, min_size=1, max_size=3).map(lambda pairs: chars(*pairs))
LEAVES = st.one_of(
    st.text(ALPHABET, min_size=1, max_size=3).map(literal),
    CLASSES,
    CLASSES.map(except_chars),
    st.just(Ref("one")),
    st.text("ab", min_size=1, max_size=3).map(text_until),
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=2, max_size=3, unique=True)
    .filter(lambda markers: not any(other in markers[0][:-1] for other in markers[1:]))
    .map(lambda markers: text_until(*markers)),
    st.text("ab", min_size=1, max_size=3).map(lambda marker: optional(TextWithout((marker,)))),
)


def _more(inner):
    several = st.lists(inner, min_size=1, max_size=3)
    counts = st.tuples(st.integers(0, 2), st.none() | st.integers(0, 2))
    return st.one_of(
        several.map(lambda parts: seq(*parts)),
        several.map(lambda parts: choice(*parts)),
        inner.map(optional),
        st.tuples(inner, counts).map(
            lambda case: repeat(case[0], case[1][0], None if case[1][1] is None else sum(case[1]))
        ),
        inner.filter(lambda expr: seq(expr) == expr).map(lambda expr: seq(token(expr))),
    )


GRAMMARS = st.recursive(LEAVES, _more, max_leaves=6).map(
    lambda expr: grammar_of(seq(expr), one=choice(literal("-"), seq(literal("["), Ref("one"))))
)


@given(GRAMMARS, TEXTS, st.integers())
def test_gbnf_read_back_accepts_the_same_texts(grammar, text, seed):
    again = read_gbnf(to_gbnf(grammar))
    sampled = Sampler(grammar, 20).text(random.Random(seed))
    assert accepts(grammar, sampled)
    for one in (text, sampled, sampled + text, sampled[:-1]):
        assert accepts(again, one) == accepts(grammar, one)


@pytest.mark.parametrize("dialect", [LLAMA_CPP, XGRAMMAR])
@settings(max_examples=60)
@given(GRAMMARS, TEXTS, st.integers())
def test_xgrammar_agrees(dialect, grammar, text, seed):
    engine = Gbnf(grammar, dialect)
    sampled = Sampler(grammar, 20).text(random.Random(seed))
    for one in (text, sampled, sampled + text, sampled[:-1]):
        assert engine.accepts(one) == accepts(grammar, one), to_gbnf(grammar, dialect)


@pytest.mark.parametrize("one_of", ["^", "-", "^-", "^-a", "]^"])
@pytest.mark.parametrize("dialect", [LLAMA_CPP, XGRAMMAR])
def test_class_with_a_leading_caret_is_not_negated(dialect, one_of):
    kind = chars(*((ord(char), ord(char)) for char in sorted(one_of)))
    grammar = grammar_of(seq(repeat(kind, 0, None)))
    engine, again = Gbnf(grammar, dialect), read_gbnf(to_gbnf(grammar))
    for char in "^-a]0":
        assert engine.accepts(char * 2) == accepts(again, char * 2) == (char in one_of)


@pytest.mark.parametrize("text", ["cr\xe9dit", "\xe70", "\x01d", "\x7fA", "a\x1f\xe9\n1"])
@pytest.mark.parametrize("dialect", [LLAMA_CPP, XGRAMMAR])
def test_digits_after_an_escaped_character_stay_literal(dialect, text):
    grammar = grammar_of(seq(literal(text), repeat(literal(text), 0, None)))
    engine, again = Gbnf(grammar, dialect), read_gbnf(to_gbnf(grammar))
    for times in range(4):
        assert engine.accepts(text * times) == accepts(again, text * times) == bool(times)


@given(CASES, st.integers())
def test_schemas_are_within_the_limits_of_llama_cpp(case, seed):
    grammar = schema_rules(case[0]).grammar()
    text = Sampler(grammar).text(random.Random(seed))
    again = read_gbnf(to_gbnf(grammar))
    assert accepts(again, text)
    assert not accepts(again, text + "}")


def test_how_it_looks():
    schema = {
        "properties": {
            "name": {"type": "string", "maxLength": 9},
            "tags": {"type": "array", "items": {"enum": ["a", 'é"']}, "maxItems": 3},
        },
        "required": ["name"],
    }
    assert to_gbnf(schema_rules(schema).grammar()).splitlines()[:4] == [
        "root ::= value",
        'value ::= "{" space? value-name-member ("," space? value-tags-member)? space? "}"',
        r'space ::= " " | "\n"{1,2} [\t ]{0,20}',
        r'value-name-member ::= "\"name\"" ":" space? "\"" char{0,9} "\""',
    ]


def test_counted_group_becomes_a_rule():
    pair = seq(chars("az"), chars("09"), optional(literal("x")))
    assert to_gbnf(grammar_of(repeat(pair, 2, 900))) == (
        'root ::= root-x1{2,900}\nroot-x1 ::= [a-z] [0-9] "x"?\n'
    )


def test_names_do_not_meet():
    rules = {"root-x1": literal("1"), "root-s1": literal("2")}
    body = seq(repeat(seq(chars("az"), chars("09")), 2, 3), text_until("ab"), *map(Ref, rules))
    grammar = GrammarRules({"root": body, **rules})
    assert accepts(read_gbnf(to_gbnf(grammar)), "a1b2xab12")


@pytest.mark.parametrize("text", ["</p>", "a<</p>", "a</p", "x</p></p>", "</</p>", ""])
def test_raw_text_in_the_engines(text):
    grammar = grammar_of(text_until("</p>"))
    expected = text.find("</p>") == len(text) - 4
    assert accepts(grammar, text) == Lark(grammar).accepts(text) == expected
    assert Gbnf(grammar).accepts(text) == expected
