"""Tool calls written in tags: the name between markers, the arguments as JSON or in tags too.

    call      = [id] name-prefix name name-suffix [id] arguments [id] close
    arguments = start object end                                            (TAG_WITH_JSON)
              | start { key-prefix key key-suffix value-prefix value value-suffix } end
                                                                            (TAG_WITH_TAGGED)

The id stands in one of its places, or holds the name. White space at the edges of markers is
optional, and of a value just that is taken away which the template adds. Arguments come in any
order, also such as the schema does not know.
"""

from __future__ import annotations

from deltaparse.partial import Steps, at, json_space, marker_set, peek, skip_if_here

from ...wire.format import CallIdPosition, ToolFormat
from ...wire.tag_markers import TaggedMarkers, tagged_markers
from ..checkpoint import Checkpoint
from ..reading import Reading
from .arguments import json_arguments
from .call import Call
from .ending import CUT, STRAY, WHOLE, Ending, settle
from .tagged_arguments import end_of_arguments, tagged_arguments
from .tagged_head import read_name, tagged_head

__all__ = ["tagged_call"]

NULL = marker_set({"null"})


def tagged_call(reading: Reading, checkpoint: Checkpoint, *, prefixed: bool) -> Steps[bool]:
    """Read the call that begins here, its opening markers being read already.

    `prefixed`: that before its name was one of them. `checkpoint` began with the first. Returns
    whether there was a call; if not, nothing was emitted.
    """
    m = tagged_markers(reading.fmt)
    call = Call(reading, checkpoint)
    ending = yield from tagged_head(reading, call, m, prefixed=prefixed)
    if ending is not WHOLE:
        return (yield from settle(reading, call, ending)) if ending else False
    if reading.tables.unproven and call.is_stray:
        return (yield from settle(reading, call, STRAY))
    tagged = reading.fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
    read_arguments = tagged_arguments if tagged else _json_arguments
    ending = yield from read_arguments(reading, call, m)
    if ending is WHOLE:
        yield from _id_behind(reading, call, m)
    if ending is WHOLE and tagged and not call.whole:
        ending = yield from end_of_arguments(reading, call, m)
    return (yield from settle(reading, call, ending))


def _json_arguments(reading: Reading, call: Call, m: TaggedMarkers) -> Steps[Ending]:
    """Read arguments that are a JSON object, or nothing."""
    src = reading.src
    char = yield from peek(src)
    if not char:
        return CUT
    ending = WHOLE
    if char in '{"' or (yield from at(src, NULL)):
        ending = yield from json_arguments(src, call)
    if ending is WHOLE:
        yield from json_space(src)
        yield from skip_if_here(src, m.arguments_end)
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
