"""Tests of grammars with special tokens in engines that read tokens."""

from __future__ import annotations

import random
import sys
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deltaparse as dp
from deltaparse import gbnf, get_format, list_formats, structural_tag
from deltaparse.grammar import GrammarRules, Trigger

from ... import vocabularies
from ...strategies.typed_calls import cases
from ...strategies.wire_json_and_tags import write
from ...support import needs
from ..machines import Lark, Sampler, accepts, has_tokens, read_gbnf
from ..reading_back import TOOLS, check_back, other_issues
from ..token_machines import TokenLark, TokenTag, encoder, large, small

NAMED = [name for name in list_formats() if get_format(name).derived.has_calls]
REQUIRED = {"tool_choice": "required"}
FREE = {"lazy": False}


def spelled(vocabulary, text, chance=None):
    """Return the ids of a text as a tokenizer makes them, with special tokens."""
    ids = []
    for part in vocabulary.spelled(text).stretches:
        ids += [part.id] if part.id is not None else encoder(vocabulary).of(part.text, chance)
    return ids


def read_ids(fmt, vocabulary, ids, tools=TOOLS):
    """Return the message of a token parser, and its issues."""
    parser = dp.TokenParser(fmt, vocabulary, tools=tools)
    parser.feed(ids)
    parser.finish("stop")
    return parser.message, other_issues(parser)


def check_ids(fmt, vocabulary, ids, tools=TOOLS):
    """Check that ids parse into complete calls only."""
    message, issues = read_ids(fmt, vocabulary, ids, tools)
    assert issues == []
    assert message.content == ""
    assert message.tool_calls
    assert all(call.complete for call in message.tool_calls)


def check(fmt, vocabulary, seeds, tools=TOOLS, **choice):
    """Check the grammar with tokens against the parser and the character grammar."""
    grammar = gbnf(fmt, tools, vocabulary=vocabulary, **choice)
    engine = TokenLark(grammar, vocabulary)
    in_characters = gbnf(fmt, tools, **choice)
    for seed in seeds:
        chance = random.Random(seed)
        marked = Sampler(grammar.rules).text(chance)
        ids = encoder(vocabulary).marked(marked, grammar.rules.tokens, chance)
        assert engine.accepts(ids), grammar.rules.spelled(marked)
        same = Sampler(in_characters.rules).text(random.Random(seed))
        assert engine.accepts(spelled(vocabulary, same, chance)), same
        for written in (ids, spelled(vocabulary, same, chance)):
            if choice == REQUIRED:
                check_ids(fmt, vocabulary, written, tools)
                assert not engine.accepts(written[:-1])
            assert read_ids(fmt, vocabulary, written, tools)[1] == []


@pytest.mark.parametrize("name", NAMED)
def test_right_calls_are_taken_token_by_token(name):
    for choice in (REQUIRED, FREE):
        check(get_format(name), small(), range(3), **choice)


@pytest.mark.parametrize("name", NAMED)
def test_arguments_outside_of_the_schema(name):
    parameters = {
        "type": "object",
        "properties": {"q": {"type": "string"}},
        "additionalProperties": {"type": "string"},
    }
    tools = [{"name": "look_up", "parameters": parameters}]
    check(get_format(name), small(), range(8), tools, **REQUIRED)


@pytest.mark.parametrize("name", NAMED)
def test_gbnf_with_tokens_accepts_the_same_texts(name, deep):
    for choice in (REQUIRED, FREE):
        grammar = gbnf(get_format(name), TOOLS, vocabulary=small(), **choice)
        again = read_gbnf(grammar.text, grammar.rules.tokens)
        for seed in range(3):
            text = Sampler(grammar.rules).text(random.Random(seed))
            assert accepts(grammar.rules, text)
            assert accepts(again, text)


