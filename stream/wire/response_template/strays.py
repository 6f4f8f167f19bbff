r"""Conditional close patterns of content: markers in positions without an open field.

(?<=</call>\s*)</calls>      the end of the section of calls, after the last call
(?<=</think>\s*)<answer>     the start of content, after reasoning
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaparse.partial import FormatError

from ..format import ContentMode, WireFormat
from .anchors import AnchorPart, PartKind, is_conditional, read_anchor

__all__ = ["with_strays"]


def with_strays(fmt: WireFormat, content: Mapping[str, Any] | None) -> WireFormat:
    """Return the format with the markers of conditional close patterns.

    Args:
        fmt: the format of the other fields.
        content: the field of content, if any.

    Raises:
        FormatError: a condition has another meaning.
    """
    if content is None:
        return fmt
    # An unconditional close pattern ends the turn, and is read with the other fields.
    found = {
        "".join(part.text for part in parts if part.kind is PartKind.TEXT): parts[0]
        for parts in map(_without_space, read_anchor(content, "close", "content"))
        if is_conditional(parts)
    }
    # Written templates close content at headers too, but these markers are known already.
    known = {text.strip() for text in (*fmt.turn.headers, fmt.reasoning.end)}
    for text, condition in found.items():
        if text.strip() in known:
            continue
        # The end of wrapped content looks like an end of the turn until its start is found.
        tag = f"</{text.removeprefix('<')}"
        closed = tag in fmt.turn.ends
        behind = condition.text.strip()
        # After the closer of a call, only the end of the section is missing.
        over = behind in {closer.strip() for closer in fmt.derived.closers}
        # Reasoning ends at its marker, or is absent at the start of the turn.
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
            raise FormatError(
                f"field 'content': the conditional close pattern of {text!r} is not supported"
            )
    return fmt


def _may_be_wrapped(fmt: WireFormat) -> bool:
    """Return True if a start marker of content may follow reasoning."""
    # A turn needs another end, if one of its ends becomes the end of content.
    has = fmt.derived.has_reasoning and bool(fmt.turn.ends)
    return has and fmt.content.mode is ContentMode.PLAIN


def _without_space(parts: list[AnchorPart]) -> list[AnchorPart]:
    return [part for part in parts if part.kind is not PartKind.SPACE]
