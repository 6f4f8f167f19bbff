"""Loss masks, token counts and log-probabilities by role."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import StreamParser, TokenParser, ToolCall, UsageError, get_format
from deltaparse.stream.tokens import (
    DeltaTokens,
    loss_mask,
    openai_logprobs,
    part_values,
    token_counts,
)

from ...strategies.token_texts import QWEN, TOOLS, Text, drawn_special, groups, tokenized
from ..invariants import in_families


def test_loss_mask_keeps_the_given_roles():
    roles = QWEN.read(tools=TOOLS).roles
    assert sum(loss_mask(roles)) == len(QWEN.ids)
    mask = loss_mask(roles, keep={"name", "arguments"}, prompt=3, behind=2)
    kept = [token for token, keep in zip(QWEN.tokens, mask[3:-2], strict=True) if keep]
    assert "".join(kept) == 'f{"a": "x"}'
    assert mask[:3] == [0, 0, 0]
    assert mask[-2:] == [0, 0]
    with pytest.raises(UsageError, match="reasoning"):
        loss_mask(roles, keep={"thinking"})


def test_token_counts_by_role():
    counts = token_counts(QWEN.read(tools=TOOLS).roles)
    assert counts == {
        "content": 2,
        "marker": 11,
        "name": 1,
        "arguments": 5,
        "end": 1,
        "reasoning": 0,
        "dropped": 0,
    }


def test_part_values_are_split_by_part():
    parser = QWEN.read(tools=TOOLS)
    content, call = part_values(parser.message, QWEN.tokens)
    assert content == ["Hi", "!"]
    assert "".join(call).startswith("\n<tool_call>")
    text = StreamParser(QWEN.fmt)
    text.feed("Hi")
    with pytest.raises(UsageError, match="TokenParser"):
        part_values(text.message, [1])


@in_families()
@given(data=st.data())
def test_each_token_of_a_part_counts_for_exactly_one_delta(family, data):
    fmt, text = data.draw(family.texts)
    ids, vocabulary = tokenized(data, fmt, text, drawn_special(data, fmt))
    parser = TokenParser(fmt, vocabulary)
    tokens = DeltaTokens(parser)
    fed, ranges = 0, []
    for group in data.draw(groups(ids)):
        made = tokens.of(parser.feed(group))
        fed += len(group) if isinstance(group, list) else 1
        ranges += [span for _, span in made]
        assert all(end <= fed for _, (_, end) in made)
    ranges += [span for _, span in tokens.of(parser.finish("stop"))]
    covered = [id for start, end in ranges for id in range(start, end)]
    assert covered == sorted(set(covered))
    texts = [part for part in parser.message.parts if not isinstance(part, ToolCall)]
    # Markers are not part of the message, and may split one of its parts.
    shown = {id for id, role in enumerate(parser.roles) if role in ("content", "reasoning")}
    of_texts = {id for part in texts for id in range(*part.tokens)}
    assert of_texts & shown <= set(covered)


def test_openai_logprobs_have_text_bytes_and_top_tokens():
    first, second = openai_logprobs(
        QWEN.vocabulary, [195, QWEN.ids[0]], [-0.5, -1.0], [{195: -0.5, 97: -2.0}, {}]
    )
    assert first["token"] == "\ufffd"
    assert first["bytes"] == [195]
    assert [entry["token"] for entry in first["top_logprobs"]] == ["\ufffd", "a"]
    assert second == {"token": "Hi", "logprob": -1.0, "bytes": [72, 105], "top_logprobs": []}
    assert openai_logprobs(QWEN.vocabulary, [97], [-2.0]) == [
        {"token": "a", "logprob": -2.0, "bytes": [97], "top_logprobs": []}
    ]
    assert openai_logprobs(QWEN.vocabulary, [], []) == []
    for odd in (([1], []), ([1], [-1.0], [{}, {}])):
        with pytest.raises(UsageError, match="the same length"):
            openai_logprobs(QWEN.vocabulary, *odd)


def test_token_shared_by_two_deltas_counts_for_the_first():
    text = Text(get_format("qwen3"), [], ["<think>", "h", "m</think>\n\nSo", "."])
    parser = text.parser(markers="text")
    of = DeltaTokens(parser).of
    spans = [span for id in text.ids for _, span in of(parser.feed(id))]
    assert spans == [(1, 2), (2, 3), (3, 3), (3, 4)]
    whole = text.parser(markers="text")
    made = DeltaTokens(whole).of(whole.feed(text.ids))
    assert [(delta.text, span) for delta, span in made] == [("hm", (1, 3)), ("So.", (3, 4))]


def test_token_of_content_and_marker_counts_for_the_content():
    call = ["tool_call>", '{"name": "look", "arguments": {}}', "</tool_call>"]
    text = Text(get_format("hermes"), [], ["So", ".<", *call])
    parser = text.parser(markers="text")
    of = DeltaTokens(parser).of
    made = [pair for id in text.ids for pair in of(parser.feed(id))]
    assert [(delta.text, span) for delta, span in made[:2]] == [("So", (0, 1)), (".", (1, 2))]
    assert all(start >= 2 for _, (start, _) in made[2:])


def test_inserted_text_has_no_token_of_the_next_delta():
    text = Text(get_format("qwen3"), [], ["<think>h", "m</think>So", "."])
    for fed in (text.ids, [text.ids]):
        parser = text.parser(markers="text", reasoning="inline")
        of = DeltaTokens(parser).of
        spans = [span for ids in fed for _, span in of(parser.feed(ids))]
        assert [id for start, end in spans for id in range(start, end)] == [0, 1, 2]


def test_inserted_tag_has_the_token_of_its_marker():
    text = Text(get_format("qwen3"), ["<think>", "</think>"], ["<think>", "hm", "</think>", "So"])
    parser = text.parser(reasoning="inline")
    made = DeltaTokens(parser).of(parser.feed(text.ids))
    assert [(delta.text, span) for delta, span in made] == [
        *(("<think>", (0, 1)), ("hm", (1, 2)), ("</think>", (2, 3)), ("So", (3, 4)))
    ]


def test_call_from_the_prompt_has_no_tokens():
    prompt = '<|im_start|>assistant\n<tool_call>{"name": "f", '
    parser = QWEN.parser(prompt=prompt, markers="text")
    ((delta, span),) = DeltaTokens(parser).of(parser.finish("stop"))
    assert (delta.name, delta.tokens, span) == ("f", None, (0, 0))


def test_delta_tokens_require_spans():
    assert DeltaTokens(QWEN.parser()).of([]) == []
    with pytest.raises(UsageError, match="spans=True"):
        DeltaTokens(QWEN.parser(spans=False))
