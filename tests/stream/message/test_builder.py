"""Tests of the parts of a growing message, with and without reading it in between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import Content, Policies, Reasoning, StreamParser, get_format
from deltaparse.stream.message.builder import InlineReasoning, MessageBuilder
from deltaparse.stream.message.counts import Counts
from deltaparse.stream.message.deltas import ToolCallDelta

from ...strategies.token_texts import Text
from ...strategies.wire_by_hand import CALL, TAGS, UNMARKED, fed

REPAIRED = '<call>{"name": "f", "arguments": {"a": 1}}}</call>'
CUT = '<call>{"name": "f", "arguments": {"a": 1'
UNITS = (CALL, REPAIRED, "text ", "<think>thought</think>", "<call> no ", "</think>")


def read(texts, asks=False):
    """Return the parser after these texts, and the parts of its message after each text."""
    parser, seen = StreamParser(TAGS), []
    for text in texts:
        parser.feed(text)
        if asks:
            seen.append(parser.message.parts)
    parser.finish()
    return parser, seen


@given(st.lists(st.sampled_from(UNITS), max_size=6), st.sampled_from(["", CUT]), st.integers(1, 9))
def test_reading_message_does_not_change_the_result(units, end, size):
    text = "".join(units) + end
    texts = [text[at : at + size] for at in range(0, len(text), size)]
    (never, _), (often, seen) = read(texts), read(texts, asks=True)
    assert never.message == often.message
    for one, other in zip(never.message.tool_calls, often.message.tool_calls, strict=True):
        assert (one.span, one.issues) == (other.span, other.issues)
    assert never.counts == often.counts
    assert seen == sorted(seen, key=len)


def test_a_part_is_made_once():
    parser = StreamParser(TAGS)
    parser.feed("text" + CALL + "more")
    first = parser.message.parts
    assert list(map(id, first)) == list(map(id, parser.message.parts))
    parser.feed(" text")
    second = parser.message.parts
    assert second[0] is first[0]
    assert second[1] is first[1]
    assert (first[2].text, second[2].text) == ("more", "more text")


@pytest.mark.parametrize("asks", [False, True], ids=["not asked", "asked before"])
def test_repair_after_a_call_marks_it_repaired(asks):
    head, _, tail = REPAIRED.partition("}}}")
    parser, _ = read([head + "}}", "}" + tail], asks)
    (call,) = parser.message.tool_calls
    assert (call.complete, call.repaired) == (True, True)


def test_uncollected_call_is_repaired():
    parser = StreamParser(TAGS, collect=False)
    parser.feed(CALL.replace('"a"', "a"))
    parser.finish()
    assert [attempt.status for attempt in parser.attempts] == ["repaired"]


def test_repair_after_a_call_works_without_collecting():
    head, _, tail = REPAIRED.partition("}}}")
    for texts in ([head + "}}}" + tail], [head + "}}", "}" + tail], list(REPAIRED)):
        parser = StreamParser(TAGS, collect=False)
        for text in texts:
            parser.feed(text)
        parser.finish()
        assert [issue.kind for issue in parser.issues] == ["repaired_arguments"]


def test_uncollected_parts_keep_only_their_length():
    builder = MessageBuilder(collect=False)
    for text in ("some", " ", "text"):
        builder.content(text)
        assert (builder.so_far(), builder.open_text) == ([], "")
    builder.reasoning("hm")
    assert (builder.so_far(), builder.characters) == ([], 11)
    builder.end_part()
    assert (builder.so_far(), builder.open_text, builder.characters) == ([], "", 11)


def test_copied_reasoning_parts_are_joined():
    policies = Policies(tool_in_reasoning="call", unclosed_reasoning="copy")
    parser = StreamParser(TAGS, policies=policies)
    parser.feed(f"<think>one {CALL}two")
    parser.finish("stop")
    assert [type(part).__name__ for part in parser.message.parts] == [
        *("Reasoning", "ToolCall", "Reasoning", "Content")
    ]
    assert parser.message.content == "one two"


def test_counts_exclude_the_prompt():
    prompt = "<|start|>model\n<think>\nhm\n</think>\n\nHi"
    parser = StreamParser(TAGS, prompt=prompt)
    assert parser.counts == Counts()
    parser.feed(" there")
    counts = parser.counts
    assert (counts.content.characters, counts.content.chunks) == (6, 1)
    assert (counts.reasoning, counts.tool_calls) == (Counts().reasoning, Counts().tool_calls)
    assert StreamParser(TAGS, prompt=f"<|start|>model\n{CALL}").counts == Counts()


def test_empty_reasoning_has_no_tags():
    said = []
    inline = InlineReasoning(said.append, None)
    inline("")
    inline.close()
    assert "".join(said) == ""
    inline("hm")
    inline("")
    inline.close()
    inline.close()
    assert "".join(said) == "<think>hm</think>"


@pytest.mark.parametrize("text", ['{"a": 1', '{"type": 12, "a": 1}', '[1, {"b": 2}]'])
def test_object_without_a_name_is_not_an_attempt(text):
    parser = StreamParser(UNMARKED)
    parser.feed(text)
    parser.finish("stop")
    assert (parser.message.content, parser.attempts) == (text, [])


def test_completion_has_its_own_delta():
    builder = MessageBuilder()
    builder.begin_call(0, "id", "f", 0)
    builder.arguments("{}")
    builder.complete_call(0)
    assert [(delta.arguments, delta.last) for delta in builder.out] == [("", False), ("{}", True)]
    builder.end_part()
    builder.begin_call(1, "other", "g", 0)
    for out in ([], builder.out[:2]):
        builder.out[:] = out
        builder.complete_call(1)
        assert builder.out == [*out, ToolCallDelta(1)]
        assert builder.out[-1].last
    builder.end_part()
    builder.out.clear()
    builder.complete_call(1)
    assert builder.out == []


def test_abandoned_call_has_an_empty_span():
    builder = MessageBuilder()
    builder.begin_call(0, "id", "f", 5)
    builder.end_call(0, frozenset(), complete=False)
    assert builder.so_far()[0].span == (5, 5)


@pytest.mark.parametrize("complete", [False, True])
def test_end_call_sets_complete(complete):
    builder = MessageBuilder()
    builder.begin_call(0, "id", "f", 5)
    if not complete:
        builder.complete_call(0)
    builder.end_call(9, frozenset(), complete=complete)
    (call,) = builder.so_far()
    assert (call.complete, call.span) == (complete, (5, 9))


def test_call_with_complete_arguments_is_complete():
    parser = StreamParser(TAGS)
    parser.feed(CALL + CALL[:-10])
    first, second = parser.message.tool_calls
    assert (first.complete, second.complete) == (True, False)
    assert first.span == (0, CALL.index("\n</call>"))


def test_only_the_unclosed_section_is_copied_to_content():
    policies = Policies(unclosed_reasoning="copy")
    parser = fed(TAGS, "<think>\none\n</think>\n\n<think>\ntwo", policies=policies)
    assert parser.message.parts == [Reasoning("onetwo"), Content("two")]


def test_call_text_in_reasoning_is_not_copied():
    policies = Policies(tool_in_reasoning="call", unknown_tool="text", unclosed_reasoning="copy")
    parser = fed(TAGS, f"<think>\none{CALL}two", tools=[{"name": "g"}], policies=policies)
    assert parser.message.parts == [
        *(Reasoning("one"), Content(CALL), Reasoning("two"), Content("onetwo"))
    ]


def test_inserted_reasoning_tags_have_no_token():
    text = Text(get_format("qwen3"), ["<think>"], ["<think>", "hm", "</think>", "yo"])
    parser = text.parser(reasoning="inline")
    deltas = [delta for id in text.ids for delta in parser.feed(id)] + parser.finish("stop")
    assert "".join(delta.text for delta in deltas) == "<think>hm</think>yo"
    assert parser.roles == ["marker", "reasoning", "marker", "content"]


def test_complete_prompt_call_is_not_emitted():
    parser = StreamParser(TAGS, prompt=f"<|start|>model\n{REPAIRED}")
    parser.feed("text")
    parser.finish("stop")
    assert (parser.message.parts, parser.message.attempts) == ([Content("text")], ())


def test_first_delta_has_arguments_from_the_prompt():
    begun = CUT.replace("1", '"x')
    parser = StreamParser(TAGS, prompt=f"<|start|>model\n{begun}")
    first, *_ = parser.feed("y")
    assert (first.name, first.arguments) == ("f", '{"a": "x')


def test_empty_arguments_emit_no_delta():
    builder = MessageBuilder()
    builder.begin_call(0, "id", "f", 0)
    builder.arguments("")
    assert builder.out == [ToolCallDelta(0, "id", "f")]


def test_open_call_cannot_be_marked_repaired():
    builder = MessageBuilder()
    for index in (0, 1):
        builder.begin_call(index, "id", "f", 0)
        assert not builder.mark_repaired()
        builder.end_call(0, frozenset(), complete=True)
    assert [call.repaired for call in builder.so_far()] == [False, False]
