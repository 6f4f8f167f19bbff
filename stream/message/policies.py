"""Policies: what to do where a model's output is odd, and projects disagree."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, get_args, get_type_hints

from deltaparse.partial import UsageError

__all__ = ["Policies"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """What to do where a model's output is odd: named choices, the first of each the default.

    Each decision taken leaves an `Issue`, whose kind is named here. Every policy also has the
    choice "error": `feed` or `finish` raises `MalformedOutput`, of that kind.

    If a call becomes content, so do its markers, and its section's markers if no call is left in
    the section. Text behind it then follows no call.

    Args:
        tool_in_reasoning: a call begins while reasoning is open. Issue `tool_in_reasoning`.
            "defer": hold the call until it is known what it was. If reasoning ends behind it, it
            is reasoning (a draft); if the turn ends by itself, it is a call; if the turn was cut
            off, it is reasoning.
            "reasoning": it is reasoning, never a call; no issue.
            "call": a call interrupts reasoning at once; behind it reasoning continues up to its
            end marker, or to the end of the turn (see `unclosed_reasoning`).
        unclosed_reasoning: the turn ends while reasoning is open. Issue `unclosed_reasoning`.
            "reasoning": its text is reasoning.
            "copy": if the turn ended by itself, the text of that section is content too, at the
            end.
        text_after_tool_call: text other than white space follows a call, and is no call. Issue
            `text_after_tool_call`.
            "keep": it is content.
            "drop": it is in the issue only.
        unknown_tool: a call of a function that is not one of the tools. Issue `unknown_tool`.
            "pass": a call like others; an agent answers it.
            "text": its text is content. The name alone decides.
            In formats with unmarked calls only the name identifies a call, so both choices make it
            content, up to the next marker.
        malformed_arguments: the arguments are not the JSON object that they must be. Issues
            `repaired_arguments`, where they became one, and `malformed_arguments`, where not.
            "repair": repair, while they come, what `deltaparse.partial.Repairs` lists; close the
            brackets that are open at the call's closer, and leave out extra ones. If that is not
            enough, the call has `complete=False`.
            "strict": repair nothing; the call has `complete=False`.
            "text": hold each call until it is whole; it is content if its arguments are bad.
        duplicate_keys: a key stands twice in an object of the arguments. Issue `duplicate_keys`.
            "last": the text keeps both, values take the last; no issue.
        extra_calls: a second call, where `parallel_tool_calls` is False. Issue `extra_call`.
            "flag": a call like others.
            "drop": it is in the issue only.
            "text": its text is content.
        stray_token: a special token stands where no marker may, in the output of a `TokenParser`.
            Issue `stray_token`.
            "text": its text comes out.
            "drop": nothing of it does.

    Raises:
        UsageError: an unknown choice; the message lists the valid ones.
    """

    tool_in_reasoning: Literal["defer", "reasoning", "call", "error"] = "defer"
    unclosed_reasoning: Literal["reasoning", "copy", "error"] = "reasoning"
    text_after_tool_call: Literal["keep", "drop", "error"] = "keep"
    unknown_tool: Literal["pass", "text", "error"] = "pass"
    malformed_arguments: Literal["repair", "strict", "text", "error"] = "repair"
    duplicate_keys: Literal["last", "error"] = "last"
    extra_calls: Literal["flag", "drop", "text", "error"] = "flag"
    stray_token: Literal["text", "drop", "error"] = "text"

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for policy in fields(self):
            chosen, choices = getattr(self, policy.name), get_args(hints[policy.name])
            if chosen not in choices:
                words = ", ".join(f'"{choice}"' for choice in choices)
                raise UsageError(f"{policy.name}={chosen!r}: choose one of {words}")
