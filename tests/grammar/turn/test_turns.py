"""Tests of turn grammars case by case: triggers, text before calls, and refusals."""

from __future__ import annotations

import json
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse import UsageError, WireFormat, gbnf, structural_tag
from deltaparse.grammar.turn.wire_grammar import ANY_LARK

from ...strategies import wire_channels, wire_pythonic
from ...strategies.typed_calls import PYTHON_KEYS, key_sets, tools_of
from ...support import needs
from ..machines import Lark, Sampler, Tag, accepts
from ..reading_back import check_back, read

HERMES = WireFormat().replace(
    turn={"headers": ("<a>",), "ends": ("</a>",), "generation_prompt": "<a>"},
    tools={
        "format": "JSON_NATIVE",
        "per_call_start": "<tool_call>\n",
        "per_call_end": "\n</tool_call>",
        "separator": "\n",
        "name_field": "name",
        "arguments_field": "arguments",
        "field_order": ("name", "arguments"),
    },
)
THINKING = HERMES.replace(
    reasoning={"mode": "TAG_BASED", "start": "<think>\n", "end": "\n</think>\n"}
)
UNMARKED = HERMES.replace(tools={"per_call_start": "", "per_call_end": ""})
TAGGED = HERMES.replace(
    tools={"format": "TAG_WITH_TAGGED"},
    function={"name_prefix": "<function=", "name_suffix": ">\n", "close": "</function>"},
    arguments={"name_prefix": "<p=", "name_suffix": ">", "value_suffix": "</p>\n"},
)
FUNCTIONS = HERMES.replace(
    tools={"format": "TAG_WITH_JSON", "per_call_start": "", "per_call_end": "", "separator": ""},
    function={"name_prefix": "<function=", "name_suffix": ">", "close": "</function>"},
)
RECIPIENT = FUNCTIONS.replace(
    turn={"generation_prompt": "<a>>>>"},
    content={"mode": "ALWAYS_WRAPPED", "start": ">>>all\n"},
    function={"name_prefix": ">>>", "name_suffix": "\n", "close": ""},
)
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [
    {"type": "function", "function": {"name": "weather", "parameters": CITY}},
    {"type": "function", "function": {"name": "now"}},
]
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
NOW = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'


def begins(grammar, text):
    """Return the position at which llama.cpp would start a lazy grammar, or -1."""
    found = []
    for trigger in grammar.triggers:
        pattern = trigger.value if trigger.kind == "pattern" else f"({re.escape(trigger.value)})"
        match = re.search(pattern, text)
        found += [match.start(1)] if match else []
    return min(found, default=-1)


def parameter(schema, fmt=TAGGED, **options):
    tools = [{"name": "f", "parameters": {"properties": {"x": schema}, "required": ["x"]}}]
    return gbnf(fmt, tools, tool_choice="required", **options)


def one(values):
    """Return a tagged call with this value of its argument `x`."""
    return "<tool_call>\n<function=f>\n<p=x>" + values + "</p>\n</function>\n</tool_call>"


