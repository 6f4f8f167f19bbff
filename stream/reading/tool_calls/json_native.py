"""Tool calls written as JSON objects, name and all.

    calls     = "[" call ("," call)* "]" | call+
    call      = "{" member ("," member)* "}"
    member    = name-field ":" string | arguments-field ":" arguments | id-field ":" scalar
              | function-field ":" call | name ":" arguments | any-key ":" any-value
    arguments = object | string-that-holds-an-object | "null"

The last form of member but one is the layout in which the name is the key. Keys come in any
order. The arguments are passed on character for character, so that what a client joins
together is what the model wrote; they wait for the name, and for the id where the format has
one, because a call's first delta carries both.
"""

from __future__ import annotations

import re

from deltaparse.partial import (
    JsonLexer,
    JsonState,
    MalformedJson,
    Steps,
    Window,
    at,
    json_key,
    json_space,
    json_string,
    json_value,
    repaired_json,
    replace_surrogates,
)

from ...message.sink import Sink
from ...wire.marker_tables import Field, MarkerTables
from ..checkpoint import Checkpoint
from ..content_writer import Before, ContentWriter
from .arguments import json_arguments
from .call import Call
from .ending import broken, no_object, truncated

__all__ = ["json_calls"]

SEPARATOR = re.compile(r"\s{0,64}+(?:,\s{0,64}+)?+")
"""What stands between two calls; more white space, and it is none of theirs."""

MEANS_NOTHING = {"type": ('"function"', "null")}
"""Values that members have beside name and arguments, in templates that write all of a call."""


def json_calls(src: Window, turn: Sink, lex: MarkerTables, region: Checkpoint) -> Steps[bool]:
    """Read the calls that begin here, if any; the opening marker is read already.

    `region` began with that marker. Returns whether there were calls; if not, nothing was
    handed out.
    """
    char = yield from json_space(src)
    in_array = char == "[" and (not lex.bare or lex.fmt.tools.array_wrapped)
    if in_array:
        if (yield from at(src, lex.bracketed)):
            return False
        src.pos += 1
        char = yield from json_space(src)
        if char == "]" and not lex.bare:
            src.pos += 1
            turn.issue("no_calls", region.span, f"an empty list: {region.text()!r}")
            return True
    if char != "{":
        return False
    called = yield from _call_object(src, turn, lex, region)
    # Where no marker and no bracket would tell their end, calls are looked for one by one.
    more = called and (in_array or not lex.bare)
    while more:
        between = Checkpoint(src)
        more = yield from _another_call(src, turn, lex, between, in_array=in_array)
        between.settle()
    return called


def _another_call(
    src: Window, turn: Sink, lex: MarkerTables, region: Checkpoint, *, in_array: bool
) -> Steps[bool]:
    """Read what follows a call: another, or the end of the array. Return whether more may come.

    What is neither is left unread, so that it is read as what follows calls.
    """
    char, end = yield from _beyond_separator(src)
    if char == "{":
        src.pos = end
        if not (yield from _call_object(src, turn, lex, region)):
            run = ContentWriter(src, turn, Before.CALL)
            run.emit(region.text())
            run.end()
        return True
    if in_array and char == "]":
        src.pos = end + 1
    elif char and char in "}]" and turn.policies.malformed_arguments == "repair":
        src.pos = end
        while (char := (yield from json_space(src))) and char in "}]":
            src.pos += 1
        turn.issue("repaired_arguments", region.span, f"left out: {region.text().strip()!r}")
    return False


def _beyond_separator(src: Window) -> Steps[tuple[str, int]]:
    """Return the character behind a separator, if one stands here, and its index; read nothing."""
    while True:
        found = SEPARATOR.match(src.text, src.pos)
        end = found.end() if found else src.pos
        if end < len(src.text) or src.closed:
            return src.text[end : end + 1], end
        yield


