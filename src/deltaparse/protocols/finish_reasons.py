"""Why a turn ended, in the words of each protocol.

The words of a parser, `StreamParser.finish_reason`, are those of Chat Completions; the others are
read too, so that what one server said can be passed on to the client of another.
"""

from __future__ import annotations

from typing import Literal, get_args

from deltaparse.partial import UsageError

__all__ = ["FinishReason", "anthropic_reason", "incomplete_reason", "is_cut", "read_reason"]

FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]
"""Why a turn ended: by itself, with calls, cut off at a limit, or stopped by a filter."""

OTHER_WORDS: dict[str, FinishReason] = {
    **{reason: reason for reason in get_args(FinishReason)},
    "function_call": "tool_calls",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}

ANTHROPIC = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def read_reason(reason: str | None, *, calls: bool) -> FinishReason:
    """Read a reason in any protocol's words; a natural end with `calls` is "tool_calls".

    Raises:
        UsageError: no protocol has such a reason.
    """
    known = OTHER_WORDS.get(reason or "")
    if known is None:
        raise UsageError(f"finish_reason={reason!r} is none of {', '.join(OTHER_WORDS)}")
    return "tool_calls" if known == "stop" and calls else known


def is_cut(reason: FinishReason) -> bool:
    """Return whether the turn did not end by itself."""
    return reason in INCOMPLETE


def anthropic_reason(reason: FinishReason, stop_sequence: str | None) -> str:
    """Return Anthropic's `stop_reason`."""
    if stop_sequence is not None and reason == "stop":
        return "stop_sequence"
    return ANTHROPIC[reason]


def incomplete_reason(reason: FinishReason) -> str | None:
    """Return the reason in the `incomplete_details` of a response, None for one that is whole."""
    return INCOMPLETE.get(reason)
