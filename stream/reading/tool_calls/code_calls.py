"""Code that a model writes as it is, which becomes the argument of a function.

    coded = start ( json-calls | name method "(" arguments ")" | code )

Seen in: Llama 3.x, whose built-in tools are called by `<|python_tag|>` and `name.call(a="b")`
or any Python; Functionary, that writes Python behind the name of its function. Code streams as
a JSON string from its first character. Where it ends only the end of the turn says, so the
quote and the brace that close it come with that, or with the end of the input. It is emitted
as it is, white space and all; only what the format itself has at the marker is not part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from json.encoder import encode_basestring

from deltaparse.partial import (
    Emit,
    Markers,
    Steps,
    StringSink,
    Window,
    marker_set,
    match_end,
    spelled,
    until,
)

from ...wire.format import ToolFormat, WireFormat
from ...wire.spellings import spellings
from ..checkpoint import Checkpoint
from ..reading import Reading
from .call import Call
from .ending import CUT, WHOLE, Ending, settle
from .json_object_calls import json_calls
from .python_calls import python_call
from .python_head import python_head

__all__ = ["code_arguments", "coded_calls"]

ReadCode = Callable[[Emit, StringSink], Steps[str]]
"""Reads code up to the marker that ends it, and returns that, unread; "" where the input ends."""

GAP = 16
"""White space characters that may stand before what is no code."""

SPACE = re.compile(rf"\s{{0,{GAP}}}+")


def coded_calls(reading: Reading, checkpoint: Checkpoint) -> Steps[bool]:
    """Read what stands behind the marker of code, which is read already.

    `checkpoint` began with that marker. Returns whether it was a call; if not, nothing was
    emitted.
    """
    src, sink, fmt = reading.src, reading.sink, reading.fmt
    call = Call(reading, checkpoint)
    char = yield from _first(src)
    if not char:
        if not sink.natural:
            src.pos = len(src.text)
            detail = f"nothing after {checkpoint.text()!r}"
            sink.issue("truncated_call", checkpoint.span, detail)
        return not sink.natural
    if char == "{" and fmt.tools.format is ToolFormat.JSON_NATIVE:
        return (yield from json_calls(reading, checkpoint))
    start = src.offset
    if fmt.code.method:
        name = yield from python_head(src, sure=False, method=fmt.code.method, names=sink.tools)
        if name:
            call.called(name, start)
            return (yield from python_call(reading, call))
    call.called(fmt.code.function, start)

    def code(emit: Emit, string: StringSink) -> Steps[str]:
        return until(src, _ends(fmt), emit, string=string)

    ending = yield from code_arguments(call, code)
    call.closed = True  # code has no closer, only the end of the turn
    return (yield from settle(reading, call, ending))


def code_arguments(call: Call, code: ReadCode, begun: str = "") -> Steps[Ending]:
    """Read code, which begins here or with `begun`, up to where `code` finds its end.

    It is emitted as the one argument of the call, whose name is known. Closes the call
    when all of it was read.
    """

    def write(text: str) -> None:
        emit(spelled(text))

    call.started = True
    call.announce()
    emit = call.emit
    call.begin_arguments()
    emit(f'{{{encode_basestring(call.fmt.code.argument)}: "')
    write(begun)
    marker = yield from code(write, StringSink(emit))
    if not marker and not call.sink.natural:
        return CUT
    emit('"}')
    call.close()
    return WHOLE


@lru_cache(maxsize=256)
def _ends(fmt: WireFormat) -> Markers:
    """What ends code: the end of the turn, and what can stand behind a call only."""
    ends = [*fmt.turn.ends, fmt.tools.section_end, fmt.tools.per_call_end]
    if fmt.derived.has_reasoning:
        ends.append(fmt.reasoning.end)
    return marker_set({spelling for end in ends for spelling in spellings(end)})


def _first(src: Window) -> Steps[str]:
    """Return the first character that is no white space, all unread; "" if there is none."""
    while True:
        end = match_end(SPACE, src.text, src.pos)
        if end < len(src.text) or src.closed:
            return src.text[end : end + 1]
        yield
