"""Policies for malformed output."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, get_args, get_type_hints

from deltaparse.partial import UsageError

__all__ = ["Policies"]


# Frozen, because parsers with the same arguments share one instance.
@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """Handling of malformed output. The first option of each policy is the default.

    Each decision is reported as an `Issue` of the kind that is named here. Every policy also has
    the option "error": then `feed` or `finish` raises `MalformedOutput` of this kind.

    If a call becomes content, so do its markers. The markers of its section become content too if
    the section has no other call. Text after such a call does not follow a call.

    Args:
        tool_in_reasoning: a call begins while reasoning is open. Issue `tool_in_reasoning`.
            "defer": buffer the call until its meaning is known. If reasoning ends after it, the
            call is reasoning (a draft). If the turn ends by itself, it is a call. If the turn is
            truncated, it is reasoning.
            "reasoning": it is reasoning, never a call, without an issue.
            "call": a call interrupts reasoning at once. After it, reasoning continues up to its end
            marker or to the end of the turn (see `unclosed_reasoning`).
        unclosed_reasoning: the turn ends while reasoning is open. Issue `unclosed_reasoning`.
            "reasoning": the text is reasoning.
            "copy": if the turn ended by itself, the text of this section is emitted again at the
            end, as content.
        text_after_tool_call: text other than whitespace and calls follows a call. Issue
            `text_after_tool_call`.
            "keep": it is content.
            "drop": only the issue has it.
        unknown_tool: the called function is not one of the tools. Issue `unknown_tool`.
            "pass": it is an ordinary call, and the agent answers it.
            "text": its text is content. Only the name decides.
            In formats with unmarked calls, only the name identifies a call. There both options make
            the call content, up to the next marker.
        malformed_arguments: the arguments are not the required JSON object. Issues
            `repaired_arguments`, if they could be repaired, and `malformed_arguments`, if not.
            "repair": apply the repairs of `deltaparse.partial.Repairs` while the arguments arrive.
            At the call's closer, close open brackets and remove extra ones. If the arguments are
            still malformed, the call has `complete=False`.
            "strict": repair nothing. The call has `complete=False`.
            "text": buffer each call until its end. It is content if its arguments are malformed.
        duplicate_keys: a key occurs twice in an object of the arguments. Issue `duplicate_keys`.
            "last": the text keeps both, and values have the last one. It is not reported.
        extra_calls: a second call, although `parallel_tool_calls` is False. Issue `extra_call`.
            "flag": it is an ordinary call.
            "drop": only the issue has it.
            "text": its text is content.
        stray_token: a special token at a position without markers, in the output of a
            `TokenParser`. Issue `stray_token`.
            "text": its text is emitted.
            "drop": its text is not emitted.

    Raises:
        UsageError: unknown option. The message lists the valid options.
    """

    # Each default keeps the text of the model and is safe for agents.
    tool_in_reasoning: Literal["defer", "reasoning", "call", "error"] = "defer"
    unclosed_reasoning: Literal["reasoning", "copy", "error"] = "reasoning"
    text_after_tool_call: Literal["keep", "drop", "error"] = "keep"
    unknown_tool: Literal["pass", "text", "error"] = "pass"
    malformed_arguments: Literal["repair", "strict", "text", "error"] = "repair"
    duplicate_keys: Literal["last", "error"] = "last"
    extra_calls: Literal["flag", "drop", "text", "error"] = "flag"
    stray_token: Literal["text", "drop", "error"] = "text"

    def __post_init__(self) -> None:
        # Checked here, because a misspelled option would otherwise have no effect.
        # The annotations are the only list of options, so messages cannot differ from them.
        hints = get_type_hints(type(self))
        for policy in fields(self):
            chosen, choices = getattr(self, policy.name), get_args(hints[policy.name])
            if chosen not in choices:
                words = ", ".join(f'"{choice}"' for choice in choices)
                raise UsageError(f"{policy.name} must be one of {words}, not {chosen!r}")
