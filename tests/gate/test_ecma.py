"""Patterns of schemas follow ECMA 262, in the gate as in grammars."""

from __future__ import annotations

import json
import random
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from deltaparse import UsageError
from deltaparse.gate import ToolGate
from deltaparse.gate.ecma import NotAPattern, NotTranslated, compiled, is_pattern
from deltaparse.grammar.text.intersection import matches
from deltaparse.grammar.text.patterns import NotRegular, pattern_text

from ..grammar.machines import Sampler, grammar_of
from ..strategies.gate_samples import decided, reason, tag, tool
from ..strategies.schemas import PATTERNS

DRAFT_4 = "http://json-schema.org/draft-04/schema#"


@pytest.mark.parametrize(
    ("pattern", "found", "absent"),
    [
        ("^[a-z]+$", "abc", "abc\n"),
        ("^a$|^b$", "b", "a\nb"),
        (r"^\d+$", "3", "٣"),
        (r"^\D$", "٣", "3"),
        (r"^\w$", "_", "é"),
        (r"^\W$", "é", "a"),
        (r"^\s$", "\ufeff", "\u001c"),
        (r"^\s$", "\u2003", "\u0085"),
        (r"^\S$", "\u180e", "\ufeff"),
        (r"\bx", "éx", "ax"),
        (r"\bx", "[x", "Zx"),
        (r"\Bx", "ax", "éx"),
        ("^.$", "\u0085", "\u2028"),
        ("^.$", "😀", "\r"),
        ("^[^]$", "\n", ""),
        ("[]?a", "a", "b"),
        ("^[]*$", "", "a"),
        (r"^[^\s\S]?$", "", "a"),
        (r"^\cA\cj$", "\1\n", "cAcj"),
        (r"^\0[\b]$", "\0\b", "\0\t"),
        (r"^\t\n\v\f\r$", "\t\n\v\f\r", "tnvfr"),
        (r"^\x41\u0042\u{1F600}$", "AB😀", "x"),
        (r"^\ud83d\uDE00$", "😀", "x"),
        (r"^\ud800\udc00$", "\U00010000", "\uffff"),
        (r"^\udbff\udfff$", "\U0010ffff", "\U0010fffe"),
        (r"\u{d83d}\ude00|\udc00\udc00|\u0041\udc00|a", "a", "😀"),
        (r"^\/\-\@$", "/-@", r"\/"),
        (r"^\p{L}+$", "aé", "a1"),
        (r"^\P{L}$", "1", "é"),
        (r"^[\p{Lu}_]\p{Script=Greek}$", "Éλ", "él"),
        (r"^[^\p{gc=Nd}]$", "x", "٣"),
        (r"^\p{General_Category=Lu}\p{sc=Greek}$", "Éλ", "él"),
        (r"^\p{Script_Extensions=Greek}\p{scx=Greek}$", "λλ", "λl"),
        (r"^\p{ASCII}\p{Alphabetic}$", "1é", "éé"),
        (r"^\p{ASCII}$", "\x7f", "\x80"),
        (r"^\p{Assigned}\p{Cn}$", "a\U0010ffff", "\U0010ffffa"),
        ("^(?<y>[0-9]{2,2})+$", "2024", "123"),
        ("^(?=a)(?!ab).(?<=a)(?<!b)$", "a", "b"),
        ("^a{2}b{1,}c{0,2}?$", "aabbcc", "ab"),
        ("^a{003,10}$", "aaa", "aa"),
        (r"^[\w-.]+$", "a-b.c", "a+"),
        (r"^[+-\d]+$", "+-1", ","),
        ("^{a}]$", "{a}]", "a"),
        ("^[a-]$", "-", "b"),
        (f"{'(' * 50}a{')' * 50}", "a", "b"),
        ("a|", "", None),
        ("", "x", None),
    ],
)
def test_pattern_matches_as_in_ecma_262(pattern, found, absent):
    tools = [tool("f", {"properties": {"a": {"pattern": pattern}}})]
    assert decided(tag(json.dumps({"a": found}), "f"), tools=tools).executable
    if absent is not None:
        assert reason(tag(json.dumps({"a": absent}), "f"), tools=tools) == "schema"
    assert is_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "[", "\\", "*", "a**", "a{2}{3}", "^*", r"\b+", "(?=a)*", "a{2,1}", "{1}"),
        *(
            "a{20,9}",
            r"\Z",
            r"\z",
            r"\A",
            r"\e",
            r"\p{Greek}",
            r"\p{L",
            r"\p{x=L}",
            r"\x1",
            r"\u12",
        ),
        *(
            r"\u{110000}",
            r"\c1",
            r"\cé",
            r"\k",
            r"\01",
            "[b-a]",
            "(?P<a>x)",
            "(?#x)",
            "(?i:a)",
            "(?<1>a)",
            "(?>a)",
        ),
        *(f"{'(' * 51}{')' * 51}", "a" * 9 + "(?"),
    ],
)
def test_invalid_patterns_are_rejected(pattern):
    for made in (compiled, is_pattern):
        with pytest.raises(NotAPattern):
            made(pattern)
    with pytest.raises(UsageError, match=r"tool 'f'.*\$.properties.a.pattern.*is not a pattern of"):
        ToolGate([tool("f", {"properties": {"a": {"pattern": pattern}}})])
    for dialect in ({}, {"$schema": DRAFT_4}):
        with pytest.raises(UsageError, match=r"tool 'f'.*is not a pattern of"):
            ToolGate([tool("f", {"patternProperties": {pattern: {}}, **dialect})])
    tools = [tool("f", {"properties": {"a": {"format": "regex"}}})]
    assert reason(tag(json.dumps({"a": pattern}), "f"), tools=tools) == "schema"


