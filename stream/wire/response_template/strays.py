r"""Markers where nothing is open, which close nothing: what closes content on a condition.

(?<=</call>\s*)</calls>      the end of the section of calls, behind the last
(?<=</think>\s*)<answer>     the start of content, behind reasoning
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaparse.partial import FormatError

from ..format import ContentMode, WireFormat
from .anchors import AnchorPart, PartKind, is_conditional, read_anchor

__all__ = ["with_strays"]


def with_strays(fmt: WireFormat, content: Mapping[str, Any] | None) -> WireFormat:
    """The format with the markers that the field of content has on a condition."""
    if content is None:
        return fmt
    found = {
        "".join(part.text for part in parts if part.kind is PartKind.TEXT): parts[0]
        for parts in map(_without_space, read_anchor(content, "close", "content"))
        if is_conditional(parts)
    }
    known = {text.strip() for text in (*fmt.turn.headers, fmt.reasoning.end)}
    for text, condition in found.items():
        if text.strip() in known:
            continue
        tag = f"</{text.removeprefix('<')}"
        closed = tag in fmt.turn.ends
        behind = condition.text.strip()
        over = behind in {closer.strip() for closer in fmt.derived.closers}
        thought = condition.kind is PartKind.EDGE and behind in ("", fmt.reasoning.end.strip())
        if over and fmt.tools.section_start and not fmt.tools.section_end:
            fmt = fmt.replace(tools={"section_end": text})
        elif thought and _may_be_wrapped(fmt):
            ends = tuple(one for one in fmt.turn.ends if one != tag)
            mode, end = ContentMode.WRAPPED_WITH_REASONING, tag if closed else ""
            fmt = fmt.replace(
                content={"mode": mode, "start": text, "end": end}, turn={"ends": ends}
            )
        else:
            raise FormatError(f"field 'content': {text!r} closes it on a condition")
    return fmt


def _may_be_wrapped(fmt: WireFormat) -> bool:
    """Whether what stands behind reasoning may be what content starts with."""
    has = fmt.derived.has_reasoning and bool(fmt.turn.ends)
    return has and fmt.content.mode is ContentMode.PLAIN


def _without_space(parts: list[AnchorPart]) -> list[AnchorPart]:
    return [part for part in parts if part.kind is not PartKind.SPACE]
