"""Splitting a response for servers with two parsers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import ReasoningMode, parse
from deltaparse.servers.reasoning_split import ReasoningSplit

from ..strategies.wire_by_hand import TAGS
from ..strategies.wire_json_and_tags import written


@given(case=written())
def test_reasoning_equals_that_of_the_parser(case):
    fmt, turn, text = case
    split = ReasoningSplit(fmt)
    fed, ended = split.feed(text), split.finish()
    assert fed[0] + ended[0] == parse(text, fmt).reasoning_content == turn.reasoning
    assert split.ended or not text or fmt.reasoning.mode is ReasoningMode.DELIMITER


@pytest.mark.parametrize(
    ("prompt", "text", "span", "rest_at"),
    [
        ("", "<think>\nhm\n</think>\n\nHi", (8, 10), 21),
        ("", " Hi", (0, 0), 1),
        ("", "<think>\nthe <|end|> token</think>Hi", (8, 25), 33),
        ("<|start|>model\n<think>\n", "hm</think>Hi", (0, 2), 10),
        ("<|start|>model\n<think>a</think>\n\n", "Hi", (0, 0), 0),
    ],
)
def test_spans_are_in_characters_of_the_response(prompt, text, span, rest_at):
    split = ReasoningSplit(TAGS, prompt=prompt)
    for char in text:
        split.feed(char)
    assert split.ended
    assert (split.span, split.rest_at) == (span, rest_at)


def test_long_reasoning_is_not_buffered():
    split = ReasoningSplit(TAGS)
    split.feed("<think>\n")
    for _ in range(1000):
        assert split.feed("a word ") == ("a word ", "")
    assert len(split._source.text) < 100
    split.feed("</think>x")
    assert split.feed("<|end|>") == ("", "<|end|>")


@given(text=st.text(" \n<think>/a", max_size=40), at=st.integers(0, 40))
def test_text_is_never_lost(text, at):
    split = ReasoningSplit(TAGS)
    chunks = split.feed(text[:at]), split.feed(text[at:]), split.finish(), split.finish()
    reasoning, rest = ("".join(parts) for parts in zip(*chunks, strict=True))
    assert text.endswith(rest)
    left = text[: len(text) - len(rest)].replace(reasoning, "", 1)
    for marker in ("<think>", "<think>", "</think>"):
        left = left.replace(marker, "", 1)
    assert not left.strip()