def _call_object(src: Window, turn: Sink, lex: MarkerTables, region: Checkpoint) -> Steps[bool]:
    """Read one object that may be a call; return whether it was one."""
    src.pos += 1
    call = Call(src, turn, lex, region)
    try:
        char = yield from json_space(src)
        if char and char not in '"}' and call.may_repair and not lex.bare:
            yield from _mended_members(src, call, lex)
        else:
            yield from _members(src, call, lex, nested=False)
    except MalformedJson as problem:
        if problem.kind == "truncated":
            return truncated(src, turn, lex, call)
        return (yield from broken(src, turn, lex, call, str(problem)))
    if call.known and call.started and not call.whole:
        no_object(turn, call)
    return call.end()


def _mended_members(src: Window, call: Call, lex: MarkerTables) -> Steps[None]:
    """Read the members of a call's object that is nearly JSON, as what it is mended to.

    The members are read from a window of their own, into which the mended text is fed.
    """
    mended = Window()
    members = _members(mended, call, lex, nested=False)

    def read(text: str) -> None:
        mended.feed(text)
        next(members, None)

    lexer = JsonLexer()
    lexer.scan("{")
    quote = lex.fmt.arguments.quote
    yield from repaired_json(src, read, call.repaired, lexer=lexer, quote=quote)
    if lexer.state is JsonState.BROKEN:
        raise MalformedJson(lexer.problem)
    if lexer.state is not JsonState.DONE:
        raise MalformedJson("the output ends in a call", kind="truncated")
    mended.closed = True
    next(members, None)


def _members(src: Window, call: Call, lex: MarkerTables, *, nested: bool) -> Steps[None]:
    """Read the members of a call's object; the opening brace is read."""
    name_is_key = lex.fmt.tools.name_is_key
    first = True
    while True:
        start = src.offset
        key = yield from json_key(src, first=first)
        if key is None:
            return
        first = False
        char = yield from json_space(src)
        field = lex.fields.get(key)
        if name_is_key and char == "{":
            if call.name:
                call.another()
            call.called(replace_surrogates(key), start)
            field = Field.ARGUMENTS
        if field in (Field.NAME, Field.FUNCTION) and char == '"' and not call.name:
            start = src.offset
            name = yield from json_string(src)
            call.called(replace_surrogates(name), start)
        elif field is Field.FUNCTION and char == "{" and not nested:
            src.pos += 1
            yield from _members(src, call, lex, nested=True)
        elif field is Field.ID and not call.id:
            call.id = yield from _scalar(src, call, key, char)
        elif field is Field.ARGUMENTS and not call.started and (char in '{"' or not lex.bare):
            yield from json_arguments(src, call)
        elif lex.bare and field is not Field.TYPE and not call.started:
            # Where no marker says that this is a call, an object with other keys is text.
            raise MalformedJson(f"{key!r} is no member of a call")
        else:
            yield from _skipped(src, call, key)
        call.announce()


def _scalar(src: Window, call: Call, key: str, char: str) -> Steps[str]:
    """Read an id: a string, or a number as it is spelled; "" for anything else."""
    if char == '"':
        text = yield from json_string(src)
        return replace_surrogates(text)
    if char not in "-0123456789":
        yield from _skipped(src, call, key)
        return ""
    digits: list[str] = []
    yield from json_value(src, digits.append)
    return "".join(digits)


def _skipped(src: Window, call: Call, key: str) -> Steps[None]:
    """Read a value that means nothing to us, and keep it to be told."""
    value: list[str] = []
    scanner = yield from json_value(src, value.append)
    if (said := "".join(value)) not in MEANS_NOTHING.get(key, ("null",)):
        call.beside.append(f"{', ' * bool(call.beside)}{key}: {said}")
    if scanner.state is JsonState.BROKEN:
        raise MalformedJson(scanner.problem)
    if scanner.state is not JsonState.DONE:
        raise MalformedJson("the output ends in a value", kind="truncated")
