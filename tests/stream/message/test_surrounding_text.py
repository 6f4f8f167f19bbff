"""Tests of text next to calls without markers."""

from __future__ import annotations

import pytest

from deltaparse import (
    Policies,
    StreamParser,
    TokenParser,
    Vocabulary,
    get_format,
    list_formats,
)
from deltaparse.stream.message.surrounding_text import SurroundingText

TOOLS = [{"name": name, "parameters": {"type": "object"}} for name in ("rm", "ls")]


def unproven(name, text, tools=TOOLS, size=1, **options):
    """Return True if the message reports text next to an unmarked call."""
    parser = StreamParser(name, tools=tools, **options)
    for start in range(0, len(text), size):
        parser.feed(text[start : start + size])
    parser.finish("stop")
    return parser.message.unproven


@pytest.mark.parametrize("size", [1, 3, 99])
@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("pythonic", "rm()", False),
        ("pythonic", "\n [rm(), ls()]\n", False),
        ("pythonic", "rm(); ls()", False),
        ("pythonic", "rm()? No.", True),
        ("pythonic", "[rm(), ls()] - no.\nNo.", True),
        ("pythonic", "[rm()]\n\nSo:\n[ls()]", True),
        ("llama3_json", '{"name": "rm", "parameters": {}} would do.', True),
        ("llama3_json", 'So: <|python_tag|>{"name": "rm", "parameters": {}}', False),
        ("functionary_v32", "all\nSo.>>>rm\n{}>>>ls\n{}", False),
        ("functionary_v32", "rm\n{}>>>all\nDone.\n", False),
        ("functionary_v32", "all\nSo. >>>rm\n{}", True),
        ("functionary_v32", "all\nSo.>>> rm\n{}", True),
        ("functionary_v32", "rm\n{} so.", True),
        ("phi4_mini_json", 'functools[{"name": "rm", "arguments": {}}] so', True),
        ("hermes", 'So: <tool_call>{"name": "rm", "arguments": {}}</tool_call> so.', False),
    ],
)
def test_unproven_is_set_if_text_is_next_to_an_unmarked_call(name, text, told, size):
    assert unproven(name, text, size=size) is told


def test_dropped_text_next_to_a_call_sets_unproven():
    assert unproven("pythonic", "rm() so", policies=Policies(text_after_tool_call="drop"))


def test_reasoning_next_to_a_call_does_not_set_unproven():
    fmt = get_format("pythonic").replace(
        reasoning={"mode": "TAG_BASED", "start": "<think>", "end": "</think>"}
    )
    for reasoning in ("separate", "inline", "raw"):
        assert not unproven(fmt, "<think>x</think>rm()", reasoning=reasoning)


def test_text_before_an_open_call_sets_unproven():
    fmt = get_format("llama3_json").replace(tools={"behind_content": True})
    parser = StreamParser(fmt, tools=TOOLS)
    parser.feed('So: {"name": "rm", "parameters": {"a": ')
    assert parser.message.unproven


def test_token_parser_sets_unproven():
    vocabulary = Vocabulary({at: bytes([at]) for at in range(128)})
    for text, told in (("rm()", False), ("rm()? No.", True)):
        parser = TokenParser("pythonic", vocabulary, tools=TOOLS)
        parser.feed([*text.encode()])
        parser.finish("stop")
        assert parser.message.unproven is told


def test_list_of_formats_whose_calls_look_like_text():
    assert [name for name in list_formats() if get_format(name).derived.like_text] == [
        *("firefunction_v2", "functionary_v32", "llama3_json", "llama4_json"),
        *("llama4_pythonic", "phi4_mini_json", "pythonic"),
    ]


def test_section_of_content_ends_with_the_next_call():
    beside = SurroundingText()
    beside.in_section = True
    beside.text("So.")
    beside.call(exact=True)
    beside.text(" \n")
    assert not beside.found
    beside.text("so")
    assert beside.found
