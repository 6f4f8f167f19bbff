"""The reasoning section.

    reasoning = start text end

The start marker was read before, or was written by the prompt. A policy decides about a tool call
in reasoning. By default the call is buffered until its meaning is certain
(`Policies.tool_in_reasoning`).
"""

from __future__ import annotations

from dataclasses import replace

from deltaparse.partial import Steps, consume_marker, peek_marker, until, whitespace

from ..wire.section_markers import Role
from .checkpoint import Checkpoint
from .constrained_json import json_ahead
from .content import (
    emit_first_character,
    followed_by_marker_or_end,
    is_inline,
    report_call_after_end,
    report_cut_marker,
    report_no_end,
)
from .reading import Reading
from .tool_calls.dispatch import tool_calls

__all__ = ["reasoning", "report_unclosed"]

AFTER_CALL = (Role.REASONING_END, Role.TOOL_START, Role.TURN_END)
"""Whitespace after a call in reasoning belongs to these markers. Otherwise it is text."""
NEXT = (Role.CONTENT_START, Role.TOOL_START)
"""Markers that start the next section. They stay unread if the format has no end of reasoning."""


def reasoning(
    reading: Reading, *, opened: str, second_time: bool = False
) -> Steps[Checkpoint | None]:
    """Read reasoning up to and including its end marker.

    Args:
        reading: the turn.
        opened: the start marker as written.
        second_time: True if no end marker follows, so that calls in the reasoning are calls.

    Returns:
        A checkpoint before text that must be read again as calls, or None. The marker of another
        section, or the end of the turn, stays unread.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    sink.open_reasoning(opened)
    # The first character rules out most markers without the cost of a generator.
    starts, next_char = tables.reasoning_start, src.text[src.pos : src.pos + 1]
    repeated = (yield from peek_marker(src, starts)) if next_char in starts.firsts else ""
    if repeated:
        start = src.offset
        sink.open_reasoning((yield from consume_marker(src, repeated, tables.trailing(repeated))))
        sink.issue("repeated_marker", (start, src.offset), f"{repeated!r} is repeated")
    if tables.content_opened.literals and (yield from peek_marker(src, tables.content_opened)):
        # The prompt opened reasoning, and the model wrote only the answer.
        report_unclosed(reading)
        sink.close_reasoning("")
        return None
    # In formats with several pairs of markers, only the matching end marker counts.
    own_ends = tables.reasoning_ends.get((repeated or opened).strip())
    policy = sink.policies.tool_in_reasoning
    markers = tables.in_reasoning_only if policy == "reasoning" else tables.in_reasoning
    before, marker = (yield from _json_here(reading)) if policy != "reasoning" else (None, "")
    while True:
        if not marker:
            marker = yield from until(src, markers, sink.reasoning)
            before = None
        role = tables.role(marker) if marker else Role.TURN_END
        # The end marker of another pair, or a word in a line, is part of the reasoning.
        if _is_not_an_end_here(reading, marker, own_ends):
            sink.reasoning(src.consume(src.pos + len(marker)))
        # This format has no end of reasoning, so the next section ends it.
        elif role in NEXT and reading.fmt.derived.next_ends_reasoning:
            if before is not None:
                before.commit()
            sink.leave_reasoning()
            sink.close_reasoning("")
            return None
        elif role is Role.TOOL_START:
            checkpoint = before or reading.checkpoint()
            # Any other policy decides at the marker, without knowing how the reasoning ends.
            if policy != "defer":
                marker = yield from _interrupted(reading, checkpoint, marker, policy)
                before = None
                continue
            calls = yield from _deferred(reading, checkpoint, own_ends, second_time=second_time)
            # The calls are read again by the reader of the turn, because they are not reasoning.
            if calls is not None:
                sink.close_reasoning("")
                return calls
        # An end-of-turn marker in the middle of a text is text.
        elif marker and role is not Role.REASONING_END and (yield from _is_text(reading, marker)):
            emit_first_character(reading, marker, sink.reasoning, "reasoning")
        else:
            break
        marker = ""
    if role is Role.REASONING_END:
        sink.leave_reasoning()
        sink.close_reasoning((yield from consume_marker(src, marker, tables.trailing(marker))))
        return None
    # The turn ended in reasoning, possibly with a marker that looks like its end.
    report_unclosed(reading)
    sink.close_reasoning("")
    return None


def _json_here(reading: Reading) -> Steps[tuple[Checkpoint | None, str]]:
    """Return a checkpoint before JSON at this place, and its first character; else None and "".

    The server may have constrained the complete response although the prompt opened reasoning.
    """
    if not reading.tables.constrained:
        return None, ""
    checkpoint = reading.checkpoint()
    if marker := (yield from json_ahead(reading.src)):
        return checkpoint, marker
    # Ordinary reasoning follows, so its text must not be buffered.
    checkpoint.commit()
    return None, ""


def _is_not_an_end_here(reading: Reading, marker: str, own_ends: frozenset[str] | None) -> bool:
    """Return True for the end marker of other reasoning, and for a word in the middle of a line."""
    tables = reading.tables
    if marker in tables.at_line_start:
        return is_inline(reading.src)
    is_end = tables.role(marker) is Role.REASONING_END
    return is_end and own_ends is not None and marker.strip() not in own_ends


def _is_text(reading: Reading, marker: str) -> Steps[bool]:
    """Return True if the end-of-turn marker at this place is part of the reasoning."""
    tables = reading.tables
    return not (yield from followed_by_marker_or_end(reading.src, tables, marker, tables.after_end))


def _interrupted(reading: Reading, checkpoint: Checkpoint, marker: str, policy: str) -> Steps[str]:
    """Read calls that interrupt reasoning, if the marker at this place starts any.

    Commits `checkpoint`, which started at the marker. Returns the marker of the next call in the
    same section, unread, or "".
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    span = (src.offset, src.offset + len(marker))
    sink.issue("tool_in_reasoning", span, "a tool call interrupts the reasoning", policy)
    report_call_after_end(reading, marker)
    called = yield from tool_calls(reading, checkpoint, sink.reasoning)
    sink.resume_reasoning()
    while called:
        # Whitespace after a call is text only if text follows it.
        checkpoint = reading.checkpoint()
        yield from whitespace(src, tables.longest)
        marker = yield from peek_marker(src, tables.after_call)
        role = tables.role(marker) if marker else None
        called = role is Role.TOOL_END
        if called:
            yield from consume_marker(src, marker, tables.trailing(marker))
            # The closer was found, so the call is not reported as unclosed.
            sink.unclosed = None
            reading.closes(marker)
        elif (
            role not in AFTER_CALL
            and not report_cut_marker(reading, tables.after_call)
            and not src.ended
        ):
            sink.reasoning(checkpoint.text())
        checkpoint.commit()
        # In an open section the caller reads the next call without its own start marker.
        if role is Role.TOOL_START and reading.in_section:
            return marker
    return ""


