"""Deltas: parts of a message, emitted as soon as they are certain.

The sum of the deltas is the message. A call's first delta has the index, the id and the complete
name. Later deltas have the index and more of the arguments. Deltas of a `TokenParser` have
`tokens`, the half-open range of the tokens of their text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .fields import ReasoningField, reasoning_fields

__all__ = [
    "ContentDelta",
    "Delta",
    "ReasoningDelta",
    "ToolCallDelta",
    "arguments_deltas",
    "unplaced_deltas",
]

# Bypasses `__init__`, for the speed of `arguments_deltas`.
new = object.__new__


class FromTokens:
    """A delta with the range of its tokens."""

    # A slot and not a field, because a default value would cost time for each delta.
    __slots__ = ("place",)

    # Unset for a delta of text, to save time. An int n means the single token n - 1. A tuple for
    # each delta would cost half as much as the parsing.
    place: int | tuple[int, int] | None

    @property
    def tokens(self) -> tuple[int, int] | None:
        """Return the half-open range of the tokens of this delta, None for a delta of text."""
        # The slot is unset for parsers of text.
        place = getattr(self, "place", None)
        return (place - 1, place) if isinstance(place, int) else place


# Created once per chunk, and `frozen` would double the cost. Never changed after emission.
@dataclass(slots=True)
class ContentDelta(FromTokens):
    """The next text of the content.

    Attributes:
        text: the text.
    """

    text: str

    def to_openai(self, *, reasoning: ReasoningField = "reasoning_content") -> dict[str, Any]:  # noqa: ARG002 - the same for all deltas
        """Return the `delta` object of an OpenAI `chat.completion.chunk`.

        Args:
            reasoning: ignored, accepted as in all deltas.
        """
        return {"content": self.text}


@dataclass(slots=True)
class ReasoningDelta(FromTokens):
    """The next text of the reasoning.

    Attributes:
        text: the text.
    """

    text: str

    def to_openai(self, *, reasoning: ReasoningField = "reasoning_content") -> dict[str, Any]:
        """Return the `delta` object. OpenAI defines no field for reasoning, but other servers do.

        DeepSeek, SGLang and llama.cpp use `reasoning_content`. vLLM and OpenRouter use `reasoning`.

        Args:
            reasoning: name of the field, or "both" for both names.
        """
        return reasoning_fields(self.text, reasoning)


@dataclass(slots=True)
class ToolCallDelta(FromTokens):
    """The beginning of a tool call, or more of its arguments.

    Attributes:
        index: number of the call in the turn, from 0.
        id: id of the call in its first delta, else None.
        name: name of the called function in its first delta, else None.
        arguments: next part of the JSON text, often "" in the first delta.
        last: True in the delta that completes the call. The arguments are complete, and the call
            may be executed. A truncated call has no such delta.
    """

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    last: bool = field(default=False, compare=False)

    def to_openai(self, *, reasoning: ReasoningField = "reasoning_content") -> dict[str, Any]:  # noqa: ARG002 - the same for all deltas
        """Return the `delta` object, in which id, type and name are only set in the first delta.

        In later deltas they are left out, not null.

        Args:
            reasoning: ignored, accepted as in all deltas.
        """
        function: dict[str, Any] = {"arguments": self.arguments}
        call: dict[str, Any] = {"index": self.index, "function": function}
        # Clients of OpenAI append strings, so a repeated id or name would be doubled.
        if self.name is not None:
            function = {"name": self.name, "arguments": self.arguments}
            call = {"index": self.index, "id": self.id, "type": "function", "function": function}
        return {"tool_calls": [call]}


def arguments_deltas(index: int) -> Callable[[str], ToolCallDelta]:
    """Return a function that makes deltas with the next arguments of one call.

    Args:
        index: number of the call in the turn.
    """

    # Sets the fields directly, because `__init__` takes 1.5 times as long for four arguments.
    def make(arguments: str) -> ToolCallDelta:
        delta = new(ToolCallDelta)
        delta.index = index
        delta.id = delta.name = None
        delta.arguments = arguments
        delta.last = False
        return delta

    return make


def unplaced_deltas(index: int) -> Callable[[str], ToolCallDelta]:
    """Return the same function for a parser of tokens, which checks if `place` is set.

    Args:
        index: number of the call in the turn.
    """

    # A separate function, because one more assignment per delta would slow down text parsers.
    def make(arguments: str) -> ToolCallDelta:
        delta: Any = new(ToolCallDelta)
        delta.index = index
        # Without a value, each check of `place` would raise `AttributeError`.
        delta.id = delta.name = delta.place = None
        delta.arguments = arguments
        delta.last = False
        return delta  # type: ignore[no-any-return]

    return make


Delta = ContentDelta | ReasoningDelta | ToolCallDelta
"""An element of the lists that `feed` and `finish` return."""
