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
    ToolFormat,
    ToolsFormat,
    WireFormat,
)

from ..diff import segments, split
from .tagged import NAMESPACE

__all__ = ["with_channels"]

WORD = re.compile(r"\w+")


def with_channels(fmt: WireFormat) -> WireFormat:
    """Return the format with its channels if its markers are those of headers, else as it is.

    The function's markers are then parts of a header too, and no longer stand by themselves.
    """
    marks = split(fmt.reasoning.start, fmt.content.start)
    words = WORD.fullmatch(marks.left), WORD.fullmatch(marks.right)
    if not (marks.prefix.strip() and marks.suffix.strip() and all(words) and fmt.turn.headers):
        return fmt
    header = fmt.turn.headers[0]
    start = segments(header)[0].text
    end = fmt.reasoning.end.partition(header)[0]
    recipient, namespace = fmt.function.name_prefix, ""
    if found := NAMESPACE.search(recipient):
        recipient, namespace = recipient.removesuffix(found[0]), found[0]
    ends = (end, *reversed(fmt.facts.closers), *fmt.turn.ends)
    channels = ChannelsFormat(
        start=start,
        channel=marks.prefix,
        message=marks.suffix,
        recipient=recipient,
        ends=tuple(dict.fromkeys(text for text in ends if text.strip())),
        reasoning=(marks.left,),
    )
    calls = fmt.tools.format is not ToolFormat.NONE
    tools = replace(
        ToolsFormat(format=ToolFormat.TAG_WITH_JSON if calls else ToolFormat.NONE),
        supports_tools=fmt.tools.supports_tools,
        supports_parallel_calls=fmt.tools.supports_parallel_calls,
    )
    return fmt.replace(
        channels=channels,
        content=ContentFormat(requires_nonnull=fmt.content.requires_nonnull),
        reasoning={"end": end},
        tools=tools,
        function=FunctionFormat(namespace=namespace),
        arguments=ArgumentsFormat(),
    )
