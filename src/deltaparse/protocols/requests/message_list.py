"""A list of messages that is built from items or blocks."""

from __future__ import annotations

import json
from typing import Any

from deltaparse.stream.message.healed_arguments import healed_arguments

from .message_content import Content

__all__ = ["Turns", "arguments_value", "call", "tool_result"]


class Turns:
    """A list of messages in which text, reasoning and calls of one assistant turn are merged."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def assistant(self) -> dict[str, Any]:
        """Return the open assistant message, creating it if needed."""
        if not self.messages or self.messages[-1]["role"] != "assistant":
            self.messages.append({"role": "assistant", "content": ""})
        return self.messages[-1]

    def add_text(self, text: str) -> None:
        """Add content to the assistant message."""
        self.assistant()["content"] += text

    def add_reasoning(self, text: str) -> None:
        """Add reasoning to the assistant message."""
        message = self.assistant()
        message["reasoning_content"] = message.get("reasoning_content", "") + text

    def add_call(self, made: dict[str, Any]) -> None:
        """Add a call to the assistant message."""
        self.assistant().setdefault("tool_calls", []).append(made)


def call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """Return a call in the form of Chat Completions. The arguments are JSON text."""
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": healed_arguments(arguments)},
    }


def tool_result(call_id: Any, content: Content) -> dict[str, Any]:
    """Return the message with the result of a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def arguments_value(arguments: Any) -> dict[str, Any]:
    """Return the arguments of a call as a value, healed if they are truncated."""
    value: dict[str, Any] = json.loads(healed_arguments(arguments))
    return value
