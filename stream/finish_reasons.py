"""Why an engine stopped, in the words of each, and what that means for a turn.

A turn ended by itself, or it was cut. A cut that is taken for an end makes a call complete that
may have lost an argument; so an unknown reason counts as cut, and is reported.
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
"""What a parser's turn ended by."""

Reason = str | Mapping[str, Any] | None
"""What an engine reports: a text, or SGLang's object with the text as its `type`."""

StopReason = str | int | None
"""What an engine stopped at and left out: a stop string, or the id of a token; None if nothing."""

WhereStopped = StopReason | Callable[[], StopReason]
"""The same, or a function that is asked for it when the turn has ended."""

WhenEnded = Reason | Callable[[], Reason]
"""Why a turn ended, or a function that is asked for it when the turn has ended."""

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
"""The reasons of a turn that ended by itself, with who reports them."""

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
"""The reasons of a turn that was cut off, with who reports them."""

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
"""The reasons of a turn that a filter, or the model itself, cut off, with who reports them."""

FAILED: Mapping[str, str] = {
    "abort": "vLLM, SGLang",
    "aborted": "",
    "cancelled": "OpenAI's Responses, TensorRT-LLM",
    "canceled": "",
    "timeout": "TensorRT-LLM, Cohere",
    "error": "Mistral, Cohere",
    "failed": "OpenAI's Responses",
}
"""The reasons of a turn that was given up, with who reports them."""

How = Literal["natural", "cut", "filtered", "failed", "unknown"]

HOW: Mapping[str, How] = {
    **dict.fromkeys(NATURAL, "natural"),
    **dict.fromkeys(CUT, "cut"),
    **dict.fromkeys(FILTERED, "filtered"),
    **dict.fromkeys(FAILED, "failed"),
}


def reason_text(reason: Any) -> str | None:
    """The text of an engine's reason, None where it is not known.

    Raises:
        UsageError: it is neither a text, nor an object whose `type` is one, nor None.
    """
    if reason is None or isinstance(reason, str):
        return reason
    if isinstance(reason, Mapping) and (not reason or "type" in reason):
        return reason_text(reason.get("type"))
    raise UsageError(
        'the finish reason is a text as the engine reports it, "stop" or "length", or None, '
        f"not {reason!r:.200}"
    )


def stop_text(stop_reason: Any, reason: Any = None) -> str | int | None:
    """The stop string or the token's id that an engine names, None where it names none.

    Without a `stop_reason` it is what SGLang's object of a `reason` has as `matched`.

    Raises:
        UsageError: it is neither a text, nor an id, nor None.
    """
    if stop_reason is None and isinstance(reason, Mapping):
        matched = reason.get("matched")
        return matched if type(matched) in (str, int) else None
    if stop_reason is None or type(stop_reason) is int or isinstance(stop_reason, str):
        return stop_reason
    raise UsageError(
        "stop_reason is the stop string at which the engine stopped, or the id of a token, or "
        f"None, not {stop_reason!r:.200}"
    )


def how_it_ended(reason: str | None) -> How:
    """Return how a turn of this reason ended, which may be in upper or lower case.

    All but "natural" are cuts: at a limit, by a filter, by a failure, or nobody knows.
    """
    return HOW.get((reason or "").strip().lower(), "unknown")