def report_unclosed(reading: Reading) -> None:
    """Report reasoning without an end marker, and apply the policy for it."""
    src, sink = reading.src, reading.sink
    span, policy = (src.offset, src.offset), sink.policies.unclosed_reasoning
    # The text is kept as content only if the turn ends by itself, so the sink decides later.
    if policy == "copy":
        sink.keep_unclosed()
    sink.issue("unclosed_reasoning", span, "the turn ended before the end of reasoning", policy)


def _deferred(
    reading: Reading,
    checkpoint: Checkpoint,
    own_ends: frozenset[str] | None,
    *,
    second_time: bool,
) -> Steps[Checkpoint | None]:
    """Read from a call inside reasoning until the meaning of the call is known.

    Args:
        reading: the turn.
        checkpoint: started at the call.
        own_ends: the end markers of this reasoning, if others do not end it.
        second_time: see `reasoning`.

    Returns:
        The checkpoint with the buffered text if it was a call, or None if it was reasoning. Then
        the text was emitted as reasoning.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    # A draft sink discards the parts, because the same text is read again or is reasoning.
    draft = Reading(src, sink.draft(), tables)
    is_call = yield from tool_calls(draft, draft.checkpoint())
    checkpoint = _after_prompt(reading, checkpoint)
    if is_call and second_time:
        # Return only this call. Reading all calls again for each start of reasoning would take
        # quadratic time.
        sink.issue("tool_in_reasoning", checkpoint.span, "a call: reasoning did not end")
        return checkpoint
    passed: list[tuple[str, int]] = []
    # Text is discarded here, because the checkpoint buffers it.
    while is_call:
        marker = yield from until(src, tables.after_draft, _buffered_elsewhere)
        role = tables.role(marker) if marker else None
        # These words do not decide about the call.
        if _is_not_an_end_here(reading, marker, own_ends):
            src.pos += len(marker)
        elif role is Role.TOOL_START:
            yield from tool_calls(draft, draft.checkpoint())
            checkpoint = _after_prompt(reading, checkpoint)
        # Reasoning ended after the call, or the output was truncated before its end. So the call
        # was a draft.
        elif role is Role.REASONING_END or (not sink.natural and _may_have_ended(reading)):
            sink.issue("tool_in_reasoning", checkpoint.span, "kept as reasoning")
            is_call = False
        elif marker and (yield from _is_text(reading, marker)):
            # Reported later, because the marker is reasoning only if the call is.
            passed.append((marker, src.offset))
            src.pos += len(marker)
        else:
            sink.issue("tool_in_reasoning", checkpoint.span, "a call: reasoning did not end")
            return checkpoint
    for marker, start in passed:
        report_no_end(reading, marker, start, "reasoning")
    # The attempts stay on record, although the calls are part of the reasoning.
    sink.attempts.extend(replace(tried, status="in_reasoning") for tried in draft.sink.attempts)
    sink.reasoning(checkpoint.text())
    checkpoint.commit()
    return None


def _may_have_ended(reading: Reading) -> bool:
    """Return True if the output is truncated in reasoning, possibly in its end marker."""
    src, tables = reading.src, reading.tables
    rest = src.text[src.pos :]
    ends = (
        text for text in tables.in_reasoning.literals if tables.role(text) is Role.REASONING_END
    )
    return any(text.startswith(rest) for text in ends)


def _after_prompt(reading: Reading, checkpoint: Checkpoint) -> Checkpoint:
    """Return a checkpoint after the prompt, because calls in the prompt are history."""
    if reading.src.offset > 0:
        return checkpoint
    checkpoint.commit()
    return reading.checkpoint()


def _buffered_elsewhere(text: str) -> None:
    """Discard text, because a checkpoint buffers it."""
