"""Tool calls written in tags: the name between markers, the arguments as JSON or in tags too.

    call      = [id] name-prefix name name-suffix [id] arguments [id] close
    arguments = start object end                                            (TAG_WITH_JSON)
              | start { key-prefix key key-suffix value-prefix value value-suffix } end
              | object-start object object-end                              (TAG_WITH_TAGGED)

The id stands in one of its places, or holds the name; what closes a call may repeat the name.
White space at the edges of markers is optional, and of a value just that is taken away which the
template adds. Arguments come in any order, also such as the schema does not know.
"""

from __future__ import annotations

from deltaparse.partial import (
    Markers,
    Steps,
    consume_marker,
    json_space,
    marker_set,
    peek,
    peek_marker,
    skip_if_here,
)

from ...wire.format import CallIdPosition, ToolFormat
from ...wire.spellings import swallowed, trailing
from ...wire.tag_markers import TaggedMarkers, tagged_markers
from ..checkpoint import Checkpoint
from ..content import may_become, report_cut, report_cut_marker
from ..reading import Reading
from .call import Call
from .ending import CUT, STRAY, WHOLE, Ending, not_another_call, settle
from .fast_next_call import usual_next
from .json_arguments import json_arguments
from .json_object_calls import beyond_separator
from .tagged_arguments import end_of_arguments, tagged_arguments
from .tagged_head import read_name, tagged_head
from .tagged_value import space_behind

__all__ = ["more_in_section", "tagged_calls"]

NULL = marker_set({"null"})
NO_NAME = "\"'`<>{}()[]"
"""What no name begins with."""


def tagged_calls(
    reading: Reading, checkpoint: Checkpoint, *, prefixed: bool, several: bool
) -> Steps[bool]:
    """Read the call that begins here, and with `several` those behind it that begin as usual.

    The rest is as `_tagged_call` has it.
    """
    called = yield from _tagged_call(reading, checkpoint, prefixed=prefixed)
    while called and several and (again := (yield from usual_next(reading))):
        called = yield from _tagged_call(reading, again, prefixed=True)
        again.commit()
    if called:
        yield from _more_in_block(reading)
    return called


def _tagged_call(reading: Reading, checkpoint: Checkpoint, *, prefixed: bool) -> Steps[bool]:
    """Read the call that begins here, its opening markers being read already.

    `prefixed`: that before its name was one of them. `checkpoint` began with the first. Returns
    whether there was a call; if not, nothing was emitted.
    """
    usual = reading.tables.usual_tags
    m = tagged_markers(reading.fmt) if usual is None else usual.markers
    call = Call(reading, checkpoint)
    ending = yield from tagged_head(reading, call, m, prefixed=prefixed)
    if ending is not WHOLE:
        return (yield from settle(reading, call, ending)) if ending else False
    if reading.tables.unproven and call.is_unknown_unmarked:
        return (yield from settle(reading, call, STRAY))
    tagged = reading.fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
    if not tagged:
        ending = yield from _json_arguments(reading, call, m, m.arguments_end)
    elif (yield from skip_if_here(reading.src, m.object_start)):
        usual = None
        yield from json_space(reading.src)
        ending = yield from _json_arguments(reading, call, m, m.object_end)
    else:
        ending = yield from tagged_arguments(reading, call, m)
    if call.whole and usual is not None and usual.arguments is not None:
        return call.end()
    if ending is WHOLE:
        yield from _id_behind(reading, call, m)
    closed = ending is WHOLE and m.close.literals and (yield from _closed_by_name(reading, call, m))
    if ending is WHOLE and tagged and not call.whole:
        ending = yield from end_of_arguments(reading, call, m, closed=bool(closed))
    return (yield from settle(reading, call, ending))


def _more_in_block(reading: Reading) -> Steps[None]:
    """Read the calls behind one that no marker has closed: `<call>f{}f{}</call>`."""
    src, opener = reading.src, tagged_markers(reading.fmt).next_in_block
    while opener.literals:
        _, start = yield from beyond_separator(src, reading.fmt.tools.separator.strip())
        end = opener.match(src.text, start, final=src.closed)
        if end < 0:
            return
        if end == start:
            yield
            continue
        checkpoint = reading.checkpoint()
        src.pos = end
        called = yield from _tagged_call(reading, checkpoint, prefixed=False)
        if not called:
            yield from not_another_call(reading, checkpoint)
            return
        checkpoint.commit()


