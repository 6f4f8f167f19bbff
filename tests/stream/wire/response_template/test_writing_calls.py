"""The field of calls in a response template that is written."""

from __future__ import annotations

import pytest
import regex

from deltaparse import get_format, to_response_template

HERMES, CODER = get_format("hermes"), get_format("qwen3_coder")
FUNCTION = {"name": "{content.name}", "arguments": "{content.arguments}"}
NAMED = {"name": "{name}", "arguments": "{content}"}


def calls(fmt):
    return to_response_template(fmt)["fields"]["tool_calls"]


@pytest.mark.parametrize(
    ("fmt", "transform", "many"),
    [
        (HERMES, {"function": FUNCTION}, "repeats"),
        (
            HERMES.replace(tools={"id_field": "nr"}),
            {"function": FUNCTION, "id": "{content.nr}"},
            "repeats",
        ),
        (
            HERMES.replace(tools={"generated_id_field": "at"}),
            {"function": FUNCTION, "id": "{content.at}"},
            "repeats",
        ),
        (CODER, {"function": NAMED}, "repeats"),
        (
            HERMES.replace(
                tools={"section_start": "<c>", "array_wrapped": True, "per_call_start": ""}
            ),
            {"function": {"name": "{name}", "arguments": "{arguments}"}},
            "transform_each",
        ),
        (
            HERMES.replace(tools={"function_field": "function"}),
            {
                "function": {
                    "name": "{content.function.name}",
                    "arguments": "{content.function.arguments}",
                }
            },
            "repeats",
        ),
        (get_format("mistral_small"), {"function": NAMED, "id": "{id}"}, "repeats"),
        (get_format("gpt_oss"), {"function": NAMED}, "repeats"),
    ],
)
def test_what_becomes_of_a_call(fmt, transform, many):
    field = calls(fmt)
    assert field["transform"] == {"type": "function", **transform}
    assert field[many] is True
    assert len({"repeats", "transform_each"} & field.keys()) == 1


@pytest.mark.parametrize(
    ("groups", "text", "key", "value"),
    [
        ({}, "<parameter=a>\n1\n</parameter>", "a", "1"),
        ({"key_suffix": ">", "value_suffix": "\n</"}, "<parameter=a>\n1\n</a>", "a", "1"),
        ({"key_suffix": ">\n", "value_suffix": "</arg "}, "<parameter=a>\n1</arg a>", "a", "1"),
        ({"type_suffix": "!>"}, "<parameter=a>int!>1\n</parameter>", "a", "1"),
        ({"literal_name_suffix": "=lit>"}, "<parameter=a=lit>1\n</parameter>", "a", "1"),
        ({"value_prefix": "<v>"}, "<parameter=a>\n<v>1\n</parameter>", "a", "1"),
        ({"escape_start": "[[", "escape_end": "]]"}, "<parameter=a>[[1]]</parameter>", "a", "1"),
    ],
)
def test_the_pattern_of_an_argument(groups, text, key, value):
    pattern = calls(CODER.replace(arguments=groups))["content_args"]["tag_pattern"]
    found = regex.fullmatch(pattern, text, regex.DOTALL)
    assert (found["key"], found["value"].strip()) == (key, value)
    assert regex.match(pattern, text[:-1], regex.DOTALL) is None
