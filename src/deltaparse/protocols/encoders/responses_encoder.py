"""OpenAI's Responses: items, and numbered events.

    response.created  response.in_progress
      response.output_item.added                              for each item, a part of the message
        response.content_part.added                           text:   message, reasoning
          response.output_text.delta*  .done                  or reasoning_text, refusal
        response.content_part.done
        response.function_call_arguments.delta*  .done        a call: function_call
      response.output_item.done
    response.completed  or  response.incomplete  or  response.failed

The protocol repeats complete texts: the text of a part in three events, each item in the last
event. So only this encoder keeps the written text. A truncated call has no `.done` event for its
arguments, because they are incomplete, and its item is "incomplete".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import StringIO
from itertools import count, repeat
from typing import Any, Literal

from deltaparse.partial import UsageError
from deltaparse.stream import Message, ToolCallDelta
from deltaparse.stream.finish_reasons import Reason

from ..message_parts import message_deltas
from ..protocol_finish_reasons import FinishReason, incomplete_reason, reason_of
from ..sse_writer import Writer, numbered_writer
from ..usage import Usage, responses_usage
from .encoder import Encoder, Event, Kind, Logprobs

__all__ = ["Responses"]

ReasoningForm = Literal["text", "summary", "none"]
"""The form of reasoning: the text of its item, its summary, or none."""

NUMBER = '"sequence_number":'

PARTS: dict[str, tuple[str, str, str, str]] = {
    "content": ("output_text", "response.output_text", "response.content_part", "text"),
    "refusal": ("refusal", "response.refusal", "response.content_part", "refusal"),
    "text": ("reasoning_text", "response.reasoning_text", "response.content_part", "text"),
    "summary": (
        "summary_text",
        "response.reasoning_summary_text",
        "response.reasoning_summary_part",
        "text",
    ),
}
"""For each kind of text: the type of its part, the events of text and part, and its member."""


class Responses(Encoder):
    """Encoder for the events of Responses.

    Args:
        id: the id of the response. Item ids are made from it, `msg_..._0` for "resp_...".
        model: the model name for clients.
        created: the time of the response, in seconds since 1970.
        reasoning: the form of reasoning: the "text" of its item, its "summary", or "none" to drop
            it. Clients of OpenAI's own models show summaries.
        logprobs: called with each delta. Returns the log probabilities of its tokens, a list of
            OpenAI's `{"token", "logprob", "bytes", "top_logprobs"}`, or None.
        fields: additional members of the response that repeat the request: `tools`, `tool_choice`,
            `instructions`, `temperature`, `metadata` and so on.
    """

    def __init__(
        self,
        *,
        id: str,
        model: str,
        created: int = 0,
        reasoning: ReasoningForm | None = "text",
        logprobs: Logprobs | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(id=id, model=model, created=created, fields=fields)
        if reasoning not in ("text", "summary", "none", None):
            raise UsageError(f"reasoning={reasoning!r} is not one of: text, summary, none")
        self._form = reasoning or "none"
        self._hides_reasoning = self._form == "none"
        self._logprobs = logprobs
        self._numbers: Iterator[int] = count()
        self._items: list[dict[str, Any]] = []
        self._item: dict[str, Any] = {}
        self._written = StringIO()
        self._probabilities: list[Any] = []

    def response(
        self,
        message: Message,
        finish_reason: Reason,
        usage: Usage = None,
        *,
        stop_sequence: str | None = None,  # noqa: ARG002 - no place for it
    ) -> dict[str, Any]:
        """Return the `response` object."""
        machine = Responses(
            id=self.id,
            model=self.model,
            created=self.created,
            reasoning=self._form,
            fields=self.fields,
        )
        reason = reason_of(message, finish_reason)
        *_, last = machine.events(message_deltas(message), reason, usage)
        whole: dict[str, Any] = last["response"]
        return whole

    def _event(self, type: str, **members: Any) -> Event:
        """Return an event with the next number as its last member."""
        return {"type": type, **members, "sequence_number": next(self._numbers)}

    def _response(self, status: str, **members: Any) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": self.model,
            "output": list(self._items),
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": None,
            **self.fields,
            **members,
        }

    def _started(self) -> list[Event]:
        return [
            self._event(f"response.{status}", response=self._response("in_progress"))
            for status in ("created", "in_progress")
        ]

    def _opened(self, kind: Kind, call: ToolCallDelta | None, text: str) -> list[Event]:
        self._written, self._probabilities = StringIO(), []
        self._item = self._new_item(kind, call)
        added = self._event(
            "response.output_item.added", output_index=len(self._items), item=dict(self._item)
        )
        if kind == "call":
            return [added, *self._text(text)]
        event = PARTS[self._text_kind(kind)][2]
        return [added, self._part_event(f"{event}.added", ""), *self._text(text)]

    def _new_item(self, kind: Kind, call: ToolCallDelta | None) -> dict[str, Any]:
        """Return the item of a new part."""
        prefix = {"reasoning": "rs", "call": "fc"}.get(kind, "msg")
        item: dict[str, Any] = {
            "id": f"{prefix}_{self.id.removeprefix('resp_')}_{len(self._items)}",
            "status": "in_progress",
        }
        if call is not None:
            named = {"call_id": call.id, "name": call.name, "arguments": ""}
            return {"type": "function_call", **item, **named}
        if kind == "reasoning":
            return {"type": "reasoning", **item, "summary": [], "content": []}
        return {"type": "message", **item, "role": "assistant", "content": []}

    def _text_kind(self, kind: Kind) -> str:
        """Return the kind of a text, a key of `PARTS`."""
        return self._form if kind == "reasoning" else kind

    def _place(self) -> dict[str, Any]:
        """Return the position of the open part in the response."""
        place = {"item_id": self._item["id"], "output_index": len(self._items)}
        if self._kind == "call":
            return place
        summary = self._kind == "reasoning" and self._form == "summary"
        return place | {"summary_index" if summary else "content_index": 0}

    def _part(self, text: str) -> dict[str, Any]:
        """Return the open part as a member of its item."""
        type, _, _, member = PARTS[self._text_kind(self._kind or "content")]
        part: dict[str, Any] = {"type": type, member: text}
        if type == "output_text":
            part |= {"annotations": [], "logprobs": list(self._probabilities)}
        return part

    def _part_event(self, type: str, text: str) -> Event:
        return self._event(type, **self._place(), part=self._part(text))

    def _text(self, text: str) -> list[Event]:
        self._written.write(text)
        return super()._text(text)

    def _text_event(self, text: str) -> Event:
        if self._kind == "call":
            name = "response.function_call_arguments.delta"
            return self._event(name, **self._place(), delta=text)
        name = f"{PARTS[self._text_kind(self._kind or 'content')][1]}.delta"
        return self._event(name, **self._place(), delta=text, **self._more_logprobs())

    def _more_logprobs(self) -> dict[str, list[Any]]:
        """Return the member with the log probabilities of a content delta."""
        if self._kind != "content":
            return {}
        found: list[Any] = []
        if self._logprobs is not None and self._delta is not None:
            found = list(self._logprobs(self._delta) or ())
            self._probabilities += found
        return {"logprobs": found}

    def _frame(self) -> tuple[str, str]:
        """Return the frame up to the number, which is last in an event."""
        numbers, self._numbers = self._numbers, repeat(0)
        head, tail = super()._frame()
        self._numbers = numbers
        return head, tail[: tail.rindex(NUMBER) + len(NUMBER)]

    def _writer(self, head: str, tail: str) -> Writer:
        return numbered_writer(head, tail, self._numbers, self._written.write)

    def _closed(self, kind: Kind, *, complete: bool, cut: bool) -> list[Event]:
        text, item = self._written.getvalue(), self._item
        if kind == "call":
            events = [] if cut else [self._arguments_done(text)]
            item["arguments"] = text
            whole = complete
        else:
            events = self._text_done(text)
            whole = not cut
            summary = kind == "reasoning" and self._form == "summary"
            item["summary" if summary else "content"] = [self._part(text)]
        item["status"] = "completed" if whole else "incomplete"
        place = len(self._items)
        self._items.append(item)
        done = self._event("response.output_item.done", output_index=place, item=item)
        return [*events, done]

    def _arguments_done(self, text: str) -> Event:
        name = "response.function_call_arguments.done"
        return self._event(name, **self._place(), name=self._item["name"], arguments=text)

    def _text_done(self, text: str) -> list[Event]:
        _, of_text, of_part, member = PARTS[self._text_kind(self._kind or "content")]
        said: dict[str, Any] = {member: text}
        if self._kind == "content":
            said["logprobs"] = list(self._probabilities)
        return [
            self._event(f"{of_text}.done", **self._place(), **said),
            self._part_event(f"{of_part}.done", text),
        ]

    def _finished(
        self,
        reason: FinishReason,
        usage: Mapping[str, Any] | None,
        stop_sequence: str | None,  # noqa: ARG002 - no place for it
    ) -> list[Event]:
        counted = None if usage is None else responses_usage(usage)
        why = incomplete_reason(reason)
        status = "completed" if why is None else "incomplete"
        details = None if why is None else {"reason": why}
        whole = self._response(status, usage=counted, incomplete_details=details)
        return [self._event(f"response.{status}", response=whole)]

    def _failed(self, message: str, type: str, code: str) -> list[Event]:
        error = {"code": code or type, "message": message}
        return [
            self._event("error", **error, param=None),
            self._event("response.failed", response=self._response("failed", error=error)),
        ]
