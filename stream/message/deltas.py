"""Deltas: what a parser emits, as soon as it is certain.

The sum of the deltas is the message. A call's first delta has the index, the id and the whole
name; later ones the index and more of the arguments. From a `TokenParser`, each has its `tokens`,
the half-open range of those that its text came from.
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

new = object.__new__


class FromTokens:
    """A delta, and what says which tokens it came from."""

    __slots__ = ("place",)

    # Unset for a delta of text, so that to make one costs nothing more. The number of a token and
    # one, which stands for that token alone, or a range: a tuple for each would cost as much as
    # half of the parsing.
    place: int | tuple[int, int] | None

    @property
    def tokens(self) -> tuple[int, int] | None:
        """The half-open range of the tokens that it came from, None for a delta of text."""
        place = getattr(self, "place", None)
        return (place - 1, place) if isinstance(place, int) else place


# Made once per chunk: `frozen` would double their cost. Never changed once emitted.
@dataclass(slots=True)
class ContentDelta(FromTokens):
    """Text for the user, the next of the content."""

    text: str

    def to_openai(self, *, reasoning: ReasoningField = "reasoning_content") -> dict[str, Any]:  # noqa: ARG002 - the same for all deltas
        """Return the `delta` object of an OpenAI `chat.completion.chunk`."""
        return {"content": self.text}


@dataclass(slots=True)
class ReasoningDelta(FromTokens):
    """The next text of the reasoning."""

    text: str

    def to_openai(self, *, reasoning: ReasoningField = "reasoning_content") -> dict[str, Any]:
        """Return the `delta` object. OpenAI defines no field for reasoning; others do.

        `reasoning_content` is the field of DeepSeek, SGLang and llama.cpp, `reasoning` that of vLLM
        and OpenRouter; "both" writes both.
        """
        return reasoning_fields(self.text, reasoning)


@dataclass(slots=True)
class ToolCallDelta(FromTokens):
    """The beginning of a tool call, or more of its arguments.

    `index` counts the calls of the turn from 0; `id` and `name` are set in a call's first delta
    and None in all others; `arguments` is the next of the JSON text, often "" in the first. `last`
    is True in the delta that completes the call: its arguments are whole, and it may be executed.
    A call that was cut off has no such delta.
    """

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    last: bool = field(default=False, compare=False)

    def to_openai(self, *, reasoning: ReasoningField = "reasoning_content") -> dict[str, Any]:  # noqa: ARG002 - the same for all deltas
        """Return the `delta` object; id, type and name are left out, not null, after the first."""
        function: dict[str, Any] = {"arguments": self.arguments}
        call: dict[str, Any] = {"index": self.index, "function": function}
        if self.name is not None:
            function = {"name": self.name, "arguments": self.arguments}
            call = {"index": self.index, "id": self.id, "type": "function", "function": function}
        return {"tool_calls": [call]}


def arguments_deltas(index: int) -> Callable[[str], ToolCallDelta]:
    """Return a function that makes the deltas of one call, each of the next of its arguments.

    It sets the fields itself: `__init__` takes half as long again for four arguments.
    """

    def make(arguments: str) -> ToolCallDelta:
        delta = new(ToolCallDelta)
        delta.index = index
        delta.id = delta.name = None
        delta.arguments = arguments
        delta.last = False
        return delta

    return make


def unplaced_deltas(index: int) -> Callable[[str], ToolCallDelta]:
    """Return the same for a parser of tokens, which looks whether `place` is set."""

    def make(arguments: str) -> ToolCallDelta:
        delta: Any = new(ToolCallDelta)
        delta.index = index
        delta.id = delta.name = delta.place = None
        delta.arguments = arguments
        delta.last = False
        return delta  # type: ignore[no-any-return]

    return make


Delta = ContentDelta | ReasoningDelta | ToolCallDelta
"""What `feed` and `finish` return lists of."""
