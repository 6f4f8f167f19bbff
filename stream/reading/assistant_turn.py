"""The outermost sub-parser: one assistant turn.

    turn = [header] { reasoning | content | calls | end-of-turn }

The sections come in any order and number. Text that belongs to no section is content. White
space between two markers belongs to the markers.
"""

from __future__ import annotations

from deltaparse.partial import Steps, Window, at, peek, skip, until, whitespace

from ..message.sink import Sink
from ..wire.format import ContentMode
from ..wire.marker_tables import MarkerTables, Role
from .channels import channel_turn
from .checkpoint import Checkpoint
from .content_writer import Before, ContentWriter
from .reasoning import reasoning
from .tool_calls import tool_calls

__all__ = ["assistant_turn"]

REASONING = (Role.REASONING_START, Role.REASONING_END)
BARE_SEPARATORS = ",;"
EDGES = {Role.TOOL_END: Before.CALL, Role.TURN_END: Before.END, Role.HEADER: Before.END}


def assistant_turn(src: Window, turn: Sink, lex: MarkerTables) -> Steps[None]:
    """Read one turn, from behind its header to the end of the input."""
    if lex.channels.message:
        yield from channel_turn(src, turn, lex)
        return
    repeated = yield from at(src, lex.at_start)
    if repeated:
        start = src.offset
        yield from skip(src, repeated, lex.trailing(repeated))
        _repeated(turn, start, src.offset, repeated)
    edge = Before.START
    if lex.opens_reasoning:
        edge = yield from _reasoning(src, turn, lex, opened="")
    yield from _sections(src, turn, lex, edge)


def _sections(
    src: Window, turn: Sink, lex: MarkerTables, edge: Before, *, settled: bool = False
) -> Steps[None]:
    """Read section after section; `edge` is what stands before the first.

    `settled`: this was read before, up to the end of the turn, and no reasoning ends in it.
    """
    always = lex.fmt.content.mode is ContentMode.ALWAYS_WRAPPED
    markers = lex.in_content_start if always or turn.seen_reasoning else lex.in_content
    run = ContentWriter(src, turn, edge)
    while True:
        # What looked like a call stands beside what the text before it stands beside.
        run = run if edge is Before.TEXT else ContentWriter(src, turn, edge)
        region = Checkpoint(src)
        marker = "" if edge is Before.TEXT else (yield from _at_edge(src, lex, edge))
        if not marker:
            # White space at the end belongs to the marker before it, if there is one.
            if src.unread or not src.closed or edge is Before.START:
                run.emit(region.text())
            region.settle()
            marker = yield from until(src, markers, run.emit)
            run.end()
            region = Checkpoint(src)
        if not marker:
            region.settle()
            return
        role = lex.role(marker)
        if role is Role.TOOL_START:
            called = yield from tool_calls(src, turn, lex, region, run.emit)
            edge = Before.CALL if called else Before.TEXT
            continue
        if turn.shows_markers and role in REASONING:
            run.emit(region.text())
        region.settle()
        start = src.offset
        written = yield from skip(src, marker, lex.trailing(marker))
        edge = EDGES.get(role, Before.MARKER)
        if role is Role.REASONING_START:
            edge = yield from _reasoning(src, turn, lex, opened=written, settled=settled)
            markers = lex.in_content_start
        elif role is Role.REASONING_END:
            turn.issue("orphan_marker", (start, src.offset), f"{marker!r} ends nothing")
        elif role is Role.CONTENT_START:
            markers = lex.in_content_end
        elif role is Role.CONTENT_END:
            markers = lex.in_content_start
        elif role is Role.HEADER:
            _repeated(turn, start, src.offset, marker)


def _repeated(turn: Sink, start: int, end: int, marker: str) -> None:
    turn.issue("repeated_marker", (start, end), f"{marker!r} was written again")


def _at_edge(src: Window, lex: MarkerTables, edge: Before) -> Steps[str]:
    """Read white space; return the marker after it, unread, or "" if text follows.

    No more white space is held than a marker is long; the rest is text. Where calls stand in no
    markers, the character that one begins with is one, and after a call it may follow a separator.
    """
    yield from whitespace(src, lex.longest)
    after = {Before.CALL: lex.after_call, Before.END: lex.after_end}
    marker = yield from at(src, after.get(edge, lex.at_edge))
    if marker or not lex.bare:
        return marker
    char = yield from peek(src)
    if edge is Before.CALL and char and char in BARE_SEPARATORS:
        src.pos += 1
        yield from whitespace(src, lex.longest)
        char = yield from peek(src)
    return char if lex.bare_call.match(char) else ""


def _reasoning(
    src: Window, turn: Sink, lex: MarkerTables, *, opened: str, settled: bool = False
) -> Steps[Before]:
    """Read a reasoning section, and what of it turned out to be calls."""
    region = yield from reasoning(src, turn, lex, opened=opened, settled=settled)
    if region is None:
        return Before.MARKER
    calls = Window(region.text(), closed=True, offset=max(region.start, 0))
    region.settle()
    yield from _sections(calls, turn, lex, Before.MARKER, settled=True)
    return Before.CALL
