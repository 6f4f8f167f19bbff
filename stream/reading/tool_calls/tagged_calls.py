"""Tool calls in tags: a name between markers, with arguments in JSON or in tags.

    call      = [id] name-prefix name name-suffix [id] arguments [id] close
    arguments = start object end                                            (TAG_WITH_JSON)
              | start { key-prefix key key-suffix value-prefix value value-suffix } end
              | object-start object object-end                              (TAG_WITH_TAGGED)

The id is in one of its places, or contains the name. The closer of a call may repeat the name.
Whitespace next to markers is optional. From a value, only the whitespace of the template is
removed. Arguments are in any order, and may be unknown to the schema.
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
from .fast_next_call import fast_next
from .json_arguments import json_arguments
from .json_object_calls import beyond_separator
from .tagged_arguments import end_of_arguments, tagged_arguments
from .tagged_head import read_name, tagged_head
from .tagged_value import space_after

__all__ = ["more_in_section", "tagged_calls"]

NULL = marker_set({"null"})
NO_NAME = "\"'`<>{}()[]"
"""Characters that cannot start a name."""


def tagged_calls(
    reading: Reading, checkpoint: Checkpoint, *, prefixed: bool, several: bool
) -> Steps[bool]:
    """Read the call at this place, and with `several` the usual calls after it.

    See `_tagged_call` for the other arguments and the result.
    """
    called = yield from _tagged_call(reading, checkpoint, prefixed=prefixed)
    # Only heads that prove a call are read here. The caller reads all others.
    while called and several and (again := (yield from fast_next(reading))):
        called = yield from _tagged_call(reading, again, prefixed=True)
        again.commit()
    if called:
        yield from _more_in_block(reading)
    return called


def _tagged_call(reading: Reading, checkpoint: Checkpoint, *, prefixed: bool) -> Steps[bool]:
    """Read the call at this place, after its opening markers.

    Args:
        reading: the turn.
        checkpoint: started at the first opening marker.
        prefixed: True if the marker before the name was one of them.

    Returns:
        True for a call. Otherwise no text was emitted.
    """
    usual = reading.tables.fast_tags
    # The patterns contain the markers, which saves a lookup for each call.
    m = tagged_markers(reading.fmt) if usual is None else usual.markers
    call = Call(reading, checkpoint)
    ending = yield from tagged_head(reading, call, m, prefixed=prefixed)
    if ending is not WHOLE:
        return (yield from settle(reading, call, ending)) if ending else False
    # The name is the only evidence for this call, and it is not the name of a tool.
    if reading.tables.unproven and call.is_unknown_unmarked:
        return (yield from settle(reading, call, STRAY))
    tagged = reading.fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
    if not tagged:
        ending = yield from _json_arguments(reading, call, m, m.arguments_end)
    elif (yield from skip_if_here(reading.src, m.object_start)):
        # The arguments are JSON, so the fast pattern for tags does not apply.
        usual = None
        yield from json_space(reading.src)
        ending = yield from _json_arguments(reading, call, m, m.object_end)
    else:
        ending = yield from tagged_arguments(reading, call, m)
    # The fast pattern has read the closers of the call too.
    if call.whole and usual is not None and usual.arguments is not None:
        return call.end()
    if ending is WHOLE:
        yield from _id_after_arguments(reading, call, m)
    # The repeated name proves the end of the call, so other closers are not searched for.
    closed = ending is WHOLE and m.close.literals and (yield from _closed_by_name(reading, call, m))
    # The arguments end without a marker, so the text after them must prove the end.
    if ending is WHOLE and tagged and not call.whole:
        ending = yield from end_of_arguments(reading, call, m, closed=bool(closed))
    return (yield from settle(reading, call, ending))


def _more_in_block(reading: Reading) -> Steps[None]:
    """Read consecutive calls in one pair of markers: `<call>f{}f{}</call>`."""
    src, opener = reading.src, tagged_markers(reading.fmt).next_in_block
    while opener.literals:
        _, start = yield from beyond_separator(src, reading.fmt.tools.separator.strip())
        end = opener.match(src.text, start, final=src.closed)
        if end < 0:
            # The opener is incomplete, and its prefix is still unread.
            return
        if end == start:
            yield
            continue
        checkpoint = reading.checkpoint()
        src.pos = end
        called = yield from _tagged_call(reading, checkpoint, prefixed=False)
        # The text after the opener belongs to the block, but it is not a call.
        if not called:
            yield from not_another_call(reading, checkpoint)
            return
        checkpoint.commit()


def more_in_section(reading: Reading) -> Steps[None]:
    """Read the calls after the first of a section, if they have no opener of their own."""
    src, m = reading.src, tagged_markers(reading.fmt)
    while (start := (yield from _another_call(reading, m))) >= 0:
        checkpoint = reading.checkpoint()
        src.pos = start
        # A call that the prompt began is emitted completely.
        src.emits_prompt = True
        called = yield from _tagged_call(reading, checkpoint, prefixed=False)
        src.emits_prompt = False
        if not called:
            yield from not_another_call(reading, checkpoint)
            return
        checkpoint.commit()


def _another_call(reading: Reading, m: TaggedMarkers) -> Steps[int]:
    """Return the index at which another call may start after a separator, or -1.

    The closer of the call before is read.
    """
    src, after = reading.src, reading.tables.after_call
    while m.own_closers.literals:
        space = space_after(src.text, src.pos)
        end = m.own_closers.match(src.text, space, final=src.closed)
        if end > space:
            # The closer was found, so the call is not reported as unclosed.
            src.pos, reading.sink.unclosed = end, None
        if end < 0:
            break
        if end <= space:
            yield
    while True:
        char, start = yield from beyond_separator(src, reading.fmt.tools.separator.strip())
        ended = after.match(src.text, start, final=src.closed)
        call = m.name_prefix.match(src.text, start, final=src.closed)
        # A marker ends the section, even if the text after it may be a name.
        if ended > start:
            return -1
        # Any text without a closer may be a name, if the format has no marker before names.
        if ended < 0 and call != start:
            named = bool(char.strip()) and char not in NO_NAME
            return start if (call > start if m.name_prefix.literals else named) else -1
        yield


def _closed_by_name(reading: Reading, call: Call, m: TaggedMarkers) -> Steps[bool]:
    """Read a closer that repeats the name of the function, and return True if the call is closed.

    A stop string may have removed its end: a stop string that the engine names, or any stop string
    if this is the last closer.
    """
    src, sink = reading.src, reading.sink
    yield from json_space(src)
    # A closer with a name has only one form.
    (core,) = m.close.literals
    closer = core + call.written + m.close_suffix
    while True:
        rest = src.text[src.pos : src.pos + len(closer)]
        if rest == closer:
            yield from consume_marker(src, closer, trailing(reading.fmt.function.close_suffix))
            call.closed = True
            return True
        # The text cannot become the closer any more.
        if not closer.startswith(rest):
            return False
        # The output ends inside of the closer.
        if src.closed:
            named = swallowed(sink.stop, rest, [closer])
            if sink.natural and not (named or call.whole or m.ends.literals):
                call.report_missing_closer(m)
            start, src.pos = src.offset, src.pos + len(rest)
            # A truncated closer still proves that the arguments are complete.
            if rest:
                report_cut(reading, start, rest, closer)
                call.closed = True
            return sink.natural and (named or not m.ends.literals)
        yield


def _json_arguments(reading: Reading, call: Call, m: TaggedMarkers, end: Markers) -> Steps[Ending]:
    """Read arguments that are a JSON object or missing, and their end marker."""
    src = reading.src
    char = yield from peek(src)
    # The output ends before the arguments, so their form is unknown.
    if not char:
        return CUT
    ending = WHOLE
    if char in '{"' or (yield from peek_marker(src, NULL)):
        ending = yield from json_arguments(src, call)
    elif may_become(src, m.before_json):
        return CUT  # a truncated closer of a call without arguments
    elif call.opened:
        call.started = True
        return Ending.broken("the arguments are missing")
    if ending is WHOLE and end.literals:
        yield from json_space(src)
        if not (yield from skip_if_here(src, end)):
            report_cut_marker(reading, end)
    return ending


def _id_after_arguments(reading: Reading, call: Call, m: TaggedMarkers) -> Steps[None]:
    """Read the id after the arguments, if the format has it there."""
    src = reading.src
    if reading.fmt.call_id.position is not CallIdPosition.POST_ARGS:
        return
    yield from json_space(src)
    # The id is optional in the output, even if the format has one.
    if m.id_start.literals and not (yield from skip_if_here(src, m.id_start)):
        return
    call.id = (yield from read_name(src, (), m.id_ends)) or ""
    call.id_after = bool(call.id)
    yield from skip_if_here(src, m.id_end)
