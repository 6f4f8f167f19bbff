"""Calls whose opening marker is missing: a decoder that skips special tokens takes it away.

What is left is content, `f{"a": 1}` or `{"name": "f"}`, maybe behind the words of a marker, as in
`call:f{"a": 1}`. Nobody would look for a call there: prose about calls looks the same. So nothing
is read anew, but it is reported, where the name of a tool stands as it does in a call, with the
beginning of its arguments behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from .message.message import Message
from .wire.format import ToolFormat, WireFormat
from .wire.other_form import other_form
from .wire.spellings import TAG

__all__ = ["called_without_marker"]

HEAD = 512
"""Characters of what may be a call that are looked at."""

MOST_PLACES = 8
"""Places in a content at which a call may begin."""


Read = Callable[[WireFormat, str], Message]
"""Reads the beginning of a turn."""


def called_without_marker(fmt: WireFormat, tools: Collection[str], content: str, read: Read) -> str:
    """The name of the tool whose call begins in `content` without its marker, "" for none.

    `read` reads what may be a call, with the tools.
    """
    if fmt.derived.has_channels:
        before = fmt.channels.recipient.strip() + fmt.function.namespace
        return next((name for name in tools if before and before + name in content), "")
    opener = "".join(fmt.derived.openers)
    if not opener.strip() or any(text.strip() in content for text in fmt.derived.openers):
        return ""  # where one is there, it was not taken away
    words = _without_tokens(fmt, opener).strip()
    for start in _places(fmt, tools, content):
        text = content[start : start + HEAD]
        for rest in dict.fromkeys((text, text.removeprefix(words))):
            for variant in (fmt, _without_inner_markers(fmt)):
                message = read(variant, opener + rest)
                call = next(iter(message.tool_calls), None)
                if call and not message.content and len(call.arguments) > len("{"):
                    if call.name in tools:
                        return call.name
    other = other_form(fmt)
    return called_without_marker(other, tools, content, read) if other else ""


def _places(fmt: WireFormat, tools: Collection[str], content: str) -> Iterator[int]:
    """Where a call of a tool may begin."""
    found = sorted(at for name in tools if (at := content.find(name)) >= 0)[:MOST_PLACES]
    for at in found:
        if fmt.tools.format is ToolFormat.JSON_NATIVE:
            brace = content.rfind("{", 0, at)
            if brace >= 0:
                yield brace
        else:
            # The name may have a namespace, and an id may stand before it.
            space = max(content.rfind(char, 0, at) for char in " \n\t")
            yield space + 1


def _without_inner_markers(fmt: WireFormat) -> WireFormat:
    """The format without tokens before the arguments; one behind the name is not asked for."""
    if fmt.tools.format is not ToolFormat.TAG_WITH_JSON:
        return fmt
    return fmt.replace(arguments={"start": _without_tokens(fmt, fmt.arguments.start)})


def _without_tokens(fmt: WireFormat, marker: str) -> str:
    """What is left of a marker without special tokens: `call:` of `<|tool_call>call:`."""
    for token in fmt.preserved_tokens:
        marker = marker.replace(token.strip(), "")
    return TAG.sub("", marker)
