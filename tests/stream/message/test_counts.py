"""Tests of the sizes of parts, and of open reasoning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import Policies, StreamParser
from deltaparse.stream import Amount, Counts

from ...strategies.requests import options
from ...strategies.wire_by_hand import CALL, DELIMITED, TAGS, WRAPPED
from ...strategies.wire_channels import HARMONY
from ...strategies.wire_json_and_tags import soups
from ...support import cuts
from ..invariants import run

REASONED = "<think>\nhm, so\n</think>\n\nHello"


def states(fmt, texts, **given_options):
    """Return if reasoning is open, after each chunk and after the end."""
    parser = StreamParser(fmt, **given_options)
    found = []
    for text in texts:
        parser.feed(text)
        found.append(parser.in_reasoning)
    parser.finish("stop")
    return [*found, parser.in_reasoning]


@pytest.mark.parametrize("reasoning", ["separate", "inline", "raw"])
def test_reasoning_is_open_between_its_markers(reasoning):
    chunks = ["Well", "<thi", "nk>\n", "hm", "\n</thi", "nk>\n\n", "Hello"]
    assert states(TAGS, chunks, reasoning=reasoning) == [
        False,
        False,
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_reasoning_opened_by_the_prompt_is_open():
    prompt = "<|start|>model\n<think>\n"
    assert StreamParser(TAGS, prompt=prompt).in_reasoning
    assert states(TAGS, ["hm", "</think>", "x"], prompt=prompt) == [True, False, False, False]
    assert not StreamParser(TAGS, prompt=f"{prompt}\n</think>\n\n").in_reasoning
    assert states(DELIMITED, ["hm", "\n[FINAL]\n"]) == [True, False, False]


def test_open_reasoning_around_calls():
    assert states(TAGS, ["<think>\n", CALL, "x", "</think>"]) == [True, True, True, False, False]
    policies = Policies(tool_in_reasoning="call")
    assert states(TAGS, ["<think>\n", CALL, "x"], policies=policies)[1:] == [True, True, False]
    assert states(TAGS, ["<think>", "\n</think>", "\n"])[1:] == [False, False, False]
    assert states(WRAPPED, ["<plan>", "a", "</plan>", "<act>", "[]"])[1:3] == [True, False]


def test_open_reasoning_in_channels():
    chunks = ["<|channel|>analysis", "<|message|>", "hm", "<|end|>", "<|start|>assistant"]
    assert states(HARMONY, chunks) == [False, True, True, True, False, False]


def test_counts_of_each_part():
    parser = StreamParser(TAGS)
    assert parser.counts == Counts()
    for chunk in ("<think>\n", "hm", ", so", "\n</think>\n\n", "Hello", CALL[:-20], CALL[-20:]):
        parser.feed(chunk)
    assert parser.counts == Counts(
        content=Amount(5, 3), reasoning=Amount(6, 3), tool_calls=Amount(len('{"a": 1}'), 1)
    )


def test_inline_and_raw_reasoning_counts_as_reasoning():
    assert run(TAGS, [REASONED])[0].counts.reasoning.characters == len("hm, so")
    inline, _ = run(TAGS, [REASONED], reasoning="inline")
    assert inline.counts.reasoning.characters == len("<think>hm, so</think>")
    raw, _ = run(TAGS, [REASONED], reasoning="raw")
    assert raw.counts.reasoning.characters == len(REASONED) - len("Hello")


def test_the_prompt_is_not_counted():
    prompt = "<|start|>model\n<think>\nI know: "
    parser = StreamParser(TAGS, prompt=prompt)
    assert parser.counts == Counts()
    parser.feed("hm")
    assert parser.counts == Counts(reasoning=Amount(2, 1))
    parser = StreamParser(TAGS, prompt="<|start|>model\n" + CALL[:-12])
    parser.feed(CALL[-12:])
    assert parser.counts.tool_calls.chunks == 1
    parser = StreamParser(TAGS, prompt=f"<|start|>model\n{REASONED}{CALL[:-12]}")
    parser.feed(f"{CALL[-12:]}x")
    assert parser.counts.content == Amount(1, 0)
    assert parser.counts.reasoning == Amount()


@given(case=soups(), kw=options, data=st.data())
def test_all_emitted_text_is_counted_once(case, kw, data):
    fmt, text = case
    chunks = data.draw(cuts(text))
    parser, _ = run(fmt, chunks, **kw)
    seen = (parser.counts.content, parser.counts.reasoning, parser.counts.tool_calls)
    message = parser.message
    arguments = sum(len(call.arguments) for call in message.tool_calls)
    written = len(message.content) + len(message.reasoning_content)

    assert sum(amount.chunks for amount in seen) == len(chunks)
    assert sum(amount.characters for amount in seen) == written + arguments
    assert parser.counts.tool_calls.characters == arguments
    if "reasoning" not in kw:
        assert parser.counts.reasoning.characters == len(message.reasoning_content)
