"""Tests of request options: strict tools, a budget of reasoning, and the order of arguments."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace

import pytest

from deltaparse import ChatTemplate, UsageError, Vocabulary, analyze, gbnf, get_format, parse

from ..machines import Lark, Sampler, accepts, llguidance

SCHEMA = {"properties": {"zeta": {"type": "integer"}, "alpha": {"type": "string"}}}
TOOL = {"name": "f", "parameters": SCHEMA | {"required": ["zeta"]}}
THINKING = get_format("hermes").replace(
    reasoning={"mode": "TAG_BASED", "start": "<think>\n", "end": "\n</think>\n\n"}
)
TOKENS = {
    256: b"<tool_call>",
    257: b"</tool_call>",
    258: b"<think>",
    259: b"</think>",
    260: b"</s>",
}
VOCABULARY = Vocabulary({**{i: bytes([i]) for i in range(256)}, **TOKENS}, special=[*TOKENS])
OPENED = "<|im_start|>assistant\n<think>\n"


def call(arguments):
    return f'<tool_call>\n{{"name": "f", "arguments": {json.dumps(arguments)}}}\n</tool_call>'


class TestStrict:
    @pytest.mark.parametrize(
        "tool",
        [
            {**TOOL, "strict": False},
            {"type": "function", "function": {**TOOL, "strict": False}},
            {"type": "function", "strict": False, **TOOL},
            {"name": "f", "input_schema": TOOL["parameters"], "strict": False},
            SimpleNamespace(name="f", input_schema=TOOL["parameters"], strict=False),
        ],
    )
    def test_non_strict_tool_accepts_any_values(self, tool):
        grammar = gbnf("hermes", [tool], tool_choice="required")
        for arguments in ({}, {"zeta": "many"}, {"zeta": [None], "alpha": {"x": 1}}):
            assert accepts(grammar.rules, call(arguments))
        assert [tuple(one) for one in grammar.not_expressed] == [("f#", "strict")]

    @pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "kimi_k2"])
    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "object"},
            {"additionalProperties": {"type": "integer"}},
            SCHEMA,
            SCHEMA | {"additionalProperties": {"type": "integer"}},
            SCHEMA | {"additionalProperties": False, "required": ["zeta"]},
            SCHEMA | {"unevaluatedProperties": {"type": "integer"}},
            {"patternProperties": {"^x": {"type": "integer"}}},
            {"$ref": "#/$defs/a", "$defs": {"a": SCHEMA}},
            {"allOf": [SCHEMA, {"properties": {"beta": {"type": "boolean"}}}]},
        ],
        ids=str,
    )
    def test_non_strict_tool_accepts_texts_of_the_strict_one(self, name, schema):
        fmt, tool = get_format(name), {"name": "f", "parameters": {"type": "object", **schema}}
        strict = gbnf(fmt, [tool], tool_choice="required")
        loose = gbnf(fmt, [{**tool, "strict": False}], tool_choice="required")
        texts = {Sampler(strict.rules).text(random.Random(seed)) for seed in range(20)}
        assert len(texts) > 5
        for text in texts:
            assert accepts(loose.rules, text), text

    @pytest.mark.parametrize("strict", [{}, {"strict": True}, {"strict": None}])
    def test_all_others_are_held_to_their_schemas(self, strict):
        grammar = gbnf("hermes", [{**TOOL, **strict}], tool_choice="required")
        assert grammar.not_expressed == ()
        assert accepts(grammar.rules, call({"zeta": 1}))
        assert not accepts(grammar.rules, call({"zeta": "many"}))

    @pytest.mark.parametrize("name", ["qwen3_coder", "glm45", "pythonic", "deepseek_v32"])
    def test_strictness_applies_to_each_tool_separately(self, name):
        tools = [{**TOOL, "strict": False}, {**TOOL, "name": "g"}]
        fmt = get_format(name)
        grammar = gbnf(fmt, tools, tool_choice="required")
        assert [tuple(one) for one in grammar.not_expressed] == [("f#", "strict")]
        for seed in range(8):
            text = Sampler(grammar.rules).text(random.Random(seed))
            message = parse(text, fmt, tools=tools)
            assert message.tool_calls
            for made in message.tool_calls:
                assert made.complete
                given = json.loads(made.arguments)
                assert made.name == "f" or type(given["zeta"]) is int


class TestOrder:
    @pytest.mark.parametrize(("loop", "is_sorted"), [("|dictsort", True), (".items()", False)])
    def test_arguments_follow_the_order_of_the_template(self, loop, is_sorted):
        source = (
            "{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}"
            "{% for c in m.tool_calls or [] %}<call {{ c.function.name }}>"
            f"{{% for k, v in c.function.arguments{loop} %}}"
            "<arg {{ k }}>{{ v if v is string else v | tojson }}</arg>"
            "{% endfor %}</call>{% endfor %}</{{ m.role }}>{% endfor %}"
            "{% if add_generation_prompt %}<assistant>{% endif %}"
        )
        fmt = analyze(ChatTemplate(source))
        assert fmt.verified
        assert fmt.arguments.sorted_names is is_sorted
        grammar = gbnf(fmt, [TOOL], tool_choice="required")
        given = "<call f><arg zeta>1</arg><arg alpha>x</arg></call>"
        by_name = "<call f><arg alpha>x</arg><arg zeta>1</arg></call>"
        assert accepts(grammar.rules, by_name) is is_sorted
        assert accepts(grammar.rules, given) is not is_sorted

    def test_members_of_objects_in_arguments_too(self):
        fmt = get_format("hermes").replace(arguments={"sorted_names": True})
        inner = {"type": "object", **SCHEMA}
        tools = [{"name": "f", "parameters": {"properties": {"b": {"items": inner}, "a": inner}}}]
        grammar = gbnf(fmt, tools, tool_choice="required")
        one = {"alpha": "x", "zeta": 1}
        assert accepts(grammar.rules, call({"a": one, "b": [one]}))
        assert not accepts(grammar.rules, call({"b": [one], "a": one}))
        assert not accepts(grammar.rules, call({"a": dict(reversed(one.items()))}))


class TestBudget:
    @pytest.mark.skipif(llguidance() is None, reason="llguidance is not installed")
    @pytest.mark.parametrize("tokens", [0, 1, 5, 6, 40])
    def test_llguidance_counts_the_tokens_of_reasoning(self, tokens):
        import llguidance as engine

        class Tokens:
            eos_token_id, bos_token_id, special_token_ids = 260, None, tuple(TOKENS)
            tokens = (*(bytes([i]) for i in range(256)), *(b"\xff" + t for t in TOKENS.values()))

            def __call__(self, text):
                return list(text if isinstance(text, bytes) else text.encode())

        tokenizer = engine.LLTokenizer(engine.TokenizerWrapper(Tokens()))
        grammar = gbnf(
            THINKING,
            [TOOL],
            tool_choice="required",
            vocabulary=VOCABULARY,
            reasoning_budget=5,
            prompt=OPENED,
        )
        assert grammar.not_expressed_in_lark == ()
        source = engine.LLMatcher.grammar_from_lark(grammar.as_lark())
        matcher = engine.LLMatcher(tokenizer, source, log_level=0)
        ids = [*b"a" * tokens, 259]
        assert matcher.try_consume_tokens(ids) == (len(ids) if tokens <= 5 else 5)

    @pytest.mark.skipif(llguidance() is None, reason="llguidance is not installed")
    @pytest.mark.parametrize(("tokens", "taken"), [(5, True), (6, False)])
    def test_budget_counts_tokens_of_a_reasoning_message(self, tokens, taken):
        import llguidance as engine

        special = ["<|channel|>", "<|message|>", "<|end|>", "<|start|>", "<|call|>", "<|return|>"]
        special += ["<|constrain|>"]
        texts = {256 + at: text.encode() for at, text in enumerate(special)}

        class Tokens:
            eos_token_id, bos_token_id, special_token_ids = 261, None, tuple(texts)
            tokens = (*(bytes([i]) for i in range(256)), *(b"\xff" + t for t in texts.values()))

            def __call__(self, text):
                return list(text if isinstance(text, bytes) else text.encode())

        vocabulary = Vocabulary({**{i: bytes([i]) for i in range(256)}, **texts}, special=[*texts])
        grammar = gbnf(
            "harmony",
            [TOOL],
            tool_choice="required",
            vocabulary=vocabulary,
            reasoning_budget=5,
        )
        assert [tuple(one) for one in grammar.not_expressed] == [("reasoning", "max_tokens")]
        assert grammar.not_expressed_in_lark == ()
        tokenizer = engine.LLTokenizer(engine.TokenizerWrapper(Tokens()))
        source = engine.LLMatcher.grammar_from_lark(grammar.as_lark())
        matcher = engine.LLMatcher(tokenizer, source, log_level=0)
        ids = [256, *b"analysis", 257, *b"a" * tokens, 258, 259, *b"assistant", 256, *b"commentary"]
        assert (matcher.try_consume_tokens(ids) == len(ids)) is taken

    def test_uncounted_budget_is_reported(self):
        options = {"tool_choice": "required", "prompt": OPENED, "reasoning_budget": 5}
        for vocabulary in (None, VOCABULARY):
            grammar = gbnf(THINKING, [TOOL], vocabulary=vocabulary, **options)
            said = [("reasoning", "max_tokens")]
            assert [tuple(one) for one in grammar.not_expressed] == said
            counted = vocabulary is not None
            assert [tuple(one) for one in grammar.not_expressed_in_lark] == [] if counted else said
            assert (
                grammar.text
                == gbnf(
                    THINKING, [TOOL], tool_choice="required", prompt=OPENED, vocabulary=vocabulary
                ).text
            )

    def test_budget_without_reasoning_is_not_reported(self):
        options = {"tool_choice": "required", "reasoning_budget": 5}
        assert gbnf("mistral", [TOOL], **options).not_expressed == ()
        grammar = gbnf(THINKING, [TOOL], reasoning="exclude", **options)
        assert grammar.not_expressed == ()

    @pytest.mark.parametrize("budget", [0, -1, 1.5, True, "5"])
    def test_a_budget_is_a_number_of_tokens(self, budget):
        with pytest.raises(UsageError, match="reasoning_budget must be a positive number"):
            gbnf(THINKING, [TOOL], reasoning_budget=budget)


class TestReasoning:
    PAIRS = THINKING.replace(reasoning={"alternatives": ("<plan>", "</plan>")})

    @pytest.mark.skipif(llguidance() is None, reason="llguidance is not installed")
    def test_any_of_several_pairs_may_open_it(self):
        grammar = gbnf(self.PAIRS, [TOOL], tool_choice="required")
        takes = Lark(grammar.rules).accepts
        for text in ("", "<think>\nhm\n</think>\n\n", "<plan>hm</plan>"):
            assert takes(text + call({"zeta": 1}))
        assert not takes("<plan>hm</think>\n\n" + call({"zeta": 1}))

    @pytest.mark.skipif(llguidance() is None, reason="llguidance is not installed")
    def test_only_the_pair_opened_by_the_prompt_is_accepted(self):
        prompt = "<|im_start|>assistant\n<plan>"
        takes = Lark(gbnf(self.PAIRS, [TOOL], tool_choice="required", prompt=prompt).rules).accepts
        assert takes("hm</plan>" + call({"zeta": 1}))
        assert not takes("hm\n</think>\n\n" + call({"zeta": 1}))
