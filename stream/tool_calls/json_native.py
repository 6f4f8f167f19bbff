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

from deltaparse.partial import (
    JsonState,
    MalformedJson,
    Source,
    Steps,
    json_key,
    json_space,
    json_string,
    json_value,
)

from ..lexicon import Field, Lexicon
from ..region import Region
from ..turn import Turn
from .arguments import json_arguments
from .call import Call, nowhere
from .ending import broken, malformed, truncated

__all__ = ["json_calls"]


def json_calls(src: Source, turn: Turn, lex: Lexicon, region: Region) -> Steps[bool]:
    """Read the calls that begin here, if any; the opening marker is read already.

    `region` began with that marker. Returns whether there were calls; if not, nothing was
    handed out.
    """
    char = yield from json_space(src)
    in_array = char == "[" and not lex.bare
    if in_array:
        src.pos += 1
        char = yield from json_space(src)
        if char == "]":
            src.pos += 1
            turn.issue("no_calls", region.span, f"an empty list: {region.text()!r}")
            return True
    if char != "{":
        return False
    called = yield from _call_object(src, turn, lex, region)
    # Where no marker and no bracket would tell their end, calls are looked for one by one.
    more = called and not lex.bare
    while more:
        between = Region(src)
        more = yield from _another_call(src, turn, lex, between, in_array=in_array)
        between.settle()
    return called


def _another_call(
    src: Source, turn: Turn, lex: Lexicon, region: Region, *, in_array: bool
) -> Steps[bool]:
    """Read what follows a call: another, or the end of the array. Return whether more may come."""
    char = yield from json_space(src)
    if char == ",":
        src.pos += 1
        char = yield from json_space(src)
    if char == "{":
        if not (yield from _call_object(src, turn, lex, region)):
            turn.content(region.text())
        return True
    if in_array and char == "]":
        src.pos += 1
    elif char and char in "}]" and turn.policies.malformed_arguments == "repair":
        yield from _extra_brackets(src, turn)
    elif region.text().strip():
        turn.content(region.text())
    return False


def _call_object(src: Source, turn: Turn, lex: Lexicon, region: Region) -> Steps[bool]:
    """Read one object that may be a call; return whether it was one."""
    src.pos += 1
    call = Call(src, turn, lex, region)
    try:
        yield from _members(src, call, lex, nested=False)
    except MalformedJson as problem:
        if problem.kind == "truncated":
            return truncated(src, turn, lex, call)
        return (yield from broken(src, turn, lex, call, str(problem)))
    if call.known and call.started and not call.whole:
        malformed(turn, call, f"the arguments of {call.name!r} are no JSON object")
    return call.end()


def _members(src: Source, call: Call, lex: Lexicon, *, nested: bool) -> Steps[None]:
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
            call.called(key, start)
            field = Field.ARGUMENTS
        if field in (Field.NAME, Field.FUNCTION) and char == '"' and not call.name:
            start = src.offset
            call.called((yield from json_string(src)), start)
        elif field is Field.FUNCTION and char == "{" and not nested:
            src.pos += 1
            yield from _members(src, call, lex, nested=True)
        elif field is Field.ID and not call.id:
            call.id = yield from _scalar(src, char)
        elif field is Field.ARGUMENTS and not call.started and (char in '{"' or not lex.bare):
            yield from json_arguments(src, call, repair=call.may_repair)
        elif lex.bare and field is not Field.TYPE and not call.started:
            # Where no marker says that this is a call, an object with other keys is text.
            raise MalformedJson(f"{key!r} is no member of a call")
        else:
            yield from _skipped(src)
        call.announce()


def _scalar(src: Source, char: str) -> Steps[str]:
    """Read an id: a string, or a number as it is spelled; "" for anything else."""
    if char == '"':
        return (yield from json_string(src))
    if char not in "-0123456789":
        yield from _skipped(src)
        return ""
    digits: list[str] = []
    yield from json_value(src, digits.append)
    return "".join(digits)


def _skipped(src: Source) -> Steps[None]:
    """Read a value that means nothing to us."""
    scanner = yield from json_value(src, nowhere)
    if scanner.state is JsonState.BROKEN:
        raise MalformedJson(scanner.problem)
    if scanner.state is not JsonState.DONE:
        raise MalformedJson("the output ends in a value", kind="truncated")


def _extra_brackets(src: Source, turn: Turn) -> Steps[None]:
    """Read closing brackets that close nothing."""
    start = src.offset
    extra = []
    while (char := (yield from json_space(src))) and char in "}]":
        extra.append(char)
        src.pos += 1
    turn.issue("repaired_arguments", (start, src.offset), f"left out: {''.join(extra)!r}")
