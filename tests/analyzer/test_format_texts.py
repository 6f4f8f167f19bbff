"""The texts in a format: which of them a tokenizer must keep, and which confuse a parser."""

from __future__ import annotations

import pytest

from deltaparse import WireFormat, get_format, list_formats
from deltaparse.analyzer.format_texts import confusing, preserved_tokens, texts_of

DEEPSEEK = ["<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"]
DEEPSEEK += ["<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"]


def test_markers_are_preserved_in_their_order_and_words_are_not():
    tagged = ("<tool_call>", "</tool_call>", "<function=", "</function>", "<parameter=")
    assert preserved_tokens(get_format("qwen3_coder")) == (*tagged, "</parameter>")
    assert preserved_tokens(get_format("hermes")) == ("<tool_call>", "</tool_call>")
    channels = ("<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>")
    assert preserved_tokens(get_format("gpt_oss")) == (*channels, "<|return|>", "<|call|>")
    reasoning = ("<think>", "</think>")
    assert preserved_tokens(get_format("deepseek_v31")) == (*reasoning, *DEEPSEEK, "<｜tool▁sep｜>")


def test_what_a_parser_looks_for_anywhere_confuses():
    ends, header = {"<|im_end|>"}, {"<|im_start|>assistant"}
    calls = {"<tool_call>", "</tool_call>"}
    assert confusing(get_format("hermes")) == calls | ends | header
    inner = {"<function=", "</function>", "<parameter=", "</parameter>"}
    assert confusing(get_format("qwen3_coder")) == calls | inner | ends | header
    found = confusing(get_format("deepseek_v31"))
    assert {*DEEPSEEK, "<think>", "</think>"} < found
    assert "<｜tool▁sep｜>" not in found


def test_other_spellings_of_reasoning_confuse_too():
    fmt = get_format("deepseek_v31").replace(reasoning={"alternatives": ("<hm>\n", "</hm>")})
    assert {"<hm>", "</hm>"} <= confusing(fmt)


@pytest.mark.parametrize("name", list_formats())
def test_texts_are_of_markers_and_more_than_white_space(name):
    fmt = get_format(name)
    assert all(text.strip() for _, _, text in texts_of(fmt))
    assert {"switches", "proved"}.isdisjoint(group for group, _, _ in texts_of(fmt))


def test_an_empty_format_has_no_texts():
    assert list(texts_of(WireFormat())) == []


def test_other_spellings_of_reasoning_are_preserved_too():
    fmt = get_format("deepseek_v31").replace(reasoning={"alternatives": ("<plan>", "</plan>")})
    assert {"<plan>", "</plan>"} < set(preserved_tokens(fmt))
