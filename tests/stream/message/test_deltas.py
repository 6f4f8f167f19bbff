"""Tests of deltas and messages in OpenAI form."""

from __future__ import annotations

from deltaparse import (
    Content,
    ContentDelta,
    Message,
    Reasoning,
    ReasoningDelta,
    ToolCall,
    ToolCallDelta,
)
from deltaparse.stream.message.deltas import arguments_deltas, unplaced_deltas


def test_text_deltas_in_openai_form():
    assert ContentDelta("a").to_openai() == {"content": "a"}
    reasoning = ReasoningDelta("a")
    assert reasoning.to_openai() == {"reasoning_content": "a"}
    assert reasoning.to_openai(reasoning="reasoning") == {"reasoning": "a"}
    both = {"reasoning": "a", "reasoning_content": "a"}
    assert reasoning.to_openai(reasoning="both") == both


def test_call_deltas_in_openai_form():
    function = {"name": "f", "arguments": '{"a'}
    first = {"index": 1, "id": "x", "type": "function", "function": function}
    assert ToolCallDelta(1, "x", "f", '{"a').to_openai() == {"tool_calls": [first]}
    more = {"index": 1, "function": {"arguments": '": 1}'}}
    for make in (
        arguments_deltas(1),
        unplaced_deltas(1),
        lambda text: ToolCallDelta(1, None, None, text),
    ):
        delta = make('": 1}')
        assert delta.to_openai() == {"tool_calls": [more]}
        assert delta == ToolCallDelta(1, arguments='": 1}')
        assert delta.last is False
        assert delta.tokens is None


def test_tokens_of_a_delta():
    delta = ContentDelta("a")
    assert delta.tokens is None
    delta.place = 3
    assert delta.tokens == (2, 3)
    delta.place = (1, 4)
    assert delta.tokens == (1, 4)


def test_messages_in_openai_form():
    call = ToolCall("x", "f", "{}", complete=True)
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": "x", "type": "function", "function": function}]
    said = {"role": "assistant", "content": "a"}
    assert Message().to_openai() == {"role": "assistant", "content": ""}
    assert Message((Content("a"),)).to_openai() == said
    assert Message((call,)).to_openai() == {
        "role": "assistant",
        "content": None,
        "tool_calls": calls,
    }
    whole = Message((Reasoning("hm"), Content("a"), call))
    assert whole.to_openai() == {**said, "reasoning_content": "hm", "tool_calls": calls}
    assert whole.to_openai(reasoning="reasoning") == {
        **said,
        "reasoning": "hm",
        "tool_calls": calls,
    }