class TestEager:
    def test_required_accepts_only_calls(self):
        grammar = gbnf(HERMES, TOOLS, tool_choice="required")
        assert not grammar.lazy
        assert grammar.triggers == ()
        texts = [CALL, CALL + "\n" + NOW, "", "Let me see. " + CALL, CALL + NOW, CALL + "\n"]
        assert [accepts(grammar.rules, text) for text in texts] == [True, True, *[False] * 4]

    def test_one_call_and_no_more(self):
        grammar = gbnf(HERMES, TOOLS, tool_choice="required", parallel_tool_calls=False)
        assert [accepts(grammar.rules, text) for text in (CALL, CALL + "\n" + NOW)] == [True, False]

    def test_named_tool_choice_accepts_only_that_tool(self):
        choice = {"type": "function", "function": {"name": "now"}}
        grammar = gbnf(HERMES, TOOLS, tool_choice=choice)
        assert not grammar.lazy
        assert [accepts(grammar.rules, text) for text in (NOW, CALL)] == [True, False]

    def test_reasoning_may_come_first(self):
        grammar = gbnf(THINKING, TOOLS, tool_choice="required")
        texts = [CALL, "<think>\nhm\n</think>\n" + CALL, "<think>\nhm", "hm\n</think>\n" + CALL]
        assert [accepts(grammar.rules, text) for text in texts] == [True, True, False, False]
        draft = "<think>\n<tool_call></think>\n" + CALL
        assert not accepts(grammar.rules, draft)

    def test_prompt_determines_the_state_of_reasoning(self):
        texts = ["hm\n</think>\n" + CALL, CALL]
        for prompt, expected in (
            ("<a><think>\n", [True, False]),
            ("<a><think></think>", [False, True]),
        ):
            grammar = gbnf(THINKING, TOOLS, tool_choice="required", prompt=prompt)
            assert [accepts(grammar.rules, text) for text in texts] == expected
        grammar = gbnf(
            THINKING, TOOLS, tool_choice="required", prompt="<a><think>\n", reasoning="exclude"
        )
        assert [accepts(grammar.rules, text) for text in texts] == [False, True]

    def test_the_gap_before_calls_may_be_there(self):
        grammar = gbnf(
            HERMES.replace(tools={"content_separator": "\n"}), TOOLS, tool_choice="required"
        )
        assert [accepts(grammar.rules, gap + NOW) for gap in ("", "\n", "\n\n")] == [
            True,
            True,
            False,
        ]

    def test_call_prefix_in_the_prompt_is_not_repeated(self):
        grammar = gbnf(RECIPIENT, TOOLS, tool_choice="required")
        text = 'now\n{}>>>weather\n{"city": "Oslo"}'
        assert [accepts(grammar.rules, one) for one in (text, ">>>" + text)] == [True, False]
        message = check_back(RECIPIENT, TOOLS, text)
        assert [call.name for call in message.tool_calls] == ["now", "weather"]

    def test_an_answer_in_a_schema(self):
        grammar = gbnf(HERMES, TOOLS, response_schema=CITY)
        assert not grammar.lazy
        texts = ['{"city": "Oslo"}', CALL, '{"city": 5}', "Oslo"]
        assert [accepts(grammar.rules, text) for text in texts] == [True, True, False, False]
        grammar = gbnf(HERMES, TOOLS, response_schema=CITY, tool_choice="none")
        assert [accepts(grammar.rules, text) for text in texts] == [True, False, False, False]
        grammar = gbnf(HERMES, TOOLS, response_schema=CITY, tool_choice="required")
        assert [accepts(grammar.rules, text) for text in texts] == [False, True, False, False]

    def test_an_answer_in_markers(self):
        fmt = THINKING.replace(
            content={"mode": "ALWAYS_WRAPPED", "start": "<say>", "end": "</say>"}
        )
        grammar = gbnf(fmt, None, response_schema={"type": "integer"})
        text = "<think>\nhm\n</think>\n<say>5</say>"
        assert accepts(grammar.rules, text)
        message, issues = read(fmt, None, text, whole=True, response_schema={"type": "integer"})
        assert (message.content, issues) == ("5", [])

    def test_json_is_content_in_formats_with_unmarked_calls(self):
        call = '{"name": "now", "arguments": {}}'
        grammar = gbnf(UNMARKED, TOOLS, response_schema=CITY)
        texts = ['{"city": "Oslo"}', call]
        assert [accepts(grammar.rules, text) for text in texts] == [True, False]


