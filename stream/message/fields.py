"""The fields of OpenAI's objects that OpenAI has not: where servers put reasoning."""

from __future__ import annotations

from typing import Literal

from deltaparse.partial import UsageError

__all__ = ["REASONING_KEYS", "ReasoningField", "reasoning_fields"]

REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
"""The keys of a message under which servers and clients have reasoning, the usual one first."""

ReasoningField = Literal["reasoning_content", "reasoning", "both"]
"""The name of the field with the reasoning, or both names."""


def reasoning_fields(text: str, names: ReasoningField) -> dict[str, str]:
    """The fields that hold reasoning.

    Raises:
        UsageError: no such name.
    """
    if names == "both":
        return {"reasoning_content": text, "reasoning": text}
    if names not in ("reasoning_content", "reasoning"):
        words = '"reasoning_content", "reasoning" or "both"'
        raise UsageError(f"reasoning={names!r}: choose {words}")
    return {names: text}