@pytest.mark.parametrize(
    ("pattern", "instead"), [(r"a\Z", r"write \$:"), (r"a\z", r"write \$:"), (r"\Aa", r"write \^:")]
)
def test_error_for_python_syntax_names_the_alternative(pattern, instead):
    with pytest.raises(UsageError, match=instead):
        ToolGate([tool("f", {"properties": {"a": {"pattern": pattern}}})])


EDGES = (0, 1, 2, 0x10FFFD, 0x10FFFE, 0x10FFFF)


@pytest.mark.parametrize("negated", [False, True])
def test_class_matches_exactly_its_ranges(negated):
    runs = list(combinations_with_replacement(EDGES, 2))
    for first, second in product(runs, runs):
        inside = "".join(rf"\u{{{low:X}}}-\u{{{high:X}}}" for low, high in (first, second))
        pattern = compiled(f"^[{'^' * negated}{inside}]$")
        for code in EDGES:
            named = any(low <= code <= high for low, high in (first, second))
            assert (pattern.search(chr(code)) is not None) is (named is not negated)


@pytest.mark.parametrize("pattern", [r"(a)\1", r"(?<n>a)\k<n>", "a{99999999999999999999}"])
def test_untranslatable_patterns_are_rejected_in_schemas(pattern):
    assert is_pattern(pattern)
    with pytest.raises(NotTranslated):
        compiled(pattern)
    with pytest.raises(UsageError, match=r"\$.properties.a.pattern.*cannot be translated"):
        ToolGate([tool("f", {"properties": {"a": {"pattern": pattern}}})])
    tools = [tool("f", {"properties": {"a": {"format": "regex"}}})]
    assert decided(tag(json.dumps({"a": pattern}), "f"), tools=tools).executable


@pytest.mark.parametrize("dialect", [{}, {"$schema": DRAFT_4}])
def test_pattern_properties_match_as_in_ecma_262(dialect):
    closed = {"patternProperties": {r"^\d$": {"type": "integer"}}, "additionalProperties": False}
    for schema in (closed, {"patternProperties": closed["patternProperties"]}, {"allOf": [closed]}):
        tools = [tool("f", {**schema, **dialect})]
        assert decided(tag('{"3": 1}', "f"), tools=tools).executable
        for arguments in ('{"3": "x"}', '{"٣": 1}', r'{"3\n": 1}'):
            assert reason(tag(arguments, "f"), tools=tools) == "schema"


def test_subschema_may_only_repeat_the_dialect():
    part = {"$schema": "https://json-schema.org/draft/2020-12/schema", "pattern": "^[a-z]$"}
    tools = [tool("f", {"properties": {"a": part}})]
    assert decided(tag('{"a": "x"}', "f"), tools=tools).executable
    assert reason(tag(r'{"a": "x\n"}', "f"), tools=tools) == "schema"
    for other in (DRAFT_4, "https://example.org/dialect"):
        with pytest.raises(UsageError, match=r"tool 'f'.*dialect"):
            ToolGate([tool("f", {"properties": {"a": {**part, "$schema": other}}})])


ATOMS = ["a", "b", ".", r"\d", r"\W", "[ab]", "[^a]", r"[^\w-]", "[]", "[^]", r"\x61", r"[\]\\]"]
PARTS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+?", "?", "{2}", "{0,2}"])),
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
    ),
    max_leaves=6,
)
WHOLE = st.builds("{}{}{}".format, st.sampled_from(["", "^"]), PARTS, st.sampled_from(["", "$"]))
TEXTS = st.text("ab1.]\\\n\u2028é٣😀", max_size=6)


@given(WHOLE, TEXTS)
@example("^[a-z]+$", "a\n")
def test_pattern_matches_the_same_in_gate_and_grammar(pattern, text):
    found = compiled(pattern).search(text) is not None
    assert found is matches(pattern_text(pattern), text)


@given(WHOLE | st.sampled_from(PATTERNS), st.integers(0, 2**32))
def test_strings_generated_by_a_grammar_match_the_pattern(pattern, seed):
    assume("[]" not in pattern)  # An empty class matches no text.
    text = Sampler(grammar_of(pattern_text(pattern))).text(random.Random(seed))
    assert compiled(pattern).search(text)


@given(st.text("ab1[](){}|^$.*+?\\-,:<=!dwsbBpPLux0cAk", max_size=12))
def test_patterns_accepted_by_a_grammar_are_valid(pattern):
    try:
        is_pattern(pattern)
        compiled(pattern)
    except NotTranslated:
        assume(False)
    except NotAPattern:
        with pytest.raises(NotRegular):
            pattern_text(pattern)