class TestLazy:
    def test_unconstrained_requests_have_an_empty_grammar(self):
        for tools, choice in ((TOOLS, "none"), ([], "auto"), (None, "auto")):
            grammar = gbnf(HERMES, tools, tool_choice=choice)
            assert (grammar.text, grammar.lazy, grammar.triggers) == ("", False, ())
            assert grammar.as_lark() == ANY_LARK
        assert gbnf(WireFormat(), TOOLS).text == ""

    def test_a_full_marker(self):
        grammar = gbnf(HERMES, TOOLS)
        assert grammar.triggers == (("word", "<tool_call>"),)
        assert "<tool_call>" in grammar.preserved_tokens
        assert grammar.lazy
        assert accepts(grammar.rules, CALL)

    @pytest.mark.parametrize(
        "text",
        ["a functional style", "<function", "the function f", "<func tion=", "<functional>"],
    )
    def test_not_a_word_of_prose(self, text):
        assert begins(gbnf(FUNCTIONS, TOOLS), text) == -1

    def test_word_marker_trigger_includes_the_next_text(self):
        fmt = HERMES.replace(
            tools={
                "section_start": "functools",
                "per_call_start": "",
                "per_call_end": "",
                "array_wrapped": True,
            }
        )
        grammar = gbnf(fmt, TOOLS)
        assert begins(grammar, "import functools; functools.partial") == -1
        text = 'functools[{"name": "now", "arguments": {}}]'
        assert begins(grammar, " " + text) == 1
        assert accepts(grammar.rules, text)

    def test_never_inside_reasoning(self):
        grammar = gbnf(THINKING, TOOLS)
        assert begins(grammar, "<think>\nI may write <tool_call> now") == -1
        assert begins(grammar, "<think>\n<tool_call></think>\n") == -1
        assert begins(grammar, "<think>\n<tool_call></think>\nSo: <tool_call>") == 32
        assert begins(grammar, "So: <tool_call>") == 4
        opened = gbnf(THINKING, TOOLS, prompt="<a><think>")
        assert begins(opened, "I may write <tool_call> now") == -1
        assert begins(opened, "hm</think>\n<tool_call>") == 11
        closed = gbnf(THINKING, TOOLS, prompt="<a><think></think>")
        assert closed.triggers == gbnf(THINKING, TOOLS, reasoning="exclude").triggers
        assert closed.triggers == (("word", "<tool_call>"),)

    def test_in_no_markers_the_name_of_a_tool_at_the_start(self):
        grammar = gbnf(UNMARKED, TOOLS)
        starts = ['{"name": "now"', '\n{ "name": "weather"', '{\n  "name":"now"']
        assert [begins(grammar, text) for text in starts] == [0, 1, 0]
        others = ['{"name": "Bob"', '{"city": "Oslo"}', 'So: {"name": "now"', '{"name', "{}"]
        assert [begins(grammar, text) for text in others] == [-1] * 5
        thinking = gbnf(UNMARKED.replace(reasoning={"mode": "DELIMITER", "end": "[END]"}), TOOLS)
        texts = ['{"name": "now"', 'hm [END]{"name": "now"', 'hm [END] so {"name": "now"']
        assert [begins(thinking, text) for text in texts] == [-1, 8, -1]

    @pytest.mark.parametrize("layout", ["name_is_key", "nested", "array"])
    def test_in_no_markers_any_layout(self, layout):
        changes = {
            "name_is_key": {"name_is_key": True},
            "nested": {"function_field": "function", "id_field": "id"},
            "array": {"array_wrapped": True},
        }
        grammar = gbnf(UNMARKED.replace(tools=changes[layout]), TOOLS)
        for seed in range(10):
            assert begins(grammar, Sampler(grammar.rules).text(random.Random(seed))) == 0
        assert begins(grammar, '{"x": 1}') == -1

    def test_trigger_shared_with_content_includes_the_name(self):
        grammar = gbnf(RECIPIENT, TOOLS)
        texts = ["all\nHi", "all\nHi>>>all\n", "all\nHi>>>now\n", "now\n", "all\nnow\n"]
        assert [begins(grammar, text) for text in texts] == [-1, -1, 6, 0, -1]
        assert accepts(grammar.rules, "now\n{}")
        assert accepts(grammar.rules, ">>>now\n{}")

    def test_white_space_before_the_marker_is_not_the_grammars(self):
        fmt = HERMES.replace(tools={"section_start": "\n\n<calls>", "section_end": "</calls>"})
        grammar = gbnf(fmt, TOOLS)
        assert grammar.triggers == (("word", "<calls>"),)
        assert accepts(grammar.rules, f"<calls>{NOW}</calls>")

    def test_code_after_its_own_marker(self):
        fmt = UNMARKED.replace(code={"start": "<|py|>", "function": "python", "method": ".call"})
        tools = [
            *TOOLS,
            {"name": "python", "parameters": {"properties": {"code": {"type": "string"}}}},
        ]
        grammar = gbnf(fmt, tools)
        text = "<|py|>print(1)\n"
        assert begins(grammar, "Hm. " + text) == 4
        assert accepts(grammar.rules, text)
        assert Lark(grammar.rules).accepts(text)
        check_back(fmt, tools, text)
        grammar = gbnf(fmt, TOOLS)
        texts = ['<|py|>weather.call(city="Oslo")', "<|py|>now.call()", "<|py|>x.call()", text]
        assert [accepts(grammar.rules, text) for text in texts] == [True, True, False, False]
        check_back(fmt, TOOLS, texts[0])


