"""The fields of a response template for messages with headers, of which a turn has several.

    [start role] channel name [to name] [constrain word] message  text  end

What a message is, its header says; so each field opens with a pattern for its headers. Channel and
recipient come in either order.
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
WHOLE = r"(?![\w-])"
NEVER = "(?!)"


def channel_fields(fmt: WireFormat, reasoning: str) -> dict[str, Any]:
    """The fields that read messages; `reasoning` is the name of that of reasoning."""
    channels = fmt.channels
    ends = any_of(cores((*channels.ends, *fmt.turn.ends)))
    next_message = [f"(?={core(channels.start)})"] * bool(channels.start.strip())
    close = "|".join([rf"{SPACE}{ends}{SPACE}", *next_message])
    transform = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
    said = {"close_pattern": close, "content": "text"}
    return {
        reasoning: {"open_pattern": _header(fmt, _thought(fmt)), **said},
        "tool_calls": {
            "open_pattern": _header(fmt, "", _function(fmt)),
            "close_pattern": close,
            "content": "json",
            "repeats": True,
            "transform": transform,
        },
        "content": {"open_pattern": _header(fmt, f"(?!{_thought(fmt)}){WORD}"), **said},
    }


def _thought(fmt: WireFormat) -> str:
    return _word_of(fmt.channels.reasoning) if fmt.channels.reasoning else NEVER


def _word_of(words: Iterable[str]) -> str:
    return any_of(map(re.escape, dict.fromkeys(words))) + WHOLE


def _readers(fmt: WireFormat) -> str:
    """The pattern of a recipient that is no function."""
    channels = fmt.channels
    roles = (header.removeprefix(channels.start).strip() for header in fmt.turn.headers)
    return _word_of((*READERS, *channels.readers, *filter(None, roles)))


def _function(fmt: WireFormat) -> str:
    """The pattern of a recipient that is a function."""
    space = re.escape(fmt.function.namespace)
    return space + NAME if space else f"(?!{_readers(fmt)}){NAME}"


def _header(fmt: WireFormat, channel: str, recipient: str = "") -> str:
    """The pattern of a header: on a channel, any for "", and to a recipient, a reader for ""."""
    channels = fmt.channels
    begin = optional(rf"{core(channels.start)}\w*{SPACE}") if channels.start.strip() else ""
    on = joined([core(channels.channel), channel or WORD])
    if not channels.recipient.strip():
        parts = NEVER if recipient else on
    elif recipient:
        to = joined([core(channels.recipient), recipient])
        parts = rf"(?:{SPACE}{to}{SPACE}{optional(on)}|{on}{SPACE}{to})"
    else:
        to = optional(joined(["", core(channels.recipient), _readers(fmt), ""]))
        parts = f"{to}{on}{to}"
    form = [rf"{SPACE}{text}{SPACE}\w+" for text in cores([channels.constrain])]
    kind = optional("|".join([*form, r"\s+\w+"]))
    return f"{begin}{parts}{kind}{SPACE}{core(channels.message)}"
