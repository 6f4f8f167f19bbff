"""Rules of a request for its sinks, shared by all parsers with the same arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .policies import Policies

__all__ = ["Rules"]


# Never changed. `frozen` would triple the cost of a new instance.
@dataclass(slots=True)
class Rules:
    """Allowed functions, policies and output options of a request.

    policies:      the policies for malformed output.
    tools:         the functions that may be called, each with the JSON Schema of its arguments;
                   None for any function.
    allowed:       the functions of `tool_choice`.
    named:         the function of `tool_choice`, if its arguments may be written without a call.
    parallel:      True if several calls are allowed.
    reasoning:     the form of the emitted reasoning.
    collect:       True if the message is kept.
    odd_names:     a cache of names that readers must know in advance. Keys are the kind of name and
                   the function of the arguments, if any.
    """

    policies: Policies
    tools: Mapping[str, Any] | None = None
    allowed: Collection[str] | None = None
    named: str = ""
    parallel: bool = True
    reasoning: Literal["separate", "inline", "raw"] = "separate"
    collect: bool = True
    # Filled on demand, because few formats need it.
    odd_names: dict[tuple[str, str], tuple[tuple[str, str], ...]] = field(default_factory=dict)