class TestArgumentsInTags:
    @pytest.mark.parametrize(
        ("schema", "right", "wrong"),
        [
            ({"type": "string"}, ["", "a\n<b> </q>", "5", "null", '"'], ["a</p>b", "</function>"]),
            ({"type": "integer", "maximum": 9}, ["5", "-12"], ["", "10", "1.5", "five", '"5"']),
            ({"type": "boolean"}, ["true", "false"], ["True", "yes", ""]),
            ({"enum": ["a", "b c", 5]}, ["a", "b c", "5"], ["c", '"a"', ""]),
            ({"type": "string", "pattern": "^x+$"}, ["x", "xx"], ["", "y"]),
            ({"type": "string", "format": "date"}, ["2024-02-29"], ["2024-13-01", "today"]),
            ({"type": ["string", "null"]}, ["null", "a", ""], ["</p>"]),
            ({"anyOf": [{"const": "a"}, {"type": "null"}]}, ["null", "a"], ["b", ""]),
            ({"type": "array", "items": {"type": "integer"}}, ["[]", "[1, 2]"], ["1, 2", '["a"]']),
            ({}, ["a", "[1]", "5"], ["</p>"]),
        ],
    )
    def test_values(self, schema, right, wrong):
        grammar = parameter(schema)
        assert grammar.not_expressed == ()
        engine = Lark(grammar.rules)
        for value in right + wrong:
            text = one(value)
            assert accepts(grammar.rules, text) == (value in right), value
            assert engine.accepts(text) == (value in right), value

    @pytest.mark.parametrize(
        ("schema", "keyword"),
        [
            ({"type": "string", "minLength": 2_000}, "minLength"),
            ({"type": "string", "pattern": "^(?=<)"}, "pattern"),
            ({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 3}]}, "type"),
            ({"enum": ["5", 5, "a"]}, "enum"),
        ],
    )
    def test_unexpressed_keywords_of_arguments_are_listed(self, schema, keyword):
        assert parameter(schema).not_expressed == (("f#/properties/x", keyword),)

    def test_combined_schema_is_expanded_as_in_the_parser(self):
        tools = [{"name": "f", "parameters": {"allOf": [CITY]}}]
        grammar = gbnf(TAGGED, tools, tool_choice="required")
        text = "<tool_call>\n<function=f>\n<p=city>5</p>\n</function>\n</tool_call>"
        assert accepts(grammar.rules, text)
        message = check_back(TAGGED, tools, text)
        assert message.tool_calls[0].arguments == '{"city": "5"}'

    def test_argument_without_a_type_is_json(self):
        tools = [{"name": "f", "parameters": {"properties": {"city": {"minLength": 1}}}}]
        grammar = gbnf(TAGGED, tools, tool_choice="required")
        text = "<tool_call>\n<function=f>\n<p=city>{}</p>\n</function>\n</tool_call>"
        assert not accepts(grammar.rules, text.format("x"))
        assert accepts(grammar.rules, text.format('"5"'))
        check_back(TAGGED, tools, text.format('"5"'))

    def test_python_literal_format_accepts_json_too(self):
        fmt = TAGGED.replace(arguments={"python_literals": True})
        grammar = parameter({"type": "object", "properties": {"a": {}}}, fmt)
        values = ["{'a': True}", '{"a": true}', "{'a': [None, 1.5, 'it\\'s']}", "{'a': \"it's\"}"]
        assert all(accepts(grammar.rules, one(value)) for value in values)
        assert not accepts(grammar.rules, one("{'b': 1}"))

    def test_strings_in_quotes(self):
        fmt = TAGGED.replace(arguments={"quoted_strings": True})
        grammar = parameter({"type": "string", "minLength": 1}, fmt)
        texts = ['"a</p>b"', '""', "a"]
        assert [accepts(grammar.rules, one(text)) for text in texts] == [True, False, False]
        assert grammar.not_expressed == ()


