"""Policies: what to do where projects disagree. Each decision taken leaves an `Issue`.

`tool_in_reasoning`, issue `tool_in_reasoning`: a call that begins while reasoning is open.
    "defer"      it is held until it is known what it was: the end of reasoning after it makes it
                 reasoning (a draft), the natural end of the turn a call; a cut-off turn leaves
                 it reasoning
    "reasoning"  never a call
    "call"       a tool marker ends reasoning at once
`unclosed_reasoning`, issue `unclosed_reasoning`: the turn ends while reasoning is open.
    "reasoning"  it is reasoning
    "copy"       if the turn ended by itself and has nothing else, its text is content too, at
                 the end
`text_after_tool_call`, issue `text_after_tool_call`
    "keep"       it is content
    "drop"       it is told in the issue only
`unknown_tool`, issue `unknown_tool`: a call of a function that is not one of the tools.
    "pass"       a call like others: agents answer it
    "text"       its text is content
`malformed_arguments`, issues `repaired_arguments` and `malformed_arguments`
    "repair"     what the list in `partial/json_mend.py` has is mended as it comes; brackets that
                 are open where the call's closer stands are closed, extra ones left out; what
                 cannot be mended leaves the call with `complete=False`
    "strict"     no repair
    "text"       each call is held until it is whole, and is content if its arguments are bad
`duplicate_keys`, issue `duplicate_keys`: a key stands twice in an object of the arguments.
    "last"       the text keeps both, values take the last; no issue
`extra_calls`, issue `extra_call`: a second call, where parallel calls are off.
    "flag"       it comes like others
    "drop"       it is told in the issue only
    "text"       its text is content

Each has "error" besides: `MalformedOutput` is raised. The first choice is the default.

Issues that no policy governs:

`truncated_call`       the output ends in a call; what of it was read and not handed out is in the
                       detail
`ambiguous_marker`     what ends an argument in tags stood in one, and was taken for text
`unused_member`        what stands beside name and arguments in the JSON of a call and means
                       nothing; it is in the detail only
`no_calls`             an empty list of calls
`wrong_tool`           `tool_choice` names another function than the one that was called
`missing_call`         `tool_choice` asked for a call, and none came
`text_after_end`       text after an end-of-turn marker is content
`repeated_marker`      the model wrote again what its prompt ends with
`orphan_marker`        an end of reasoning where none is open
`invalid_text`         bytes that are not UTF-8, or half of a surrogate pair, became U+FFFD: told
                       once, at the end, from the first to the last
`foreign_recipient`    a message in channels to someone who is neither a function nor the reader;
`foreign_role`         one by someone who is not the model: both are in the detail only
`odd_header`           a header with more in it than one has, or without a message after it
`code_block`           the fences round JSON that was asked for were left out
`internal_error`       a bug of ours: the rest of the text is content
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, get_args, get_type_hints

from deltaparse.partial import UsageError

__all__ = ["Policies"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """Named choices, described at the top of this module. An unknown one is a `UsageError`."""

    tool_in_reasoning: Literal["defer", "reasoning", "call", "error"] = "defer"
    unclosed_reasoning: Literal["reasoning", "copy", "error"] = "reasoning"
    text_after_tool_call: Literal["keep", "drop", "error"] = "keep"
    unknown_tool: Literal["pass", "text", "error"] = "pass"
    malformed_arguments: Literal["repair", "strict", "text", "error"] = "repair"
    duplicate_keys: Literal["last", "error"] = "last"
    extra_calls: Literal["flag", "drop", "text", "error"] = "flag"

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for policy in fields(self):
            chosen, choices = getattr(self, policy.name), get_args(hints[policy.name])
            if chosen not in choices:
                words = ", ".join(f'"{choice}"' for choice in choices)
                raise UsageError(f"{policy.name}={chosen!r}: choose one of {words}")
