"""The reasoning section.

    reasoning = start text end

The start marker is read already, or was written by the prompt. Whether a tool call that begins
in here is one is a policy; the default waits until it is known (`Policies.tool_in_reasoning`).
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
    report_call_behind_end,
    report_cut_marker,
    report_no_end,
    stands_in_line,
)
from .reading import Reading
from .tool_calls.dispatch import tool_calls

__all__ = ["reasoning", "report_unclosed"]

BEHIND_CALL = (Role.REASONING_END, Role.TOOL_START, Role.TURN_END)
"""What white space behind a call in reasoning belongs to; otherwise it is text."""
NEXT = (Role.CONTENT_START, Role.TOOL_START)
"""What begins the next section, left unread, where nothing else ends reasoning."""


def reasoning(
    reading: Reading, *, opened: str, second_time: bool = False
) -> Steps[Checkpoint | None]:
    """Read reasoning up to and with its end marker; `opened` is the start marker as written.

    `second_time`: it is known that no end marker follows, and that calls in here are calls.

    Returns None, or the text that turned out to be calls after all, to be read as such. The
    marker of another section or the end of the turn is left unread.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    sink.open_reasoning(opened)
    starts, next_char = tables.reasoning_start, src.text[src.pos : src.pos + 1]
    repeated = (yield from peek_marker(src, starts)) if next_char in starts.firsts else ""
    if repeated:
        start = src.offset
        sink.open_reasoning((yield from consume_marker(src, repeated, tables.trailing(repeated))))
        sink.issue("repeated_marker", (start, src.offset), f"{repeated!r} was written again")
    if tables.content_opened.literals and (yield from peek_marker(src, tables.content_opened)):
        # The prompt opened reasoning, and the model went on to the answer.
        report_unclosed(reading)
        sink.close_reasoning("")
        return None
    own_ends = tables.reasoning_ends.get((repeated or opened).strip())
    policy = sink.policies.tool_in_reasoning
    markers = tables.in_reasoning_only if policy == "reasoning" else tables.in_reasoning
    before, marker = (yield from _json_here(reading)) if policy != "reasoning" else (None, "")
    while True:
        if not marker:
            marker = yield from until(src, markers, sink.reasoning)
            before = None
        role = tables.role(marker) if marker else Role.TURN_END
        if _is_not_an_end_here(reading, marker, own_ends):
            sink.reasoning(src.consume(src.pos + len(marker)))
        elif role in NEXT and reading.fmt.derived.next_ends_reasoning:
            if before is not None:
                before.commit()
            sink.leave_reasoning()
            sink.close_reasoning("")
            return None
        elif role is Role.TOOL_START:
            checkpoint = before or reading.checkpoint()
            if policy != "defer":
                marker = yield from _interrupted(reading, checkpoint, marker, policy)
                before = None
                continue
            calls = yield from _deferred(reading, checkpoint, own_ends, second_time=second_time)
            if calls is not None:
                sink.close_reasoning("")
                return calls
        elif marker and role is not Role.REASONING_END and (yield from _is_text(reading, marker)):
            emit_first_character(reading, marker, sink.reasoning, "reasoning")
        else:
            break
        marker = ""
    if role is Role.REASONING_END:
        sink.leave_reasoning()
        sink.close_reasoning((yield from consume_marker(src, marker, tables.trailing(marker))))
        return None
    # The end of the turn, or a marker that is spelled like it.
    report_unclosed(reading)
    sink.close_reasoning("")
    return None


def _json_here(reading: Reading) -> Steps[tuple[Checkpoint | None, str]]:
    """What JSON that begins here begins with, and a checkpoint before it; None and "" if none does.

    The server may have constrained all that the model wrote, where the prompt opened reasoning.
    """
    if not reading.tables.constrained:
        return None, ""
    checkpoint = reading.checkpoint()
    if marker := (yield from json_ahead(reading.src)):
        return checkpoint, marker
    checkpoint.commit()
    return None, ""


def _is_not_an_end_here(reading: Reading, marker: str, own_ends: frozenset[str] | None) -> bool:
    """Whether a marker that stands here ends other reasoning than this, or is words of a line."""
    tables = reading.tables
    if marker in tables.at_line_start:
        return stands_in_line(reading.src)
    is_end = tables.role(marker) is Role.REASONING_END
    return is_end and own_ends is not None and marker.strip() not in own_ends


def _is_text(reading: Reading, marker: str) -> Steps[bool]:
    """Whether an end-of-turn marker that stands here, in reasoning, is a part of it."""
    tables = reading.tables
    return not (yield from followed_by_marker_or_end(reading.src, tables, marker, tables.after_end))


