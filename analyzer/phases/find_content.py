"""Phase C1: how a template marks content."""

from __future__ import annotations

from dataclasses import dataclass, replace

from deltaparse.stream import ContentFormat, ContentMode, ReasoningFormat
from deltaparse.stream.wire.spellings import trailing

from ..assistant_turns import Turns
from ..diff import begins_with_marker, first_marker
from ..probes import CONTENT, FUNCTIONS, REASONING, call
from ..trace import phase
from .find_reasoning import ReasoningFinding, around_content

__all__ = ["find_content", "with_end_of_content", "without_reasoning"]


@dataclass(frozen=True, slots=True)
class Around:
    """The texts before and after the content of a turn."""

    before: str
    after: str


@phase("C1")
def find_content(turns: Turns, reasoning: ReasoningFinding) -> ContentFormat:
    """Find the content markers of every turn, or only of turns with reasoning or with calls."""
    needs_text = _requires_text(turns)
    if reasoning.next_ends:
        before, after = around_content(turns)
        wrapped = ContentMode.ALWAYS_WRAPPED
        return ContentFormat(mode=wrapped, start=before, end=after, requires_nonnull=needs_text)
    plain = _around(turns.body(), reasoning.format)
    if plain is None:
        return ContentFormat(requires_nonnull=needs_text)
    found, mode = plain, ContentMode.ALWAYS_WRAPPED
    if not _wraps(plain) and reasoning.key:
        body = turns.body(reasoning=REASONING, key=reasoning.key)
        with_reasoning = _around(body, reasoning.format)
        if with_reasoning is not None:
            found = Around(with_reasoning.before, with_reasoning.after.removesuffix(plain.after))
            mode = ContentMode.WRAPPED_WITH_REASONING
    if not _wraps(found) and reasoning.answer is not None:
        found, mode = Around(*reasoning.answer), ContentMode.WRAPPED_WITH_REASONING
    if not _wraps(found) and (beside := _next_to_calls(turns, reasoning.format)) is not None:
        found, mode = beside, ContentMode.WRAPPED_WITH_CALLS
    if not _wraps(found):
        return ContentFormat(start=_space(turns), requires_nonnull=needs_text)
    return ContentFormat(
        mode=mode, start=found.before, end=found.after, requires_nonnull=needs_text
    )


def with_end_of_content(
    turns: Turns, reasoning: ReasoningFinding, content: ContentFormat
) -> tuple[Turns, ContentFormat]:
    """Move the end marker of content out of the end of the turn, or into it.

    If the end marker of content was counted as part of the turn end, only the last marker ends the
    turn. If content has no start marker, the text after it ends the turn.
    """
    if content.mode is ContentMode.ALWAYS_WRAPPED and not content.end.strip():
        turns = turns.within(turns.frame.with_last_end_marker())
        content = find_content(turns, reasoning)
    elif content.mode is ContentMode.PLAIN:
        turns = turns.within(turns.frame.with_longer_end(around_content(turns)[1]))
    return turns, content


def without_reasoning(text: str, reasoning: ReasoningFormat) -> str:
    """Return the start of a turn without its reasoning section, which may be empty.

    An unclosed section is removed too, because a template may add the end of its generation prompt
    to turns without reasoning.
    """
    for _, closed in reasoning.pairs:
        end = closed.strip()
        if end and end in text:
            return text[text.index(end) + len(end) :].removeprefix(trailing(closed))
    for opened, _ in reasoning.pairs:
        start = opened.strip()
        if start and text.lstrip().startswith(start):
            return text.lstrip().removeprefix(start).lstrip()
    return text


def _next_to_calls(turns: Turns, reasoning: ReasoningFormat) -> Around | None:
    """Return the content markers of turns with calls, or None if there are no markers.

    A turn of calls only contains the content markers too, which separates them from the call
    markers.
    """
    with_content = _around(turns.body(calls=[call()]), reasoning)
    if with_content is None or FUNCTIONS[0] not in with_content.after:
        return None
    start, end = with_content.before, first_marker(with_content.after)
    if not start.strip() or not begins_with_marker(with_content.after):
        return None
    alone = without_reasoning(turns.body(content="", calls=[call()]) or "", reasoning)
    return Around(start, end) if alone.startswith(start.rstrip() + end) else None


def _around(body: str | None, reasoning: ReasoningFormat) -> Around | None:
    if body is None or CONTENT not in body:
        return None
    before, after = body.split(CONTENT, 1)
    return Around(without_reasoning(before, reasoning), after)


def _wraps(around: Around) -> bool:
    return bool(around.before.strip())


def _space(turns: Turns) -> str:
    """Return the whitespace between header and content if the prompt does not contain it.

    A switch for reasoning may hide this whitespace, so the default turn is rendered.
    """
    plain = replace(turns, render=turns.render.unswitched())
    before, _ = around_content(plain)
    return before if not before.strip() else ""


def _requires_text(turns: Turns) -> bool:
    """Return True if null content and empty content are rendered differently."""
    null = turns.render.turn(content=None, calls=[call()])
    empty = turns.render.turn(content="", calls=[call()])
    return empty is not None and null != empty