@st.composite
def python_cases(draw):
    fmt = draw(wire_pythonic.pythonic_formats())
    return fmt, tools_of("get_weather", "module.f", keys=draw(key_sets(PYTHON_KEYS)))


@settings(max_examples=30)
@given(python_cases(), st.integers())
def test_python_calls_parse_back(case, seed):
    fmt, tools = case
    for choice in ("auto", "required"):
        grammar = gbnf(fmt, tools, tool_choice=choice)
        text = Sampler(grammar.rules).text(random.Random(seed))
        if choice == "auto" and fmt.reasoning.mode == "DELIMITER":
            text = f"x{fmt.reasoning.end}{text}"
        check_back(fmt, tools, text)


@settings(max_examples=30)
@given(wire_channels.channel_formats(), key_sets(), st.integers())
def test_calls_in_channels_parse_back(fmt, keys, seed):
    tools = tools_of("get_weather", "f", keys=keys)
    for choice in ("auto", "required"):
        grammar = gbnf(fmt, tools, tool_choice=choice)
        text = Sampler(grammar.rules).text(random.Random(seed))
        if choice == "auto":
            assert begins(grammar, text) == 0
        check_back(fmt, tools, text)


@pytest.mark.parametrize("channel", ["commentary", "analysis", "an", "analysis_of"])
def test_call_channel_may_share_a_prefix_with_reasoning(channel):
    rules = gbnf("gpt_oss", [{"name": "now"}], tool_choice="auto", lazy=False).rules
    call = f"<|channel|>{channel} to=functions.now<|constrain|>json<|message|>{{}}"
    thought = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
    for text in (call, thought + call):
        assert accepts(rules, text)
        assert Lark(rules).accepts(text)


