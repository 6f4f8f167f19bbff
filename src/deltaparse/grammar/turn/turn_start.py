"""Where in a turn a model stands when it begins to write, as the prompt has it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from deltaparse.stream import ReasoningMode, WireFormat

__all__ = ["Thought", "TurnStart", "turn_start"]


class Thought(Enum):
    """What comes of reasoning."""

    NONE = auto()
    """It is over, or there is none."""
    POSSIBLE = auto()
    """The model may begin with it."""
    OPEN = auto()
    """It has begun."""


@dataclass(frozen=True, slots=True)
class TurnStart:
    """The state of the turn; `written` is what the prompt holds of what follows reasoning."""

    thought: Thought
    written: str = ""


def turn_start(fmt: WireFormat, prompt: str, *, reasons: bool) -> TurnStart:
    """Read the state off the end of a prompt, as `StreamParser` does.

    Args:
        fmt: the format.
        prompt: the rendered prompt, or a tail with the generation prompt; "" for that of the
            format itself.
        reasons: whether reasoning is looked at; without, the turn begins behind it.
    """
    so_far = _so_far(fmt, prompt or fmt.turn.generation_prompt)
    mode, reasoning = fmt.reasoning.mode, fmt.reasoning
    start, end = reasoning.start.strip(), reasoning.end.strip()
    if mode is ReasoningMode.NONE or not end:
        return TurnStart(Thought.NONE, so_far)
    if end in so_far and so_far.rfind(end) > (so_far.rfind(start) if start else -1):
        return TurnStart(Thought.NONE, so_far[so_far.rfind(end) + len(end) :].lstrip())
    if not reasons:
        return TurnStart(Thought.NONE)
    if not start or start in so_far:
        return TurnStart(Thought.OPEN)
    return TurnStart(Thought.POSSIBLE, so_far)


def _so_far(fmt: WireFormat, prompt: str) -> str:
    """Return what a prompt holds of the turn: what follows the last header."""
    ends = [prompt.rfind(header) + len(header) for header in fmt.turn.headers if header in prompt]
    if ends:
        return prompt[max(ends) :]
    start = fmt.reasoning.start.strip()
    if fmt.turn.headers:
        return prompt
    if start and start in prompt:
        return prompt[prompt.rfind(start) :]
    return start if fmt.reasoning.mode is ReasoningMode.FORCED_OPEN and not prompt else ""
