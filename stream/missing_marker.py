"""Detection of calls without their opening marker.

A decoder that skips special tokens drops the marker. The rest of the call is content, e.g.
`f{"a": 1}`, `{"name": "f"}`, or `call:f{"a": 1}` with a part of the marker. Text about calls looks
the same, so the content is not parsed again. It is only reported if it has the name of a tool as
in a call, followed by the start of arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from .message.message import Message
from .wire.format import ToolFormat, WireFormat
from .wire.other_form import other_form
from .wire.spellings import TAG

__all__ = ["called_without_marker"]

# Both limits bound the cost of the check, which runs at the end of every turn without calls.
HEAD = 512
"""The number of characters that are parsed of a possible call."""

MOST_PLACES = 8
"""The maximum number of places in the content that are parsed."""


Read = Callable[[WireFormat, str], Message]
"""Parses the beginning of a turn."""


def called_without_marker(fmt: WireFormat, tools: Collection[str], content: str, read: Read) -> str:
    """Return the name of the tool whose call starts in `content` without its marker, or "".

    Args:
        fmt: the wire format.
        tools: the names of the tools.
        content: the content of the message.
        read: parses a possible call, with the tools.
    """
    if fmt.derived.has_channels:
        # The recipient is ordinary text, so it is left if the tokens of the header are dropped.
        before = fmt.channels.recipient.strip() + fmt.function.namespace
        return next((name for name in tools if before and before + name in content), "")
    opener = "".join(fmt.derived.openers)
    # If the content has an opener, the decoder did not drop it.
    if not opener.strip() or any(text.strip() in content for text in fmt.derived.openers):
        return ""
    words = _without_tokens(fmt, opener).strip()
    for start in _places(fmt, tools, content):
        text = content[start : start + HEAD]
        # The opener is put back, so the words that are left of it must not precede the call twice.
        for rest in dict.fromkeys((text, text.removeprefix(words))):
            for variant in (fmt, _without_inner_markers(fmt)):
                message = read(variant, opener + rest)
                call = next(iter(message.tool_calls), None)
                # A name alone is not enough, because any text may mention a tool.
                if call and not message.content and len(call.arguments) > len("{"):
                    if call.name in tools:
                        return call.name
    # Some models write calls in one of two forms.
    other = other_form(fmt)
    return called_without_marker(other, tools, content, read) if other else ""


def _places(fmt: WireFormat, tools: Collection[str], content: str) -> Iterator[int]:
    """Yield the indices at which a call of a tool may start."""
    found = sorted(at for name in tools if (at := content.find(name)) >= 0)[:MOST_PLACES]
    for at in found:
        if fmt.tools.format is ToolFormat.JSON_NATIVE:
            # The name is a member of the object, so the call starts at the brace before it.
            brace = content.rfind("{", 0, at)
            if brace >= 0:
                yield brace
        else:
            # The name may follow a namespace and an id, so the call starts at the whitespace.
            space = max(content.rfind(char, 0, at) for char in " \n\t")
            yield space + 1


def _without_inner_markers(fmt: WireFormat) -> WireFormat:
    """Return the format without special tokens between the name and the arguments."""
    if fmt.tools.format is not ToolFormat.TAG_WITH_JSON:
        return fmt
    return fmt.replace(arguments={"start": _without_tokens(fmt, fmt.arguments.start)})


def _without_tokens(fmt: WireFormat, marker: str) -> str:
    """Return a marker without its special tokens, e.g. `call:` for `<|tool_call>call:`."""
    for token in fmt.preserved_tokens:
        marker = marker.replace(token.strip(), "")
    return TAG.sub("", marker)
