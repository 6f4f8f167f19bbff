"""What a proof was made of: a turn as a model writes it, and that it came back."""

from __future__ import annotations

from dataclasses import dataclass

from .conversations import Turn

__all__ = ["Shown", "Wire"]


@dataclass(frozen=True, slots=True)
class Wire:
    """A turn as the model would write it, after a prompt, and what should come back of it.

    `end` is the end of the turn as the template wrote it; `calls` the number of calls in it;
    `put_back`: the template drops the reasoning, which stands where the model writes it.
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
    """A turn that came back: what was said, how it is written, and whether there were tools."""

    turn: Turn
    wire: Wire
    tools: bool
