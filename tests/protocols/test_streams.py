"""Streams in each protocol round-trip, and their clients can read them.

The outputs are from all format families, with any chunking and any options. The judges are
openai-python and anthropic-python.
"""

from __future__ import annotations

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from deltaparse.protocols import (
    AnthropicMessages,
    ChatCompletions,
    Responses,
    message_deltas,
    read_chat_completions,
    read_messages,
    read_responses,
)

from ..strategies.requests import options, reasons
from ..stream.invariants import in_families
from ..support import cuts
from .judges import (
    HEAD,
    MACHINES,
    anthropic_message,
    chat_completion,
    check_event,
    check_whole,
    needs_clients,
    reason_told,
    response,
)
from .streams import (
    USAGE,
    bytes_of,
    data_of,
    events_of,
    joined_runs,
    parsed,
    without_complete,
)

pytestmark = needs_clients

READERS = {
    ChatCompletions: read_chat_completions,
    Responses: read_responses,
    AnthropicMessages: read_messages,
}
HALF = re.compile(r"\\u[dD][89abAB]")
"""The escape of a surrogate. JSON allows a lone one, but anthropic-python rejects it."""


@st.composite
def streams(draw, family):
    """Draw a finished parser and its deltas."""
    fmt, text = draw(family.texts)
    return parsed(fmt, draw(cuts(text)), draw(reasons), **draw(options))


@in_families()
@given(data=st.data())
def test_events_match_the_client_types(family, data):
    parser, deltas = data.draw(streams(family))
    for machine in MACHINES:
        for event in events_of(machine(**HEAD), deltas, parser.finish_reason, USAGE):
            check_event(machine, event)
        check_whole(machine, machine(**HEAD).response(parser.message, parser.finish_reason, USAGE))


@in_families()
@given(data=st.data(), at_once=st.sampled_from([1, 2, 1000]))
def test_bytes_equal_the_events(family, data, at_once):
    parser, deltas = data.draw(streams(family))
    for machine in MACHINES:
        events = events_of(machine(**HEAD), deltas, parser.finish_reason, USAGE)
        body = bytes_of(machine(**HEAD), deltas, parser.finish_reason, USAGE, at_once=at_once)
        names, found = data_of(body)
        done = ["[DONE]"] if machine is ChatCompletions else []
        assert found == events + done
        assert names == [event.get("type") for event in events] + [None] * len(done)


@in_families()
@given(data=st.data())
def test_streams_round_trip(family, data):
    parser, deltas = data.draw(streams(family))
    message = joined_runs(parser.message)
    some_are_cut = not all(call.complete for call in message.tool_calls)
    for machine in MACHINES:
        body = bytes_of(machine(**HEAD), deltas, parser.finish_reason)
        events = events_of(machine(**HEAD), deltas, parser.finish_reason)
        read = READERS[machine](events)
        assert read == READERS[machine](data.draw(cuts(body)))
        assert without_complete(read) == without_complete(message)
        assert read.issues == ()
        for got, call in zip(read.tool_calls, message.tool_calls, strict=True):
            assert call.complete or not (got.complete and machine is Responses)
            # Messages does not report "tool_use" if a call is incomplete.
            unsaid = machine is AnthropicMessages and some_are_cut
            assert got.complete or not call.complete or parser.finish_reason == "length" or unsaid
    assert read_responses(events_of(Responses(**HEAD), deltas, parser.finish_reason)) == message


@in_families()
@given(data=st.data())
def test_complete_response_equals_the_accumulated_stream(family, data):
    parser, deltas = data.draw(streams(family))
    *_, last = events_of(Responses(**HEAD), deltas, parser.finish_reason, USAGE)
    whole = Responses(**HEAD).response(parser.message, parser.finish_reason, USAGE)
    assert whole == last["response"]
    for machine in MACHINES:
        again = events_of(machine(**HEAD), message_deltas(parser.message), parser.finish_reason)
        events = events_of(machine(**HEAD), deltas, parser.finish_reason)
        assert READERS[machine](again) == READERS[machine](events)


