"""Objects of the OpenAI protocol."""

from __future__ import annotations

import pytest

from deltaparse import (
    Content,
    ContentDelta,
    Message,
    Reasoning,
    ReasoningDelta,
    StreamParser,
    ToolCall,
    ToolCallDelta,
    UsageError,
    chat_completion_chunks,
    iter_deltas,
    parse,
)

from ..strategies.wire_by_hand import CALL, TAGS

HEAD = {"id": "x", "model": "m", "created": 7}


def test_delta_omits_missing_members():
    assert ContentDelta("a").to_openai() == {"content": "a"}
    assert ReasoningDelta("a").to_openai() == {"reasoning_content": "a"}
    assert ToolCallDelta(1, None, None, "{").to_openai() == {
        "tool_calls": [{"index": 1, "function": {"arguments": "{"}}]
    }
    assert ToolCallDelta(0, "id", "f").to_openai() == {
        "tool_calls": [
            {"index": 0, "id": "id", "type": "function", "function": {"name": "f", "arguments": ""}}
        ]
    }


def test_deltas_can_be_matched():
    match ToolCallDelta(0, "id", "f", "{}"):
        case ToolCallDelta(index, call_id, name, arguments):
            assert (index, call_id, name, arguments) == (0, "id", "f", "{}")


def test_chunks_have_one_role_one_finish_and_usage_last():
    deltas = iter_deltas([f"Hi{CALL}"], TAGS)
    chunks = list(
        chat_completion_chunks(
            deltas, **HEAD, finish_reason="tool_calls", usage={"total_tokens": 3}
        )
    )
    assert all(chunk["id"] == "x" and chunk["created"] == 7 for chunk in chunks)
    assert all(chunk["object"] == "chat.completion.chunk" for chunk in chunks)
    roles = [choice["delta"].get("role") for chunk in chunks for choice in chunk["choices"]]
    assert roles[0] == "assistant"
    assert set(roles[1:]) == {None}
    assert chunks[-2]["choices"][0] == {
        "index": 0,
        "delta": {},
        "logprobs": None,
        "finish_reason": "tool_calls",
    }
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == {"total_tokens": 3}
    reasons = [choice["finish_reason"] for chunk in chunks[:-2] for choice in chunk["choices"]]
    assert set(reasons) == {None}


def test_empty_turn_has_role_and_finish_reason():
    first, last = chat_completion_chunks([], **HEAD, finish_reason="stop")
    assert first["choices"][0]["delta"] == {"role": "assistant"}
    assert last["choices"][0]["finish_reason"] == "stop"


def test_finish_reason_may_be_a_function():
    parser = StreamParser(TAGS)

    def deltas():
        yield from parser.feed(CALL)
        yield from parser.finish("stop")

    *_, last = chat_completion_chunks(deltas(), **HEAD, finish_reason=lambda: parser.finish_reason)
    assert last["choices"][0]["finish_reason"] == "tool_calls"


def test_message_has_the_shape_of_openai():
    assert Message([]).to_openai() == {"role": "assistant", "content": ""}
    message = parse(f"<think>\nhm\n</think>\n\n{CALL}", TAGS)
    assert message.to_openai() == {
        "role": "assistant",
        "content": None,
        "reasoning_content": "hm",
        "tool_calls": [
            {
                "id": message.tool_calls[0].id,
                "type": "function",
                "function": {"name": "f", "arguments": '{"a": 1}'},
            }
        ],
    }


def test_healed_returns_an_object_for_any_arguments():
    assert ToolCall("i", "f", '{"a": "hel', False).healed() == {"a": "hel"}
    assert ToolCall("i", "f", "", False).healed() == {}
    assert ToolCall("i", "f", "[1", False).healed() == {}


FIELDS = {
    "reasoning_content": ["reasoning_content"],
    "reasoning": ["reasoning"],
    "both": ["reasoning_content", "reasoning"],
}


@pytest.mark.parametrize("name", FIELDS)
def test_reasoning_member_has_the_requested_name(name):
    fields = dict.fromkeys(FIELDS[name], "hm")
    assert ReasoningDelta("hm").to_openai(reasoning=name) == fields
    for delta in (ContentDelta("a"), ToolCallDelta(0, "id", "f")):
        assert delta.to_openai(reasoning=name) == delta.to_openai()
    message = Message([Reasoning("hm"), Content("a")])
    assert message.to_openai(reasoning=name) == {"role": "assistant", "content": "a"} | fields
    chunk, _ = chat_completion_chunks(
        [ReasoningDelta("hm")], **HEAD, finish_reason="stop", reasoning=name
    )
    assert chunk["choices"][0]["delta"] == {"role": "assistant"} | fields


def test_unknown_reasoning_member_is_refused():
    for made in (ReasoningDelta("hm"), Message([Reasoning("hm")])):
        with pytest.raises(UsageError, match='"reasoning_content", "reasoning" or "both"'):
            made.to_openai(reasoning="thoughts")