@settings(max_examples=30)
@given(cases(), st.integers())
def test_any_format_with_any_of_its_markers_as_tokens(case, seed):
    fmt, tools, turn = case
    chance = random.Random(seed)
    texts = {text.strip() for text in gbnf(fmt, tools).preserved_tokens} | {"<eos>"}
    some = sorted(text for text in texts if chance.random() < 0.7 or text == "<eos>")
    bytes_of = {byte: bytes([byte]) for byte in range(256)}
    bytes_of |= {256 + i: text.encode() for i, text in enumerate(some)}
    vocabulary = dp.Vocabulary(bytes_of, special=range(256, 256 + len(some)))
    grammar = gbnf(fmt, tools, tool_choice="required", vocabulary=vocabulary)
    engine = TokenLark(grammar, vocabulary)
    text = write(fmt, turn)
    assert engine.accepts(spelled(vocabulary, text))
    marked = Sampler(grammar.rules).text(chance)
    same = grammar.rules.spelled(marked)
    check_back(fmt, tools, same)
    ids = encoder(vocabulary).marked(marked, grammar.rules.tokens, chance)
    check_ids(fmt, vocabulary, ids, tools)
    # An engine with a lexer accepts only a subset of the rules, and tokens must not reduce it.
    in_characters = Lark(gbnf(fmt, tools, tool_choice="required").rules)
    taken = engine.accepts(encoder(vocabulary).marked(marked, grammar.rules.tokens))
    assert taken >= in_characters.accepts(same)


