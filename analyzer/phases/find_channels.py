"""Formats of several messages per turn, each with a header that names its channel.

If the start markers of reasoning and content differ in one word only, this word is the name of a
channel. The texts around the word are the markers of a header.
"""

from __future__ import annotations

import re
from dataclasses import replace

from deltaparse.stream import (
    ArgumentsFormat,
    ChannelsFormat,
    ContentFormat,
    FunctionFormat,
    ReasoningFormat,
    ToolFormat,
    ToolsFormat,
    WireFormat,
)

from ..diff import Split, segments, split
from .find_tagged_calls import NAMESPACE

__all__ = ["header_marks", "with_channels"]

WORD = re.compile(r"\w+")


def header_marks(reasoning: ReasoningFormat, content: ContentFormat) -> Split | None:
    """Return the texts around the only word that differs between reasoning and content markers."""
    marks = split(reasoning.start, content.start)
    words = WORD.fullmatch(marks.left), WORD.fullmatch(marks.right)
    return marks if marks.prefix.strip() and marks.suffix.strip() and all(words) else None


def _recipient(before: str) -> tuple[str, str]:
    """Return the recipient marker and the namespace after it, or the text itself and ""."""
    found = NAMESPACE.search(before)
    if found and before[: found.start()].strip():
        return before[: found.start()], found[0]
    return before, ""


def with_channels(fmt: WireFormat, *, addressed: bool = False) -> WireFormat:
    """Return the format with channels if its markers are parts of headers, else unchanged.

    The function's markers become parts of a header too, except for `addressed` calls.

    Args:
        fmt: the format with markers of reasoning, content and calls.
        addressed: True if calls have a syntax of their own inside their messages. If function names
            and channel names share a position in the header, the channels become recipients.
    """
    marks = header_marks(fmt.reasoning, fmt.content)
    if marks is None or not fmt.turn.headers:
        return fmt
    header = fmt.turn.headers[0]
    start = segments(header)[0].text
    end = fmt.reasoning.end.partition(header)[0]
    recipient, namespace = _recipient(fmt.function.name_prefix)
    closers = () if addressed else reversed(fmt.derived.closers)
    ends = (end, *closers, *fmt.turn.ends)
    channels = ChannelsFormat(
        start=start,
        channel=marks.prefix,
        message=marks.suffix,
        recipient=recipient,
        ends=tuple(dict.fromkeys(text for text in ends if text.strip())),
        reasoning=(marks.left,),
    )
    # Without a name marker, the call's start marker precedes the name.
    before = recipient.strip() or fmt.tools.per_call_start.strip()
    if addressed or before == marks.prefix.strip():
        readers = (marks.right,)
        channels = replace(channels, channel="", recipient=marks.prefix, readers=readers)
    content = ContentFormat(requires_nonnull=fmt.content.requires_nonnull)
    if addressed:
        return fmt.replace(channels=channels, content=content, reasoning={"end": end})
    calls = fmt.tools.format is not ToolFormat.NONE
    tools = replace(
        ToolsFormat(format=ToolFormat.TAG_WITH_JSON if calls else ToolFormat.NONE),
        supports_tools=fmt.tools.supports_tools,
        supports_parallel_calls=fmt.tools.supports_parallel_calls,
    )
    return fmt.replace(
        channels=channels,
        content=content,
        reasoning={"end": end},
        tools=tools,
        function=FunctionFormat(namespace=namespace),
        arguments=ArgumentsFormat(),
    )
