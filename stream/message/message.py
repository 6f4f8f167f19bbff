"""The message that the deltas add up to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from deltaparse.partial import MAX_DEPTH

__all__ = ["Content", "Issue", "Message", "Part", "Reasoning", "ToolCall"]


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing the parser had to decide, or text it read and did not hand out.

    `kind` is one of the words of the table in `stream/policies.py`; `span` is the half-open range
    of characters of the output, `detail` says what was decided and about which text.
    """

    kind: str
    span: tuple[int, int]
    detail: str


@dataclass(frozen=True, slots=True)
class Content:
    """A run of content between other parts of a message."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A run of reasoning between other parts of a message."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call. `arguments` is JSON text as the model wrote it.

    `complete` says that the arguments are a whole JSON object and that the call was not cut off;
    a call that is not complete must not be executed. `repaired` says that something in it or
    beside it had to be mended, so that it may not be what the model meant (an issue says what).
    `span` is the half-open range of characters of the output that it was read from, from the
    first marker to the end of its arguments.
    """

    id: str
    name: str
    arguments: str
    complete: bool
    repaired: bool = False
    span: tuple[int, int] = field(default=(0, 0), compare=False, repr=False)

    def healed(self) -> dict[str, Any]:
        """The arguments as a value; of a call that was cut off, what was there, cut cleanly.

        Strings may be cut; a number or literal that was not all there is left out.
        """
        from deltaparse.partial import heal_json  # and ijson, which is slow to import

        # A value in tags may be as deep as a value may be, and stands in an object.
        value = heal_json(self.arguments, max_depth=MAX_DEPTH + 1).value
        return value if isinstance(value, dict) else {}

    def to_openai(self) -> dict[str, Any]:
        """The call as it stands in an OpenAI message."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


Part = Content | Reasoning | ToolCall


@dataclass(frozen=True, slots=True)
class Message:
    """What a turn has given: `parts` in order of appearance, and the same by kind."""

    parts: list[Part] = field(default_factory=list)

    @property
    def content(self) -> str:
        """All content, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Content))

    @property
    def reasoning_content(self) -> str:
        """All reasoning, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Reasoning))

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls, in order."""
        return [part for part in self.parts if isinstance(part, ToolCall)]

    def to_openai(self) -> dict[str, Any]:
        """An OpenAI assistant message; what is absent is left out, but `content` is always there.

        `content` is None when there are calls and no content, as OpenAI has it.
        """
        calls = self.tool_calls
        message: dict[str, Any] = {"role": "assistant"}
        message["content"] = self.content or (None if calls else "")
        if reasoning := self.reasoning_content:
            message["reasoning_content"] = reasoning
        if calls:
            message["tool_calls"] = [call.to_openai() for call in calls]
        return message
