"""Unquoted code as the argument of a function.

    coded = start ( json-calls | name method "(" arguments ")" | code )

Seen in Llama 3.x, which calls built-in tools by `<|python_tag|>` and `name.call(a="b")` or any
Python code. Functionary writes Python after the name of its function.

Code is streamed as a JSON string from its first character. Only the end of the turn ends it, so the
closing quote and brace are emitted there, or at the end of the input. Whitespace is preserved,
except the whitespace that the format has next to the marker.
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
"""Reads code up to its end marker and returns that, unread, or "" at the end of the input."""

GAP = 16
"""Maximum whitespace before text that is not code."""

SPACE = re.compile(rf"\s{{0,{GAP}}}+")


def coded_calls(reading: Reading, checkpoint: Checkpoint) -> Steps[bool]:
    """Read the text after the code marker.

    `checkpoint` started at that marker. Returns True for a call. Otherwise no text was emitted.
    """
    src, sink, fmt = reading.src, reading.sink, reading.fmt
    call = Call(reading, checkpoint)
    # Only the first character is needed, so the code itself is not delayed.
    char = yield from _first(src)
    if not char:
        # At a natural end the marker announces no code, so it is text.
        if not sink.natural:
            src.pos = len(src.text)
            detail = f"the output ends after {checkpoint.text()!r}"
            sink.issue("truncated_call", checkpoint.span, detail)
        return not sink.natural
    # Some models use the marker before JSON calls too.
    if char == "{" and fmt.tools.format is ToolFormat.JSON_NATIVE:
        return (yield from json_calls(reading, checkpoint))
    start = src.offset
    # A built-in tool is recognized by its method. Other calls in the code are code.
    if fmt.code.method:
        name = yield from python_head(src, sure=False, method=fmt.code.method, names=sink.tools)
        if name:
            call.called(name, start)
            return (yield from python_call(reading, call))
    call.called(fmt.code.function, start)

    def code(emit: Emit, string: StringSink) -> Steps[str]:
        return until(src, _ends(fmt), emit, string=string)

    ending = yield from code_arguments(call, code)
    call.closed = True  # only the end of the turn closes code
    return (yield from settle(reading, call, ending))


def code_arguments(call: Call, code: ReadCode, begun: str = "") -> Steps[Ending]:
    """Read code from this place, preceded by the text `begun`, up to the end that `code` finds.

    It is the only argument of the call, whose name is known. Closes the call if the code is
    complete.
    """

    def write(text: str) -> None:
        emit(spelled(text))

    call.started = True
    call.announce()
    emit = call.emit
    call.begin_arguments()
    # The object is opened before the code is known, so that the code can stream.
    emit(f'{{{encode_basestring(call.fmt.code.argument)}: "')
    write(begun)
    marker = yield from code(write, StringSink(emit))
    # In truncated output the code is incomplete, so the string is not closed.
    if not marker and not call.sink.natural:
        return CUT
    # The end of the code is known only here, so the string was open until now.
    emit('"}')
    call.close()
    return WHOLE


@lru_cache(maxsize=256)
def _ends(fmt: WireFormat) -> Markers:
    """Return the end markers of code: the end of the turn, and closers of calls."""
    ends = [*fmt.turn.ends, fmt.tools.section_end, fmt.tools.per_call_end]
    # A call inside of reasoning ends with the reasoning.
    if fmt.derived.has_reasoning:
        ends.append(fmt.reasoning.end)
    return marker_set({spelling for end in ends for spelling in spellings(end)})


def _first(src: Window) -> Steps[str]:
    """Return the first character after whitespace, unread, or "" if there is none."""
    while True:
        # The limit bounds the buffer. More whitespace is code.
        end = match_end(SPACE, src.text, src.pos)
        if end < len(src.text) or src.closed:
            return src.text[end : end + 1]
        yield
