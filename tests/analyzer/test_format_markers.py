"""The texts in a format: which of them a tokenizer must keep, and which confuse a parser."""

from __future__ import annotations

import pytest

from deltaparse import WireFormat, get_format, list_formats
from deltaparse.analyzer.format_markers import confusing, preserved_tokens, texts_of
from deltaparse.stream.wire.format import marker_fields

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


def test_markers_searched_anywhere_are_confusing():
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
def test_texts_are_non_blank_markers(name):
    fmt = get_format(name)
    assert all(text.strip() for _, _, text in texts_of(fmt))
    assert {"switches", "proved"}.isdisjoint(group for group, _, _ in texts_of(fmt))


def test_an_empty_format_has_no_texts():
    assert list(texts_of(WireFormat())) == []
    settings = WireFormat(switches={"deep": ("prompt",)}).replace(proved={"calls": ("deep=true",)})
    assert list(texts_of(settings)) == []


def test_other_spellings_of_reasoning_are_preserved_too():
    fmt = get_format("deepseek_v31").replace(reasoning={"alternatives": ("<plan>", "</plan>")})
    assert {"<plan>", "</plan>"} < set(preserved_tokens(fmt))


# The texts a parser searches in text or in values, by groups. It searches others elsewhere.
ANYWHERE = {
    "turn": {"headers", "ends"},
    "reasoning": {"end"},
    "content": {"start", "end"},
    "tools": {"section_end", "per_call_end"},
    "function": {"name_prefix", "close"},
    "arguments": {"start", "end", "name_prefix", "value_suffix"},
    "channels": {"start", "ends"},
    "code": {"start"},
}


def one_text(group, name, text):
    """Return a format with only this text."""
    empty = getattr(getattr(WireFormat(), group), name)
    return WireFormat().replace(**{group: {name: (text,) if isinstance(empty, tuple) else text}})


FIELDS = [(group, name) for group, names in marker_fields().items() for name in names]
FIELDS = [
    one for one in FIELDS if one[1] not in ("close_suffix", "section_start", "per_call_start")
]
FIELDS = [
    one for one in FIELDS if one not in (("reasoning", "start"), ("reasoning", "alternatives"))
]


@pytest.mark.parametrize(("group", "name"), FIELDS)
def test_each_searched_marker_is_confusing(group, name):
    fmt = one_text(group, name, "<q>")
    assert confusing(fmt) == ({"<q>"} if name in ANYWHERE.get(group, ()) else set())
    assert preserved_tokens(fmt) == (("<q>",) if group != "turn" else ())


@pytest.mark.parametrize("where", [("tools", "section_start"), ("tools", "per_call_start")])
def test_start_markers_of_calls_are_confusing(where):
    group, name = where
    fmt = get_format("hermes").replace(**{group: {name: "<q>"}})
    assert "<q>" in confusing(fmt)


WORDED = {("arguments", "alternatives"), ("tools", "code_block_marker")}
WORDED |= {("channels", "recipient"), ("arguments", "type_suffix")}


@pytest.mark.parametrize(("group", "name"), FIELDS)
def test_plain_words_in_marker_fields_are_not_preserved(group, name):
    fmt = one_text(group, name, " to: me=")
    preserved = group != "turn" and (group, name) not in WORDED
    assert preserved_tokens(fmt) == (("to: me=",) if preserved else ())
