"""Finish reasons of engines, and their meaning for a turn.

A turn either ended by itself or was truncated. If a truncated turn counted as ended, a call that
lost an argument would be complete. So an unknown reason counts as truncated, and is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from deltaparse.partial import UsageError

__all__ = [
    "CUT",
    "FAILED",
    "FILTERED",
    "NATURAL",
    "FinishReason",
    "Reason",
    "StopReason",
    "WhenEnded",
    "WhereStopped",
    "how_it_ended",
    "reason_text",
    "stop_text",
]

FinishReason = Literal["stop", "tool_calls", "length"]
"""The finish reason of a parser."""

Reason = str | Mapping[str, Any] | None
"""The finish reason of an engine: a string, or SGLang's object with the string as its `type`."""

StopReason = str | int | None
"""The stop string or token id that the engine stopped at and left out, None without one."""

# Functions are allowed, because an engine knows both reasons only after the last chunk.
WhereStopped = StopReason | Callable[[], StopReason]
"""A `StopReason`, or a function that returns it and is called when the turn has ended."""

WhenEnded = Reason | Callable[[], Reason]
"""A `Reason`, or a function that returns it and is called when the turn has ended."""

# Keys are lower case, because `how_it_ended` ignores case.
NATURAL: Mapping[str, str] = {
    "stop": "OpenAI, vLLM, SGLang, llama.cpp, Ollama, Gemini",
    "tool_calls": "OpenAI, vLLM, Mistral",
    "function_call": "OpenAI, before there were tools",
    "eos": "llama.cpp",
    "eos_token": "Text Generation Inference",
    "word": "llama.cpp: a stop string",
    "stop_sequence": "Anthropic, Text Generation Inference, Cohere",
    "stop_string": "ExLlama",
    "stop_token": "ExLlama",
    "stop_words": "TensorRT-LLM",
    "end_id": "TensorRT-LLM",
    "end_turn": "Anthropic, Amazon Bedrock",
    "tool_use": "Anthropic, Amazon Bedrock",
    "tool_call": "Cohere",
    "complete": "Cohere",
    "completed": "OpenAI's Responses",
}
"""The reasons of a turn that ended by itself, and the engines that report them."""

# A truncated turn may lack an argument, so its last call is complete only if it was closed.
CUT: Mapping[str, str] = {
    "length": "OpenAI, vLLM, SGLang, Text Generation Inference",
    "limit": "llama.cpp",
    "max_tokens": "Anthropic, Gemini, Cohere, Amazon Bedrock",
    "max_new_tokens": "ExLlama",
    "max_output_tokens": "OpenAI's Responses",
    "max_length": "transformers",
    "model_length": "Mistral",
    "model_context_window_exceeded": "Anthropic",
    "incomplete": "OpenAI's Responses",
    "pause_turn": "Anthropic",
    "language": "Gemini",
    "malformed_function_call": "Gemini",
    "other": "Gemini",
    "none": "llama.cpp",
}
"""The reasons of a truncated turn, and the engines that report them."""

# A filter may stop the model within a call, so this is a kind of truncation.
FILTERED: Mapping[str, str] = {
    "content_filter": "OpenAI",
    "content_filtered": "Amazon Bedrock",
    "guardrail_intervened": "Amazon Bedrock",
    "refusal": "Anthropic",
    "safety": "Gemini",
    "recitation": "Gemini",
    "blocklist": "Gemini",
    "prohibited_content": "Gemini",
    "spii": "Gemini",
}
"""The reasons of a turn truncated by a filter or a refusal, and the engines that report them."""

# A failure may stop the engine at any token, so this is a kind of truncation too.
FAILED: Mapping[str, str] = {
    "abort": "vLLM, SGLang",
    "aborted": "",
    "cancelled": "OpenAI's Responses, TensorRT-LLM",
    "canceled": "",
    "timeout": "TensorRT-LLM, Cohere",
    "error": "Mistral, Cohere",
    "failed": "OpenAI's Responses",
}
"""The reasons of a turn that was aborted, and the engines that report them."""

# Kinds of truncation are distinguished for reports, but treated alike by the parser.
How = Literal["natural", "cut", "filtered", "failed", "unknown"]

# One mapping, so that a reason is classified with one look-up.
HOW: Mapping[str, How] = {
    **dict.fromkeys(NATURAL, "natural"),
    **dict.fromkeys(CUT, "cut"),
    **dict.fromkeys(FILTERED, "filtered"),
    **dict.fromkeys(FAILED, "failed"),
}


def reason_text(reason: Any) -> str | None:
    """Return the finish reason of an engine as a string, None if it is unknown.

    Args:
        reason: a string, an object with the string as its `type`, or None.

    Raises:
        UsageError: `reason` has another type.
    """
    if reason is None or isinstance(reason, str):
        return reason
    # SGLang's object has the string as its `type`, and an empty one counts as unknown.
    # An object without a `type` is the caller's mistake, so it raises instead of being unknown.
    if isinstance(reason, Mapping) and (not reason or "type" in reason):
        return reason_text(reason.get("type"))
    raise UsageError(
        'the finish reason must be a str as the engine reports it, e.g. "stop" or "length", or '
        f"None, not {reason!r:.200}"
    )


def stop_text(stop_reason: Any, reason: Any = None) -> str | int | None:
    """Return the stop string or token id that the engine reports, None if it reports neither.

    Args:
        stop_reason: a stop string, a token id or None.
        reason: the finish reason. Without a `stop_reason`, the `matched` of SGLang's object is
            returned.

    Raises:
        UsageError: `stop_reason` is neither a string, nor an id, nor None.
    """
    # A given `stop_reason` is more specific, so it overrides the one in the object.
    if stop_reason is None and isinstance(reason, Mapping):
        matched = reason.get("matched")
        # Checked by `type`, because True is an `int` but not the id of a token.
        return matched if type(matched) in (str, int) else None
    if stop_reason is None or type(stop_reason) is int or isinstance(stop_reason, str):
        return stop_reason
    raise UsageError(
        "stop_reason must be the stop string (str) or the token id (int) at which the engine "
        f"stopped, or None, not {stop_reason!r:.200}"
    )


def how_it_ended(reason: str | None) -> How:
    """Classify a finish reason, in upper or lower case.

    All results except "natural" mean that the turn was truncated: by a limit, a filter, a failure,
    or for an unknown reason.
    """
    # Gemini reports in upper case, and an absent reason is as unknown as a new one.
    return HOW.get((reason or "").strip().lower(), "unknown")
