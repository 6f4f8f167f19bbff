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

import re
from collections.abc import Callable, Collection
from json.encoder import encode_basestring

from deltaparse.partial import (
    CLOSERS,
    JsonState,
    MalformedJson,
    Markers,
    Source,
    Steps,
    at,
    json_space,
    markers,
    peek,
    skip,
    until,
)

from ..format import CallIdPosition, ToolFormat
from ..lexicon import Lexicon
from ..region import Region
from ..turn import Turn
from .arguments import json_arguments, object_value
from .call import Call
from .ending import broken, no_object, truncated
from .schema import ALL_TYPES, argument_types
from .tagged_markers import TaggedMarkers, tagged_markers
from .values import Value

__all__ = ["tagged_call"]

LONGEST_NAME = 256
"""Characters that the name of a function, or an id, may have."""

GAP = 64
"""White space characters that may stand between the markers behind a value."""

NAME_SO_FAR = re.compile(r"\s*+[^\s\"'`<>{}()]*+\s*+")
SPACE = re.compile(r"\s*+")
NOT_STRING = ALL_TYPES - {"string"}
INDEX = re.compile(r"[^\w\s][0-9]+\Z")
NULL = markers(frozenset({"null"}))


def tagged_call(
    src: Source, turn: Turn, lex: Lexicon, region: Region, *, prefixed: bool
) -> Steps[bool]:
    """Read the call that begins here, its opening markers being read already.

    `prefixed`: that before its name was one of them. `region` began with the first. Returns
    whether there was a call; if not, nothing was handed out.
    """
    m = tagged_markers(lex.fmt)
    call = Call(src, turn, lex, region)
    try:
        if not (yield from _head(src, turn, lex, call, m, prefixed=prefixed)):
            return False
        if lex.fmt.tools.format is ToolFormat.TAG_WITH_TAGGED:
            yield from _tagged_arguments(src, turn, call, m, lex)
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


def _head(
    src: Source, turn: Turn, lex: Lexicon, call: Call, m: TaggedMarkers, *, prefixed: bool
) -> Steps[bool]:
    """Read up to the arguments; return whether this is a call."""
    fmt = lex.fmt
    position = fmt.call_id.position
    yield from json_space(src)
    if position is CallIdPosition.PRE_FUNC_NAME and not prefixed and not fmt.call_id.holds_name:
        yield from _past(src, m.id_start)
        call.id = yield from _name(src, (), m.id_ends)
        yield from _past(src, m.id_end)
        yield from json_space(src)
    if m.name_prefix.literals and not prefixed and not (yield from _past(src, m.name_prefix)):
        return False
    start = src.offset
    name = yield from _name(src, turn.tools or (), m.name_ends)
    if not name:
        return False
    if fmt.call_id.holds_name:
        call.id, name = name, INDEX.sub("", name)
    known = turn.tools or ()
    if name not in known:
        name = _without_namespace(name, fmt.function.namespace, known, holds=fmt.call_id.holds_name)
    suffix = yield from at(src, m.after_name)
    if suffix:
        yield from skip(src, suffix, _trailing(fmt.function.name_suffix))
    if position is CallIdPosition.BETWEEN_FUNC_AND_ARGS:
        yield from json_space(src)
        if (yield from _past(src, m.id_start)):
            call.id = yield from _name(src, (), m.id_ends)
        yield from _past(src, m.id_end)
    yield from json_space(src)
    yield from _past(src, m.arguments_start)
    yield from json_space(src)
    if not (yield from _arguments_stand_here(src, m)):
        return False
    call.called(name, start)
    return True


def _without_namespace(name: str, namespace: str, known: Collection[str], *, holds: bool) -> str:
    """The name of the function in what stands in its place."""
    short = name.removeprefix(namespace)
    if holds and not namespace and "." in name and name.partition(".")[2] in known:
        return name.partition(".")[2]
    return short or name


def _arguments_stand_here(src: Source, m: TaggedMarkers) -> Steps[bool]:
    """Whether arguments begin here, or the call ends: else what looked like one was text."""
    char = yield from peek(src)
    if not char or (char in '{"' and not m.key.literals):
        return True
    return bool((yield from at(src, m.in_arguments)))


