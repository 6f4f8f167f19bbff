"""Tool parsers made of wire formats: examples as models write them, and every named format."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from deltaparse import (
    Policies,
    ToolCallDelta,
    UsageError,
    create_tool_parser,
    get_format,
    parse,
)
from deltaparse.tool_parsers import WireToolParser

from ..strategies.wire_named import WIRES, soups
from ..support import as_joined, joined

XML = '<tool_call>{"name": "get_weather", "arguments": {"city": "NYC"}}</tool_call>'
QWEN = (
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "NYC"}}\n</tool_call>\n'
    '<tool_call>\n{"name": "calculate", "arguments": {"operation": "add", "a": 5, "b": 3}}\n'
    "</tool_call>"
)
CODER = (
    "<tool_call>\n<function=execute_bash>\n<parameter=command>\npwd && ls\n</parameter>\n"
    "<parameter=flag>\n-la\n</parameter>\n</function>\n</tool_call>"
)
DEEPSEEK = (
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
    '{"location": "Tokyo"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>calculate<｜tool▁sep｜>'
    '{"operation": "add"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
)
HARMONY = (
    "<|channel|>commentary to=functions.get_weather<|constrain|>json<|message|>"
    '{"location": "Tokyo"}<|call|>'
)
TOOLS_HARMONY = (
    "<|channel|>commentary to=tools.calculate<|constrain|>json<|message|>"
    '{"operation": "add", "a": 5, "b": 3}<|call|>'
)
NYC = ("get_weather", {"city": "NYC"})
TOKYO = ("get_weather", {"location": "Tokyo"})
ADD = ("calculate", {"operation": "add", "a": 5, "b": 3})
EXAMPLES = [
    ("simple_xml", XML, [NYC]),
    ("xml", XML, [NYC]),
    ("qwen25", QWEN, [NYC, ADD]),
    ("qwen", QWEN, [NYC, ADD]),
    ("qwen3", QWEN, [NYC, ADD]),
    ("qwen3_coder", CODER, [("execute_bash", {"command": "pwd && ls", "flag": "-la"})]),
    ("deepseekv31", DEEPSEEK, [TOKYO, ("calculate", {"operation": "add"})]),
    ("deepseek_v31", DEEPSEEK, [TOKYO, ("calculate", {"operation": "add"})]),
    ("DeepSeek", DEEPSEEK, [TOKYO, ("calculate", {"operation": "add"})]),
    ("gpt_oss", HARMONY, [TOKYO]),
    ("gpt_oss", TOOLS_HARMONY, [ADD]),
]


def made(result):
    """Name and arguments of each call."""
    assert all(call.type == "function" and call.id for call in result.tool_calls or [])
    return [
        (call.function["name"], json.loads(call.function["arguments"]))
        for call in result.tool_calls or []
    ]


@pytest.mark.parametrize(("name", "text", "calls"), EXAMPLES)
@pytest.mark.parametrize(("before", "after"), [("", ""), ("\n", "\n"), ("", " ) ]")])
def test_the_examples(name, text, calls, before, after):
    parser = create_tool_parser(name)
    assert parser.detect_tool_call(before + text + after)
    assert parser.extract_tool_string(before + text + after) == text
    for result in (parser.parse(before + text + after), parser.parse_tool_string(text)):
        assert result.is_valid
        assert made(result) == calls
        assert len({call.id for call in result.tool_calls}) == len(calls)


@pytest.mark.parametrize(("name", "text", "calls"), EXAMPLES)
def test_they_stream_too(name, text, calls):
    deltas = list(create_tool_parser(name).stream(text))
    _, _, streamed = joined(deltas)
    assert [(name, json.loads(arguments)) for _, name, arguments in streamed] == calls
    assert len([delta for delta in deltas if isinstance(delta, ToolCallDelta)]) > len(calls)


@pytest.mark.parametrize(
    ("name", "count"),
    [(name, count) for name in WIRES for count in ("one", "two") if getattr(WIRES[name], count)],
)
def test_extracted_part_contains_only_the_calls(name, count):
    parser, wire = create_tool_parser(name), getattr(WIRES[name], count)
    cut = parser.extract_tool_string(wire)
    expected = [("f", {"city": "NYC"}), ("g", {"n": 2})][: 1 if count == "one" else 2]

    assert cut in wire
    assert "hm" not in cut
    assert made(parser.parse(wire)) == made(parser.parse_tool_string(cut)) == expected
    assert parser.parse(wire).is_valid


@given(case=soups())
def test_the_calls_are_those_of_the_engine(case):
    fmt, text = case
    parser = WireToolParser(fmt)
    message = parse(text, fmt)
    cut = parser.extract_tool_string(text)
    assert joined(parser.stream([text]))[:2] == as_joined(message)[:2] or fmt.channels.message
    assert (cut is not None) == parser.detect_tool_call(text)
    assert cut is None or cut in text
    if not fmt.channels.message:
        assert parser.detect_tool_call(text) == bool(message.tool_calls)
    result = parser.parse(text)
    assert not result.is_valid or result.tool_calls
    for _, arguments in made(result):
        assert isinstance(arguments, dict)


@pytest.mark.parametrize(
    "text",
    ["", "Hello", "I would write <tool_call> here.", f"<think>{XML}</think>No.", "<tool_call>"],
)
def test_a_text_without_calls(text):
    parser = create_tool_parser("simple_xml")
    result = parser.parse(text)
    assert not parser.detect_tool_call(text)
    assert parser.extract_tool_string(text) is None
    assert (result.tool_calls, result.is_valid) == (None, False)


def test_incomplete_call_makes_the_result_invalid():
    cut = create_tool_parser("simple_xml").parse(XML + '<tool_call>{"name": "g", "arguments": {"a')
    assert not cut.is_valid
    assert made(cut) == [NYC]
    broken = create_tool_parser("simple_xml").parse(
        '<tool_call>{"name": "g", "arguments": nope}</tool_call>'
    )
    assert (broken.tool_calls, broken.is_valid) == (None, False)


def test_values_are_json_else_python_else_text():
    text = CODER.replace("pwd && ls", "{'a': [True, None]}").replace("-la", "12")
    assert made(create_tool_parser("qwen3_coder").parse(text)) == [
        ("execute_bash", {"command": {"a": [True, None]}, "flag": 12})
    ]
    tools = [
        {
            "name": "execute_bash",
            "parameters": {"properties": {"command": {"type": "string"}}},
        }
    ]
    assert made(create_tool_parser("qwen3_coder", tools=tools).parse(text)) == [
        ("execute_bash", {"command": "{'a': [True, None]}", "flag": 12})
    ]


def test_ids_are_the_models_or_new_or_made_from_the_prompt():
    mistral = create_tool_parser("mistral").parse(WIRES["mistral"].two)
    assert [call.id for call in mistral.tool_calls] == ["k3Qz81abf", "k3Qz81abg"]
    parser = create_tool_parser("simple_xml")
    assert parser.parse(XML).tool_calls[0].id != parser.parse(XML).tool_calls[0].id
    parser = create_tool_parser("simple_xml", prompt="Hi")
    assert parser.parse(XML).tool_calls == parser.parse(XML).tool_calls


def test_a_prompt_that_opens_reasoning():
    parser = create_tool_parser("deepseekv31", prompt="<｜Assistant｜><think>")
    assert made(parser.parse(f"hm {DEEPSEEK} no</think>{DEEPSEEK}"))[0] == TOKYO
    assert parser.parse(f"hm {DEEPSEEK} no</think>Hi").tool_calls is None


def test_an_item_is_openai_like():
    (call,) = create_tool_parser("simple_xml").parse(XML).tool_calls
    function = {"name": "get_weather", "arguments": '{"city": "NYC"}'}
    assert call.to_openai() == {"id": call.id, "type": "function", "function": function}


def test_namespaces_are_the_tools_where_these_are_known():
    tools = [{"name": "tools.calculate"}, {"name": "calculate"}]
    parser = create_tool_parser("gpt_oss", tools=tools)
    assert made(parser.parse(TOOLS_HARMONY)) == [("tools.calculate", ADD[1])]
    named = [delta.name for delta in create_tool_parser("gpt_oss").stream([TOOLS_HARMONY])]
    assert named[0] == "calculate"
    odd = HARMONY.replace("get_weather", "")
    assert [name for _, name, _ in joined(create_tool_parser("gpt_oss").stream([odd]))[2]] == [
        "functions."
    ]


def test_a_subclass_has_a_format_of_its_own():
    class Mine(WireToolParser):
        format = get_format("hermes").replace(
            tools={"per_call_start": "<use>", "per_call_end": "</use>"}
        )

    class ByName(WireToolParser):
        format = "simple_xml"

    assert made(Mine().parse(XML.replace("tool_call", "use"))) == [NYC]
    assert made(ByName().parse(XML)) == [NYC]


def test_an_overridden_step_is_used():
    class LastOnly(WireToolParser):
        format = "qwen25"

        def extract_tool_string(self, text):
            found = super().extract_tool_string(text)
            return found and found[found.rindex("<tool_call>") :]

    assert made(LastOnly().parse(QWEN)) == [ADD]


def test_policies_hold():
    policies = Policies(malformed_arguments="strict")
    text = XML.replace('"NYC"', "'NYC'")
    assert create_tool_parser("xml").parse(text).is_valid
    assert not create_tool_parser("xml", policies=policies).parse(text).is_valid


def test_invalid_arguments_are_rejected():
    with pytest.raises(UsageError, match="must be a WireFormat or the name"):
        WireToolParser()
    with pytest.raises(UsageError, match="the response must be a str, not bytes"):
        create_tool_parser("xml").parse(b"")
    with pytest.raises(UsageError, match="a tool must have"):
        create_tool_parser("xml", tools=[{}])
