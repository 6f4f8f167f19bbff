"""Evidence of a proof: turns as a model writes them, with their expected parts."""

from __future__ import annotations

from dataclasses import dataclass

from .conversations import Turn

__all__ = ["Shown", "Wire"]


@dataclass(frozen=True, slots=True)
class Wire:
    """A turn as the model would write it after a prompt, and its expected parts.

    Attributes:
        prompt: the prompt before the turn.
        text: the text of the turn.
        end: the end of the turn, as rendered by the template.
        content: the expected content.
        reasoning: the expected reasoning.
        calls: the number of calls.
        put_back: True if the template drops the reasoning, and it was inserted as the model writes
            it.
    """

    prompt: str
    text: str
    end: str
    content: str
    reasoning: str
    calls: int
    put_back: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """A turn parsed back correctly, its wire text, and True if tools were given."""

    turn: Turn
    wire: Wire
    tools: bool
