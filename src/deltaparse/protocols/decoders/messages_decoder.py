"""Decoder for Anthropic's Messages: events, or a complete `message`, to a `Message`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from operator import index as as_index
from typing import Any

from deltaparse.stream import Content, Message, Part, Reasoning, ToolCall

from .drafts import Draft, Outcome, error_text
from .objects import Objects, read_objects

__all__ = ["read_messages"]

BLOCKS: dict[str, tuple[type[Part], str]] = {
    "text": (Content, "text"),
    "thinking": (Reasoning, "thinking"),
    "tool_use": (ToolCall, "input"),
}
"""The supported blocks, and the member with their initial text."""

DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def read_messages(events: Objects) -> Message:
    """Read the events of a message, or a complete one, and return the `Message`.

    Blocks keep their order. Text, thinking and calls of the request's own tools are read.
    Signatures, redacted thinking and server tools are ignored. A call is `complete` if its
    arguments are one JSON object. Two exceptions apply to a truncated message: its last call, and a
    call without text. If the server failed, or the events end early, the message has an issue
    (`stream_error`, `stream_cut`). The explanation of a refusal is content.

    Args:
        events: mappings, objects of a client, or the text or bytes of server-sent events, cut
            anywhere, or a complete message.
    """
    reader = MessageReader()
    read_objects(events, reader.read, "event of Messages")
    return reader.outcome.message(draft for _, draft in sorted(reader.drafts.items()))


class MessageReader:
    """The state of a message while its events are read."""

    def __init__(self) -> None:
        self.drafts: dict[int, Draft] = {}
        self.outcome = Outcome()

    def read(self, event: Mapping[str, Any]) -> None:
        """Read an event, or a complete message."""
        match event.get("type"):
            case "message":
                for index, block in enumerate(event.get("content") or ()):
                    self._open(index, block)
                self._stop(event)
            case "message_start":
                for index, block in enumerate((event.get("message") or {}).get("content") or ()):
                    self._open(index, block)
            case "content_block_start":
                self._open(as_index(event["index"]), event.get("content_block") or {})
            case "content_block_delta":
                self._add(event["index"], event.get("delta") or {})
            case "message_delta":
                self._stop(event.get("delta") or {})
            case "error":
                self.outcome.errors.append(error_text(event.get("error")))

    def _open(self, index: int, block: Mapping[str, Any]) -> None:
        kind, member = BLOCKS.get(str(block.get("type")), (None, ""))
        if kind is None:
            return
        draft = self.drafts[index] = Draft(kind)
        start = block.get(member)
        if kind is ToolCall:
            draft.identify(block.get("id"), block.get("name"))
            start = json.dumps(start, ensure_ascii=False) if start else ""
        draft.text.write(start or "")

    def _add(self, index: int, delta: Mapping[str, Any]) -> None:
        draft, member = self.drafts.get(index), DELTAS.get(str(delta.get("type")))
        if draft is not None and member is not None:
            draft.text.write(delta.get(member) or "")

    def _stop(self, said: Mapping[str, Any]) -> None:
        """Read the stop reason of the message."""
        reason = said.get("stop_reason")
        if reason:
            self.outcome.ends(reason)
        explanation = (said.get("stop_details") or {}).get("explanation")
        if explanation:
            draft = self.drafts[max(self.drafts, default=-1) + 1] = Draft(Content)
            draft.text.write(explanation)
