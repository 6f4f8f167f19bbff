"""Finish reasons in the terms of each protocol.

`StreamParser.finish_reason` uses the terms of Chat Completions. Terms of engines and other
protocols are read too, so that the reason of one server can be passed to the client of another.
"""

from __future__ import annotations

from typing import Any, Literal

from deltaparse.partial import UsageError
from deltaparse.stream import Message, ToolCall
from deltaparse.stream.finish_reasons import Reason, how_it_ended, reason_text

__all__ = [
    "FinishReason",
    "anthropic_reason",
    "chat_reason",
    "incomplete_reason",
    "is_cut",
    "read_reason",
    "reason_of",
]

FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]
"""The reason: a natural end, a natural end with calls, a limit, or a filter."""

ANTHROPIC = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def read_reason(reason: Reason, *, calls: bool, open_call: bool) -> FinishReason:
    """Read the reason of any engine or protocol. An unknown one counts as truncation.

    A natural end is "tool_calls" with `calls`, and "stop" without. `open_call` is True if the last
    part is an incomplete call. Then only the term for calls counts as a natural end: a parser uses
    it for a call with broken arguments. Other terms are from an engine that stopped inside the
    call.

    Raises:
        UsageError: the reason is missing.
    """
    if reason is None:
        raise UsageError(
            "finish_reason must not be None: pass parser.finish_reason after parser.finish()"
        )
    text = reason_text(reason)
    ended = how_it_ended(text)
    if ended == "natural":
        if open_call and text != "tool_calls":
            return "length"
        return "tool_calls" if calls else "stop"
    return "content_filter" if ended == "filtered" else "length"


def reason_of(message: Any, reason: Reason) -> FinishReason:
    """Read the reason of a complete message, as `read_reason` does.

    Raises:
        UsageError: the reason is missing, or `message` is not a `Message`.
    """
    if not isinstance(message, Message):
        kind = type(message).__name__
        raise UsageError(f"response() takes a Message, for example parser.message, not {kind}")
    last = message.parts[-1] if message.parts else None
    open_call = isinstance(last, ToolCall) and not last.complete
    return read_reason(reason, calls=bool(message.tool_calls), open_call=open_call)


def is_cut(reason: FinishReason) -> bool:
    """Return True if the turn was truncated."""
    return reason in INCOMPLETE


def chat_reason(reason: FinishReason, *, bare: bool) -> FinishReason:
    """Return the `finish_reason` of Chat Completions. `bare`: a call broke before its arguments.

    Clients read such a call as one without arguments. For other broken calls, the JSON is invalid.
    """
    return "length" if bare and reason == "tool_calls" else reason


def anthropic_reason(reason: FinishReason, stop_sequence: str | None, *, whole: bool) -> str:
    """Return Anthropic's `stop_reason`. `whole`: every call is complete.

    A message has no other sign of an incomplete call, and clients execute calls on "tool_use".
    """
    if reason == "tool_calls" and not whole:
        reason = "length"
    if stop_sequence is not None and reason == "stop":
        return "stop_sequence"
    return ANTHROPIC[reason]


def incomplete_reason(reason: FinishReason) -> str | None:
    """Return the reason for the `incomplete_details` of a response, None for a complete one."""
    return INCOMPLETE.get(reason)