def _interrupted(reading: Reading, checkpoint: Checkpoint, marker: str, policy: str) -> Steps[str]:
    """Read the calls that interrupt reasoning, if any begin at the marker that stands here.

    `checkpoint` began with it, and is committed. Returns the marker of the next call, unread, if
    one follows in the same section; else "".
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    span = (src.offset, src.offset + len(marker))
    sink.issue("tool_in_reasoning", span, "a tool call interrupts reasoning", policy)
    report_call_behind_end(reading, marker)
    called = yield from tool_calls(reading, checkpoint, sink.reasoning)
    sink.resume_reasoning()
    while called:
        checkpoint = reading.checkpoint()
        yield from whitespace(src, tables.longest)
        marker = yield from peek_marker(src, tables.after_call)
        role = tables.role(marker) if marker else None
        called = role is Role.TOOL_END
        if called:
            yield from consume_marker(src, marker, tables.trailing(marker))
            sink.unclosed = None
            reading.closes(marker)
        elif (
            role not in BEHIND_CALL
            and not report_cut_marker(reading, tables.after_call)
            and not src.ended
        ):
            sink.reasoning(checkpoint.text())
        checkpoint.commit()
        if role is Role.TOOL_START and reading.in_section:
            return marker
    return ""


def report_unclosed(reading: Reading) -> None:
    """Report reasoning that has no end marker, as the policy has it."""
    src, sink = reading.src, reading.sink
    span, policy = (src.offset, src.offset), sink.policies.unclosed_reasoning
    if policy == "copy":
        sink.keep_unclosed()
    sink.issue("unclosed_reasoning", span, "the turn ended in reasoning", policy)


def _deferred(
    reading: Reading,
    checkpoint: Checkpoint,
    own_ends: frozenset[str] | None,
    *,
    second_time: bool,
) -> Steps[Checkpoint | None]:
    """Read on from a call inside reasoning until it is known what it was.

    `checkpoint` began with it; `own_ends` end this reasoning, where others do not. Returns its
    text, still buffered, if it was a call; None if it was reasoning, which is emitted as such.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    draft = Reading(src, sink.draft(), tables)
    is_call = yield from tool_calls(draft, draft.checkpoint())
    checkpoint = _behind_prompt(reading, checkpoint)
    if is_call and second_time:
        # Only this call: to read on, and then all of it again, for each that opens reasoning
        # anew would cost the square of the text.
        sink.issue("tool_in_reasoning", checkpoint.span, "reasoning did not end: a call")
        return checkpoint
    passed: list[tuple[str, int]] = []
    while is_call:
        marker = yield from until(src, tables.behind_draft, _buffered_elsewhere)
        role = tables.role(marker) if marker else None
        if _is_not_an_end_here(reading, marker, own_ends):
            src.pos += len(marker)
        elif role is Role.TOOL_START:
            yield from tool_calls(draft, draft.checkpoint())
            checkpoint = _behind_prompt(reading, checkpoint)
        elif role is Role.REASONING_END or (not sink.natural and _may_have_ended(reading)):
            sink.issue("tool_in_reasoning", checkpoint.span, "a call in reasoning: reasoning")
            is_call = False
        elif marker and (yield from _is_text(reading, marker)):
            passed.append((marker, src.offset))
            src.pos += len(marker)
        else:
            sink.issue("tool_in_reasoning", checkpoint.span, "reasoning did not end: a call")
            return checkpoint
    for marker, start in passed:
        report_no_end(reading, marker, start, "reasoning")
    sink.attempts.extend(replace(tried, status="in_reasoning") for tried in draft.sink.attempts)
    sink.reasoning(checkpoint.text())
    checkpoint.commit()
    return None


def _may_have_ended(reading: Reading) -> bool:
    """Whether the output was cut in reasoning, or in a marker that may be the end of it."""
    src, tables = reading.src, reading.tables
    rest = src.text[src.pos :]
    ends = (
        text for text in tables.in_reasoning.literals if tables.role(text) is Role.REASONING_END
    )
    return any(text.startswith(rest) for text in ends)


def _behind_prompt(reading: Reading, checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint behind what was read, if all of that is the prompt's: such a call is past."""
    if reading.src.offset > 0:
        return checkpoint
    checkpoint.commit()
    return reading.checkpoint()


def _buffered_elsewhere(text: str) -> None:
    """Take text that a checkpoint buffers."""
