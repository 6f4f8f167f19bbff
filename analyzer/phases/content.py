"""Phase C1: how a template marks content."""

from __future__ import annotations

from dataclasses import dataclass

from deltaparse.stream import ContentFormat, ContentMode, ReasoningFormat

from ..probes import CONTENT, REASONING, TOOLS, assistant, call, user
from ..trace import phase
from ..turns import Renderer
from .frame import Frame
from .reasoning import ReasoningFinding

__all__ = ["find_content", "find_frame_and_content", "without_reasoning"]


@dataclass(frozen=True, slots=True)
class Around:
    """What stands before and after the content in a turn."""

    before: str
    after: str


def find_frame_and_content(
    render: Renderer, frame: Frame, reasoning: ReasoningFinding
) -> tuple[Frame, ContentFormat]:
    """Find the content markers, and the frame without them.

    Where every turn has the content's end marker, it was taken for the end of the turn; then
    only the last marker of that is.
    """
    content = find_content(render, frame, reasoning)
    if content.start.strip() and not content.end.strip():
        shorter = frame.with_last_end_marker()
        inside = find_content(render, shorter, reasoning)
        if inside.mode is ContentMode.ALWAYS_WRAPPED and inside.end.strip():
            return shorter, inside
    return frame, content


@phase("C1")
def find_content(render: Renderer, frame: Frame, reasoning: ReasoningFinding) -> ContentFormat:
    """Find the content markers: those of every turn, or those of turns with reasoning."""
    needs_text = _requires_text(render)
    plain = _around(frame.body(render([user(), assistant()])), reasoning.format)
    if plain is None:
        return ContentFormat(requires_nonnull=needs_text)
    found, mode = plain, ContentMode.ALWAYS_WRAPPED
    if not _wraps(plain) and reasoning.key:
        said = assistant(reasoning=REASONING, reasoning_key=reasoning.key)
        beside = _around(frame.body(render([user(), said])), reasoning.format)
        if beside is not None:
            found = Around(beside.before, beside.after.removesuffix(plain.after))
            mode = ContentMode.WRAPPED_WITH_REASONING
    if not _wraps(found) and reasoning.answer is not None:
        found, mode = Around(*reasoning.answer), ContentMode.WRAPPED_WITH_REASONING
    if not _wraps(found):
        return ContentFormat(requires_nonnull=needs_text)
    return ContentFormat(
        mode=mode, start=found.before, end=found.after, requires_nonnull=needs_text
    )


def without_reasoning(text: str, reasoning: ReasoningFormat) -> str:
    """What of a turn's beginning is left when a reasoning section, maybe empty, is taken out.

    An opened one that is not closed is taken out too: a template may write the end of its
    generation prompt into turns that have no reasoning.
    """
    start, end = reasoning.start.strip(), reasoning.end.strip()
    if end and end in text:
        return text[text.index(end) + len(end) :].removeprefix(_space_after(reasoning.end))
    if start and text.lstrip().startswith(start):
        return text.lstrip().removeprefix(start).lstrip()
    return text


def _around(body: str | None, reasoning: ReasoningFormat) -> Around | None:
    if body is None or CONTENT not in body:
        return None
    before, after = body.split(CONTENT, 1)
    return Around(without_reasoning(before, reasoning), after)


def _wraps(around: Around) -> bool:
    return bool(around.before.strip())


def _requires_text(render: Renderer) -> bool:
    """Whether a null content comes out other than an empty one, or not at all."""
    null = render([user(), assistant(None, calls=[call()])], tools=TOOLS)
    empty = render([user(), assistant("", calls=[call()])], tools=TOOLS)
    return empty is not None and null != empty


def _space_after(marker: str) -> str:
    return marker[len(marker.rstrip()) :]
