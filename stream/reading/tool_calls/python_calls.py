"""Tool calls as calls in Python.

    calls     = "[" [call { "," call } [","]] "]" | call { separator call }
    call      = name "(" [argument { "," argument } [","]] ")"
    argument  = name "=" literal                  separator = "," | ";" | white space

Seen in Llama 3.2 and 4, LFM2, ToolACE and Olmo 3, with or without markers around the list. The
arguments are emitted as a JSON object while they are read (`partial/python_text/to_json.py`). The
code is never evaluated. A call with a positional argument is broken: only the order in the schema
identifies the argument, and models do not keep that order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from deltaparse.partial import Steps, Window, match_end, peek, python_arguments, whitespace

from ...wire.spellings import MOST_GAP
from ..checkpoint import Checkpoint
from ..content import report_cut
from ..reading import Reading
from .call import Call
from .ending import CUT, STRAY, WHOLE, Ending, is_text, not_another_call, settle
from .python_head import BETWEEN, cut_head, fast_call, python_head

__all__ = ["python_call", "python_calls"]

NEXT = re.compile(BETWEEN)
BRACKETS = ")]}"


def python_calls(reading: Reading, checkpoint: Checkpoint) -> Steps[bool]:
    """Read the calls at this place, after their opening marker.

    `checkpoint` started at that marker. Returns True if there were calls. Otherwise no text was
    emitted.
    """
    src, tables = reading.src, reading.tables
    yield from whitespace(src, MOST_GAP)
    begun = reading.sink.calls
    in_list = (yield from peek(src)) == "["
    if in_list:
        src.pos += 1
        # Without markers, an empty list is ordinary text.
        if not tables.structural_only and (yield from _bracket(src)) == "]":
            detail = f"the list of calls is empty: {checkpoint.text()!r}"
            reading.sink.issue("no_calls", checkpoint.span, detail)
            return True
    called = yield from _call(reading, checkpoint, sure=not tables.structural_only)
    # Without a marker or bracket at their end, calls are searched for one by one.
    more = called and (in_list or not tables.unmarked)
    while more:
        between = reading.checkpoint()
        more = yield from _another_call(reading, between, in_list=in_list)
        # The calls are text by a policy, so the text between them is too.
        if not more and is_text(reading, begun):
            reading.sink.content(between.text())
        between.commit()
    return called


def _another_call(reading: Reading, checkpoint: Checkpoint, *, in_list: bool) -> Steps[bool]:
    """Read another call or a bracket, and return True if more calls may follow.

    Other text stays unread for the reader of the turn.
    """
    src, usual, found = reading.src, fast_call(), None
    # One pattern reads nearly all heads in a list, because the other readers use a slower engine.
    while in_list and not (found := usual.match(src.text, src.pos)) and usual.may_follow(src):
        yield
    bracket = ""
    if not found:
        repairs = reading.sink.policies.malformed_arguments == "repair"
        repairs = repairs and not reading.sink.call_is_text
        # Models may close more brackets than are open.
        strays = _strays(reading.fmt.derived.closers) * repairs
        bracket = yield from _bracket(src, strays + "]" * in_list)
    if not bracket:
        if found:
            start, src.pos = src.offset, found.end()
            called = yield from _named_call(reading, Call(reading, checkpoint), found[1], start)
        elif in_list and NEXT.fullmatch(src.text, src.pos):
            # The output ends in a separator, which is not content.
            if src.unread.strip():
                report_cut(reading, src.offset, src.consume(len(src.text)))
            return False
        # Each call in the output needs its own special token.
        elif not in_list and reading.needs_token:
            return False
        else:
            called = yield from _call(reading, checkpoint, sure=in_list, after=True)
        if not called and checkpoint.text():
            yield from not_another_call(reading, checkpoint)
        return called
    # The list is complete.
    if in_list and bracket == "]":
        return False
    detail = f"left out: {checkpoint.text()!r}"
    reading.sink.issue("repaired_arguments", checkpoint.span, detail)
    return True


def _strays(closers: Sequence[str]) -> str:
    """Return the possible surplus brackets, with which no marker after a call starts."""
    marked = {marker.lstrip()[:1] for marker in closers}
    return "".join(bracket for bracket in BRACKETS if bracket not in marked)


def _call(
    reading: Reading, checkpoint: Checkpoint, *, sure: bool, after: bool = False
) -> Steps[bool]:
    """Read one call, and return True if it is a call. `sure` means that a call is proved."""
    src, sink = reading.src, reading.sink
    call = Call(reading, checkpoint)
    names, tools = None, sink.tools
    # An unproved call needs the name of a tool.
    if not sure and tools is not None:
        # The model may write a tool's name with or without the namespace.
        namespace = reading.fmt.function.namespace
        names = {*tools, *(namespace + name for name in tools)}
    start = src.offset
    name = yield from python_head(src, sure=sure, after=after, names=names, strays=True)
    # If only the form proves a call, the last bracket of the output may start a list.
    begun = sure or (reading.tables.structural_only and src.previous == "[")
    if name is None and not sure and (begun or after):
        name = cut_head(src, after=after, names=names) or None
    # The truncated text may have been a call, and a limit ended the output.
    if name is None and begun and not sink.natural:
        return (yield from settle(reading, call, CUT))
    if not name:
        return False
    return (yield from _named_call(reading, call, name, start))


def _named_call(reading: Reading, call: Call, name: str, start: int) -> Steps[bool]:
    """Read a call from the end of its parenthesis, with the offset `start` of its name."""
    namespace, tools = reading.fmt.function.namespace, reading.sink.tools
    # A tool name may contain the namespace, so it is removed from unknown names only.
    if tools is None or name not in tools:
        name = name.removeprefix(namespace) or name
    call.called(name, start)
    # The name is the only evidence for this call, and it is not the name of a tool.
    if reading.tables.unproven and call.is_unknown_unmarked:
        return (yield from settle(reading, call, STRAY))
    return (yield from python_call(reading, call))


def python_call(reading: Reading, call: Call) -> Steps[bool]:
    """Read the arguments of a call with a known name, from the parenthesis to the end.

    Returns True if it was a call.
    """

    def note(repair: str, offset: int) -> bool:
        if call.may_repair:
            call.repaired(repair, offset)
        return call.may_repair

    call.started = True
    call.announce()
    src = reading.src
    if call.traces:
        call.begin_arguments()
    if src.pos == len(src.text):
        # The parenthesis may be the last character of the prompt, and then the output follows.
        yield from peek(src)
    read = yield from python_arguments(src, call.emit, note)
    if read.state == "broken":
        ending = Ending.broken(read.problem, read.closers, read.held)
    elif read.state == "cut":
        ending = replace(CUT, held=read.held)
    else:
        ending = WHOLE
        if call.traces:
            call.end_arguments(but=len(")"))
        call.close()
    return (yield from settle(reading, call, ending))


def _bracket(src: Window, brackets: str = "]") -> Steps[str]:
    """Read one of `brackets`, possibly after a separator, and return it, or ""."""
    while True:
        end = match_end(NEXT, src.text, src.pos)
        if end < len(src.text) or src.closed:
            bracket = src.text[end : end + 1]
            if not bracket or bracket not in brackets:
                return ""
            src.pos = end + 1
            return bracket
        yield
