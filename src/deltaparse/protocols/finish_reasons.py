"""Why a turn ended, in the words of each protocol.

The words of a parser, `StreamParser.finish_reason`, are those of Chat Completions; those of engines
and of other protocols are read too, so that what one server said can be passed on to the client of
another.
"""

from __future__ import annotations

from typing import Literal

from deltaparse.partial import UsageError
from deltaparse.stream.finish_reasons import Reason, how_it_ended, reason_text

__all__ = ["FinishReason", "anthropic_reason", "incomplete_reason", "is_cut", "read_reason"]

FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]
"""Why a turn ended: by itself, with calls, cut off at a limit, or stopped by a filter."""

ANTHROPIC = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def read_reason(reason: Reason, *, calls: bool) -> FinishReason:
    """Read the reason that any engine or protocol reports; one that is not known is a cut.

    A natural end is "tool_calls" with `calls`, and "stop" without.

    Raises:
        UsageError: there is none.
    """
    if reason is None:
        raise UsageError("finish_reason=None: give parser.finish_reason, behind parser.finish()")
    ended = how_it_ended(reason_text(reason))
    if ended == "natural":
        return "tool_calls" if calls else "stop"
    return "content_filter" if ended == "filtered" else "length"


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
