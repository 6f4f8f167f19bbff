"""Decoder for Chat Completions: chunks, or a complete `chat.completion`, to a `Message`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaparse.stream import Content, Message, Part, Reasoning, ToolCall

from .drafts import Draft, Outcome, error_text, text_of
from .objects import Objects, read_objects

__all__ = ["read_chat_completions"]

REASONING = ("reasoning_content", "reasoning", "thinking")
"""The members in which servers put reasoning. If there are several, they are equal."""


def read_chat_completions(chunks: Objects, *, index: int = 0) -> Message:
    """Read the chunks of one choice, or a complete response, and return the `Message`.

    A call is `complete` if its arguments are one JSON object. Two exceptions apply to a truncated
    stream: its last call, and a call without text. If the server failed, or the chunks end early,
    the message has an issue (`stream_error`, `stream_cut`). A refusal is content.

    Args:
        chunks: mappings, objects of a client, or the text or bytes of server-sent events, cut
            anywhere, or a complete response.
        index: the choice to read.
    """
    reader = ChatReader(index)
    read_objects(chunks, reader.read, "chunk of Chat Completions")
    return reader.outcome.message(reader.drafts)


class ChatReader:
    """The state of one choice while its chunks are read."""

    def __init__(self, index: int) -> None:
        self._index = index
        self.drafts: list[Draft] = []
        self.outcome = Outcome()
        self._calls: dict[int, Draft] = {}

    def read(self, chunk: Mapping[str, Any]) -> None:
        """Read a chunk, or a complete response."""
        if chunk.get("error"):
            self.outcome.errors.append(error_text(chunk["error"]))
        for choice in chunk.get("choices") or ():
            if (choice.get("index") or 0) == self._index:
                self._read_choice(choice)

    def _read_choice(self, choice: Mapping[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message") or {}
        names = (name for name in REASONING if delta.get(name))
        self._add(Reasoning, text_of(delta.get(next(names, ""))))
        self._add_content(delta.get("content"))
        self._add(Content, text_of(delta.get("refusal")))
        for call in delta.get("tool_calls") or ():
            self._add_call(call)
        if delta.get("function_call"):  # the older form for one call, without an id
            self._add_call({"index": 0, "function": delta["function_call"]})
        if choice.get("finish_reason"):
            self.outcome.ends(choice["finish_reason"])

    def _add(self, kind: type[Part], text: str) -> None:
        if not text:
            return
        if not self.drafts or self.drafts[-1].kind is not kind:
            self.drafts.append(Draft(kind))
        self.drafts[-1].text.write(text)

    def _add_content(self, content: Any) -> None:
        """Read content, which may be a list of parts with reasoning."""
        if not isinstance(content, list):
            self._add(Content, text_of(content))
            return
        for part in content:
            if isinstance(part, Mapping) and part.get("type") == "thinking":
                self._add(Reasoning, text_of(part.get("thinking")))
            else:
                self._add(Content, text_of([part]))

    def _add_call(self, call: Mapping[str, Any]) -> None:
        function = call.get("function") or {}
        index = call.get("index")
        if index is None:  # in complete responses, and in chunks of some servers
            index = len(self._calls) - (not (call.get("id") or function.get("name")))
        draft = self._calls.get(index)
        if draft is None or draft.is_another(call.get("id"), function.get("name")):
            draft = self._calls[index] = Draft(ToolCall)
            self.drafts.append(draft)
        draft.identify(call.get("id"), function.get("name"))
        draft.text.write(function.get("arguments") or "")
