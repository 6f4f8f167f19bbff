"""Tool calls written as calls in Python.

    calls     = "[" [call { "," call } [","]] "]" | call { separator call }
    call      = name "(" [argument { "," argument } [","]] ")"
    argument  = name "=" literal                  separator = "," | ";" | white space

Seen in: Llama 3.2 and 4, LFM2, ToolACE, Olmo 3; with the list in markers, or in none. The
arguments come out as a JSON object, written while they are read (`partial/python_json.py`);
nothing is evaluated. An argument without a name breaks a call: which it is, only the order in
the schema would tell, and models do not keep to that.
"""

from __future__ import annotations

import re

from deltaparse.partial import MalformedJson, Steps, Window, peek, python_arguments, whitespace

from ...message.sink import Sink
from ...wire.marker_tables import MarkerTables
from ..checkpoint import Checkpoint
from .call import Call
from .call_head import BETWEEN, call_head
from .ending import broken, truncated

__all__ = ["python_call", "python_calls"]

NEXT = re.compile(BETWEEN)
BRACKETS = ")]}"
GAP = 64
"""White space characters that may stand before a list of calls."""


def python_calls(src: Window, turn: Sink, lex: MarkerTables, region: Checkpoint) -> Steps[bool]:
    """Read the calls that begin here, if any; the opening marker is read already.

    `region` began with that marker. Returns whether there were calls; if not, nothing was
    handed out.
    """
    yield from whitespace(src, GAP)
    in_list = (yield from peek(src)) == "["
    if in_list:
        src.pos += 1
        if not lex.bare and (yield from _bracket(src)) == "]":
            turn.issue("no_calls", region.span, f"an empty list: {region.text()!r}")
            return True
    called = yield from _call(src, turn, lex, region, sure=not lex.bare)
    # Where no marker and no bracket would tell their end, calls are looked for one by one.
    more = called and (in_list or not lex.bare)
    while more:
        between = Checkpoint(src)
        more = yield from _another_call(src, turn, lex, between, in_list=in_list)
        between.settle()
    return called


def _another_call(
    src: Window, turn: Sink, lex: MarkerTables, region: Checkpoint, *, in_list: bool
) -> Steps[bool]:
    """Read another call, or a bracket, if it comes next. Return whether more may come.

    What is neither is left unread, so that it is read as what follows calls.
    """
    mends = turn.policies.malformed_arguments == "repair"
    bracket = yield from _bracket(src, BRACKETS if mends else "]" * in_list)
    if not bracket:
        return (yield from _call(src, turn, lex, region, sure=in_list, after=True))
    if in_list and bracket == "]":
        return False
    turn.issue("repaired_arguments", region.span, f"left out: {region.text()!r}")
    return True


def _call(
    src: Window,
    turn: Sink,
    lex: MarkerTables,
    region: Checkpoint,
    *,
    sure: bool,
    after: bool = False,
) -> Steps[bool]:
    """Read one call; `sure`: it is known that one stands here. Return whether it was one."""
    call = Call(src, turn, lex, region)
    namespace = lex.fmt.function.namespace
    known = turn.tools
    names = None
    if not sure and known is not None:
        names = {*known, *(namespace + name for name in known)}
    start = src.offset
    name = yield from call_head(src, sure=sure, after=after, names=names)
    if name is None and sure and not lex.bare and not turn.natural:
        return truncated(src, turn, lex, call) if src.unread.strip() or not after else False
    if not name:
        return False
    if known is None or name not in known:
        name = name.removeprefix(namespace) or name
    call.called(name, start)
    return (yield from python_call(src, turn, lex, call))


def python_call(src: Window, turn: Sink, lex: MarkerTables, call: Call) -> Steps[bool]:
    """Read the arguments of a call whose name is known, from behind the parenthesis to its end.

    Returns whether it was a call, as it is known to be here.
    """

    def note(repair: str, offset: int) -> None:
        if not call.may_repair:
            raise MalformedJson(f"what is no Python literal ({repair})")
        call.repaired(repair, offset)

    call.started = True
    call.announce()
    # A parenthesis that ends a prompt is not the end of what was written there.
    yield from peek(src)
    try:
        reading = yield from python_arguments(src, call.emit, note)
    except MalformedJson as problem:
        return (yield from broken(src, turn, lex, call, str(problem)))
    if reading.state == "broken":
        call.closers = "" if reading.held else reading.closers
        lost = f", not handed out: {reading.held};" if reading.held else ""
        return (yield from broken(src, turn, lex, call, reading.problem + lost))
    if reading.state == "cut":
        if reading.held:
            detail = f"in the call of {call.name!r}, not handed out: {reading.held}"
            turn.issue("truncated_call", call.region.span, detail)
        return truncated(src, turn, lex, call)
    call.whole = True
    return call.end()


def _bracket(src: Window, brackets: str = "]") -> Steps[str]:
    """Read one of `brackets` if it comes next, also after a separator; return it, or ""."""
    while True:
        found = NEXT.match(src.text, src.pos)
        end = found.end() if found else src.pos
        if end < len(src.text) or src.closed:
            bracket = src.text[end : end + 1]
            if not bracket or bracket not in brackets:
                return ""
            src.pos = end + 1
            return bracket
        yield
