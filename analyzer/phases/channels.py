"""Turns of several messages, each with a header: known by what reasoning and content share.

Where the marker before reasoning and the one before content differ in one word only, that word
is the name of a channel, and what stands round it the marks of a header.
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
from .tagged import NAMESPACE

__all__ = ["header_marks", "with_channels"]

WORD = re.compile(r"\w+")


def header_marks(reasoning: ReasoningFormat, content: ContentFormat) -> Split | None:
    """What stands round the one word in which the markers of reasoning and content differ."""
    marks = split(reasoning.start, content.start)
    words = WORD.fullmatch(marks.left), WORD.fullmatch(marks.right)
    return marks if marks.prefix.strip() and marks.suffix.strip() and all(words) else None


def with_channels(fmt: WireFormat, *, addressed: bool = False) -> WireFormat:
    """Return the format with its channels if its markers are those of headers, else as it is.

    The function's markers are then parts of a header too, and no longer stand by themselves;
    but where calls are `addressed`, they have a syntax of their own in their messages. Where the
    name of a function stands where those of channels do, these are recipients.
    """
    marks = header_marks(fmt.reasoning, fmt.content)
    if marks is None or not fmt.turn.headers:
        return fmt
    header = fmt.turn.headers[0]
    start = segments(header)[0].text
    end = fmt.reasoning.end.partition(header)[0]
    recipient, namespace = fmt.function.name_prefix, ""
    if found := NAMESPACE.search(recipient):
        recipient, namespace = recipient.removesuffix(found[0]), found[0]
    closers = () if addressed else reversed(fmt.facts.closers)
    ends = (end, *closers, *fmt.turn.ends)
    channels = ChannelsFormat(
        start=start,
        channel=marks.prefix,
        message=marks.suffix,
        recipient=recipient,
        ends=tuple(dict.fromkeys(text for text in ends if text.strip())),
        reasoning=(marks.left,),
    )
    if addressed or recipient.strip() == marks.prefix.strip():
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