@pytest.fixture
def deep():
    """Raise the recursion limit, since the matcher recurses for each character."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


HERMES = '<tool_call>\n{"name": "look_up", "arguments": {"q": "x"}}\n</tool_call>'


def test_character_grammar_rejects_call_tokens():
    ids = spelled(small(), HERMES)
    fmt = get_format("hermes")
    assert TokenLark(gbnf(fmt, TOOLS, tool_choice="required"), small()).taken(ids) == 0
    known = gbnf(fmt, TOOLS, tool_choice="required", vocabulary=small())
    assert TokenLark(known, small()).accepts(ids)


def test_the_text_of_a_marker_in_ordinary_tokens_is_text():
    vocabulary = small()
    plain = encoder(vocabulary).of(HERMES)
    known = {"vocabulary": vocabulary}
    forced = TokenLark(gbnf(get_format("hermes"), TOOLS, **REQUIRED, **known), vocabulary)
    free = TokenLark(gbnf(get_format("hermes"), TOOLS, **FREE, **known), vocabulary)
    assert forced.taken(plain) == 0
    assert free.accepts(plain)
    assert free.accepts([*plain, *spelled(vocabulary, HERMES)])
    assert not free.accepts([*spelled(vocabulary, HERMES)[:-3], vocabulary.find("</tool_call>")])


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(["<tool_call>", "</think>", "<think>", "x", "\n", "<"]), max_size=8)
)
def test_in_gbnf_no_text_of_a_token_is_raw_text(parts):
    # llama.cpp and xgrammar also match a special token as its text.
    text = "".join(parts)
    grammar = gbnf(get_format("qwen3_coder"), TOOLS, vocabulary=small(), lazy=False)
    again = read_gbnf(grammar.text, grammar.rules.tokens)
    assert accepts(again, text) == ("<tool_call>" not in text)


def test_trigger_of_a_special_token_is_a_token():
    def triggers(name, vocabulary):
        return gbnf(get_format(name), TOOLS, vocabulary=vocabulary).triggers

    vocabulary = small()
    assert triggers("hermes", None) == (Trigger("word", "<tool_call>"),)
    assert triggers("hermes", vocabulary) == (
        Trigger("token", str(vocabulary.find("<tool_call>"))),
    )
    # Patterns are matched against text.
    assert triggers("glm45", vocabulary) == triggers("glm45", None)


@pytest.mark.parametrize("name", NAMED)
def test_preserved_tokens_are_texts(name):
    known = gbnf(get_format(name), TOOLS, vocabulary=small())
    assert known.preserved_tokens == gbnf(get_format(name), TOOLS).preserved_tokens
    assert not has_tokens("".join(trigger.value for trigger in known.triggers))


def test_a_prompt_is_read_with_its_tokens():
    fmt = get_format("glm45")
    prompt = "<|user|>hi<|assistant|><think>"
    opened = gbnf(fmt, TOOLS, vocabulary=small(), prompt=prompt, lazy=False)
    engine = TokenLark(opened, small())
    ids = spelled(small(), "hm</think>\n<tool_call>look_up\n</tool_call>")
    assert engine.accepts(ids)
    assert not engine.accepts(spelled(small(), "hm"))


def test_structural_tags_have_tokens():
    tag = structural_tag(get_format("glm45"), TOOLS, vocabulary=small())["format"]
    assert tag["type"] == "grammar"
    for text in ("<think>", "</think>", "<tool_call>", "</tool_call>"):
        assert f"Token({small().find(text)})" in tag["grammar"]
    # Free text excludes texts, and each text is only one token of xgrammar's.
    assert '"</think>"' in tag["grammar"]


@needs("xgrammar")
@pytest.mark.parametrize("name", NAMED)
def test_xgrammar_takes_them_token_by_token(name):
    fmt, vocabulary = get_format(name), small()
    grammar = gbnf(fmt, TOOLS, vocabulary=vocabulary, **REQUIRED)
    forced = TokenTag(structural_tag(fmt, TOOLS, vocabulary=vocabulary, **REQUIRED), vocabulary)
    free = TokenTag(structural_tag(fmt, TOOLS, vocabulary=vocabulary), vocabulary)
    for seed in range(3):
        marked = Sampler(grammar.rules).text(random.Random(seed))
        ids = encoder(vocabulary).marked(marked, grammar.rules.tokens, random.Random(seed))
        assert forced.accepts(ids)
        assert not forced.accepts(ids[:-1])
        assert free.accepts(ids)


def test_empty_tools_yield_an_empty_grammar():
    assert gbnf(get_format("hermes"), [], vocabulary=small(), lazy=False).text == ""


def test_rules_without_a_vocabulary_have_an_empty_token_map():
    grammar = gbnf(get_format("hermes"), TOOLS)
    assert grammar.rules == GrammarRules(grammar.rules.rules)


@pytest.mark.costly
@pytest.mark.parametrize("choice", [REQUIRED, FREE])
@pytest.mark.parametrize("name", ["hermes", "glm45", "qwen3_coder", "kimi_k2"])
@vocabularies.needs_vocabularies
def test_random_logits_over_a_real_vocabulary_write_calls(name, choice):
    fmt, vocabulary = get_format(name), large()
    grammar = gbnf(fmt, TOOLS, vocabulary=vocabulary, **choice)
    engine = TokenLark(grammar, vocabulary)
    ends = (fmt.arguments.value_suffix.strip(), *'"}],:')
    written = (engine.sampled(random.Random(seed), ends) for seed in range(20))
    # Some samples do not end in time.
    found = list(islice((ids for ids in written if ids is not None), 2))
    assert len(found) == 2
    for ids in found:
        if choice == REQUIRED:
            check_ids(fmt, vocabulary, ids)
        assert read_ids(fmt, vocabulary, ids)[1] == []


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "model", "end"),
    [
        ("hermes", "qwen", "<|im_end|>"),
        ("qwen3_coder", "qwen", "<|im_end|>"),
        ("llama3_json", "llama3", "<|eot_id|>"),
        ("mistral", "tekken", "</s>"),
        ("mistral", "mistral", "</s>"),
        ("deepseekv31", "deepseek", "<｜end▁of▁sentence｜>"),
    ],
)
@vocabularies.needs_vocabularies
def test_a_models_own_vocabulary(name, model, end):
    fmt, vocabulary = get_format(name), vocabularies.vocabulary(model)
    for choice in (REQUIRED, FREE):
        grammar = gbnf(fmt, TOOLS, vocabulary=vocabulary, **choice)
        engine = TokenLark(grammar, vocabulary, end)
        for seed in range(3):
            chance = random.Random(seed)
            marked = Sampler(grammar.rules).text(chance)
            assert engine.accepts(encoder(vocabulary).marked(marked, grammar.rules.tokens))
            assert engine.accepts(encoder(vocabulary).marked(marked, grammar.rules.tokens, chance))
