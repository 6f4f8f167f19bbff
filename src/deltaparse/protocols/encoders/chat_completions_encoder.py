"""OpenAI's Chat Completions: a stream of `chat.completion.chunk` objects.

    {"delta": {"role": "assistant"}}                                       once
    {"delta": {"reasoning_content": ...}}                                  for each text
    {"delta": {"content": ...}}
    {"delta": {"tool_calls": [{"index", "id", "type", "function"}]}}       the head of a call
    {"delta": {"tool_calls": [{"index", "function": {"arguments"}}]}}      more of its arguments
    {"delta": {}, "finish_reason": ...}                                    once
    {"choices": [], "usage": {...}}                                        if there is a usage
    [DONE]

Absent members are left out, because clients misread an empty `tool_calls`, a null id or a second
role.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Literal

from deltaparse.partial import UsageError
from deltaparse.stream import Delta, Message, ToolCallDelta
from deltaparse.stream.finish_reasons import Reason, WhenEnded

from ..protocol_finish_reasons import FinishReason, chat_reason, reason_of
from ..usage import Usage, chat_usage, known
from .encoder import Encoder, Event, Kind, Logprobs

__all__ = ["ChatCompletions", "achat_completion_chunks", "chat_completion_chunks"]

ReasoningField = Literal["reasoning_content", "reasoning", "both", "none"]
"""The members with reasoning: "reasoning_content" (DeepSeek, SGLang, llama.cpp), "reasoning" (vLLM,
OpenRouter), both, or none."""

FIELDS: dict[str, tuple[str, ...]] = {
    "reasoning_content": ("reasoning_content",),
    "reasoning": ("reasoning",),
    "both": ("reasoning_content", "reasoning"),
    "none": (),
}
DONE = b"data: [DONE]\n\n"


class ChatCompletions(Encoder):
    """Encoder for the chunks of Chat Completions. One encoder for each choice.

    Args:
        id: the id of the response, the same in all chunks.
        model: the model name for clients.
        created: the time of the response, in seconds since 1970.
        index: the index of the choice. Several choices share all other arguments. All but the last
            one to finish pass `last_choice=False`.
        system_fingerprint: the server's fingerprint. None leaves it out.
        reasoning: the member with reasoning: "reasoning_content", "reasoning", "both", or "none".
        logprobs: called with each delta. Returns the log probabilities of its tokens, a list of
            OpenAI's `{"token", "logprob", "bytes", "top_logprobs"}`, or None.
        role_alone: write the role in a chunk of its own, which `start` returns, instead of in the
            first delta.
        fields: additional members of each chunk, such as `service_tier`.
    """

    def __init__(
        self,
        *,
        id: str,
        model: str,
        created: int = 0,
        index: int = 0,
        system_fingerprint: str | None = None,
        reasoning: ReasoningField | None = "reasoning_content",
        logprobs: Logprobs | None = None,
        role_alone: bool = True,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(id=id, model=model, created=created, fields=fields)
        names = FIELDS.get(reasoning or "none")
        if names is None:
            raise UsageError(f"reasoning={reasoning!r} is not one of: {', '.join(FIELDS)}")
        self.index = index
        self._reasoning = names
        self._hides_reasoning = not names
        self._logprobs = logprobs
        self._role_alone = role_alone
        self._role: dict[str, Any] = {"role": "assistant"}
        self._head = self._top("chat.completion.chunk", system_fingerprint)
        self._whole = self._top("chat.completion", system_fingerprint)
        # The event that ends the stream.
        self._last: Event | None = None

    def finish(
        self,
        finish_reason: Reason,
        usage: Usage = None,
        *,
        stop_sequence: str | None = None,
        last_choice: bool = True,
    ) -> list[Event]:
        """Return the chunk with the finish reason, and a chunk with the usage if there is one.

        With `last_choice=False` other choices continue, so `sse` writes no `[DONE]`.
        """
        events = super().finish(finish_reason, usage, stop_sequence=stop_sequence)
        self._last = events[-1] if last_choice else None
        return events

    def sse(self, events: Iterable[Event]) -> bytes:
        """Write chunks as server-sent events, with `[DONE]` after the last chunk of `finish`."""
        events = list(events)
        ended = bool(events) and events[-1] == self._last
        return super().sse(events) + (DONE if ended else b"")

    def response(
        self,
        message: Message,
        finish_reason: Reason,
        usage: Usage = None,
        *,
        stop_sequence: str | None = None,  # noqa: ARG002 - no place for it
    ) -> dict[str, Any]:
        """Return the `chat.completion` object with one choice."""
        reason = reason_of(message, finish_reason)
        bare = any(not (call.complete or call.arguments) for call in message.tool_calls)
        made = message.to_openai()
        text = made.pop("reasoning_content", None)
        if text is not None:
            made |= dict.fromkeys(self._reasoning, text)
        choice = {
            "index": self.index,
            "message": made | {"refusal": None},
            "logprobs": None,
            "finish_reason": chat_reason(reason, bare=bare),
        }
        counted = known(usage)
        said = {} if counted is None else {"usage": chat_usage(counted)}
        return {**self._whole, "choices": [choice], **said}

    def _top(self, object: str, system_fingerprint: str | None) -> dict[str, Any]:
        """Return the members that all chunks share."""
        head = {"id": self.id, "object": object, "created": self.created, "model": self.model}
        if system_fingerprint is not None:
            head["system_fingerprint"] = system_fingerprint
        return head | self.fields

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> Event:
        probabilities = None
        if self._logprobs is not None and self._delta is not None and delta:
            found = self._logprobs(self._delta)
            probabilities = None if found is None else {"content": found, "refusal": None}
        role, self._role = self._role, {}
        choice = {
            "index": self.index,
            "delta": role | delta,
            "logprobs": probabilities,
            "finish_reason": reason,
        }
        return {**self._head, "choices": [choice]}

    def _started(self) -> list[Event]:
        return [self._chunk({})] if self._role_alone else []

    def _opened(self, kind: Kind, call: ToolCallDelta | None, text: str) -> list[Event]:
        if kind == "call" and call is not None:
            return [self._chunk(call.to_openai())]
        return self._text(text)

    def _text_event(self, text: str) -> Event:
        if self._kind == "call":
            more = {"index": self._index, "function": {"arguments": text}}
            return self._chunk({"tool_calls": [more]})
        if self._kind == "reasoning":
            return self._chunk(dict.fromkeys(self._reasoning, text))
        return self._chunk({str(self._kind): text})

    def _finished(
        self,
        reason: FinishReason,
        usage: Mapping[str, Any] | None,
        stop_sequence: str | None,  # noqa: ARG002 - no place for it
    ) -> list[Event]:
        events = [self._chunk({})] if self._role else []
        events.append(self._chunk({}, chat_reason(reason, bare=self._had_bare)))
        if usage is not None:
            events.append({**self._head, "choices": [], "usage": chat_usage(usage)})
        return events

    def _failed(self, message: str, type: str, code: str) -> list[Event]:
        error = {"message": message, "type": type, "param": None, "code": code or None}
        self._last = {"error": error}
        return [self._last]


def chat_completion_chunks(
    deltas: Iterable[Delta],
    *,
    id: str,
    model: str,
    created: int,
    finish_reason: WhenEnded,
    usage: Usage = None,
    **options: Any,
) -> Iterator[Event]:
    """Yield the `chat.completion.chunk` objects of a stream of deltas, as dicts.

    The first chunk has the role. A chunk with an empty delta has the finish reason. A last chunk
    without choices has the `usage`, if there is one. Absent members are left out. `ChatCompletions`
    does the work.

    Args:
        finish_reason: "stop", "tool_calls" or "length", or a function that returns it, called after
            the last delta: `lambda: parser.finish_reason`.
        usage: the usage, or a function that returns it, called after the last delta.
        options: options of `ChatCompletions`: `index`, `system_fingerprint`, `reasoning`,
            `logprobs`, `role_alone` (default False), `fields`.
    """
    options = {"role_alone": False} | options
    machine = ChatCompletions(id=id, model=model, created=created, **options)
    return machine.events(deltas, finish_reason, usage)


def achat_completion_chunks(
    deltas: AsyncIterable[Delta],
    *,
    id: str,
    model: str,
    created: int,
    finish_reason: WhenEnded,
    usage: Usage = None,
    **options: Any,
) -> AsyncIterator[Event]:
    """Yield the chunks of `chat_completion_chunks` for asynchronous deltas."""
    options = {"role_alone": False} | options
    machine = ChatCompletions(id=id, model=model, created=created, **options)
    return machine.aevents(deltas, finish_reason, usage)