@in_families()
@given(data=st.data())
def test_openai_accumulates_chunks(family, data):
    parser, deltas = data.draw(streams(family))
    message, reason = parser.message, parser.finish_reason
    body = bytes_of(ChatCompletions(**HEAD), deltas, reason, USAGE)
    completion, _ = chat_completion(body)
    (choice,) = completion.choices
    assert choice.message.role == "assistant"
    assert choice.finish_reason == reason_told(parser)
    assert (choice.message.content or "") == message.content
    assert (getattr(choice.message, "reasoning_content", None) or "") == message.reasoning_content
    assert [
        (call.id, call.function.name, call.function.arguments)
        for call in choice.message.tool_calls or []
    ] == [(call.id, call.name, call.arguments) for call in message.tool_calls]
    assert completion.usage.completion_tokens_details.reasoning_tokens == 10


@in_families()
@given(data=st.data())
def test_openai_accumulates_response_events(family, data):
    parser, deltas = data.draw(streams(family))
    reason = parser.finish_reason
    final, events = response(bytes_of(Responses(**HEAD), deltas, reason, USAGE))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[-1].type == (
        "response.incomplete" if reason == "length" else "response.completed"
    )
    made = final or events[-1].response
    assert read_responses(made) == joined_runs(parser.message)
    assert made.output_text == parser.message.content
    assert made.usage.output_tokens_details.reasoning_tokens == 10


@in_families()
@given(data=st.data())
def test_anthropic_accumulates_events(family, data):
    parser, deltas = data.draw(streams(family))
    message, reason = joined_runs(parser.message), parser.finish_reason
    assume(not any(HALF.search(call.arguments) for call in message.tool_calls))
    made, _ = anthropic_message(bytes_of(AnthropicMessages(**HEAD), deltas, reason, USAGE))
    whole = all(call.complete for call in message.tool_calls)
    ended = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
    assert made.stop_reason == ended[reason if whole else "length"]
    texts = {"text": "text", "thinking": "thinking"}
    assert [
        getattr(block, texts[block.type]) if block.type in texts else (block.id, block.name)
        for block in made.content
    ] == [part.text if hasattr(part, "text") else (part.id, part.name) for part in message.parts]
    inputs = [block.input for block in made.content if block.type == "tool_use"]
    for value, call in zip(inputs, message.tool_calls, strict=True):
        assert not call.complete or value == call.healed()
    assert (made.usage.input_tokens, made.usage.cache_read_input_tokens) == (7, 5)


@in_families()
@given(data=st.data())
def test_parts_are_opened_and_closed_once_in_order(family, data):
    parser, deltas = data.draw(streams(family))
    events = events_of(AnthropicMessages(**HEAD), deltas, parser.finish_reason)
    kinds = [event["type"].removeprefix("content_block_") for event in events]
    assert re.fullmatch(
        "message_start (start (delta )*stop )*message_delta message_stop", " ".join(kinds)
    )
    indices = [event["index"] for event in events if event["type"] == "content_block_start"]
    assert indices == list(range(len(indices)))
    events = events_of(Responses(**HEAD), deltas, parser.finish_reason)
    kinds = " ".join(event["type"].removeprefix("response.") for event in events)
    text = (
        r"content_part\.added ((output_text|reasoning_text)\.delta )+"
        r"(output_text|reasoning_text)\.done content_part\.done "
    )
    call = r"(function_call_arguments\.delta )*(function_call_arguments\.done )?"
    items = rf"(output_item\.added ({text}|{call})output_item\.done )*"
    assert re.fullmatch(rf"created in_progress {items}(completed|incomplete)", kinds)
    ids = [event["item"]["id"] for event in events if event["type"].endswith("item.added")]
    assert len(set(ids)) == len(ids) == len(joined_runs(parser.message).parts)


@in_families()
@given(data=st.data())
def test_chunks_are_never_empty(family, data):
    parser, deltas = data.draw(streams(family))
    first, *chunks, last = events_of(ChatCompletions(**HEAD), deltas, parser.finish_reason)
    assert first["choices"][0]["delta"] == {"role": "assistant"}
    assert last["choices"][0]["delta"] == {}
    assert last["choices"][0]["finish_reason"] == parser.finish_reason
    begun = 0
    for chunk in chunks:
        (choice,) = chunk["choices"]
        assert choice["finish_reason"] is None
        ((field, value),) = choice["delta"].items()
        if field == "tool_calls":
            (call,) = value
            begun += "id" in call
            assert call["index"] == begun - 1
            assert call.keys() >= {"id", "type"} or call["function"]["arguments"]
        assert value