class TestErrors:
    @pytest.mark.parametrize(
        ("tools", "words"),
        [
            ([{"name": "f", "parameters": {"type": "string"}}], "tool 'f': #/type: "),
            ([{"name": "f", "parameters": 5}], "tool 'f': parameters must be a JSON Schema"),
            (
                [{"name": "f", "parameters": {"properties": {"a": {"type": "text"}}}}],
                "tool 'f': #/properties/a",
            ),
            (
                [{"name": "f", "parameters": {"properties": {"a": {"$ref": "#/$defs/b"}}}}],
                "tool 'f': #",
            ),
            (
                [{"name": "f", "parameters": {"properties": {"a": False}, "required": ["a"]}}],
                "tool 'f': #",
            ),
            ([{"name": "f"}, {"name": "f", "parameters": {}}], "given twice"),
            ([{"nam": "f"}], "tools[0]"),
            ({"name": "f"}, "a list"),
        ],
    )
    @pytest.mark.parametrize("fmt", [HERMES, TAGGED], ids=["json", "tagged"])
    def test_bad_tools(self, fmt, tools, words):
        for make in (gbnf, structural_tag):
            with pytest.raises(UsageError, match=re.escape(words)):
                make(fmt, tools)

    def test_unwritable_names_are_refused(self):
        with pytest.raises(UsageError, match="tool 'a>b'"):
            gbnf(TAGGED, [{"name": "a>b"}])
        with pytest.raises(UsageError, match="tool 'a b': this name cannot be written in Python"):
            gbnf(HERMES.replace(tools={"format": "PYTHONIC"}), [{"name": "a b"}])
        marked = [{"name": "यात्रा", "parameters": {"properties": {"नाम": {}}}}]
        assert "नाम=" in gbnf(HERMES.replace(tools={"format": "PYTHONIC"}), marked).text
        bad = [{"name": "f", "parameters": {"properties": {"a>b": {}}}}]
        with pytest.raises(UsageError, match="tool 'f': #/properties/a>b"):
            gbnf(TAGGED, bad)

    @pytest.mark.parametrize(
        ("fmt", "options"),
        [
            (HERMES, {"tool_choice": "maybe"}),
            (HERMES, {"tool_choice": {"function": {"name": "x"}}}),
            (WireFormat(), {"tool_choice": "required"}),
            (HERMES, {"spacing": "wide"}),
            (HERMES, {"response_schema": {"type": 5}}),
        ],
    )
    def test_bad_options(self, fmt, options):
        with pytest.raises(UsageError):
            gbnf(fmt, TOOLS, **options)

    def test_required_without_tools(self):
        with pytest.raises(UsageError, match="needs at least one tool"):
            gbnf(HERMES, [], tool_choice="required")


class TestSpellings:
    """Tests of arguments that are neither JSON nor raw text."""

    TOOLS = (
        {
            "name": "f",
            "parameters": {
                "properties": {
                    "s": {"type": "string"},
                    "b": {"type": ["boolean", "string"]},
                    "e": {"enum": ["a", 1]},
                    "o": {"properties": {"k": {"type": "string"}, "n": {"type": "null"}}},
                },
                "required": ["s"],
            },
        },
    )

    def comes_back(self, fmt, *texts):
        grammar = gbnf(fmt, self.TOOLS, tool_choice="required")
        assert grammar.not_expressed == ()
        engine = Lark(grammar.rules)
        for text in texts:
            assert accepts(grammar.rules, text), text
            assert engine.accepts(text), text
            check_back(fmt, self.TOOLS, text)
        for seed in range(20):
            check_back(fmt, self.TOOLS, Sampler(grammar.rules).text(random.Random(seed)))
        return grammar

    def test_literal_marker_distinguishes_non_strings(self):
        fmt = TAGGED.replace(
            arguments={"name_suffix": " string>", "literal_name_suffix": " literal>"}
        )
        head = "<tool_call>\n<function=f>\n<p=s string>5</p>\n"
        grammar = self.comes_back(
            fmt, f"{head}<p=b literal>true</p>\n<p=e string>a</p>\n</function>\n</tool_call>"
        )
        for wrong in ("<p=b literal>tru</p>\n", "<p=e string>1</p>\n", "<p=e literal>a</p>\n"):
            assert not accepts(grammar.rules, f"{head}{wrong}</function>\n</tool_call>")

    def test_python_in_the_place_of_json(self):
        fmt = HERMES.replace(arguments={"python_literals": True})
        text = "{'name': 'f', 'arguments': {'s': 'it\\'s', 'b': True, 'o': {'n': None}}}"
        self.comes_back(fmt, f"<tool_call>\n{text}\n</tool_call>")

    def test_quotes_of_its_own(self):
        fmt = FUNCTIONS.replace(arguments={"quote": '<|"|>'}, function={"name_suffix": ""})
        text = '<function=f{s:<|"|>a "b" <|c<|"|>,b:true,e:<|"|>a<|"|>,o:{k:<|"|><|"|>}}</function>'
        grammar = self.comes_back(fmt, text)
        assert not accepts(grammar.rules, text.replace("s:", '"s":'))


