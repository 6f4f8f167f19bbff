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
    at,
    json_key,
    json_space,
    json_string,
    json_value,
    until,
)

from ..lexicon import Field, Lexicon, Role
from ..region import Region
from ..turn import Turn
from .arguments import json_arguments
from .call import Call, nowhere

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
            return _truncated(src, turn, lex, call)
        return (yield from _broken(src, turn, lex, call, str(problem)))
    if call.known and call.started and not call.whole:
        _malformed(turn, call, f"the arguments of {call.name!r} are no JSON object")
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


def _broken(src: Source, turn: Turn, lex: Lexicon, call: Call, problem: str) -> Steps[bool]:
    """The JSON of a call breaks off here. Returns whether it was a call.

    Where its closer stands, brackets that are still open are closed; where the arguments were
    whole, nothing is missing that matters. Otherwise the text up to the next marker is the
    call's too, and is told in an issue.
    """
    if not call.known:
        return False
    start = src.offset
    marker = yield from at(src, lex.after_bad_call)
    role = lex.role(marker) if marker else None
    mends = not call.started or (call.closers and call.may_repair)
    if role is not None and (call.whole or (mends and role is Role.TOOL_END)):
        if call.started and not call.whole:
            call.emit(call.closers)
            call.whole = True
        detail = f"the brackets of the call of {call.name!r} were closed: {problem}"
        turn.issue("repaired_arguments", (start, start), detail)
        return call.end()
    rest: list[str] = []
    yield from until(src, lex.after_bad_call, rest.append)
    detail = f"{problem} in the call of {call.name!r}; not handed out: {''.join(rest)!r}"
    if role is Role.TURN_END:
        turn.issue("truncated_call", (start, start), detail)
    else:
        _malformed(turn, call, detail)
    call.whole = False
    return call.end(cut=True)


def _truncated(src: Source, turn: Turn, lex: Lexicon, call: Call) -> bool:
    """The output ends in a call. Returns whether it was one."""
    start = src.offset
    rest = src.take(len(src.text))
    if not call.known:
        if turn.natural or lex.bare:
            return False
        turn.issue("truncated_call", call.region.span, f"no name: {call.region.text()!r}")
        return True
    call.whole = call.whole and turn.natural
    if not call.whole:
        detail = f"the output ends in the call of {call.name!r}; not handed out: {rest!r}"
        turn.issue("truncated_call", (start, src.offset), detail)
    return call.end(cut=True)


def _malformed(turn: Turn, call: Call, detail: str) -> None:
    policy = turn.policies.malformed_arguments
    turn.issue("malformed_arguments", call.region.span, detail, policy)


def _extra_brackets(src: Source, turn: Turn) -> Steps[None]:
    """Read closing brackets that close nothing."""
    start = src.offset
    extra = []
    while (char := (yield from json_space(src))) and char in "}]":
        extra.append(char)
        src.pos += 1
    turn.issue("repaired_arguments", (start, src.offset), f"left out: {''.join(extra)!r}")
