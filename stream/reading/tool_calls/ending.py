"""How a call ends that does not end as it should."""

from __future__ import annotations

from deltaparse.partial import Steps, Window, at, until

from ...message.sink import Sink
from ...wire.marker_tables import MarkerTables, Role
from ..content_writer import Before, ContentWriter
from .call import Call

__all__ = ["broken", "malformed", "no_object", "truncated"]


def broken(src: Window, turn: Sink, lex: MarkerTables, call: Call, problem: str) -> Steps[bool]:
    """The JSON of a call breaks off here. Returns whether it was a call.

    Where its closer stands, brackets that are still open are closed; where the arguments were
    whole, nothing is missing that matters. Otherwise the text up to the next marker is the
    call's too, and is told in an issue; but where calls stand in no markers, nothing would say
    where that ends, so that it is content.
    """
    if not call.known:
        return False
    start = src.offset
    marker = yield from at(src, lex.after_bad_call)
    role = lex.role(marker) if marker else None
    mends = not call.started or (call.closers and call.may_repair)
    if role is not None and (call.whole or (mends and role is Role.TOOL_END)):
        if call.started and not call.whole:
            call.emit(call.closers)
            call.whole = True
        detail = f"the brackets of the call of {call.name!r} were closed: {problem}"
        turn.issue("repaired_arguments", (start, start), detail)
        return call.end()
    rest = call.unused
    if not lex.bare or role is Role.TURN_END:
        yield from until(src, lex.after_bad_call, rest.append)
    lost = "what follows is content" if lex.bare and not rest else ""
    lost = lost or f"not handed out: {''.join(rest)!r}"
    detail = f"{problem} in the call of {call.name!r}; {lost}"
    if role is Role.TURN_END:
        turn.issue("truncated_call", (start, start), detail)
    else:
        malformed(turn, call, detail)
    call.whole = False
    called = call.end(cut=True)
    if lex.bare:
        run = ContentWriter(src, turn, Before.CALL if turn.calls else Before.START)
        yield from until(src, lex.in_content, run.emit)
        run.end()
    return called


def truncated(src: Window, turn: Sink, lex: MarkerTables, call: Call) -> bool:
    """The output ends in a call, or the turn does. Returns whether it was one."""
    start = src.offset
    # What ends the turn is left unread, as is what follows it.
    rest = "".join(call.unused) + (src.take(len(src.text)) if src.closed else "")
    if not call.known:
        if turn.natural or lex.bare:
            return False
        turn.issue("truncated_call", call.region.span, f"no name: {call.region.text()!r}")
        return True
    call.whole = call.whole and turn.natural
    if not call.whole:
        detail = f"the output ends in the call of {call.name!r}; not handed out: {rest!r}"
        turn.issue("truncated_call", (start, src.offset), detail)
    return call.end(cut=True)


def no_object(turn: Sink, call: Call) -> None:
    """The arguments of a call were read, and are no JSON object."""
    text = "".join(call.unused)
    malformed(turn, call, f"the arguments of {call.name!r} are no JSON object: {text!r}")


def malformed(turn: Sink, call: Call, detail: str) -> None:
    """The arguments of a call are no JSON object, and cannot be mended."""
    policy = turn.policies.malformed_arguments
    turn.issue("malformed_arguments", call.region.span, detail, policy)