def _json_arguments(src: Source, call: Call, m: TaggedMarkers) -> Steps[None]:
    """Read arguments that are a JSON object, or nothing."""
    char = yield from peek(src)
    if not char:
        raise MalformedJson("the output ends before the arguments", kind="truncated")
    if char in '{"' or (yield from at(src, NULL)):
        yield from json_arguments(src, call)
    yield from json_space(src)
    yield from _past(src, m.arguments_end)


def _id_behind(src: Source, lex: Lexicon, call: Call, m: TaggedMarkers) -> Steps[None]:
    """Read the id that stands behind the arguments, where the format has it there."""
    if lex.fmt.call_id.position is not CallIdPosition.POST_ARGS:
        return
    yield from json_space(src)
    if m.id_start.literals and not (yield from _past(src, m.id_start)):
        return
    call.id = yield from _name(src, (), m.id_ends)
    yield from _past(src, m.id_end)


def _tagged_arguments(
    src: Source, turn: Turn, call: Call, m: TaggedMarkers, lex: Lexicon
) -> Steps[None]:
    """Read arguments of which each stands in markers of its own, writing a JSON object."""
    schema = turn.tools.get(call.name) if turn.tools else None
    call.started = True
    call.announce()
    call.emit("{")
    first = True
    while True:
        yield from json_space(src)
        if m.has_ends and not (yield from at(src, m.in_arguments)):
            yield from _junk(src, call, m)
        if not (yield from _past(src, m.key)):
            break
        key, told = yield from _key(src, m, lex)
        call.emit(("" if first else ", ") + encode_basestring(key) + ": ")
        yield from _value(src, call, m, lex, told or argument_types(schema, key))
        first = False
        yield from json_space(src)
        yield from _past(src, m.separator)
    if src.closed and not src.unread and not turn.natural:
        raise MalformedJson("the output ends in the arguments", kind="truncated")
    call.emit("}")
    call.whole = True
    yield from _past(src, m.arguments_end)


def _junk(src: Source, call: Call, m: TaggedMarkers) -> Steps[None]:
    """Read what stands between arguments and is none."""
    start = src.offset
    left_out: list[str] = []
    yield from until(src, m.in_arguments, left_out.append)
    if left_out:
        detail = f"left out between arguments: {''.join(left_out)!r}"
        call.turn.issue("repaired_arguments", (start, src.offset), detail)


def _key(src: Source, m: TaggedMarkers, lex: Lexicon) -> Steps[tuple[str, frozenset[str]]]:
    """Read an argument's name and what stands between it and the value.

    Returns the name, and the types that the marker says that the value has, none if it does not.
    """
    arguments = lex.fmt.arguments
    pieces: list[str] = []
    marker = yield from until(src, m.key_end, pieces.append, certain=True)
    if not marker:
        raise MalformedJson("the output ends in the name of an argument", kind="truncated")
    key, told = "".join(pieces).strip(), frozenset[str]()
    before_value = arguments.value_prefix.strip()
    literal = arguments.literal_name_suffix
    if literal.strip():
        told = NOT_STRING if marker == literal.strip() else frozenset({"string"})
    if marker != before_value:
        suffix = literal if told == NOT_STRING else arguments.name_suffix
        gap = _trailing(suffix)
        yield from skip(src, marker, gap if before_value else gap + arguments.value_prefix)
        if not before_value:
            return key, told
        yield from json_space(src)
        marker = yield from at(src, m.value_prefix)
        if not marker and src.closed and m.value_prefix.match(src.text, src.pos) == src.pos:
            raise MalformedJson("the output ends before an argument", kind="truncated")
    if marker:
        yield from skip(src, marker, _trailing(arguments.value_prefix))
    return key, told


