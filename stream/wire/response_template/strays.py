r"""Markers where nothing is open, which close nothing: what closes content on a condition.

(?<=</call>\s*)</calls>      the end of the section of calls, behind the last
(?<=</think>\s*)<answer>     the start of content, behind reasoning
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaparse.partial import FormatError

from ..format import ContentMode, WireFormat
from .anchors import PartKind, is_conditional, read_anchor

__all__ = ["with_strays"]


def with_strays(fmt: WireFormat, content: Mapping[str, Any] | None) -> WireFormat:
    """The format with the markers that the field of content has on a condition."""
    if content is None:
        return fmt
    found = [
        "".join(part.text for part in parts if part.kind is PartKind.TEXT)
        for parts in read_anchor(content, "close", "content")
        if is_conditional(parts)
    ]
    known = {text.strip() for text in (*fmt.turn.headers, fmt.reasoning.end)}
    for text in (text for text in dict.fromkeys(found) if text.strip() not in known):
        tag = f"</{text.removeprefix('<')}"
        closed = tag in fmt.turn.ends
        if fmt.tools.section_start and not fmt.tools.section_end and not closed:
            fmt = fmt.replace(tools={"section_end": text})
        elif fmt.facts.has_reasoning and fmt.content.mode is ContentMode.PLAIN and fmt.turn.ends:
            ends = tuple(one for one in fmt.turn.ends if one != tag)
            mode, end = ContentMode.WRAPPED_WITH_REASONING, tag if closed else ""
            fmt = fmt.replace(
                content={"mode": mode, "start": text, "end": end}, turn={"ends": ends}
            )
        elif text != fmt.tools.separator.strip():
            raise FormatError(f"field 'content': {text!r} closes it on a condition")
    return fmt
