"""The rules of a request: what a sink goes by, the same for all parsers of such requests."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .policies import Policies

__all__ = ["Rules"]


@dataclass(slots=True)  # Never changed; `frozen` would triple its cost.
class Rules:
    """What may be called, what becomes of odd output, and in which form text comes out.

    tools:         the functions that may be called, each with the JSON Schema of its arguments;
                   None for any.
    allowed:       those that `tool_choice` names.
    named:         the one that it names, if its arguments may stand alone.
    parallel:      a second call is like others.
    reasoning:     how reasoning comes out.
    collect:       the message is kept.
    odd_names:     names that readers must know to read them, by where they stand and the function
                   whose arguments they are, if any; filled when they are asked for.
    """

    policies: Policies
    tools: Mapping[str, Any] | None = None
    allowed: Collection[str] | None = None
    named: str = ""
    parallel: bool = True
    reasoning: Literal["separate", "inline", "raw"] = "separate"
    collect: bool = True
    odd_names: dict[tuple[str, str], tuple[tuple[str, str], ...]] = field(default_factory=dict)
