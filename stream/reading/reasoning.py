"""The reasoning section.

    reasoning = start text end

The start marker is read already, or was written by the prompt. Whether a tool call that begins
in here is one is a policy; the default waits until it is known (`Policies.tool_in_reasoning`).
"""

from __future__ import annotations

from deltaparse.partial import Steps, Window, at, skip, until

from ..message.sink import Sink
from ..wire.marker_tables import MarkerTables, Role
from .checkpoint import Checkpoint
from .tool_calls import tool_calls

__all__ = ["reasoning"]


def reasoning(
    src: Window, turn: Sink, lex: MarkerTables, *, opened: str, settled: bool = False
) -> Steps[Checkpoint | None]:
    """Read reasoning up to and with its end marker; `opened` is the start marker as written.

    `settled`: it is known that no end marker follows, and that calls in here are calls.

    Returns None, or the text that turned out to be calls after all, to be read as such. The
    marker of another section or the end of the turn is left unread.
    """
    turn.open_reasoning(opened)
    repeated = yield from at(src, lex.reasoning_start)
    if repeated:
        start = src.offset
        turn.open_reasoning((yield from skip(src, repeated, lex.trailing(repeated))))
        turn.issue("repeated_marker", (start, src.offset), f"{repeated!r} was written again")
    policy = turn.policies.tool_in_reasoning
    markers = lex.in_reasoning_only if policy == "reasoning" else lex.in_reasoning
    while True:
        marker = yield from until(src, markers, turn.reasoning)
        role = lex.role(marker) if marker else Role.TURN_END
        if role is Role.REASONING_END:
            turn.leave_reasoning()
            turn.close_reasoning((yield from skip(src, marker, lex.trailing(marker))))
            return None
        if role is not Role.TOOL_START:
            # The end of the turn, or a marker that is spelled like it.
            span = (src.offset, src.offset)
            detail = "the turn ended in reasoning"
            turn.issue("unclosed_reasoning", span, detail, turn.policies.unclosed_reasoning)
            turn.close_reasoning("")
            return None
        if policy != "defer":
            span = (src.offset, src.offset + len(marker))
            turn.issue("tool_in_reasoning", span, "a tool call ended the reasoning", policy)
            turn.close_reasoning("")
            return None
        calls = yield from _deferred(src, turn, lex, settled=settled)
        if calls is not None:
            turn.close_reasoning("")
            return calls


def _deferred(
    src: Window, turn: Sink, lex: MarkerTables, *, settled: bool
) -> Steps[Checkpoint | None]:
    """Read on from a call inside reasoning until it is known what it was.

    Returns its text, still kept, if it was a call; None if it was reasoning, handed out as such.
    """
    region = Checkpoint(src)
    draft = turn.draft()
    is_call = yield from tool_calls(src, draft, lex, Checkpoint(src))
    if is_call and settled:
        # Only this call: to read on, and then all of it again, for each that opens reasoning
        # anew would cost the square of the text.
        turn.issue("tool_in_reasoning", region.span, "reasoning did not end: a call")
        return region
    while is_call:
        marker = yield from until(src, lex.in_reasoning, _kept_elsewhere)
        role = lex.role(marker) if marker else None
        if role is Role.TOOL_START:
            yield from tool_calls(src, draft, lex, Checkpoint(src))
        elif role is Role.REASONING_END or (role is None and not turn.natural):
            turn.issue("tool_in_reasoning", region.span, "a call in reasoning: reasoning")
            is_call = False
        else:
            turn.issue("tool_in_reasoning", region.span, "reasoning did not end: a call")
            return region
    turn.reasoning(region.text())
    region.settle()
    return None


def _kept_elsewhere(text: str) -> None:
    """Take text that a `Checkpoint` keeps."""
