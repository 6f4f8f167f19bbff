"""Decoding of streams from other servers: reordered, missing, repeated and truncated events."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaparse import (
    Content,
    ContentDelta,
    Message,
    Reasoning,
    StreamParser,
    ToolCall,
    ToolCallDelta,
    UsageError,
)
from deltaparse.protocols import (
    AnthropicMessages,
    ChatCompletions,
    Responses,
    message_deltas,
    read_chat_completions,
    read_messages,
    read_responses,
)
from deltaparse.stream.finish_reasons import CUT, FAILED, FILTERED, NATURAL

from ..support import VALUES
from .mutations import places, replaced
from .streams import bytes_of, events_of

HEAD = {"id": "x", "model": "m", "created": 7}
CALLS = [ToolCall("a", "f", '{"x": 1.50}', True), ToolCall("b", "g", "{}", True)]
MESSAGE = Message([Reasoning("r"), Content("c"), CALLS[0], Content("d"), CALLS[1]])
READ = {
    ChatCompletions: read_chat_completions,
    Responses: read_responses,
    AnthropicMessages: read_messages,
}
by_protocol = pytest.mark.parametrize(
    ("machine", "read"), READ.items(), ids=lambda one: one.__name__
)


def kinds(message):
    return [issue.kind for issue in message.issues]


def chunk(reason=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def called(index, id=None, name=None, arguments=None):
    return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}


@by_protocol
def test_complete_response_is_read(machine, read):
    whole = machine(**HEAD).response(MESSAGE, "tool_calls")
    found = read(whole)
    assert found.content == "cd"
    assert found.reasoning_content == "r"
    assert [call.name for call in found.tool_calls] == ["f", "g"]
    assert found.issues == ()
    if machine is ChatCompletions:  # Chat Completions keep no order
        assert found.parts == [Reasoning("r"), Content("cd"), *CALLS]
    elif machine is Responses:
        assert found == MESSAGE
    else:  # `input` is a value
        assert [call.arguments for call in found.tool_calls] == ['{"x": 1.5}', "{}"]


@by_protocol
def test_truncated_stream_is_read(machine, read):
    deltas = list(message_deltas(MESSAGE))
    events = events_of(machine(**HEAD), deltas, "tool_calls")
    for end in range(len(events)):
        found = read(events[:end])
        assert MESSAGE.content.startswith(found.content)
        for call, whole in zip(found.tool_calls, CALLS, strict=False):
            assert whole.arguments.startswith(call.arguments)
            assert not call.complete or call.arguments == whole.arguments
    cut = read(events[:2])
    assert kinds(cut) == ["stream_cut"]
    body = bytes_of(machine(**HEAD), deltas, "tool_calls")
    for end in range(0, len(body), 7):
        assert MESSAGE.content.startswith(read(body[:end]).content)


@by_protocol
def test_last_call_of_a_truncated_stream_is_not_complete(machine, read):
    deltas = [ToolCallDelta(0, "a", "f", '{"x": 1}')]
    (call,) = read(events_of(machine(**HEAD), deltas, "length")).tool_calls
    assert not call.complete


def test_item_status_decides_if_a_call_is_complete():
    whole = [ToolCallDelta(0, "a", "f", '{"x": 1}', last=True)]
    (call,) = read_responses(events_of(Responses(**HEAD), whole, "length")).tool_calls
    assert call.complete
    broken = [ToolCallDelta(0, "a", "f", '{"x": 1}'), ContentDelta("z")]
    (call,) = read_responses(events_of(Responses(**HEAD), broken, "stop")).tool_calls
    assert not call.complete


@by_protocol
def test_a_failure_is_an_issue(machine, read):
    made = machine(**HEAD)
    events = made.start() + made.push(ContentDelta("a")) + made.error("no memory")
    for stream in (events, machine(**HEAD).sse(events)):
        found = read(stream)
        assert found == Message([Content("a")])
        assert kinds(found) == ["stream_error"]
        assert found.issues[0].detail == "no memory"


@by_protocol
def test_a_refusal_is_content(machine, read):
    made = machine(**HEAD)
    events = made.start() + made.refuse("I can") + made.refuse("not.") + made.finish("stop")
    assert read(events) == Message([Content("I cannot.")])


@by_protocol
def test_invalid_event_is_refused(machine, read):
    with pytest.raises(UsageError, match="not an event"):
        read([7])


class Model:
    """An object with `model_dump`, like pydantic models."""

    def __init__(self, event):
        self.event = event

    def model_dump(self, *, exclude_unset):
        assert exclude_unset
        return self.event


@by_protocol
def test_events_may_be_mappings_models_text_or_bytes(machine, read):
    deltas = list(message_deltas(MESSAGE))
    events = events_of(machine(**HEAD), deltas, "tool_calls")
    body = machine(**HEAD).sse(events)
    for line_end in (b"\n", b"\r\n", b"\r"):
        other = body.replace(b"\n", line_end)
        for size in (1, 2, 7, len(other)):
            cut = [other[at : at + size] for at in range(0, len(other), size)]
            assert read(cut) == MESSAGE
            assert read(iter(map(bytes.decode, cut))) == MESSAGE
    assert read(map(Model, events)) == MESSAGE
    whole = machine(**HEAD).response(MESSAGE, "stop")
    assert read(Model(whole)) == read(whole)


def test_lines_without_data_are_ignored():
    body = (
        b": comment\n\nevent: x\nid: 3\nretry: 9\n\ndata:{\ndata: }\n\ndata: [DONE]\n\ndata: 7\n\n"
    )
    assert read_chat_completions(body) == Message([])
    data = json.dumps(chunk("stop", content="a")).encode()
    assert read_chat_completions(b"data: {broken\n\ndata:" + data) == Message([Content("a")])


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_is_read_from_any_member(name):
    chunks = [chunk(**{name: "a"}), chunk(**{name: "b", "content": None}), chunk("stop")]
    assert read_chat_completions(chunks) == Message([Reasoning("ab")])
    both = chunk("stop", reasoning="a", reasoning_content="a")
    assert read_chat_completions([both]) == Message([Reasoning("a")])


def test_chunks_of_other_servers_are_read():
    chunks = [
        chunk(role="assistant", content="", tool_calls=[]),
        chunk(content=[{"type": "text", "text": "c"}, {"type": "x"}, "y"]),
        chunk(tool_calls=[called(0, "a", "", "")]),
        chunk(tool_calls=[called(1, "b", "g", None), called(0, "a", "f", '{"x"')]),
        chunk(tool_calls=[called(0, None, None, ": 1"), called(1, "", "g", "{}")]),
        {"choices": [{"delta": {"tool_calls": [called(0, "a", "f", "}")]}}]},
        {"choices": [{"index": 1, "delta": {"content": "of another choice"}}]},
        chunk("tool_calls", content=None, tool_calls=None),
        {"choices": [], "usage": {}},
    ]
    calls = [ToolCall("a", "f", '{"x": 1}', True), ToolCall("b", "g", "{}", True)]
    assert read_chat_completions(chunks) == Message([Content("c"), *calls])
    assert read_chat_completions(chunks, index=1).content == "of another choice"


def test_name_in_parts_is_joined():
    parts = [called(0, "a", "get_"), called(0, None, "weather"), called(0, None, None, "{}")]
    chunks = [chunk(tool_calls=[part]) for part in parts]
    (call,) = read_chat_completions([*chunks, chunk("tool_calls")]).tool_calls
    assert call == ToolCall("a", "get_weather", "{}", True)


def test_legacy_function_call_is_read():
    parts = [{"name": "f", "arguments": ""}, {"arguments": '{"x"'}, {"arguments": ": 1}"}]
    chunks = [chunk(function_call=part) for part in parts]
    expected = Message([ToolCall("", "f", '{"x": 1}', True)])
    assert read_chat_completions([*chunks, chunk("function_call")]) == expected
    call = {"name": "f", "arguments": '{"x": 1}'}
    choice = {"message": {"function_call": call}, "finish_reason": "function_call"}
    assert read_chat_completions({"choices": [choice]}) == expected


def test_calls_without_an_index_are_read():
    parts = [
        called(None, "a", "f", "{"),
        called(None, None, None, "}"),
        called(None, "b", "g", "{}"),
    ]
    chunks = [chunk(tool_calls=[part]) for part in parts]
    names = [call.name for call in read_chat_completions(chunks).tool_calls]
    assert names == ["f", "g"]


def test_interleaved_items_are_read():
    events = events_of(Responses(**HEAD), message_deltas(MESSAGE), "tool_calls")
    items = [event for event in events if "output_index" in event]
    for order in (items, sorted(items, key=lambda event: -event["output_index"])):
        ended = {"type": "response.completed", "response": {"status": "completed", "output": []}}
        assert read_responses([*events[:2], *order, ended]) == MESSAGE
        assert read_responses([*order, events[-1]]) == MESSAGE


@pytest.mark.parametrize("left_out", ["delta", "done", "added", "part"])
def test_missing_events_of_a_response_are_tolerated(left_out):
    events = events_of(Responses(**HEAD), message_deltas(MESSAGE), "tool_calls")
    kept = [event for event in events[:-1] if left_out not in event["type"].replace("_", ".")]
    assert read_responses([*kept, events[-1]]) == MESSAGE
    assert read_responses([events[-1]]) == MESSAGE


def test_summary_is_reasoning_without_a_reasoning_text():
    machine = Responses(**HEAD, reasoning="summary")
    assert read_responses(events_of(machine, message_deltas(MESSAGE), "stop")) == MESSAGE
    part = {"type": "reasoning_text", "text": "t"}
    item = {"type": "reasoning", "summary": [{"text": "s"}], "content": [part]}
    whole = {"status": "completed", "output": [item]}
    assert read_responses(whole) == Message([Reasoning("t")])


def test_failed_response_has_an_issue():
    failed = {"type": "response.failed", "response": {"status": "failed", "error": None}}
    assert kinds(read_responses([failed])) == ["stream_error"]
    assert kinds(read_responses([{"type": "error", "error": "x", "code": "y"}])) == ["stream_error"]


def test_unsupported_anthropic_blocks_are_ignored():
    events = [
        {"type": "message_start", "message": {"content": [{"type": "text", "text": "a"}]}},
        {"type": "ping"},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "redacted_thinking", "data": "x"},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "thinking_delta", "thinking": "x"},
        },
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "i", "name": "f", "input": {"x": 1}},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "citations_delta", "citation": {}},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "b"}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]
    call = ToolCall("i", "f", '{"x": 1}', True)
    assert read_messages(events) == Message([Content("ab"), call])


def test_call_without_input_has_no_arguments():
    events = [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "i", "name": "f", "input": {}},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ]
    assert read_messages(events).tool_calls == [ToolCall("i", "f", "{}", True)]
    events[1]["delta"]["stop_reason"] = "max_tokens"
    assert read_messages(events).tool_calls == [ToolCall("i", "f", "", False)]


def test_too_deep_arguments_are_not_complete():
    deep = '{"a": ' + "[" * 100_000
    (call,) = read_chat_completions(
        [chunk("stop", tool_calls=[called(0, "a", "f", deep)])]
    ).tool_calls
    assert not call.complete


@given(data=st.data(), new=VALUES)
def test_mutated_events_are_read_or_refused(data, new):
    for machine, read in READ.items():
        events = events_of(machine(**HEAD), message_deltas(MESSAGE), "tool_calls")
        for value in (events, [machine(**HEAD).response(MESSAGE, "tool_calls")]):
            place = data.draw(st.sampled_from(list(places(value))[1:]))
            try:
                found = read(replaced(value, place, new))
            except UsageError as error:
                found = error
            assert isinstance(found, Message | UsageError)


REASONS = st.one_of(
    st.sampled_from([*NATURAL, *CUT, *FILTERED, *FAILED]).flatmap(
        lambda reason: st.sampled_from([reason, reason.upper()])
    ),
    st.sampled_from(["never_heard_of", "stopped", " "]),
)


def called_and_ended(read, reason):
    """Return the only call of a stream with a finish reason."""
    if read is read_chat_completions:
        return read([chunk(tool_calls=[called(0, "a", "f", "{}")]), chunk(reason)]).tool_calls[0]
    block = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    events = [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "message_delta", "delta": {"stop_reason": reason}},
        {"type": "message_stop"},
    ]
    return read(events).tool_calls[0]


@pytest.mark.parametrize(
    "read", [read_chat_completions, read_messages], ids=lambda one: one.__name__
)
@given(reason=REASONS)
@example(reason="eos_token")
@example(reason="pause_turn")
def test_call_is_complete_for_natural_finish_reasons_only(read, reason):
    parser = StreamParser("hermes")
    parser.feed('<tool_call>{"name": "f", "arguments": {}')
    parser.finish(reason)
    whole = parser.message.tool_calls[0].complete and parser.finish_reason == "tool_calls"
    assert called_and_ended(read, reason).complete is whole


def test_finish_reason_may_be_an_object():
    for said, whole in (("stop", True), ("length", False), ("abort", False)):
        assert called_and_ended(read_chat_completions, {"type": said}).complete is whole


@given(
    st.lists(st.tuples(st.sampled_from("fgh"), st.lists(st.sampled_from("abc"))), min_size=1),
    st.booleans(),
)
def test_calls_with_equal_indexes_are_separated_by_id(calls, again):
    chunks = []
    for place, (name, parts) in enumerate(calls):
        first, *more = ["{", *(f'"{key}": 1, ' for key in parts), '"z": 1}']
        chunks.append(chunk(tool_calls=[called(0, f"id{place}", name, first)]))
        known = (f"id{place}", name) if again else (None, None)
        chunks += [chunk(tool_calls=[called(0, *known, part)]) for part in more]
    found = read_chat_completions([*chunks, chunk("tool_calls")]).tool_calls
    assert [(call.id, call.name) for call in found] == [
        (f"id{place}", name) for place, (name, _) in enumerate(calls)
    ]
    assert all(call.complete for call in found)


def test_thinking_parts_of_content_are_reasoning():
    parts = [
        {
            "type": "thinking",
            "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}],
        },
        {"type": "text", "text": "yes"},
        {"type": "thinking", "thinking": "so"},
    ]
    found = [Reasoning("hm"), Content("yes"), Reasoning("so")]
    assert read_chat_completions([chunk("stop", content=parts)]).parts == found
    assert read_chat_completions([*(chunk(content=[part]) for part in parts)]).parts == found
    whole = {"choices": [{"index": 0, "message": {"content": parts}, "finish_reason": "stop"}]}
    assert read_chat_completions(whole).parts == found


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_non_json_numbers_make_a_call_incomplete(word):
    text = f'{{"a": {word}}}'
    stream = [chunk(tool_calls=[called(0, "a", "f", text)]), chunk("tool_calls")]
    (call,) = read_chat_completions(stream).tool_calls
    assert (call.arguments, call.complete) == (text, False)


@by_protocol
def test_byte_order_mark_is_ignored(machine, read):
    body = bytes_of(machine(**HEAD), list(message_deltas(MESSAGE)), "tool_calls")
    marked = b"\xef\xbb\xbf" + body
    assert read(marked) == read(body) == read(marked.decode())
    assert read([marked[at : at + 1] for at in range(len(marked))]) == read(body)
    first = b'data: {"choices": [{"index": 0, "delta": {"content": "x"}}]}\n\n'
    assert read_chat_completions(b"\xef\xbb\xbf" + first).content == "x"
