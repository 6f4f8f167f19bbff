"""Fields for reasoning in OpenAI objects. OpenAI defines none, so servers use different names."""

from __future__ import annotations

from typing import Literal

from deltaparse.partial import UsageError

__all__ = ["REASONING_KEYS", "ReasoningField", "reasoning_fields"]

REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
"""Keys of messages for reasoning, as servers and clients use them. The most common is first."""

ReasoningField = Literal["reasoning_content", "reasoning", "both"]
"""Name of the field for reasoning, or "both" for both names."""


def reasoning_fields(text: str, names: ReasoningField) -> dict[str, str]:
    """Return the fields with the reasoning.

    Args:
        text: the reasoning.
        names: name of the field, or "both".

    Raises:
        UsageError: unknown name.
    """
    # Clients look for different names, so "both" serves clients of either.
    if names == "both":
        return {"reasoning_content": text, "reasoning": text}
    if names not in ("reasoning_content", "reasoning"):
        words = '"reasoning_content", "reasoning" or "both"'
        raise UsageError(f"reasoning must be {words}, not {names!r}")
    return {names: text}
