"""The fields of a response template for messages with headers, of which a turn has several.

    [start role] channel name [to name] [constrain word] message  text  end

What a message is, its header says; so each field opens with a pattern for its headers.
"""

from __future__ import annotations

import re
from typing import Any

from ..format import WireFormat
from .marker_patterns import any_of, core, cores, optional

__all__ = ["channel_fields"]

WORD = r"[\w-]+"
NAME = r"(?P<name>[^\s<]+?)"


def channel_fields(fmt: WireFormat, reasoning: str) -> dict[str, Any]:
    """The fields that read messages; `reasoning` is the name of that of reasoning."""
    channels = fmt.channels
    ends = any_of(cores((*channels.ends, *fmt.turn.ends)))
    begin = rf"(?:{core(channels.start)}\w*\s*)?" if channels.start.strip() else ""
    where, message = core(channels.channel), core(channels.message)
    thought = any_of(map(re.escape, channels.reasoning)) if channels.reasoning else "(?!)"
    form = [optional(text) for text in cores([channels.constrain])]
    kind = optional("".join([r"\s*", *form, r"\w+"]))
    to = rf"\s*{core(channels.recipient)}\s*" if channels.recipient.strip() else "(?!)"
    name = re.escape(fmt.function.namespace) + NAME
    called = rf"(?:{to}{name}\s*{where}{WORD}|{where}{WORD}{to}{name})"
    transform = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
    return {
        reasoning: {
            "open_pattern": f"{begin}{where}{thought}{kind}{message}",
            "close_pattern": rf"{ends}\s*",
            "content": "text",
        },
        "tool_calls": {
            "open_pattern": f"{begin}{called}{kind}{message}",
            "close_pattern": rf"{ends}\s*",
            "content": "json",
            "repeats": True,
            "transform": transform,
        },
        "content": {
            "open_pattern": f"{begin}{where}(?!{thought}){WORD}{kind}{message}",
            "close_pattern": rf"{ends}\s*",
            "content": "text",
        },
    }
