"""Anthropic's Messages: content blocks in order, one open at a time.

    message_start
      content_block_start  content_block_delta*  content_block_stop        for each part
    message_delta          the stop reason and the usage
    message_stop

A block is text, thinking or tool_use, so thinking keeps its place between texts and calls. The
arguments of a call are parts of JSON, which the client joins. The block of an incomplete call is
stopped like others, and its client heals the arguments. So the stop reason is then "max_tokens",
because clients execute calls on "tool_use".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any

from deltaparse.stream import Content, Message, Reasoning, ToolCall, ToolCallDelta
from deltaparse.stream.finish_reasons import Reason

from ..message_parts import message_runs
from ..protocol_finish_reasons import FinishReason, anthropic_reason, reason_of
from ..sse_writer import Writer
from ..usage import Usage, anthropic_usage, known
from .encoder import Encoder, Event, Kind

__all__ = ["AnthropicMessages"]

Signature = Callable[[str], str]
"""Signs the text of a thinking block at its end."""

DELTAS = {
    "content": ("text_delta", "text"),
    "reasoning": ("thinking_delta", "thinking"),
    "call": ("input_json_delta", "partial_json"),
}


class AnthropicMessages(Encoder):
    """Encoder for the events of Anthropic's Messages.

    Args:
        id: the id of the message.
        model: the model name for clients.
        created: ignored, because the protocol lacks this member.
        usage: the usage known at the start, which has the input tokens: in the shape of any
            protocol, or a function that returns it.
        reasoning: write thinking blocks. False drops reasoning.
        signature: signs the text of each thinking block at its end, so that the server recognizes
            it when a client sends it back. With it, the text of the open block is kept.
        fields: additional members of the message.
    """

    def __init__(
        self,
        *,
        id: str,
        model: str,
        created: int = 0,
        usage: Usage = None,
        reasoning: bool = True,
        signature: Signature | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(id=id, model=model, created=created, fields=fields)
        self._usage = usage
        self._hides_reasoning = not reasoning
        self._signature = signature
        self._block = -1
        self._thinking: StringIO | None = None
        self._refusal: str | None = None

    def response(
        self,
        message: Message,
        finish_reason: Reason,
        usage: Usage = None,
        *,
        stop_sequence: str | None = None,
    ) -> dict[str, Any]:
        """Return the `message` object.

        The `input` of an incomplete call is its healed arguments, and the stop reason is then
        "max_tokens".
        """
        reason = reason_of(message, finish_reason)
        whole = all(call.complete for call in message.tool_calls)
        blocks = [
            self._whole_block(run)
            for run in message_runs(message)
            if not (self._hides_reasoning and isinstance(run, Reasoning))
        ]
        return self._message(
            blocks,
            usage=self._start_usage() | _final_usage(known(usage)),
            **_stopped(anthropic_reason(reason, stop_sequence, whole=whole), stop_sequence),
        )

    def _message(
        self,
        blocks: list[dict[str, Any]],
        *,
        usage: dict[str, Any],
        stop_reason: str | None = None,
        stop_sequence: str | None = None,
    ) -> dict[str, Any]:
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": blocks,
            "stop_reason": stop_reason,
            "stop_sequence": stop_sequence,
            "usage": usage,
            **self.fields,
        }

    def _whole_block(self, run: Content | Reasoning | ToolCall) -> dict[str, Any]:
        if isinstance(run, Content):
            return {"type": "text", "text": run.text}
        if isinstance(run, Reasoning):
            signature = "" if self._signature is None else self._signature(run.text)
            return {"type": "thinking", "thinking": run.text, "signature": signature}
        return {"type": "tool_use", "id": run.id, "name": run.name, "input": run.healed()}

    def _started(self) -> list[Event]:
        message = self._message([], usage=self._start_usage())
        return [{"type": "message_start", "message": message}]

    def _start_usage(self) -> dict[str, Any]:
        """Return the usage known at the start."""
        usage = known(self._usage)
        return anthropic_usage({} if usage is None else usage)

    def _opened(self, kind: Kind, call: ToolCallDelta | None, text: str) -> list[Event]:
        if kind == "refusal":
            return self._text(text)
        self._block += 1
        block: dict[str, Any]
        if call is not None:
            block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        elif kind == "reasoning":
            block = {"type": "thinking", "thinking": "", "signature": ""}
            self._thinking = None if self._signature is None else StringIO()
        else:
            block = {"type": "text", "text": ""}
        opened = {"type": "content_block_start", "index": self._block, "content_block": block}
        return [opened, *self._text(text)]

    def _text(self, text: str) -> list[Event]:
        if self._kind == "refusal":
            self._refusal = (self._refusal or "") + text
            return []
        if self._thinking is not None:
            self._thinking.write(text)
        return super()._text(text)

    def _text_event(self, text: str) -> Event:
        type, member = DELTAS[str(self._kind)]
        return self._block_delta({"type": type, member: text})

    def _block_delta(self, delta: dict[str, str]) -> Event:
        return {"type": "content_block_delta", "index": self._block, "delta": delta}

    def _writer(self, head: str, tail: str) -> Writer:
        write = super()._writer(head, tail)
        if self._thinking is None:
            return write
        keep = self._thinking.write

        def keep_and_write(text: str) -> bytes:
            keep(text)
            return write(text)

        return keep_and_write

    def _closed(self, kind: Kind, *, complete: bool, cut: bool) -> list[Event]:  # noqa: ARG002
        if kind == "refusal":
            return []
        events: list[Event] = []
        if self._thinking is not None and self._signature is not None:
            signed = self._signature(self._thinking.getvalue())
            events.append(self._block_delta({"type": "signature_delta", "signature": signed}))
            self._thinking = None
        return [*events, {"type": "content_block_stop", "index": self._block}]

    def _finished(
        self,
        reason: FinishReason,
        usage: Mapping[str, Any] | None,
        stop_sequence: str | None,
    ) -> list[Event]:
        stop = anthropic_reason(reason, stop_sequence, whole=not self._incomplete)
        if self._refusal is not None:
            stop = "refusal"
        delta: dict[str, Any] = _stopped(stop, stop_sequence)
        if self._refusal is not None:
            said = {"type": "refusal", "category": None, "explanation": self._refusal}
            delta["stop_details"] = said
        return [
            {"type": "message_delta", "delta": delta, "usage": _final_usage(usage)},
            {"type": "message_stop"},
        ]

    def _failed(self, message: str, type: str, code: str) -> list[Event]:  # noqa: ARG002
        known = {"server_error": "api_error"}.get(type, type)
        return [{"type": "error", "error": {"type": known, "message": message}}]


def _stopped(reason: str, sequence: str | None) -> dict[str, str | None]:
    """Return the stop reason, and the stop sequence if that is the reason."""
    named = sequence if reason == "stop_sequence" else None
    return {"stop_reason": reason, "stop_sequence": named}


def _final_usage(usage: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the final usage, with the input tokens only if they were given again."""
    counted = anthropic_usage({} if usage is None else usage)
    if not counted["input_tokens"]:
        del counted["input_tokens"]
    return counted
