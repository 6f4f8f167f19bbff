"""Why a turn ended, in the words of each protocol.

The words of a parser, `StreamParser.finish_reason`, are those of Chat Completions; those of engines
and of other protocols are read too, so that what one server said can be passed on to the client of
another.
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
"""Why a turn ended: by itself, with calls, cut off at a limit, or stopped by a filter."""

ANTHROPIC = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def read_reason(reason: Reason, *, calls: bool, open_call: bool) -> FinishReason:
    """Read the reason that any engine or protocol reports; one that is not known is a cut.

    A natural end is "tool_calls" with `calls`, and "stop" without. `open_call`: the last part is a
    call that is not complete. Then only the word that says that calls are there is believed, which
    a parser says of a call whose arguments are broken; any other is an engine's, which stopped in
    the middle of a call.

    Raises:
        UsageError: there is none.
    """
    if reason is None:
        raise UsageError("finish_reason=None: give parser.finish_reason, behind parser.finish()")
    text = reason_text(reason)
    ended = how_it_ended(text)
    if ended == "natural":
        if open_call and text != "tool_calls":
            return "length"
        return "tool_calls" if calls else "stop"
    return "content_filter" if ended == "filtered" else "length"


def reason_of(message: Any, reason: Reason) -> FinishReason:
    """Read the reason that belongs to a whole message, as `read_reason` does.

    Raises:
        UsageError: there is none, or `message` is no message.
    """
    if not isinstance(message, Message):
        kind = type(message).__name__
        raise UsageError(f"response() takes a Message, such as parser.message, not {kind}")
    last = message.parts[-1] if message.parts else None
    open_call = isinstance(last, ToolCall) and not last.complete
    return read_reason(reason, calls=bool(message.tool_calls), open_call=open_call)


def is_cut(reason: FinishReason) -> bool:
    """Return whether the turn did not end by itself."""
    return reason in INCOMPLETE


def chat_reason(reason: FinishReason, *, bare: bool) -> FinishReason:
    """Return the `finish_reason` of Chat Completions; `bare`: a call broke before its arguments.

    Clients take that for a call without arguments. Of others their JSON says that they are broken.
    """
    return "length" if bare and reason == "tool_calls" else reason


def anthropic_reason(reason: FinishReason, stop_sequence: str | None, *, whole: bool) -> str:
    """Return Anthropic's `stop_reason`; `whole`: every call is complete.

    Nothing else in a message says that a call is not, and clients execute by "tool_use".
    """
    if reason == "tool_calls" and not whole:
        reason = "length"
    if stop_sequence is not None and reason == "stop":
        return "stop_sequence"
    return ANTHROPIC[reason]


def incomplete_reason(reason: FinishReason) -> str | None:
    """Return the reason in the `incomplete_details` of a response, None for one that is whole."""
    return INCOMPLETE.get(reason)
