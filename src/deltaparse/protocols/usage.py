"""Token usage in the shape of each protocol.

    {"prompt_tokens", "completion_tokens", "total_tokens", ...}                Chat Completions
    {"input_tokens", "output_tokens", "total_tokens", ...}                     Responses
    {"input_tokens", "output_tokens", "cache_read_input_tokens", ...}          Anthropic's Messages

Each shape is accepted as `usage`, and written in the shape of the protocol. Anthropic's input
tokens exclude cached ones, OpenAI's include them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Usage", "anthropic_usage", "chat_usage", "known", "responses_usage"]

Usage = Mapping[str, Any] | Callable[[], Mapping[str, Any] | None] | None
"""The usage of a request, or a function that is called after the last delta. None if unknown."""

T = TypeVar("T", bound=Mapping[str, Any] | str | None)

CACHE_READ, CACHE_WRITTEN = "cache_read_input_tokens", "cache_creation_input_tokens"


@dataclass(frozen=True, slots=True)
class Tokens:
    """Numbers of tokens. `cached` and `written` are the cached parts of the input."""

    input: int
    output: int
    reasoning: int | None
    cached: int | None
    written: int | None


def known(value: T | Callable[[], T]) -> T:
    """Return a value, or the result of a function."""
    return value() if callable(value) else value


def read(usage: Mapping[str, Any]) -> Tokens:
    """Read a usage in any shape."""
    inputs = details(usage, "prompt_tokens_details", "input_tokens_details")
    outputs = details(usage, "completion_tokens_details", "output_tokens_details")
    cached = inputs.get("cached_tokens", usage.get(CACHE_READ))
    written = inputs.get("cache_write_tokens", usage.get(CACHE_WRITTEN))
    total = usage.get("prompt_tokens", usage.get("input_tokens")) or 0
    if CACHE_READ in usage or CACHE_WRITTEN in usage:
        total += (cached or 0) + (written or 0)
    return Tokens(
        total,
        usage.get("completion_tokens", usage.get("output_tokens")) or 0,
        outputs.get("reasoning_tokens", outputs.get("thinking_tokens")),
        cached,
        written,
    )


def details(usage: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return the first of some members that is present."""
    return next((usage[key] for key in keys if usage.get(key)), {})


def chat_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usage for Chat Completions. A usage in that shape is unchanged."""
    if "input_tokens" not in usage and "output_tokens" not in usage:
        return dict(usage)
    tokens = read(usage)
    written: dict[str, Any] = {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
    }
    if tokens.cached is not None:
        written["prompt_tokens_details"] = {"cached_tokens": tokens.cached}
    if tokens.reasoning is not None:
        written["completion_tokens_details"] = {"reasoning_tokens": tokens.reasoning}
    return written


def responses_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usage for Responses, with all members."""
    tokens = read(usage)
    return {
        "input_tokens": tokens.input,
        "input_tokens_details": {
            "cached_tokens": tokens.cached or 0,
            "cache_write_tokens": tokens.written or 0,
        },
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning or 0},
        "total_tokens": tokens.input + tokens.output,
    }


def anthropic_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usage for Anthropic's Messages."""
    tokens = read(usage)
    written: dict[str, Any] = {
        "input_tokens": max(tokens.input - (tokens.cached or 0) - (tokens.written or 0), 0),
        "output_tokens": tokens.output,
    }
    if tokens.cached is not None:
        written[CACHE_READ] = tokens.cached
    if tokens.written is not None:
        written[CACHE_WRITTEN] = tokens.written
    if tokens.reasoning is not None:
        written["output_tokens_details"] = {"thinking_tokens": tokens.reasoning}
    return written
