"""The clients of OpenAI and Anthropic as judges: what they validate, and what they add up.

Each judge takes the bytes of a whole stream, through the client's own way of reading it from a
socket (httpx with a transport that answers at once), and returns what the client made of it.
`checked_...` validates one event by the client's types, strictly, and says which members these do
not know.
"""

from __future__ import annotations

from functools import cache

import pytest

from deltaparse.protocols import AnthropicMessages, ChatCompletions, Responses

openai = pytest.importorskip("openai", reason="the openai package is not installed")
anthropic = pytest.importorskip("anthropic", reason="the anthropic package is not installed")
pydantic = pytest.importorskip("pydantic")
httpx = pytest.importorskip("httpx2")

from anthropic.types import Message as AnthropicMessage  # noqa: E402
from anthropic.types import RawMessageStreamEvent  # noqa: E402
from openai.types.chat import ChatCompletion, ChatCompletionChunk  # noqa: E402
from openai.types.responses import Response, ResponseStreamEvent  # noqa: E402

HEAD = {"id": "resp_x", "model": "m", "created": 7}
MACHINES = (ChatCompletions, Responses, AnthropicMessages)

TYPES = {
    ChatCompletions: ChatCompletionChunk,
    Responses: ResponseStreamEvent,
    AnthropicMessages: RawMessageStreamEvent,
}
WHOLE = {ChatCompletions: ChatCompletion, Responses: Response, AnthropicMessages: AnthropicMessage}
KNOWN_EXTRAS = {"reasoning_content", "reasoning", "name", "bytes"}


@cache
def judge(machine):
    """What judges an event."""
    return pydantic.TypeAdapter(TYPES[machine])


def extras(value):
    """The members that the client's types do not know, wherever in a model."""
    if isinstance(value, pydantic.BaseModel):
        return set(value.model_extra or ()).union(
            *(extras(getattr(value, name)) for name in type(value).model_fields)
        )
    if isinstance(value, list | tuple):
        return set().union(*map(extras, value))
    return set()


def check_event(machine, event):
    """An event is what the client's types say, and has no members that they do not know."""
    made = judge(machine).validate_python(event, strict=True)
    assert made.model_dump(exclude_unset=True) == event
    assert extras(made) <= KNOWN_EXTRAS


def check_whole(machine, response):
    """The same of a whole response."""
    made = WHOLE[machine].model_validate(response, strict=True)
    assert made.model_dump(exclude_unset=True) == response
    assert extras(made) <= KNOWN_EXTRAS


class Answer:
    """A transport that answers every request with `body`."""

    def __init__(self):
        self.body = b""
        self.content_type = "text/event-stream"

    def __call__(self, request):
        headers = {"content-type": self.content_type}
        return httpx.Response(200, content=self.body, headers=headers)


ANSWER = Answer()
HTTP = httpx.Client(transport=httpx.MockTransport(ANSWER))
OPENAI = openai.OpenAI(api_key="x", base_url="http://x", http_client=HTTP, max_retries=0)
ANTHROPIC = anthropic.Anthropic(api_key="x", base_url="http://x", http_client=HTTP, max_retries=0)
HI = [{"role": "user", "content": "hi"}]


def chat_completion(body):
    """The completion that openai adds up, and the events that it makes."""
    ANSWER.body = body
    with OPENAI.chat.completions.stream(model="m", messages=HI) as stream:
        events = list(stream)
        return stream.current_completion_snapshot, events


def response(body):
    """The response that openai adds up, None if it never was completed, and the events."""
    ANSWER.body = body
    with OPENAI.responses.stream(model="m", input="hi") as stream:
        events = list(stream)
        final = stream.get_final_response() if events[-1].type == "response.completed" else None
        return final, events


def anthropic_message(body):
    """The message that anthropic adds up, and the events."""
    ANSWER.body = body
    with ANTHROPIC.messages.stream(model="m", messages=HI, max_tokens=9) as stream:
        events = list(stream)
        return stream.get_final_message(), events