def test_arguments_as_text():
    fmt = HERMES.replace(tools={"arguments_as_text": True})
    grammar = gbnf(fmt, TOOLS, tool_choice="required")
    text = json.dumps({"name": "weather", "arguments": json.dumps({"city": 'O"s\nlo'})})
    call = f"<tool_call>\n{text}\n</tool_call>"
    assert accepts(grammar.rules, call)
    assert Lark(grammar.rules).accepts(call)
    assert not accepts(grammar.rules, call.replace("city", "town"))


def test_a_line_end_before_a_quote_in_arguments_as_text():
    """Both begin with a backslash in the string."""
    fmt = HERMES.replace(tools={"arguments_as_text": True})
    grammar = gbnf(fmt, TOOLS, tool_choice="required", spacing="flexible")
    for space in ("", " ", "\n", "\n    "):
        arguments = f'{{{space}"city": "Oslo"{space}}}'
        text = json.dumps({"name": "weather", "arguments": arguments})
        call = f"<tool_call>\n{text}\n</tool_call>"
        assert accepts(grammar.rules, call)
        assert Lark(grammar.rules).accepts(call)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("all\nHi", "Hi"),
        ("all\n", ""),
        ("all\n>>>now\n{}", ""),
        ("all\n Hi>>>now\n{}", " Hi"),
        ("all", None),
        ("allow\n>>>now\n{}", None),
        ("all >>>now\n{}", None),
    ],
)
def test_word_shared_with_content_must_end(text, content):
    grammar = gbnf(RECIPIENT, TOOLS, lazy=False)
    assert accepts(grammar.rules, text) is (content is not None)
    if content is not None:
        message, issues = read(RECIPIENT, TOOLS, text)
        assert (message.content, issues) == (content, [])


@needs("xgrammar")
class TestStructuralTag:
    def fits(self, fmt, *texts, **options):
        engine = Tag(structural_tag(fmt, TOOLS, **options))
        return [engine.accepts(text) for text in texts]

    def test_free_text_and_calls(self):
        texts = [CALL, f"Hm. {CALL}", "a functional style", f"{CALL}\n{NOW}"]
        wrong = ["<tool_call> {", "<tool_call>\n{}", f"{CALL} and {NOW}"]
        assert self.fits(HERMES, *texts, *wrong) == [True] * 4 + [False] * 3
        assert self.fits(HERMES, *texts, parallel_tool_calls=False) == [True] * 3 + [False]
        assert self.fits(HERMES, CALL, "Hm. " + CALL, tool_choice="required") == [True, False]
        assert self.fits(HERMES, "<tool_call>", tool_choice="none") == [True]

    def test_reasoning(self):
        texts = ["<think>\nhm\n</think>\n" + CALL, "<think>\n<tool_call>?\n</think>\n", CALL]
        assert self.fits(THINKING, *texts) == [True, False, True]
        texts = ["hm\n</think>\n" + CALL, "hm</think><tool_call>?"]
        assert self.fits(THINKING, *texts, prompt="<a><think>\n") == [True, False]

    def test_no_markers(self):
        texts = ['{"name": "now", "arguments": {}}', "Hello {", " ,", "", '{"name": "x"}']
        assert self.fits(UNMARKED, *texts) == [True] * 4 + [False]

    def test_recipients(self):
        texts = ["all\nHi", "now\n{}", "all\nHi>>>now\n{}", "now\n5", "all\nHi>>>now\n5", "x\n{}"]
        assert self.fits(RECIPIENT, *texts) == [True, True, True, False, False, False]

    def test_python_without_markers(self):
        fmt = UNMARKED.replace(tools={"format": "PYTHONIC"})
        assert self.fits(fmt, "now()", "Hi now", "Hi now(x)") == [True, True, False]
        listed = fmt.replace(tools={"array_wrapped": True})
        assert self.fits(listed, "[now()]", "Hi [now(", "[x()]") == [True, True, False]
