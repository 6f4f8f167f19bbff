"""Tests of names in any letters: they are written and parsed back, or refused at once."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deltaparse import UsageError, gbnf, get_format, list_formats

from ..machines import Sampler, accepts, read_gbnf
from ..reading_back import check_back

FORMATS = [name for name in list_formats() if get_format(name).derived.has_calls]
LETTERS = st.one_of(
    st.sampled_from(list("aZ_09-.")),
    st.sampled_from(list("é中π😀\u0301\u200d")),
    st.sampled_from(list("\"'\\ <>/|[]{}():=,&`\n\t\x00\x7f\u2028")),
)
TEXTS = st.one_of(
    st.text(LETTERS, min_size=1, max_size=6),
    st.sampled_from(
        ["a" * 300, "é" * 65, "weather é", 'say "hi"', "a\\b", "\\u0041", "a.b-c", "中文"]
    ),
)


def tool(name, *keys):
    properties = {key: {"type": "integer"} for key in keys}
    parameters = {"type": "object", "properties": properties, "required": list(keys)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def check(fmt, tools, seed):
    """Check that all texts parse back under the same names, or that the names are refused."""
    try:
        grammar = gbnf(fmt, tools, tool_choice="required")
    except UsageError as error:
        assert "name" in str(error)  # noqa: PT017  most names are right
        return
    text = Sampler(grammar.rules).text(random.Random(seed))
    assert accepts(grammar.rules, text)
    assert accepts(read_gbnf(grammar.text), text)
    message = check_back(fmt, tools, text)
    function = tools[0]["function"]
    for call in message.tool_calls:
        assert call.name == function["name"]
        assert list(json.loads(call.arguments)) == list(function["parameters"]["properties"])


@settings(max_examples=300)
@given(st.sampled_from(FORMATS), TEXTS, st.integers())
@example("qwen3_coder", "a" * 300, 0)
@example("gpt_oss", "\u2028", 0)
@example("pythonic", "\u4e2d\u0301", 0)
@example("mistral_small", "[", 0)
@example("mistral_small", "{a", 0)
def test_names_of_tools(name, written, seed):
    check(get_format(name), [tool(written, "a")], seed)


@settings(max_examples=300)
@example("minimax_m3", ["a" * 300], 0)
@example("minimax_m3", ["a" * 255], 0)
@given(
    st.sampled_from(FORMATS), st.lists(TEXTS, min_size=1, max_size=3, unique=True), st.integers()
)
def test_names_of_arguments(name, keys, seed):
    check(get_format(name), [tool("look_up", *keys)], seed)


@pytest.mark.parametrize("name", FORMATS)
def test_half_of_a_pair_is_no_name(name):
    for tools in ([tool("look_up", "\ud83d")], [tool("\ud83d", "a")]):
        with pytest.raises(UsageError):
            gbnf(get_format(name), tools, tool_choice="required")
