"""The clients of OpenAI and Anthropic as judges: validation of events, and accumulated messages.

Each judge passes the bytes of a complete stream through the client's own HTTP code (httpx with a
mock transport), and returns the client's result. `check_...` validates one event by the client's
types in strict mode, and checks for unknown members.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from deltaparse.protocols import AnthropicMessages, ChatCompletions, Responses

from ..support import needs

HEAD = {"id": "resp_x", "model": "m", "created": 7}
MACHINES = (ChatCompletions, Responses, AnthropicMessages)
KNOWN_EXTRAS = {"reasoning_content", "reasoning", "name", "bytes"}
needs_clients = needs("openai", "anthropic", "pydantic", "httpx2")


def reason_told(parser):
    """Return the finish reason in Chat Completions for a parsed turn.

    Clients treat a call that broke before its arguments as a call without arguments.
    """
    reason = parser.finish_reason
    bare = any(not (call.complete or call.arguments) for call in parser.message.tool_calls)
    return "length" if bare and reason == "tool_calls" else reason


@cache
def judge(machine):
    """Return the validator of an event."""
    from anthropic.types import RawMessageStreamEvent
    from openai.types.chat import ChatCompletionChunk
    from openai.types.responses import ResponseStreamEvent
    from pydantic import TypeAdapter

    return TypeAdapter(
        {
            ChatCompletions: ChatCompletionChunk,
            Responses: ResponseStreamEvent,
            AnthropicMessages: RawMessageStreamEvent,
        }[machine]
    )


@cache
def whole(machine):
    """Return the type of a complete response."""
    from anthropic.types import Message
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    return {ChatCompletions: ChatCompletion, Responses: Response, AnthropicMessages: Message}[
        machine
    ]


def extras(value):
    """Return the members unknown to the client's types, at any depth."""
    if hasattr(value, "model_extra"):
        return set(value.model_extra or ()).union(
            *(extras(getattr(value, name)) for name in type(value).model_fields)
        )
    if isinstance(value, list | tuple):
        return set().union(*map(extras, value))
    return set()


def check_event(machine, event):
    """Check that an event matches the client's types, without unknown members."""
    made = judge(machine).validate_python(event, strict=True)
    assert made.model_dump(exclude_unset=True) == event
    assert extras(made) <= KNOWN_EXTRAS


def check_whole(machine, response):
    """Check a complete response in the same way."""
    made = whole(machine).model_validate(response, strict=True)
    assert made.model_dump(exclude_unset=True) == response
    assert extras(made) <= KNOWN_EXTRAS


class Answer:
    """A transport that returns `body` for every request."""

    def __init__(self):
        self.body = b""
        self.content_type = "text/event-stream"

    def __call__(self, request):
        headers = {"content-type": self.content_type}
        return import_module("httpx2").Response(200, content=self.body, headers=headers)


ANSWER = Answer()
HI = [{"role": "user", "content": "hi"}]


def client(make):
    """Return the client of a package, connected to `ANSWER`."""
    httpx = import_module("httpx2")
    http = httpx.Client(transport=httpx.MockTransport(ANSWER))
    return make(api_key="x", base_url="http://x", http_client=http, max_retries=0)


@cache
def openai_client():
    """Return the client of OpenAI."""
    return client(import_module("openai").OpenAI)


@cache
def anthropic_client():
    """Return the client of Anthropic."""
    return client(import_module("anthropic").Anthropic)


def chat_completion(body):
    """Return the completion accumulated by openai, and its events."""
    ANSWER.body = body
    with openai_client().chat.completions.stream(model="m", messages=HI) as stream:
        events = list(stream)
        return stream.current_completion_snapshot, events


def response(body):
    """Return the response accumulated by openai (None if incomplete), and its events."""
    ANSWER.body = body
    with openai_client().responses.stream(model="m", input="hi") as stream:
        events = list(stream)
        final = stream.get_final_response() if events[-1].type == "response.completed" else None
        return final, events


def anthropic_message(body):
    """Return the message accumulated by anthropic, and its events."""
    ANSWER.body = body
    with anthropic_client().messages.stream(model="m", messages=HI, max_tokens=9) as stream:
        events = list(stream)
        return stream.get_final_message(), events
