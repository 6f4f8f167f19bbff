"""Sizes of the parts of a turn so far, for budgets and progress displays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Amount", "Counts", "Section"]

# The names are the fields of `Counts`, because `MessageBuilder` passes them as keywords.
Section = Literal["content", "reasoning", "tool_calls"]


@dataclass(frozen=True, slots=True)
class Amount:
    """The size of one kind of part.

    Attributes:
        characters: number of emitted characters.
        chunks: number of chunks that were fed while the part was open.
    """

    characters: int = 0
    chunks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The sizes of each kind of part so far.

    A chunk is an argument of `feed`, for example one token. It counts for the part that was open
    when it arrived. So a chunk with a start marker counts for the part before the marker, and a
    chunk with an end marker for the part that ends. With `reasoning="inline"` or "raw", the markers
    of reasoning count as reasoning.

    Attributes:
        content: size of the content.
        reasoning: size of the reasoning.
        tool_calls: number of characters of the arguments, and of chunks of calls.
    """

    # `Amount` is frozen, so one default instance can be shared.
    content: Amount = Amount()
    reasoning: Amount = Amount()
    tool_calls: Amount = Amount()
