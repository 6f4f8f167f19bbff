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

from deltaparse.partial import MalformedJson, Steps, Window, at, json_space, markers, peek

from ...message.sink import Sink
from ...wire.format import CallIdPosition, ToolFormat
from ...wire.marker_tables import MarkerTables
from ...wire.tag_markers import TaggedMarkers, skip_if_here, tagged_markers
from ..checkpoint import Checkpoint
from .arguments import json_arguments
from .call import Call
from .ending import broken, no_object, truncated
from .tagged_arguments import tagged_arguments
from .tagged_head import read_name, tagged_head

__all__ = ["tagged_call"]

NULL = markers(frozenset({"null"}))


def tagged_call(
    src: Window, turn: Sink, lex: MarkerTables, region: Checkpoint, *, prefixed: bool
) -> Steps[bool]:
    """Read the call that begins here, its opening markers being read already.

    `prefixed`: that before its name was one of them. `region` began with the first. Returns
    whether there was a call; if not, nothing was handed out.
    """
    m = tagged_markers(lex.fmt)
    call = Call(src, turn, lex, region)
    try:
        if not (yield from tagged_head(src, turn, lex, call, m, prefixed=prefixed)):
            return False
        if lex.fmt.tools.format is ToolFormat.TAG_WITH_TAGGED:
            yield from tagged_arguments(src, turn, call, m, lex)
        else:
            yield from _json_arguments(src, call, m)
        yield from _id_behind(src, lex, call, m)
    except MalformedJson as problem:
        if problem.kind == "truncated":
            return truncated(src, turn, lex, call)
        return (yield from broken(src, turn, lex, call, str(problem)))
    if call.started and not call.whole:
        no_object(turn, call)
    return call.end()


def _json_arguments(src: Window, call: Call, m: TaggedMarkers) -> Steps[None]:
    """Read arguments that are a JSON object, or nothing."""
    char = yield from peek(src)
    if not char:
        raise MalformedJson("the output ends before the arguments", kind="truncated")
    if char in '{"' or (yield from at(src, NULL)):
        yield from json_arguments(src, call)
    yield from json_space(src)
    yield from skip_if_here(src, m.arguments_end)


def _id_behind(src: Window, lex: MarkerTables, call: Call, m: TaggedMarkers) -> Steps[None]:
    """Read the id that stands behind the arguments, where the format has it there."""
    if lex.fmt.call_id.position is not CallIdPosition.POST_ARGS:
        return
    yield from json_space(src)
    if m.id_start.literals and not (yield from skip_if_here(src, m.id_start)):
        return
    call.id = yield from read_name(src, (), m.id_ends)
    yield from skip_if_here(src, m.id_end)
