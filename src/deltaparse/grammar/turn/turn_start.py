"""Where in a turn a model stands when it begins to write, as the prompt has it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from deltaparse.stream import WireFormat

__all__ = ["Thought", "TurnStart", "turn_start", "with_opened_pair"]


class Thought(Enum):
    """Where a turn stands with reasoning.

    NONE:      it is over, or there is none.
    POSSIBLE:  the model may begin with it.
    OPEN:      it has begun.
    """

    NONE = auto()
    POSSIBLE = auto()
    OPEN = auto()


@dataclass(frozen=True, slots=True)
class TurnStart:
    """The state of the turn; `written` is what the prompt holds of what follows reasoning."""

    thought: Thought
    written: str = ""


def with_opened_pair(fmt: WireFormat, prompt: str) -> WireFormat:
    """The format with the one pair of markers of reasoning that the prompt has opened."""
    if not fmt.reasoning.alternatives:
        return fmt
    start, end = fmt.derived.reasoning_in(fmt.derived.turn_so_far(prompt))
    return fmt.replace(reasoning={"start": start, "end": end, "alternatives": ()})


def turn_start(fmt: WireFormat, prompt: str, *, reasons: bool) -> TurnStart:
    """Read the state off the end of a prompt, as `StreamParser` does.

    Args:
        fmt: the format.
        prompt: the rendered prompt, or a tail with the generation prompt; "" for that of the
            format itself.
        reasons: whether reasoning is looked at; without, the turn begins behind it.
    """
    so_far = fmt.derived.turn_so_far(prompt)
    start, end = map(str.strip, fmt.derived.reasoning_in(so_far))
    if not fmt.derived.has_reasoning:
        return TurnStart(Thought.NONE, so_far)
    if end in so_far and so_far.rfind(end) > (so_far.rfind(start) if start else -1):
        return TurnStart(Thought.NONE, so_far[so_far.rfind(end) + len(end) :].lstrip())
    if not reasons:
        return TurnStart(Thought.NONE)
    if not start or start in so_far:
        return TurnStart(Thought.OPEN)
    return TurnStart(Thought.POSSIBLE, so_far)
