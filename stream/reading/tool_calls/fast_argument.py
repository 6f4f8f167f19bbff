"""Arguments in their own markers, in the usual form: see `wire/fast_patterns.py`."""

from __future__ import annotations

import re

from deltaparse.partial import Steps, StringSink, Window, spelled

from ...wire.argument_types import Kinds, argument_types
from ...wire.fast_patterns import FastArguments
from ...wire.tag_markers import TaggedMarkers
from .call import Call
from .ending import CUT, WHOLE, Ending
from .nested_values import Argument, argument_value
from .tagged_value import ValueEnd, read_to_suffix
from .typed_value import Value, is_json

__all__ = ["read_fast_argument"]


def read_fast_argument(
    src: Window,
    call: Call,
    m: TaggedMarkers,
    usual: FastArguments,
    key: re.Match[str],
    before: str,
    schema: object,
) -> Steps[Ending]:
    """Read an argument after the start matched by `key`, and write `before` before it.

    Closes the call if the text after the argument ends it.
    """
    # The offsets are recorded only on request, because each record costs two calls.
    if call.traces:
        src.pos = key.start(1)
        call.begin_arguments()
        src.pos = key.end(1)
        call.end_arguments()
    src.pos = key.end()
    name = key[1]
    # The schema decides about the type, because the text of a number may be a string.
    kinds = argument_types(schema, name)
    emit = call.emit
    # A string needs no decision about its type, so it streams from the first character.
    if len(kinds) == 1 and "string" in kinds and not call.fmt.arguments.quoted_strings:
        return (yield from _string(src, call, m, usual, f'{before}"{name}": "'))
    emit(f'{before}"{name}": ')
    found = None
    while "string" not in kinds and not (found := usual.scalar.match(src.text, src.pos)):
        if not usual.scalar.may_follow(src):
            break
        yield
    # Any other value is read by the general reader.
    if not found:
        return (yield from argument_value(src, call, m, Argument(name, {}, False, m.usual), schema))
    if call.traces:
        call.begin_arguments()
        src.pos = found.end(1)
        call.end_arguments()
    src.pos = found.end()
    text, ends = found[1], found[2] is not None
    # JSON is emitted as written, which keeps the digits of numbers.
    if is_json(text, kinds):
        emit(text + "}" if ends else text)
    else:
        _write(src, call, text, kinds)
        if ends:
            emit("}")
    if ends:
        call.close()
    return WHOLE


def _write(src: Window, call: Call, text: str, kinds: Kinds) -> None:
    """Write a complete value."""

    def note(how: str) -> None:
        call.repaired(how, src.offset)

    value = Value(call.emit, note, kinds, python=call.fmt.arguments.python_literals)
    value.write(text)
    value.end()


def _string(
    src: Window, call: Call, m: TaggedMarkers, usual: FastArguments, opening: str
) -> Steps[Ending]:
    """Read a string and its end, and write `opening` before it, which ends with a quote."""
    ends, emit = m.usual.ends, call.emit

    def write(text: str) -> None:
        emit(spelled(text))

    if call.traces:
        call.begin_arguments()
    while not src.closed:
        # Emit one delta for the opening and the first text.
        start, end = ends.find(src.text, src.pos)
        emit(opening + spelled(src.consume(start)))
        opening = ""
        if end > start:
            break
        # Text without a marker bypasses this generator, which is the hot path of long values.
        src.wait(write, ends.string_lane, emit)
        yield
    found = None
    # The opening was not emitted yet if the input ended before the first text.
    emit(opening)
    while not src.closed and not (found := usual.end.match(src.text, src.pos)):
        if not usual.end.may_follow(src):
            break
        yield
    # The marker may be part of the string, which only the general reader decides.
    if not found:
        # The string continues, so its opening must not be written again.
        end_of_value = ValueEnd(ends, "", m.usual.suffix)
        ending = yield from read_to_suffix(src, call, m, end_of_value, write, StringSink(emit))
        if ending is not CUT:
            emit('"')
        return ending
    if call.traces:
        call.end_arguments()
    src.pos = found.end()
    if found[1] is None:
        emit('"')
    else:
        emit('"}')
        call.close()
    return WHOLE
