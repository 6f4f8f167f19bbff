"""Arguments in their own markers, read as a JSON object.

    arguments = { argument [separator] }

They are in any order, and may be unknown to the schema.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from json.encoder import encode_basestring

from deltaparse.partial import (
    LONGEST_MARKER,
    Steps,
    Window,
    json_space,
    nowhere,
    peek_marker,
    skip_if_here,
    until,
)

from ...wire.argument_types import argument_names
from ...wire.spellings import swallowed
from ...wire.tag_markers import TaggedMarkers
from ..content import may_become
from ..reading import Reading
from .call import Call
from .element_attributes import attributes_before
from .ending import CUT, WHOLE, End, Ending
from .fast_argument import read_fast_argument
from .given_names import NONE, Given
from .nested_values import Argument, argument_name, argument_value, odd_keys
from .tagged_head import argument_follows, names_without_marker
from .tagged_value import read_to_suffix

__all__ = ["end_of_arguments", "tagged_arguments"]


def tagged_arguments(reading: Reading, call: Call, m: TaggedMarkers) -> Steps[Ending]:
    """Read arguments with their own markers, and write a JSON object."""
    src, sink = reading.src, reading.sink
    # Without a schema the types are unknown, and each value is typed by its form.
    schema = None if sink.tools is None else sink.tools.get(call.name)
    names = names_without_marker(reading, call.name, m)
    tags, given = reading.tables.fast_tags, _given(call, schema, m)
    # Names without a fixed form need the general reader.
    usual = tags.arguments if tags is not None and not given else None
    call.started = True
    call.announce()
    call.emit("{")
    before = ""
    keys: set[str] = set()
    while True:
        found = None
        # An argument may have swallowed another, so look for the other before the call is closed.
        usual = None if call.swallowed else usual
        while usual is not None and not (found := usual.key.match(src.text, src.pos)):
            # The wait ends as soon as the text cannot match any more.
            if not usual.key.may_follow(src):
                break
            yield
        if usual is not None and found:
            ending = yield from read_fast_argument(src, call, m, usual, found, before, schema)
            # Nothing is emitted after an error, but the end of the broken arguments must be found.
            if ending.kind is End.BROKEN:
                argument = Argument(found[1], {}, False, m.usual)
                yield from _unread_arguments(src, call, m, argument, schema, names, given)
            # The fast pattern also reads the end of the call, so there may be no next argument.
            if ending is not WHOLE or call.whole:
                return ending
            keys.add(found[1])
            before = ", "
            continue
        here = yield from _next_argument(src, call, m, schema, names)
        if here is None:
            break
        prefix, before_name = here
        read = yield from argument_name(src, call, m, prefix, given, before_name)
        # The call ended inside of the name.
        if isinstance(read, Ending):
            return read
        call.emit(before + encode_basestring(read.name) + ": ")
        ending = yield from argument_value(src, call, m, read, schema, names)
        if ending.kind is End.BROKEN:
            yield from _unread_arguments(src, call, m, read, schema, names, given)
        if ending is not WHOLE:
            return ending
        keys.add(read.name)
        before = ", "
        yield from json_space(src)
        yield from skip_if_here(src, m.separator)
    if missing := call.swallowed - keys:
        return Ending.broken(f"the argument {min(missing)!r} is inside of another argument's text")
    if (yield from skip_if_here(src, m.arguments_end)):
        call.emit("}")
        call.close()
    return WHOLE


def _next_argument(
    src: Window, call: Call, m: TaggedMarkers, schema: object, names: Collection[str]
) -> Steps[tuple[str, Sequence[tuple[str, str]]] | None]:
    """Read up to the name of the next argument, or return None if there is none.

    Returns the marker before the name, and the attributes before the name.
    """
    yield from json_space(src)
    attributes = yield from attributes_before(src, m.argument_head)
    if attributes is not None:
        return "", attributes
    # Text between arguments is an error only if the end of the arguments is marked.
    if m.may_be_ended and not (yield from peek_marker(src, m.in_arguments)):
        if not m.names_unmarked or not (yield from argument_follows(src, m, names)):
            yield from _junk(src, call, m)
    prefix = yield from _argument_here(src, m, schema)
    return None if prefix is None else (prefix, ())


def _unread_arguments(
    src: Window,
    call: Call,
    m: TaggedMarkers,
    argument: Argument,
    schema: object,
    names: Collection[str],
    given: Given,
) -> Steps[None]:
    """Read the rest of a broken value and the arguments after it without emitting them.

    Calls that are quoted in them are not calls. An overlong name is not searched for.
    """
    if len(argument.end(m).name) > LONGEST_MARKER:
        return
    # The text is reported with the call, so it is kept.
    start, before = src.mark(), len(call.not_emitted)
    ending = yield from read_to_suffix(src, call, m, argument.end(m, names), nowhere)
    while ending is WHOLE:
        yield from json_space(src)
        yield from skip_if_here(src, m.separator)
        prefix = yield from _argument_here(src, m, schema)
        if prefix is None:
            break
        read = yield from argument_name(src, call, m, prefix, given)
        # `Markers` are limited in length, and only a name within the limit can be searched for.
        if isinstance(read, Ending) or len(read.end(m).name) > LONGEST_MARKER:
            break
        ending = yield from read_to_suffix(src, call, m, read.end(m, names), nowhere)
    call.not_emitted[before:] = [src.text_since(start, prompt=True)]
    src.release()


def _given(call: Call, schema: object, m: TaggedMarkers) -> Given:
    """Return the argument names that only a comparison with known names can read."""
    if schema is None:
        return NONE
    known, place = call.sink.rules.odd_names, ("argument", call.name)
    # Cached in the rules of the request, because every call of the function needs them.
    if place not in known:
        known[place] = odd_keys(schema, m)
    return known[place]


def _argument_here(src: Window, m: TaggedMarkers, schema: object) -> Steps[str | None]:
    """Read and return the marker before an argument's name, or None if there is no argument.

    Returns "" if the format has no such marker. A longer marker that ends arguments takes
    precedence. A marker that starts an argument or a call starts an argument if the `schema` has
    it.
    """
    here = yield from peek_marker(src, m.in_arguments)
    # The marker is also that of a call, but the schema proves an argument.
    if here in m.as_arguments and m.as_arguments[here] in (argument_names(schema) or ()):
        here = next((key for key in m.key.literals if here.startswith(key)), "")
        src.pos += len(here)
        return here
    if here in m.key.literals:
        src.pos += len(here)
        return here
    return "" if m.names_unmarked and not here and src.unread else None


def end_of_arguments(
    reading: Reading, call: Call, m: TaggedMarkers, *, closed: bool = False
) -> Steps[Ending]:
    """Close the object if the arguments end here, and read the text after them.

    `closed` is True if the closer of the call was already read.
    """
    # An id after the arguments proves their end as well as a closer does.
    if not closed and not call.id_after and not (yield from _ends_here(reading, call, m)):
        return CUT
    call.emit("}")
    call.close()
    return WHOLE


def _ends_here(reading: Reading, call: Call, m: TaggedMarkers) -> Steps[bool]:
    """Return True if the arguments end here, at a closer of the function or of the call.

    More arguments could follow other text. A stop string may have removed the closer or a part of
    it: the closer that the engine names, or the only possible one, which is reported. Without
    closers in the format, the text after the call ends it.
    """
    src, sink = reading.src, reading.sink
    closed = yield from peek_marker(src, m.closers)
    if closed or (not m.has_ends and src.unread):
        # A separator of arguments may start like a closer.
        return not (may_become(src, m.key) or may_become(src, m.separator))
    # In truncated output more arguments may have followed.
    if not m.has_ends or not sink.natural:
        return not m.has_ends and sink.natural
    # The engine removed the closer as a stop string, so the call is complete.
    if swallowed(sink.stop, src.unread, m.closers.literals):
        return True
    only_one = len(m.ends.literals) == 1 and not m.close.literals
    # With several possible closers, the removed one is unknown.
    if not only_one or not may_become(src, m.ends):
        return False
    call.report_missing_closer(m)
    return True


def _junk(src: Window, call: Call, m: TaggedMarkers) -> Steps[None]:
    """Read text between arguments that is not an argument."""
    start = src.offset
    left_out: list[str] = []
    # The sink refers to the text, so an exception while reading does not lose it.
    call.sink.held = left_out
    yield from until(src, m.in_arguments, left_out.append, certain=True)
    if left_out:
        detail = f"not emitted between arguments: {''.join(left_out)!r}"
        call.sink.issue("repaired_arguments", (start, src.offset), detail)
