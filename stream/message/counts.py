"""How much of each part of a turn has come: for budgets, and for what is shown while it comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Amount", "Counts", "Section"]

Section = Literal["content", "reasoning", "tool_calls"]


@dataclass(frozen=True, slots=True)
class Amount:
    """`characters` that were emitted, and `chunks` that were fed while the part was open."""

    characters: int = 0
    chunks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What has come of each kind of part.

    Chunks are what `feed` was given: tokens, where a loop feeds token by token. A chunk counts
    for the part that was open when it came: the one with a start marker for what is before it, the
    one with an end marker for what it ends. The characters of calls are those of their arguments;
    with `reasoning="inline"` or "raw" those of reasoning are its own too, with its markers.
    """

    content: Amount = Amount()
    reasoning: Amount = Amount()
    tool_calls: Amount = Amount()
