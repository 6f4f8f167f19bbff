"""Fields of a response template for messages with headers in one turn.

[start role] channel name [to name] [constrain word] message  text  end

The header determines the kind of a message, so each field opens with a pattern for its headers.
Channel and recipient may be in either order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..channel_markers import READERS
from ..format import WireFormat
from .marker_patterns import SPACE, any_of, core, cores, joined, optional

__all__ = ["channel_fields"]

NAME = r"(?P<name>[^\s<]+?)"
WORD = r"[\w-]+"
# Without it, a channel would also match longer names with the same beginning.
WHOLE = r"(?![\w-])"
# Never matches: for fields without any channel in this format.
NEVER = "(?!)"


def channel_fields(fmt: WireFormat, reasoning: str) -> dict[str, Any]:
    """Return the fields for all messages.

    Args:
        fmt: a format with channels.
        reasoning: name of the field of reasoning.
    """
    channels = fmt.channels
    ends = any_of(cores((*channels.ends, *fmt.turn.ends)))
    # Models may leave out the end of a message before the next header.
    next_message = [f"(?={core(channels.start)})"] * bool(channels.start.strip())
    close = "|".join([rf"{SPACE}{ends}{SPACE}", *next_message])
    # The name is in the header, so the content is only the arguments.
    transform = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
    text_field = {"close_pattern": close, "content": "text"}
    return {
        reasoning: {"open_pattern": _header(fmt, _thought(fmt)), **text_field},
        "tool_calls": {
            "open_pattern": _header(fmt, "", _function(fmt)),
            "close_pattern": close,
            "content": "json",
            "repeats": True,
            "transform": transform,
        },
        # Any other channel is content, as in our parser.
        "content": {"open_pattern": _header(fmt, f"(?!{_thought(fmt)}){WORD}"), **text_field},
    }


def _thought(fmt: WireFormat) -> str:
    return _word_of(fmt.channels.reasoning) if fmt.channels.reasoning else NEVER


def _word_of(words: Iterable[str]) -> str:
    return any_of(map(re.escape, dict.fromkeys(words))) + WHOLE


def _readers(fmt: WireFormat) -> str:
    """Return the pattern for a recipient that is not a function."""
    channels = fmt.channels
    # A message to the model's own role is text as well.
    roles = (header.removeprefix(channels.start).strip() for header in fmt.turn.headers)
    return _word_of((*READERS, *channels.readers, *filter(None, roles)))


def _function(fmt: WireFormat) -> str:
    """Return the pattern for a recipient that is a function."""
    space = re.escape(fmt.function.namespace)
    # Without a namespace, a function is any recipient that is not a reader.
    return space + NAME if space else f"(?!{_readers(fmt)}){NAME}"


def _header(fmt: WireFormat, channel: str, recipient: str = "") -> str:
    """Return the pattern of a header.

    Args:
        fmt: a format with channels.
        channel: pattern of the channel, "" for any channel.
        recipient: pattern of the recipient, "" for an optional reader.
    """
    channels = fmt.channels
    # The prompt already has the start of the first message.
    begin = optional(rf"{core(channels.start)}\w*{SPACE}") if channels.start.strip() else ""
    on = joined([core(channels.channel), channel or WORD])
    # Without a marker of recipients, no header names a function.
    if not channels.recipient.strip():
        parts = NEVER if recipient else on
    elif recipient:
        to = joined([core(channels.recipient), recipient])
        parts = rf"(?:{SPACE}{to}{SPACE}{optional(on)}|{on}{SPACE}{to})"
    else:
        # A message to a reader is text, like a message without a recipient.
        to = optional(joined(["", core(channels.recipient), _readers(fmt), ""]))
        parts = f"{to}{on}{to}"
    # The form of the body does not change its meaning, but it is part of the header.
    form = [rf"{SPACE}{text}{SPACE}\w+" for text in cores([channels.constrain])]
    kind = optional("|".join([*form, r"\s+\w+"]))
    return f"{begin}{parts}{kind}{SPACE}{core(channels.message)}"
