"""The openai package accumulates the chunks of `chat_completion_chunks` to the message.

`client.chat.completions.stream` reads chunks with `ChatCompletionStreamState` (openai-python 3.52,
lib/streaming/chat/_completions.py).
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import StreamParser, chat_completion_chunks

from ..strategies.wire_by_hand import CALL, OTHER, TAGS, chunkings
from ..strategies.wire_json_and_tags import TOOLS, any_text
from ..support import as_joined, cuts, needs
from .judges import reason_told

pytestmark = needs("openai")

HEAD = {"id": "x", "model": "m", "created": 7}
USAGE = {"completion_tokens": 1, "prompt_tokens": 2, "total_tokens": 3}


def completed(fmt, texts, reason, **options):
    """Return the client's state for an output, the parser, and the events."""
    parser = StreamParser(fmt, **options)

    def deltas():
        for text in texts:
            yield from parser.feed(text)
        yield from parser.finish(reason)

    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    state = ChatCompletionStreamState()
    events = []
    for chunk in chat_completion_chunks(
        deltas(), **HEAD, finish_reason=lambda: parser.finish_reason, usage=USAGE
    ):
        made = ChatCompletionChunk.model_validate(chunk)
        assert made.model_dump(exclude_unset=True) == chunk
        events += state.handle_chunk(made)
    return state, parser, events


def as_joined_by_client(message):
    calls = [
        (call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []
    ]
    return message.content or "", getattr(message, "reasoning_content", None) or "", calls


@given(case=any_text, data=st.data())
def test_client_accumulates_the_message(case, data):
    fmt, text = case
    for texts in ([text], list(text), data.draw(cuts(text))):
        state, parser, _ = completed(fmt, texts, "stop", tools=TOOLS)
        choice = state.current_completion_snapshot.choices[0]
        assert choice.message.role == "assistant"
        assert choice.finish_reason == reason_told(parser)
        assert as_joined_by_client(choice.message) == as_joined(parser.message)


def test_client_events_match_the_stream():
    text = f"<think>\nhm\n</think>\n\nHi\n{CALL}\n{OTHER}"
    for texts in chunkings(text):
        state, _, events = completed(TAGS, texts, "stop")
        done = [event for event in events if event.type == "tool_calls.function.arguments.done"]
        assert [(event.index, event.name, event.arguments) for event in done] == [
            (0, "f", '{"a": 1}'),
            (1, "g", '{"b": [true, "x"]}'),
        ]
        content = [event.delta for event in events if event.type == "content.delta"]
        assert "".join(content) == "Hi"
        assert state.get_final_completion().usage.total_tokens == 3


def test_client_raises_for_a_truncated_response():
    from openai import LengthFinishReasonError

    state, _, _ = completed(TAGS, [CALL[: CALL.index("1}")]], "length")
    assert state.current_completion_snapshot.choices[0].finish_reason == "length"
    with pytest.raises(LengthFinishReasonError):
        state.get_final_completion()
