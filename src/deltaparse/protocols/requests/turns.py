"""Messages that are put together of items or blocks."""

from __future__ import annotations

import json
from typing import Any

from deltaparse.stream.message.healed_arguments import healed_arguments

from .content import Content

__all__ = ["Turns", "arguments_value", "call", "tool_result"]


class Turns:
    """Messages of which the assistant's grow: text, reasoning and calls of one turn are one."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def assistant(self) -> dict[str, Any]:
        """Return the message of the assistant's turn that is open, a new one if none is."""
        if not self.messages or self.messages[-1]["role"] != "assistant":
            self.messages.append({"role": "assistant", "content": ""})
        return self.messages[-1]

    def add_text(self, text: str) -> None:
        """Add content of the assistant's."""
        self.assistant()["content"] += text

    def add_reasoning(self, text: str) -> None:
        """Add reasoning of the assistant's."""
        message = self.assistant()
        message["reasoning_content"] = message.get("reasoning_content", "") + text

    def add_call(self, made: dict[str, Any]) -> None:
        """Add a call of the assistant's."""
        self.assistant().setdefault("tool_calls", []).append(made)


def call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """Return a call, as Chat Completions has it; its arguments are the JSON text of an object."""
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": healed_arguments(arguments)},
    }


def tool_result(call_id: Any, content: Content) -> dict[str, Any]:
    """Return the message with the result of a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def arguments_value(arguments: Any) -> dict[str, Any]:
    """Return the arguments of a call as a value; of a call that was cut off, what there is."""
    value: dict[str, Any] = json.loads(healed_arguments(arguments))
    return value