def _value(
    src: Source, call: Call, m: TaggedMarkers, lex: Lexicon, types: frozenset[str]
) -> Steps[None]:
    """Read one value and what ends it."""
    arguments = lex.fmt.arguments
    openers = "{[" if types <= {"object", "array"} else ""
    if arguments.quoted_strings and types == {"string"}:
        openers = '"'
    if openers:
        char = yield from json_space(src)
        if char and char in openers:
            yield from _json_in_tags(src, call, m)
            return

    def note(how: str) -> None:
        call.repaired(how, src.offset)

    value = Value(call.emit, note, types, python=arguments.python_literals)
    if not (yield from _up_to_end(src, call, m, value.write)):
        raise MalformedJson("the output ends in an argument", kind="truncated")
    value.end()


def _json_in_tags(src: Source, call: Call, m: TaggedMarkers) -> Steps[None]:
    """Read a value that can only be JSON: in its strings, no marker ends it."""
    lexer = yield from object_value(src, call)
    if lexer.state is JsonState.BROKEN:
        open_brackets = lexer.broken_in in (JsonState.AFTER_VALUE, JsonState.AFTER_OPEN)
        if not (open_brackets and call.may_repair and (yield from at(src, m.value_ends))):
            raise MalformedJson(lexer.problem)
        call.emit("".join(CLOSERS[bracket] for bracket in reversed(lexer.stack)))
        call.repaired("closed_brackets", src.offset)
    elif lexer.state is not JsonState.DONE:
        raise MalformedJson("the output ends in an argument", kind="truncated")
    rest: list[str] = []
    start = src.offset
    ended = yield from _up_to_end(src, call, m, rest.append)
    if "".join(rest).strip():
        detail = f"left out behind an argument: {''.join(rest)!r}"
        call.turn.issue("repaired_arguments", (start, src.offset), detail)
    if not ended:
        raise MalformedJson("the output ends behind an argument", kind="truncated")


def _up_to_end(
    src: Source, call: Call, m: TaggedMarkers, take: Callable[[str], None]
) -> Steps[bool]:
    """Read a value up to and with its suffix; return whether it ended before the output did.

    A suffix ends it only where something stands behind it that may follow an argument: values
    may hold the suffix. What can only follow an argument ends it too, for models forget suffixes;
    it is left unread.
    """
    while True:
        marker = yield from until(src, m.value_ends, take, certain=True)
        if not marker:
            return False
        core = marker.strip()
        if core in m.turn_ends:
            return False
        own = core in m.value_suffix.literals
        behind = m.behind_value if own else m.behind_call
        if (yield from _followed(src, len(marker), behind)):
            if own:
                src.pos += len(marker)
            else:
                call.repaired("missing_closer", src.offset)
            return True
        call.ambiguous += 1
        take(src.take(src.pos + 1))


def _followed(src: Source, length: int, behind: Markers) -> Steps[bool]:
    """Whether, after `length` characters and white space, a marker stands, or the output ends."""
    if not behind.literals:
        return True
    while True:
        text = src.text
        start = src.pos + length
        found = SPACE.match(text, start, start + GAP)
        pos = found.end() if found else start
        end = behind.match(text, pos)
        # What is cut by the end of the output may have been a marker.
        if end > pos or (end == pos and src.closed):
            return True
        if end < 0 and pos < len(text):
            return False
        yield


def _name(src: Source, known: Collection[str], ends: Markers) -> Steps[str]:
    """Read a name, or an id, up to what ends it; "" if there is none."""
    while True:
        text = src.text[src.pos : src.pos + LONGEST_NAME + ends.longest]
        final = src.closed or len(text) > LONGEST_NAME
        start, end = ends.find(text, final=final)
        head = text[:start]
        name = head.strip()
        if not NAME_SO_FAR.fullmatch(head) and not any(map(str.startswith, known, [name])):
            return ""
        if end > start:
            src.pos += start
            return name
        if final:
            return ""
        yield


def _past(src: Source, markers: Markers) -> Steps[bool]:
    """Read one of `markers` if one stands here; return whether it did."""
    if not markers.literals:
        return False
    marker = yield from at(src, markers)
    src.pos += len(marker)
    return bool(marker)


def _trailing(marker: str) -> str:
    """The white space at a marker's end."""
    return marker[len(marker.rstrip()) :]
