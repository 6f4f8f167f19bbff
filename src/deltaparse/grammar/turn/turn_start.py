"""The state of a turn at the end of the prompt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from deltaparse.stream import WireFormat

__all__ = ["Thought", "TurnStart", "turn_start", "with_opened_pair"]


class Thought(Enum):
    """State of reasoning at the start of a turn.

    NONE:      it is over, or not supported.
    POSSIBLE:  the model may begin with it.
    OPEN:      the prompt has opened it.
    """

    NONE = auto()
    POSSIBLE = auto()
    OPEN = auto()


@dataclass(frozen=True, slots=True)
class TurnStart:
    """The state of the turn. `written` is the part of the prompt after reasoning."""

    thought: Thought
    written: str = ""


def with_opened_pair(fmt: WireFormat, prompt: str) -> WireFormat:
    """Return the format with only the pair of reasoning markers the prompt has opened."""
    if not fmt.reasoning.alternatives:
        return fmt
    start, end = fmt.derived.reasoning_in(fmt.derived.turn_so_far(prompt))
    return fmt.replace(reasoning={"start": start, "end": end, "alternatives": ()})


def turn_start(fmt: WireFormat, prompt: str, *, reasons: bool) -> TurnStart:
    """Read the state from the end of a prompt, as `StreamParser` does.

    Args:
        fmt: the format.
        prompt: the rendered prompt, or a tail with the generation prompt; "" for the format's own.
        reasons: True to include reasoning; False to start the turn after it.
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
