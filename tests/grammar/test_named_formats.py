"""Tests that llguidance and xgrammar accept turns of each built-in format.

Tool names begin like reserved words of headers. An engine with a lexer must not confuse the two.
"""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deltaparse import UsageError, gbnf, get_format, list_formats, parse, structural_tag
from deltaparse.testing import Sampler

from .machines import Gbnf, Lark, llguidance, xgrammar

FORMATS = sorted(list_formats())
SCHEMA = {"type": "object", "properties": {"q": {"type": "integer"}}}
WORDS = {"json", "code", "final", "commentary", "assistant", "functions", "tool", "invoke", "all"}


def tools(names):
    return [{"name": name, "parameters": SCHEMA} for name in names]


def reserved(fmt):
    """Return the reserved words of a format's headers, and some of other formats."""
    return sorted({*fmt.channels.reasoning, *fmt.channels.readers, *WORDS})


@st.composite
def requests(draw):
    """Return a format, and tools with names that share prefixes with reserved words."""
    fmt = draw(st.sampled_from(FORMATS))
    words = st.sampled_from(reserved(get_format(fmt)))
    begun = st.tuples(words, st.integers(1, 12), st.sampled_from(["", "_x", "arch", "ie"]))
    names = draw(st.lists(begun.map(lambda one: one[0][: one[1]] + one[2]), min_size=1, max_size=4))
    return fmt, tools(dict.fromkeys(names))


@given(request=requests(), lazy=st.booleans(), seed=st.integers(0, 2**16))
@settings(max_examples=200)
def test_llguidance_accepts_turns_with_names_like_reserved_words(request, lazy, seed):
    if llguidance() is None:
        pytest.skip("llguidance is not installed")
    fmt, offered = request
    try:
        rules = gbnf(fmt, offered, lazy=lazy).rules
    except UsageError as error:
        assume("cannot be written" not in str(error))
        raise
    assume(rules is not None)
    assert Lark(rules).accepts(Sampler(rules).text(random.Random(seed)))


@pytest.mark.parametrize("name", ["search", "selfie", "sel", "comm", "commentary_x", "us", "users"])
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_reasoning_is_accepted_with_a_tool_of_the_same_prefix(name, choice):
    grammar = gbnf("muse_glimmer", tools([name]), tool_choice=choice, lazy=False)
    head = "<atem:function_calls>\n<atem:invoke name="
    call = f' to={name}<|message|>{head}"{name}">\n\n</atem:invoke>\n</atem:function_calls>'
    turn = f" to=self<|message|>hm<|eom|><|start|>assistant{call}"
    for engine in (Gbnf, Lark):
        assert engine(grammar.rules).accepts(turn)
        assert engine(grammar.rules).accepts(call)


@pytest.mark.parametrize("name", ["self", "user", "commentary"])
def test_a_tool_named_like_a_reserved_recipient_is_refused(name):
    with pytest.raises(UsageError, match="cannot be written in this format"):
        gbnf("muse_glimmer", tools([name]))


FORMS = ["", " ", " json", "  json", " json "] + [
    f"{before}<|constrain|>{between}json{behind}"
    for before in ("", " ", "  ")
    for between in ("", " ")
    for behind in ("", " ")
]
HEADERS = [
    *(f" to=functions.f<|channel|>commentary{form}" for form in FORMS),
    *(f"<|channel|>commentary to=functions.f{form}" for form in FORMS),
    *(f"<|channel|>analysis  to=functions.f{form}" for form in FORMS),
    " to=functions.f <|channel|>commentary <|constrain|>json",
    "  to=functions.f<|channel|> commentary json",
]


def test_engines_and_parser_accept_headers_with_spaces_and_forms():
    offered = tools(["f", "f_x"])
    rules = gbnf("gpt_oss", offered, tool_choice="required").rules
    engines = [Gbnf(rules), Lark(rules)]
    for header in HEADERS:
        text = f'{header}<|message|>{{"q": 1}}'
        assert [engine.accepts(text) for engine in engines] == [True, True], header
        message = parse(f"{text}<|call|>", "gpt_oss", tools=offered, prompt="<|start|>assistant")
        calls = [(call.name, call.arguments, call.complete) for call in message.tool_calls]
        assert calls == [("f", '{"q": 1}', True)]


@pytest.mark.parametrize("header", HEADERS)
def test_a_trigger_finds_headers_with_spaces(header):
    triggers = gbnf("gpt_oss", tools(["f"])).triggers
    found = [re.search(value, f"{header}<|message|>") for _, value in triggers]
    assert any(one and one.start(1) == 0 for one in found)


WITHOUT_CALLS = [name for name in FORMATS if not get_format(name).derived.has_calls]


@pytest.mark.parametrize("name", WITHOUT_CALLS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lazy": False},
        {"tool_choice": "none"},
        {"reasoning_budget": 5},
        {"response_schema": SCHEMA},
    ],
)
def test_engines_load_the_grammar_of_a_format_without_calls(name, options):
    grammar = gbnf(name, tools(["f"]), **options)
    if llguidance() is not None:
        engine, tokenizer = llguidance()
        source = engine.grammar_from_lark(grammar.as_lark())
        assert engine.validate_grammar(source, tokenizer) == ""
    if xgrammar() is not None:
        compiler = xgrammar()[1]
        compiler.compile_structural_tag(grammar.as_tag())
        rest = {key: value for key, value in options.items() if key != "lazy"}
        compiler.compile_structural_tag(structural_tag(name, tools(["f"]), **rest))


def test_some_formats_have_no_calls():
    assert WITHOUT_CALLS