def more_in_section(reading: Reading) -> Steps[None]:
    """Read the calls behind the first of a section in which no marker begins each."""
    src, m = reading.src, tagged_markers(reading.fmt)
    while (start := (yield from _another_call(reading, m))) >= 0:
        checkpoint = reading.checkpoint()
        src.pos = start
        # A call that the prompt began comes out whole.
        src.emits_prompt = True
        called = yield from _tagged_call(reading, checkpoint, prefixed=False)
        src.emits_prompt = False
        if not called:
            yield from not_another_call(reading, checkpoint)
            return
        checkpoint.commit()


def _another_call(reading: Reading, m: TaggedMarkers) -> Steps[int]:
    """Where behind a separator another call may begin; -1 if none does.

    What closes the call before it is read.
    """
    src, after = reading.src, reading.tables.after_call
    while m.own_closers.literals:
        space = space_behind(src.text, src.pos)
        end = m.own_closers.match(src.text, space, final=src.closed)
        if end > space:
            src.pos, reading.sink.unclosed = end, None
        if end < 0:
            break
        if end <= space:
            yield
    while True:
        char, start = yield from beyond_separator(src, reading.fmt.tools.separator.strip())
        ended = after.match(src.text, start, final=src.closed)
        call = m.name_prefix.match(src.text, start, final=src.closed)
        if ended > start:
            return -1
        if ended < 0 and call != start:
            named = bool(char.strip()) and char not in NO_NAME
            return start if (call > start if m.name_prefix.literals else named) else -1
        yield


def _closed_by_name(reading: Reading, call: Call, m: TaggedMarkers) -> Steps[bool]:
    """Read what closes a call with the name of its function; return whether it is closed.

    A stop string may have swallowed the end of it: one that the engine names, or where it is the
    last that closes calls, any.
    """
    src, sink = reading.src, reading.sink
    yield from json_space(src)
    (core,) = m.close.literals
    closer = core + call.written + m.close_suffix
    while True:
        rest = src.text[src.pos : src.pos + len(closer)]
        if rest == closer:
            yield from consume_marker(src, closer, trailing(reading.fmt.function.close_suffix))
            call.closed = True
            return True
        if not closer.startswith(rest):
            return False
        if src.closed:
            named = swallowed(sink.stop, rest, [closer])
            if sink.natural and not (named or call.whole or m.ends.literals):
                call.report_missing_closer(m)
            start, src.pos = src.offset, src.pos + len(rest)
            if rest:
                report_cut(reading, start, rest, closer)
                call.closed = True
            return sink.natural and (named or not m.ends.literals)
        yield


def _json_arguments(reading: Reading, call: Call, m: TaggedMarkers, end: Markers) -> Steps[Ending]:
    """Read arguments that are a JSON object, or nothing, and what ends them."""
    src = reading.src
    char = yield from peek(src)
    if not char:
        return CUT
    ending = WHOLE
    if char in '{"' or (yield from peek_marker(src, NULL)):
        ending = yield from json_arguments(src, call)
    elif may_become(src, m.before_json):
        return CUT  # it might as well be what closes a call without arguments
    elif call.opened:
        call.started = True
        return Ending.broken("nothing where the arguments should be")
    if ending is WHOLE and end.literals:
        yield from json_space(src)
        if not (yield from skip_if_here(src, end)):
            report_cut_marker(reading, end)
    return ending


def _id_behind(reading: Reading, call: Call, m: TaggedMarkers) -> Steps[None]:
    """Read the id that stands behind the arguments, where the format has it there."""
    src = reading.src
    if reading.fmt.call_id.position is not CallIdPosition.POST_ARGS:
        return
    yield from json_space(src)
    if m.id_start.literals and not (yield from skip_if_here(src, m.id_start)):
        return
    call.id = (yield from read_name(src, (), m.id_ends)) or ""
    call.id_behind = bool(call.id)
    yield from skip_if_here(src, m.id_end)
