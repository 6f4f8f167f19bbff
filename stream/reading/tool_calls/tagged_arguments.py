"""Arguments of which each stands in markers of its own, read as a JSON object.

    arguments = { argument [separator] }

They come in any order, also such as the schema does not know.
"""

from __future__ import annotations

from json.encoder import encode_basestring

from deltaparse.partial import Steps, Window, at, json_space, skip_if_here, until

from ...wire.tag_markers import TaggedMarkers
from ..content import may_become
from ..reading import Reading
from .call import Call
from .ending import CUT, WHOLE, Ending
from .tagged_elements import argument_name, argument_value

__all__ = ["end_of_arguments", "tagged_arguments"]


def tagged_arguments(reading: Reading, call: Call, m: TaggedMarkers) -> Steps[Ending]:
    """Read arguments of which each stands in markers of its own, writing a JSON object."""
    src, sink = reading.src, reading.sink
    schema = sink.tools.get(call.name) if sink.tools else None
    call.started = True
    call.announce()
    call.emit("{")
    first = True
    while True:
        yield from json_space(src)
        if m.has_ends and not (yield from at(src, m.in_arguments)):
            yield from _junk(src, call, m)
        if not (yield from _argument_here(src, m)):
            break
        argument = yield from argument_name(src, call, m)
        if argument is None:
            return CUT
        call.emit(("" if first else ", ") + encode_basestring(argument.name) + ": ")
        ending = yield from argument_value(src, call, m, argument, schema)
        if ending is not WHOLE:
            return ending
        first = False
        yield from json_space(src)
        yield from skip_if_here(src, m.separator)
    if (yield from skip_if_here(src, m.arguments_end)):
        call.emit("}")
        call.close()
    return WHOLE


def _argument_here(src: Window, m: TaggedMarkers) -> Steps[bool]:
    """Read the marker before an argument's name, if it stands here and is not one that ends."""
    if m.has_ends and (yield from at(src, m.in_arguments)) not in m.key.literals:
        return False
    return (yield from skip_if_here(src, m.key))


def end_of_arguments(
    reading: Reading, call: Call, m: TaggedMarkers, *, closed: bool = False
) -> Steps[Ending]:
    """Close the object, if the arguments end here; what stands behind them is read.

    `closed`: what closes the call was read.
    """
    yield from json_space(reading.src)
    if not (closed or call.id_behind) and not (yield from _ends_here(reading, m)):
        return CUT
    call.emit("}")
    call.close()
    return WHOLE


def _ends_here(reading: Reading, m: TaggedMarkers) -> Steps[bool]:
    """Whether the arguments end here: at a closer of the function, or of the call.

    More arguments could follow anything else. A stop string may have swallowed the last closer,
    or part of it, but no other; where the format has none, what follows the call ends it.
    """
    src, natural = reading.src, reading.sink.natural
    if (yield from at(src, m.closers)):
        return True
    if not m.has_ends:
        return not may_become(src, m.key) if src.unread else natural
    return len(m.ends.literals) == 1 and natural and may_become(src, m.ends)


def _junk(src: Window, call: Call, m: TaggedMarkers) -> Steps[None]:
    """Read what stands between arguments and is none."""
    start = src.offset
    left_out: list[str] = []
    call.sink.held = left_out
    yield from until(src, m.in_arguments, left_out.append, certain=True)
    if left_out:
        detail = f"left out between arguments: {''.join(left_out)!r}"
        call.sink.issue("repaired_arguments", (start, src.offset), detail)
