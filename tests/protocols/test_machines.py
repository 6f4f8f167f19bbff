"""Encoders: parts, choices, probabilities, usage, refusals, errors and finish reasons."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import (
    ContentDelta,
    Message,
    Reasoning,
    ReasoningDelta,
    StreamParser,
    ToolCall,
    ToolCallDelta,
    UsageError,
    achat_completion_chunks,
    chat_completion_chunks,
)
from deltaparse.partial import replace_surrogates
from deltaparse.protocols import (
    AnthropicMessages,
    ChatCompletions,
    Responses,
    read_chat_completions,
    read_messages,
    read_responses,
)

from .judges import (
    ANSWER,
    HEAD,
    HI,
    MACHINES,
    anthropic_message,
    chat_completion,
    check_event,
    check_whole,
    needs_clients,
    openai_client,
    response,
)
from .streams import USAGE, bytes_of, data_of, events_of

pytestmark = needs_clients

INTERLEAVED = [
    ReasoningDelta("a"),
    ReasoningDelta("b"),
    ContentDelta("c"),
    ReasoningDelta("d"),
    ToolCallDelta(0, "id0", "f", ""),
    ToolCallDelta(0, arguments='{"x": '),
    ToolCallDelta(0, arguments="1}", last=True),
    ToolCallDelta(1, "id1", "g", "{}", last=True),
    ContentDelta("e"),
    ToolCallDelta(2, "id2", "h", "{"),
]
by_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.__name__)


def deltas_in(events):
    return [choice["delta"] for event in events for choice in event["choices"]]


def test_anthropic_blocks_are_in_order():
    events = events_of(AnthropicMessages(**HEAD), INTERLEAVED, "length")
    assert [
        (event["index"], event.get("content_block") or event.get("delta")) for event in events[1:-2]
    ] == [
        (0, {"type": "thinking", "thinking": "", "signature": ""}),
        (0, {"type": "thinking_delta", "thinking": "a"}),
        (0, {"type": "thinking_delta", "thinking": "b"}),
        (0, None),
        (1, {"type": "text", "text": ""}),
        (1, {"type": "text_delta", "text": "c"}),
        (1, None),
        (2, {"type": "thinking", "thinking": "", "signature": ""}),
        (2, {"type": "thinking_delta", "thinking": "d"}),
        (2, None),
        (3, {"type": "tool_use", "id": "id0", "name": "f", "input": {}}),
        (3, {"type": "input_json_delta", "partial_json": '{"x": '}),
        (3, {"type": "input_json_delta", "partial_json": "1}"}),
        (3, None),
        (4, {"type": "tool_use", "id": "id1", "name": "g", "input": {}}),
        (4, {"type": "input_json_delta", "partial_json": "{}"}),
        (4, None),
        (5, {"type": "text", "text": ""}),
        (5, {"type": "text_delta", "text": "e"}),
        (5, None),
        (6, {"type": "tool_use", "id": "id2", "name": "h", "input": {}}),
        (6, {"type": "input_json_delta", "partial_json": "{"}),
        (6, None),
    ]
    assert events[-2]["delta"] == {"stop_reason": "max_tokens", "stop_sequence": None}


def test_response_items_are_in_order():
    events = events_of(Responses(**HEAD), INTERLEAVED, "length")
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == events[-1]["response"]["output"]
    assert [(item["type"], item["id"], item["status"]) for item in done] == [
        ("reasoning", "rs_x_0", "completed"),
        ("message", "msg_x_1", "completed"),
        ("reasoning", "rs_x_2", "completed"),
        ("function_call", "fc_x_3", "completed"),
        ("function_call", "fc_x_4", "completed"),
        ("message", "msg_x_5", "completed"),
        ("function_call", "fc_x_6", "incomplete"),
    ]
    assert [item["call_id"] for item in done if item["type"] == "function_call"] == [
        "id0",
        "id1",
        "id2",
    ]
    arguments = [event for event in events if event["type"].endswith("arguments.done")]
    assert [(event["output_index"], event["arguments"]) for event in arguments] == [
        (3, '{"x": 1}'),
        (4, "{}"),
    ]
    assert events[-1]["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


def test_last_delta_closes_a_call():
    for machine, closing in ((Responses, 2), (AnthropicMessages, 1)):
        made = machine(**HEAD)
        made.start()
        assert len(made.push(ToolCallDelta(0, "i", "f", "{}"))) == 2
        assert len(made.push(ToolCallDelta(0, last=True))) == closing
        assert made.push(ToolCallDelta(0, last=True)) == []


def test_empty_delta_writes_no_event():
    for machine in MACHINES:
        made = machine(**HEAD)
        made.start()
        assert made.push(ContentDelta("")) == made.push(ReasoningDelta("")) == []
        assert made.push_bytes([]) == b""
        assert made.push_bytes(iter([ContentDelta(""), ContentDelta("")])) == b""
    chat = ChatCompletions(**HEAD)
    chat.start()
    chat.push(ToolCallDelta(0, "i", "f", "{}"))
    assert chat.push(ToolCallDelta(0, last=True)) == []


@by_machine
def test_invalid_delta_is_refused(machine):
    made = machine(**HEAD)
    made.start()
    for other in ([ContentDelta("Hi")], "Hi", None):
        with pytest.raises(UsageError, match=r"push\(\) takes one delta, not .*: for delta in"):
            made.push(other)
    with pytest.raises(UsageError, match=r"not ContentDelta: \[delta\]"):
        made.push_bytes(ContentDelta("Hi"))
    assert made.push(ContentDelta("Hi"))


@by_machine
def test_empty_response_is_a_complete_stream(machine):
    events = events_of(machine(**HEAD), [], "stop")
    for event in events:
        check_event(machine, event)
    check_whole(machine, machine(**HEAD).response(Message(), "stop"))
    assert chat_completion(bytes_of(ChatCompletions(**HEAD), [], "stop"))[0].choices[0]
    assert response(bytes_of(Responses(**HEAD), [], "stop"))[0].output == []
    assert anthropic_message(bytes_of(AnthropicMessages(**HEAD), [], "stop"))[0].content == []


@by_machine
def test_encoder_writes_one_response(machine):
    made = machine(**HEAD)
    for early in (lambda: made.push(ContentDelta("a")), lambda: made.finish("stop")):
        with pytest.raises(UsageError, match="start"):
            early()
    made.start()
    with pytest.raises(UsageError, match="before"):
        made.start()
    made.push(ContentDelta("a"))
    with pytest.raises(UsageError, match=r"parser\.finish_reason"):
        made.finish(None)
    made.finish("stop")
    for late in (
        lambda: made.push(ContentDelta("a")),
        lambda: made.push_bytes([ContentDelta("a")]),
        lambda: made.finish("stop"),
        lambda: made.refuse("no"),
        lambda: made.error("no"),
    ):
        with pytest.raises(UsageError, match="ended"):
            late()


@by_machine
def test_arguments_of_a_closed_call_are_refused(machine):
    made = machine(**HEAD)
    made.start()
    made.push_bytes([ToolCallDelta(0, "i", "f", "{"), ToolCallDelta(0, arguments="}", last=True)])
    with pytest.raises(UsageError, match="call 0"):
        made.push(ToolCallDelta(0, arguments=" "))


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("reasoning_content", {"reasoning_content": "r"}),
        ("reasoning", {"reasoning": "r"}),
        ("both", {"reasoning_content": "r", "reasoning": "r"}),
    ],
)
def test_reasoning_is_written_to_the_chosen_member(name, fields):
    deltas = [ReasoningDelta("r"), ContentDelta("c")]
    chunks = list(chat_completion_chunks(deltas, **HEAD, finish_reason="stop", reasoning=name))
    assert deltas_in(chunks) == [{"role": "assistant", **fields}, {"content": "c"}, {}]
    machine = ChatCompletions(**HEAD, reasoning=name)
    for parts, named in (([Reasoning("r")], fields), ([], {})):
        message = machine.response(Message(parts), "stop")["choices"][0]["message"]
        assert message == {"role": "assistant", "content": "", "refusal": None, **named}


def test_role_is_in_a_separate_or_the_first_chunk():
    deltas = [ContentDelta("c")]
    machine = ChatCompletions(**HEAD)
    assert deltas_in(machine.start()) == [{"role": "assistant"}]
    for empty in ([], [ContentDelta("")]):
        chunks = list(chat_completion_chunks(empty, **HEAD, finish_reason="stop"))
        assert deltas_in(chunks) == [{"role": "assistant"}, {}]
    machine = ChatCompletions(**HEAD, role_alone=False)
    chunks = events_of(machine, deltas, "stop")
    assert deltas_in(chunks) == [{"role": "assistant", "content": "c"}, {}]
    assert chunks == list(chat_completion_chunks(deltas, **HEAD, finish_reason="stop"))
    assert data_of(bytes_of(ChatCompletions(**HEAD, role_alone=False), deltas * 3, "stop"))[1][
        1
    ] == {**chunks[0], "choices": [{**chunks[0]["choices"][0], "delta": {"content": "c"}}]}


def test_reasoning_may_be_dropped():
    deltas = [ReasoningDelta("r"), ContentDelta("c"), ReasoningDelta("s"), ReasoningDelta("t")]
    for none in ("none", None):
        chunks = chat_completion_chunks(deltas, **HEAD, finish_reason="stop", reasoning=none)
        assert deltas_in(chunks) == [{"role": "assistant", "content": "c"}, {}]
    for machine in (
        Responses(**HEAD, reasoning="none"),
        AnthropicMessages(**HEAD, reasoning=False),
    ):
        body = bytes_of(machine, deltas, "stop")
        assert b"reasoning_text" not in body
        assert b"thinking" not in body
    for machine in (ChatCompletions, Responses):
        with pytest.raises(UsageError, match="is not one of"):
            machine(**HEAD, reasoning="thoughts")


def test_reasoning_may_be_a_summary():
    deltas = [ReasoningDelta("r"), ReasoningDelta("s"), ContentDelta("c")]
    events = events_of(Responses(**HEAD, reasoning="summary"), deltas, "stop")
    for event in events:
        check_event(Responses, event)
    assert [event["type"].removeprefix("response.reasoning_") for event in events[3:8]] == [
        "summary_part.added",
        "summary_text.delta",
        "summary_text.delta",
        "summary_text.done",
        "summary_part.done",
    ]
    reasoning = events[-1]["response"]["output"][0]
    assert reasoning["summary"] == [{"type": "summary_text", "text": "rs"}]
    assert bytes_of(Responses(**HEAD, reasoning="summary"), deltas, "stop") == Responses(
        **HEAD
    ).sse(events)


def test_chunks_have_the_members_of_the_response():
    machine = ChatCompletions(
        **HEAD, index=3, system_fingerprint="fp", fields={"service_tier": "default"}
    )
    for chunk in events_of(machine, [ContentDelta("a")], "stop", USAGE):
        check_event(ChatCompletions, chunk)
        assert (chunk["system_fingerprint"], chunk["service_tier"]) == ("fp", "default")
        assert all(choice["index"] == 3 for choice in chunk["choices"])
    whole = machine.response(Message(), "stop")
    assert (whole["system_fingerprint"], whole["choices"][0]["index"]) == ("fp", 3)
    told = {"tools": [], "instructions": "be brief", "temperature": 0.5}
    for event in events_of(Responses(**HEAD, fields=told), [], "stop"):
        assert event["response"].items() >= told.items()


def test_each_choice_has_its_own_encoder():
    first, second = (ChatCompletions(**HEAD, index=index) for index in (0, 1))
    body = first.sse(first.start()) + second.sse(second.start())
    for delta in INTERLEAVED[:7]:
        body += second.push_bytes([delta]) + first.push_bytes([delta])
    body += second.sse(second.finish("stop", last_choice=False))
    assert b"[DONE]" not in body
    body += first.sse(first.finish("length", USAGE))
    assert body.count(b"[DONE]") == 1
    completion, _ = chat_completion(body)
    assert [choice.index for choice in completion.choices] == [0, 1]
    assert [choice.finish_reason for choice in completion.choices] == ["length", "tool_calls"]
    for choice in completion.choices:
        assert choice.message.tool_calls[0].function.arguments == '{"x": 1}'


PROBABILITY = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}


def probabilities(delta):
    return [PROBABILITY] if isinstance(delta, ContentDelta) else None


def test_chunks_have_log_probabilities():
    machine = ChatCompletions(**HEAD, logprobs=probabilities)
    deltas = [ReasoningDelta("r"), ContentDelta("a"), ContentDelta("b")]
    body = bytes_of(machine, deltas, "stop")
    found = [chunk["choices"][0]["logprobs"] for chunk in data_of(body)[1][:-1]]
    said = {"content": [PROBABILITY], "refusal": None}
    assert found == [None, None, said, said, None]
    completion, _ = chat_completion(body)
    assert len(completion.choices[0].logprobs.content) == 2


def test_response_has_log_probabilities():
    machine = Responses(**HEAD, logprobs=probabilities)
    events = events_of(machine, [ReasoningDelta("r"), ContentDelta("a"), ContentDelta("b")], "stop")
    for event in events:
        check_event(Responses, event)
    texts = [event for event in events if "output_text" in event["type"]]
    assert [len(event["logprobs"]) for event in texts] == [1, 1, 2]
    assert len(events[-1]["response"]["output"][1]["content"][0]["logprobs"]) == 2


def test_infinite_log_probability_is_written_as_a_number():
    minus = {**PROBABILITY, "logprob": float("-inf")}
    machine = ChatCompletions(**HEAD, logprobs=lambda _: [minus])
    body = bytes_of(machine, [ContentDelta("a")], "stop")
    assert data_of(body)[1][1]["choices"][0]["logprobs"]["content"][0]["logprob"] == -9999.0


CHAT = {"prompt_tokens": 12, "completion_tokens": 30, "total_tokens": 42}
USAGES = [
    USAGE,
    {
        "input_tokens": 12,
        "input_tokens_details": {"cached_tokens": 5},
        "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 10},
        "total_tokens": 42,
    },
    {
        "input_tokens": 7,
        "cache_read_input_tokens": 5,
        "output_tokens": 30,
        "output_tokens_details": {"thinking_tokens": 10},
    },
]


@pytest.mark.parametrize("usage", [*USAGES, *(lambda known=known: known for known in USAGES)])
def test_usage_is_converted_to_the_protocol(usage):
    *_, last = events_of(ChatCompletions(**HEAD), [], "stop", usage)
    assert last["usage"] == USAGE
    *_, last = events_of(Responses(**HEAD), [], "stop", usage)
    assert last["response"]["usage"] == {
        **USAGES[1],
        "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 0},
    }
    *_, last, _ = events_of(AnthropicMessages(**HEAD), [], "stop", usage)
    assert last["usage"] == USAGES[2]
    for machine in MACHINES:
        whole = machine(**HEAD).response(Message(), "stop", usage)
        check_whole(machine, whole)
        assert whole["usage"]


def test_unknown_usage_is_omitted():
    chunks = events_of(ChatCompletions(**HEAD), [], "stop", lambda: None)
    assert not any("usage" in chunk for chunk in chunks)
    *_, last = events_of(Responses(**HEAD), [], "stop")
    assert last["response"]["usage"] is None


def test_anthropic_input_tokens_are_in_the_first_event():
    machine = AnthropicMessages(**HEAD, usage={"prompt_tokens": 12})
    events = events_of(machine, [ContentDelta("a")], "stop", {"completion_tokens": 3})
    assert events[0]["message"]["usage"] == {"input_tokens": 12, "output_tokens": 0}
    assert events[-2]["usage"] == {"output_tokens": 3}
    message, _ = anthropic_message(machine.sse(events))
    assert (message.usage.input_tokens, message.usage.output_tokens) == (12, 3)
    whole = machine.response(Message(), "stop", {"completion_tokens": 3})
    assert whole["usage"] == {"input_tokens": 12, "output_tokens": 3}


@pytest.mark.parametrize(
    ("reason", "chat", "responses", "messages"),
    [
        ("stop", "stop", "completed", "end_turn"),
        ("end_turn", "stop", "completed", "end_turn"),
        ("length", "length", "max_output_tokens", "max_tokens"),
        ("max_tokens", "length", "max_output_tokens", "max_tokens"),
        ("content_filter", "content_filter", "content_filter", "refusal"),
        ("refusal", "content_filter", "content_filter", "refusal"),
        ("SAFETY", "content_filter", "content_filter", "refusal"),
        ("eos", "stop", "completed", "end_turn"),
        ("tool_use", "stop", "completed", "end_turn"),
        ("pause_turn", "length", "max_output_tokens", "max_tokens"),
        ("abort", "length", "max_output_tokens", "max_tokens"),
        ({"type": "length", "length": 7}, "length", "max_output_tokens", "max_tokens"),
        ("because", "length", "max_output_tokens", "max_tokens"),
    ],
)
def test_finish_reason_is_converted_to_the_protocol(reason, chat, responses, messages):
    *_, last = events_of(ChatCompletions(**HEAD), [ContentDelta("a")], reason)
    assert last["choices"][0]["finish_reason"] == chat
    *_, last = events_of(Responses(**HEAD), [ContentDelta("a")], reason)
    found = last["response"]
    assert (found["incomplete_details"] or {"reason": "completed"})["reason"] == responses
    assert last["type"] == f"response.{found['status']}"
    assert found["output"][0]["status"] == found["status"]
    *_, last, _ = events_of(AnthropicMessages(**HEAD), [ContentDelta("a")], reason)
    assert last["delta"]["stop_reason"] == messages


def test_natural_end_with_calls_is_a_tool_call_reason():
    for reason in ("stop", "tool_calls", "tool_use", "end_turn"):
        *_, last = events_of(ChatCompletions(**HEAD), INTERLEAVED[:-1], reason)
        assert last["choices"][0]["finish_reason"] == "tool_calls"
        *_, last, _ = events_of(AnthropicMessages(**HEAD), INTERLEAVED[:-1], reason)
        assert last["delta"]["stop_reason"] == "tool_use"


CUT = '<tool_call>{"name": "rm", "arguments": {"path": "/tmp'
BROKEN = '<tool_call>{"name": "rm", "arguments": {"path": /tmp}}</tool_call>'


def ends_of(machine, text, reason):
    """Return the finish reasons of the stream and of the complete response."""
    parser = StreamParser("hermes")
    deltas = parser.feed(text) + parser.finish("stop")
    said = parser.finish_reason if reason is None else reason
    events = events_of(machine(**HEAD), deltas, said)
    whole = machine(**HEAD).response(parser.message, said)
    if machine is ChatCompletions:
        return {one["choices"][0]["finish_reason"] for one in (events[-1], whole)}
    if machine is AnthropicMessages:
        return {events[-2]["delta"]["stop_reason"], whole["stop_reason"]}
    return {events[-1]["response"]["status"], whole["status"]}


@pytest.mark.parametrize(
    ("machine", "cut", "natural"),
    [
        (ChatCompletions, "length", "tool_calls"),
        (AnthropicMessages, "max_tokens", "tool_use"),
        (Responses, "incomplete", "completed"),
    ],
)
def test_truncated_call_is_not_reported_as_a_natural_end(machine, cut, natural):
    """An engine also reports "stop" for a stop string inside a call."""
    for reason in ("stop", "eos", "end_turn", "length", None):
        assert ends_of(machine, CUT, reason) == {cut}
    # Unrepairable arguments are an error of the model, and its turn has ended. But Anthropic's
    # clients see only the healed part of the arguments, and would execute it.
    ended = cut if machine is AnthropicMessages else natural
    for text in (BROKEN, BROKEN + "And more.", BROKEN + BROKEN.replace("/tmp", '"/tmp"')):
        assert ends_of(machine, text, None) == {ended}
    assert ends_of(machine, BROKEN + "And more.", "stop") == {ended}


NO_ARGUMENTS = (
    '<tool_call>{"name": "rm", x</tool_call>',
    '<tool_call>{"name": "rm", x</tool_call>And more.',
    '<tool_call>{"name": "rm", x</tool_call><tool_call>{"name": "g", "arguments": {}}</tool_call>',
)


@pytest.mark.parametrize("text", NO_ARGUMENTS)
@pytest.mark.parametrize(
    ("machine", "read"),
    [
        (ChatCompletions, read_chat_completions),
        (AnthropicMessages, read_messages),
        (Responses, read_responses),
    ],
)
def test_call_broken_before_its_arguments_is_not_complete(machine, read, text):
    parser = StreamParser("hermes")
    deltas = parser.feed(text) + parser.finish("stop")
    assert (parser.finish_reason, parser.message.tool_calls[0].arguments) == ("tool_calls", "")
    events = events_of(machine(**HEAD), deltas, parser.finish_reason)
    written = machine(**HEAD)
    sent = written.sse(written.start())
    sent += b"".join(written.push_bytes([delta]) for delta in deltas)
    sent += written.sse(written.finish(parser.finish_reason))
    whole = machine(**HEAD).response(parser.message, parser.finish_reason)
    for told in (events, sent, whole):
        assert not read(told).tool_calls[0].complete


@by_machine
def test_response_requires_a_message(machine):
    with pytest.raises(UsageError, match=r"response\(\) takes a Message.*, not str"):
        machine(**HEAD).response("hello", "stop")


def test_anthropic_reports_the_stop_sequence():
    for reason in ("stop", "stop_sequence"):
        events = events_of(AnthropicMessages(**HEAD), [], reason, stop_sequence="###")
        assert events[-2]["delta"] == {"stop_reason": "stop_sequence", "stop_sequence": "###"}
    whole = AnthropicMessages(**HEAD).response(Message(), "stop", stop_sequence="###")
    assert (whole["stop_reason"], whole["stop_sequence"]) == ("stop_sequence", "###")
    for machine in (ChatCompletions, Responses):
        assert events_of(machine(**HEAD), [], "stop", stop_sequence="###")
        assert machine(**HEAD).response(Message(), "stop", stop_sequence="###")


def test_anthropic_omits_the_stop_sequence_for_other_reasons():
    """For example, the stop string is inside or after a call."""
    cut, call = ToolCallDelta(0, "c1", "f", '{"a": '), ToolCallDelta(0, "c1", "f", "{}", last=True)
    for deltas, reason in (([cut], "stop"), ([], "length"), ([call], "stop")):
        events = events_of(AnthropicMessages(**HEAD), deltas, reason, stop_sequence="###")
        assert events[-2]["delta"]["stop_reason"] != "stop_sequence"
        assert events[-2]["delta"]["stop_sequence"] is None
    message = Message([ToolCall("c1", "f", '{"a": ', complete=False)])
    whole = AnthropicMessages(**HEAD).response(message, "stop", stop_sequence="###")
    assert (whole["stop_reason"], whole["stop_sequence"]) == ("max_tokens", None)
    machine = AnthropicMessages(**HEAD)
    events = [*machine.start(), *machine.refuse("No."), *machine.finish("stop", stop_sequence="#")]
    assert events[-2]["delta"]["stop_sequence"] is None


def test_thinking_is_signed_at_its_end():
    machine = AnthropicMessages(**HEAD, signature=lambda text: f"signed {text}")
    body = bytes_of(machine, INTERLEAVED, "stop")
    message, _ = anthropic_message(body)
    signed = [block.signature for block in message.content if block.type == "thinking"]
    assert signed == ["signed ab", "signed d"]
    assert body == machine.sse(
        events_of(
            AnthropicMessages(**HEAD, signature=lambda text: f"signed {text}"), INTERLEAVED, "stop"
        )
    )


def test_arguments_of_a_truncated_call_are_healed_for_anthropic():
    cut = ToolCall("i", "f", '{"a": "hel', complete=False)
    whole = AnthropicMessages(**HEAD).response(Message([cut]), "length")
    assert whole["content"][0]["input"] == {"a": "hel"}


def refused(machine):
    """Return the events of a response that ends with a refusal."""
    events = machine.start() + machine.push(ContentDelta("Well, "))
    events += machine.refuse("I can") + machine.refuse("not.")
    return events + machine.finish("stop")


@by_machine
def test_refusal_has_the_form_of_the_protocol(machine):
    events = refused(machine(**HEAD))
    for event in events:
        check_event(machine, event)
    body = machine(**HEAD).sse(events)
    if machine is ChatCompletions:
        completion, _ = chat_completion(body)
        assert completion.choices[0].message.refusal == "I cannot."
    elif machine is Responses:
        final, _ = response(body)
        assert final.output[1].content[0].refusal == "I cannot."
    else:
        message, _ = anthropic_message(body)
        assert message.stop_reason == "refusal"
        assert message.stop_details.explanation == "I cannot."


def failed(machine):
    events = machine.start() + machine.push(ContentDelta("Well, "))
    return machine.sse(events + machine.error("overloaded", code="server_error"))


def test_clients_raise_stream_errors():
    import anthropic
    import openai

    with pytest.raises(openai.APIError, match="overloaded"):
        chat_completion(failed(ChatCompletions(**HEAD)))
    with pytest.raises(anthropic.APIStatusError, match="overloaded"):
        anthropic_message(failed(AnthropicMessages(**HEAD)))


def test_response_error_is_written_as_two_events():
    body = failed(Responses(**HEAD))
    _, events = response(body)
    assert [event.type for event in events[-2:]] == ["error", "response.failed"]
    assert events[-1].response.error.message == "overloaded"
    for event in data_of(body)[1]:
        check_event(Responses, event)


def test_only_chat_streams_end_with_done():
    deltas = [ContentDelta("a")]
    for usage in (None, USAGE):
        body = bytes_of(ChatCompletions(**HEAD), deltas, "stop", usage)
        assert body.endswith(b"}\n\ndata: [DONE]\n\n")
        assert body.count(b"[DONE]") == 1
    assert failed(ChatCompletions(**HEAD)).endswith(b"data: [DONE]\n\n")
    for machine in (Responses, AnthropicMessages):
        assert b"[DONE]" not in bytes_of(machine(**HEAD), deltas, "stop")


def content_in(machine, body):
    """Return the accumulated content of the events in the bytes."""
    events = [event for event in data_of(body)[1] if event != "[DONE]"]
    if machine is ChatCompletions:
        return "".join(delta.get("content", "") for delta in deltas_in(events))
    if machine is Responses:
        return "".join(
            event["delta"] for event in events if event["type"] == "response.output_text.delta"
        )
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    return "".join(delta.get("text", "") for delta in deltas)


@given(texts=st.lists(st.text(st.characters(), max_size=6) | st.text(max_size=200), max_size=5))
def test_any_text_is_readable_by_clients(texts):
    for machine in MACHINES:
        deltas = [ContentDelta("x"), *map(ContentDelta, texts), ReasoningDelta("y")]
        body = bytes_of(machine(**HEAD), deltas, "stop", at_once=2)
        assert len(body.decode().splitlines()) == body.count(b"\n")
        assert content_in(machine, body) == "x" + replace_surrogates("".join(texts))


@by_machine
async def test_async_events_equal_sync_events(machine):
    async def deltas():
        for delta in INTERLEAVED:
            yield delta

    events = events_of(machine(**HEAD), INTERLEAVED, "length", USAGE)
    made = machine(**HEAD)
    assert [event async for event in made.aevents(deltas(), lambda: "length", USAGE)] == events
    assert list(machine(**HEAD).events(INTERLEAVED, "length", lambda: USAGE)) == events


async def test_async_chunks_equal_sync_chunks():
    async def deltas():
        for delta in INTERLEAVED:
            yield delta

    options = {**HEAD, "finish_reason": "stop", "usage": lambda: USAGE, "index": 1}
    chunks = [chunk async for chunk in achat_completion_chunks(deltas(), **options)]
    assert chunks == list(chat_completion_chunks(INTERLEAVED, **options))


def test_client_reads_a_complete_response(monkeypatch):
    message = Message([ToolCall("i", "f", '{"a": 1}', complete=True)])
    whole = ChatCompletions(**HEAD).response(message, "tool_calls", USAGE)
    ANSWER.body = json.dumps(whole).encode()
    monkeypatch.setattr(ANSWER, "content_type", "application/json")
    completion = openai_client().chat.completions.create(model="m", messages=HI)
    assert completion.choices[0].message.tool_calls[0].function.arguments == '{"a": 1}'
    assert completion.choices[0].message.content is None


@by_machine
def test_encoder_keeps_no_message(machine):
    made = machine(**HEAD)
    made.start()
    text = "some text " * 5
    made.push_bytes([ContentDelta(text)] * 2)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(4_000):
        made.push_bytes([ContentDelta(text + "x")])
        made.push(ContentDelta(text))
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    # Responses repeats the complete text at the end, so it is kept.
    assert (grown > 200_000) is (machine is Responses)


def test_cached_tokens_are_counted_separately():
    usage = {
        "input_tokens": 2,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 4,
        "output_tokens": 3,
    }
    *_, last = events_of(ChatCompletions(**HEAD), [], "stop", usage)
    assert last["usage"] == {
        "prompt_tokens": 11,
        "completion_tokens": 3,
        "total_tokens": 14,
        "prompt_tokens_details": {"cached_tokens": 5},
    }
    *_, last, _ = events_of(AnthropicMessages(**HEAD), [], "stop", usage)
    assert last["usage"] == usage
    *_, last = events_of(ChatCompletions(**HEAD), [], "stop", {"input_tokens": 1})
    assert last["usage"] == {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}
