"""Tests of the exact wire formats of response templates."""

from __future__ import annotations

import copy

import pytest

from deltaparse import FormatError, WireFormat, from_response_template

from ....strategies.response_templates import (
    CODER,
    COHERE,
    DEEPSEEK,
    GEMMA,
    MISTRAL,
    NESTED,
    QWEN,
    SMALL,
)

THINK = {"mode": "TAG_BASED", "start": "<think>\n", "end": "\n</think>\n\n"}
SHOWN = {"supports_tools": True, "supports_parallel_calls": True}
JSON = SHOWN | {"format": "JSON_NATIVE", "name_field": "name", "arguments_field": "arguments"}
EACH = {"per_call_start": "<tool_call>\n", "per_call_end": "\n</tool_call>", "separator": "\n"}
FORMATS = {
    "qwen": (
        QWEN,
        {
            "turn": {
                "headers": ("<|im_start|>assistant\n",),
                "ends": ("<|im_end|>", "<|endoftext|>"),
            },
            "reasoning": THINK,
            "tools": JSON | EACH | {"field_order": ("name", "arguments")},
        },
    ),
    "coder": (
        CODER,
        {
            "turn": {"headers": ("<|im_start|>assistant\n",), "ends": ("<|im_end|>",)},
            "reasoning": THINK,
            "tools": SHOWN | EACH | {"format": "TAG_WITH_TAGGED", "per_call_end": "</tool_call>"},
            "function": {
                "name_prefix": "<function=",
                "name_suffix": ">\n",
                "close": "</function>\n",
            },
            "arguments": {
                "name_prefix": "<parameter=",
                "name_suffix": ">\n",
                "value_suffix": "\n</parameter>\n",
            },
        },
    ),
    "deepseek": (
        DEEPSEEK,
        {
            "turn": {"headers": ("<｜Assistant｜>",), "ends": ("<｜end▁of▁sentence｜>",)},
            "reasoning": THINK,
            "tools": SHOWN
            | {
                "format": "TAG_WITH_JSON",
                "section_start": "<｜tool▁calls▁begin｜>",
                "section_end": "<｜tool▁calls▁end｜>",
                "per_call_start": "<｜tool▁call▁begin｜>",
                "per_call_end": "<｜tool▁call▁end｜>",
            },
            "function": {"name_suffix": "<｜tool▁sep｜>"},
        },
    ),
    "mistral": (
        MISTRAL,
        {
            "turn": {"headers": ("[/INST]", "[/TOOL_RESULTS]"), "ends": ("</s>",)},
            "tools": JSON
            | {
                "section_start": "[TOOL_CALLS]",
                "separator": ", ",
                "array_wrapped": True,
                "id_field": "id",
                "field_order": ("name", "arguments", "id"),
            },
        },
    ),
    "small": (
        SMALL,
        {
            "turn": {"headers": ("[/INST]",), "ends": ("</s>",)},
            "tools": SHOWN | {"format": "TAG_WITH_JSON", "per_call_start": "[TOOL_CALLS]"},
            "call_id": {
                "position": "BETWEEN_FUNC_AND_ARGS",
                "prefix": "[CALL_ID]",
                "suffix": "[ARGS]",
            },
        },
    ),
    "cohere": (
        COHERE,
        {
            "turn": {"headers": ("<|CHATBOT_TOKEN|>",)},
            "reasoning": {
                "mode": "TAG_BASED",
                "start": "<|START_THINKING|>\n",
                "end": "\n<|END_THINKING|>\n\n",
            },
            "content": {
                "mode": "ALWAYS_WRAPPED",
                "start": "<|START_RESPONSE|>",
                "end": "<|END_RESPONSE|>",
            },
            "tools": SHOWN
            | {
                "format": "JSON_NATIVE",
                "name_field": "tool_name",
                "arguments_field": "parameters",
                "field_order": ("tool_name", "parameters"),
                "section_start": "<|START_ACTION|>",
                "section_end": "<|END_ACTION|>",
                "separator": ", ",
                "array_wrapped": True,
            },
        },
    ),
    "gemma": (
        GEMMA,
        {
            "turn": {
                "headers": ("<|turn>model\n", "<tool_response|>"),
                "ends": ("<turn|>", "<|tool_response>"),
            },
            "reasoning": {
                "mode": "TAG_BASED",
                "start": "<|channel>thought\n",
                "end": "\n<channel|>\n\n",
            },
            "tools": SHOWN
            | {
                "format": "TAG_WITH_JSON",
                "per_call_start": "<|tool_call>call:",
                "per_call_end": "<tool_call|>",
            },
            "arguments": {"quote": '<|"|>'},
        },
    ),
    "nested": (
        NESTED,
        {
            "turn": {"headers": ("<bot>",)},
            "tools": SHOWN
            | {
                "format": "JSON_NATIVE",
                "function_field": "fn",
                "name_field": "tool",
                "arguments_field": "input",
                "field_order": ("tool", "input"),
                "per_call_start": "<call>\n",
                "per_call_end": "\n</call>",
                "separator": "\n",
            },
        },
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_template_becomes_the_expected_format(name):
    template, groups = FORMATS[name]
    assert from_response_template(template) == WireFormat().replace(**groups)


@pytest.mark.parametrize("name", ["reasoning_content", "thinking", "reasoning"])
def test_reasoning_field_has_one_of_three_names(name):
    template = {"start_anchor": "<a>", "fields": {name: {"open": "<t>", "close": "</t>"}}}
    reasoning = from_response_template(template).reasoning
    assert (reasoning.start, reasoning.end) == ("<t>\n", "\n</t>\n\n")
    template["fields"][name]["optional"] = True
    assert from_response_template(template).reasoning == reasoning


def test_first_close_ends_content_and_the_others_the_turn():
    field = {"open": "<r>", "close": ["</r>", "<end>", "<stop>"]}
    fmt = from_response_template({"start_anchor": "<a>", "fields": {"content": field}})
    assert (fmt.content.start, fmt.content.end) == ("<r>", "</r>")
    assert fmt.turn.ends == ("<end>", "<stop>")


def test_template_without_fields_raises():
    with pytest.raises(FormatError, match="must be a mapping with fields"):
        from_response_template({"response_template": None})
    with pytest.raises(FormatError, match="must be a mapping with fields"):
        from_response_template({})
    both = copy.deepcopy(QWEN) | {"response_template": CODER}
    with pytest.raises(FormatError, match="unknown key 'response_template'"):
        from_response_template(both)


@pytest.mark.parametrize(
    ("start", "end"), [(["<t>", "<u>"], "</t>"), ("<t>", ["</t>", "</u>"]), ("<t>", [])]
)
def test_reasoning_with_several_markers_raises(start, end):
    template = {"start_anchor": "<a>", "fields": {"thinking": {"open": start, "close": end}}}
    with pytest.raises(
        FormatError, match="'thinking': reasoning needs one opening and one closing marker"
    ):
        from_response_template(template)


@pytest.mark.parametrize("key", ["transform", "transform_each", "repeats", "join"])
def test_transformed_content_raises(key):
    template = {"start_anchor": "<a>", "fields": {"content": {key: "{content}"}}}
    with pytest.raises(FormatError, match=f"'content': {key} cannot be expressed"):
        from_response_template(template)
