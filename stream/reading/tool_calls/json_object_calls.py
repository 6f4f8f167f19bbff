"""Tool calls written as JSON objects, name and all.

    calls     = "[" call ("," call)* "]" | call+
    call      = "{" member ("," member)* "}"
    member    = name-field ":" string | arguments-field ":" arguments | id-field ":" scalar
              | function-field ":" call | name ":" arguments | any-key ":" any-value
    arguments = object | string-that-holds-an-object | "null"

Where a server constrained the model to write calls so, and the request names the function, its
arguments may also stand alone (`named_function.py`).

The last form of member but one is the layout in which the name is the key. Keys come in any
order. The arguments are emitted character for character, so that what a client joins together
is what the model wrote; they wait for the name, and for the id where the format has
one, because a call's first delta carries both.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from json.encoder import encode_basestring

from deltaparse.partial import (
    JsonFault,
    JsonLexer,
    JsonState,
    Steps,
    UnclosedString,
    Window,
    compact_json,
    json_key,
    json_space,
    json_string,
    json_value,
    marker_set,
    match_end,
    peek_marker,
    repaired_json,
)

from ...message.message import Attempt
from ...wire.call_fields import Field
from ...wire.spellings import GAP
from ..checkpoint import Checkpoint
from ..content import may_become, report_cut
from ..reading import Reading
from .call import Call
from .ending import CUT, STRAY, WHOLE, Ending, is_text, not_another_call, settle
from .fast_next_call import usual_next
from .given_names import NONE, Given, given_name
from .json_arguments import json_arguments, open_brackets
from .named_function import is_arguments

__all__ = ["beyond_separator", "json_calls"]

SEPARATOR = re.compile(rf"{GAP}(?:,{GAP})?+")
"""What stands between two calls; more white space, and it is none of theirs."""

NO_MORE = re.compile(rf"{GAP}[^\s,{{}}\]]")
"""What follows the last call where nothing but white space or a comma separates calls."""

QUOTE = '"'
END_OF_NAME = marker_set({QUOTE})

NEAR = 1024
"""Characters among which the first bracket that closes stands, in a call that is read at once."""


class Ended(Exception):
    """The members of a repaired object ended before the text did."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending)
        self.ending = ending


def json_calls(reading: Reading, checkpoint: Checkpoint, *, several: bool = False) -> Steps[bool]:
    """Read the calls that begin here, if any; the opening marker is read already.

    `checkpoint` began with that marker; `several`: others may follow, each behind its own. Returns
    whether there were calls; if not, nothing was emitted.
    """
    src, tables = reading.src, reading.tables
    char = yield from json_space(src)
    begun = reading.sink.calls
    in_array = char == "[" and (not tables.unmarked or tables.fmt.tools.array_wrapped)
    if in_array:
        if (yield from peek_marker(src, tables.bracketed)):
            return False
        src.pos += 1
        char = yield from json_space(src)
        if char == "]" and not tables.structural_only:
            src.pos += 1
            detail = f"an empty list: {checkpoint.text()!r}"
            reading.sink.issue("no_calls", checkpoint.span, detail)
            return True
    if not char:
        return (yield from settle(reading, Call(reading, checkpoint), CUT))
    if char != "{":
        return False
    called = yield from _call_object(reading, checkpoint, alone=not in_array, in_array=in_array)
    while called and several and not in_array and (again := (yield from usual_next(reading))):
        called = yield from _call_object(reading, again)
        again.commit()
    if not called and in_array and (yield from _left_out(reading, checkpoint)):
        called = True
    # Where no marker and no bracket would tell their end, calls are looked for one by one.
    more = called and (in_array or not tables.unmarked)
    plain = not tables.fmt.tools.separator.strip()
    while more and not (plain and NO_MORE.match(src.text, src.pos)):
        between = reading.checkpoint()
        more = yield from _another_call(reading, between, begun, in_array=in_array)
        between.commit()
    return called


def _left_out(reading: Reading, checkpoint: Checkpoint) -> Steps[bool]:
    """Leave out the first element of a marked list that is no call, if another object follows."""
    src, sink, tables = reading.src, reading.sink, reading.tables
    if tables.structural_only or tables.exact or src.previous != "}":
        return False
    char, end = yield from beyond_separator(src, tables.fmt.tools.separator.strip())
    if char != "{" or "," not in src.text[src.pos : end]:
        return False
    detail = f"an element of a list that is no call: {checkpoint.text()!r}"
    sink.attempts.append(Attempt("", checkpoint.span, "not_a_call", "an object without a name"))
    sink.issue("malformed_arguments", checkpoint.span, detail, sink.policies.malformed_arguments)
    checkpoint.commit()
    return True


def _another_call(
    reading: Reading, checkpoint: Checkpoint, begun: int, *, in_array: bool
) -> Steps[bool]:
    """Read what follows a call: another, or the end of the array. Return whether more may come.

    What is neither is left unread, so that it is read as what follows calls. The end of calls that
    are text is text: `begun` is how many calls there were before them.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    repairs = sink.policies.malformed_arguments == "repair" and not sink.call_is_text
    char, end = yield from beyond_separator(src, tables.fmt.tools.separator.strip())
    if char == "{" and not in_array and reading.needs_token:
        return False
    if char == "{":
        src.pos = end
        attempted = sink.attempted
        if not (yield from _call_object(reading, checkpoint, in_array=in_array)):
            if sink.attempted == attempted:
                detail = "an object behind a call that is none"
                sink.attempts.append(Attempt("", checkpoint.span, "not_a_call", detail))
            yield from not_another_call(reading, checkpoint)
            return not (tables.unproven or tables.constrained)
        return True
    if in_array and char == "]":
        src.pos = end + 1
    elif in_array and not char and src.unread.strip():
        report_cut(reading, src.offset, src.consume(len(src.text)))
    elif char and char in "}]" and repairs:
        src.pos = end
        if (yield from _is_bracket(reading)):
            while (yield from _is_bracket(reading)):
                src.pos += 1
            detail = f"left out: {checkpoint.text().strip()!r}"
            sink.issue("repaired_arguments", checkpoint.span, detail)
        else:
            src.rewind_to(checkpoint.start)
    if is_text(reading, begun):
        sink.content(checkpoint.text())
    return False


def _is_bracket(reading: Reading) -> Steps[bool]:
    """Skip white space; whether a closing bracket stands there that begins no marker."""
    src, markers = reading.src, reading.tables.after_call
    char = yield from json_space(src)
    if not char or char not in "}]":
        return False
    return not ((yield from peek_marker(src, markers)) or may_become(src, markers))


def beyond_separator(src: Window, own: str) -> Steps[tuple[str, int]]:
    """Return the character behind a separator, if one stands here, and its index; read nothing.

    `own` is what the format writes between two calls, beside white space.
    """
    marker = marker_set({own} - {"", ","})
    while True:
        end = match_end(SEPARATOR, src.text, src.pos)
        behind = marker.match(src.text, end, final=src.closed) if marker.literals else -1
        if behind > end:
            end = match_end(SEPARATOR, src.text, behind)
        elif behind == end:
            yield
            continue
        if end < len(src.text) or src.closed:
            return src.text[end : end + 1], end
        yield


def _call_object(
    reading: Reading, checkpoint: Checkpoint, *, alone: bool = False, in_array: bool = False
) -> Steps[bool]:
    """Read one object that may be a call; return whether it was one.

    `alone`: it stands in no list, and behind no other; `in_array`: it stands in a list.
    """
    src, sink = reading.src, reading.sink
    call = Call(reading, checkpoint)
    call.listed = in_array
    if alone and sink.named and not sink.calls and (yield from is_arguments(src, sink)):
        call.called(sink.named, src.offset)
        return (yield from settle(reading, call, (yield from json_arguments(src, call))))
    near = src.text.find("}", src.pos, src.pos + NEAR) >= 0
    if near and _whole_call(reading, call):
        return call.end()
    seen: set[str] = set()
    ending = yield from _usual_head(reading, call, seen)
    if seen:
        while ending is WHOLE and call.whole and src.pos == len(src.text) and not src.closed:
            yield  # for the brace, which is all that most calls have behind their arguments
        if ending is WHOLE and call.whole and src.text.startswith("}", src.pos):
            src.pos += 1
            return call.end()
        if ending is WHOLE:
            ending = yield from _members(reading, call, seen, nested=False)
        return (yield from settle(reading, call, ending))
    src.pos += 1
    char = yield from json_space(src)
    if char and char not in '"}' and call.may_repair and not reading.tables.unmarked:
        ending = yield from _repaired_members(reading, call)
    else:
        ending = yield from _members(reading, call, seen, nested=False)
    called = yield from settle(reading, call, ending)
    if call.checkpoint is not checkpoint:
        call.checkpoint.commit()  # that of another call in the same object
    return called


def _whole_call(reading: Reading, call: Call) -> bool:
    """Read a call that is all there and looks as calls usually do; return whether one stands here.

    See `usual_head.py`. What is done is what the other readers do, in the same order.
    """
    src, head, overrun = reading.src, reading.tables.usual_head, call.overrun
    if head is None or _odd_names(reading):
        return False
    found = head.whole.match(src.text, src.pos)
    if not found or (overrun is not None and overrun.may_stand(src.text, *found.span(2))):
        return False
    start = src.base + found.start(1) - 1
    src.pos = found.end(1) + 1
    call.called(found[1], start)
    call.announce()
    src.pos = found.start(2)
    call.started = True
    call.announce()
    if call.traces:
        call.begin_arguments()
    emit = call.emit
    emit(src.consume(found.end(2)))
    if call.traces:
        call.end_arguments()
    call.close()
    call.announce()
    src.pos = found.end()
    return True


def _usual_head(reading: Reading, call: Call, seen: set[str]) -> Steps[Ending]:
    """Read the brace, the name and the arguments of a call where they stand as they usually do.

    `seen` takes the keys of what was read: none where it is for `_members` to read all of it, the
    brace too. See `usual_head.py`.
    """
    src, tables = reading.src, reading.tables
    head, tools = tables.usual_head, tables.fmt.tools
    if head is None or _odd_names(reading):
        return WHOLE
    while not (named := head.name.match(src.text, src.pos)):
        if not head.name.may_follow(src):
            return WHOLE
        yield
    start = src.base + named.start(1) - 1
    src.pos = named.end()
    seen.add(tools.name_field)
    call.called(named[1], start)
    call.announce()
    while not (behind := head.arguments.match(src.text, src.pos)):
        if not head.arguments.may_follow(src):
            return WHOLE
        yield
    src.pos = behind.end()
    seen.add(tools.arguments_field)
    ending = yield from json_arguments(src, call)
    if ending is WHOLE:
        call.announce()
    return ending


def _repaired_members(reading: Reading, call: Call) -> Steps[Ending]:
    """Read the members of a call's object that is nearly JSON, as what it is repaired to.

    The members are read from a window of their own, into which the repaired text is fed.
    """
    window, trail = Window(), reading.sink.trail
    call.reads = window
    if trail is not None:
        trail.reads(reading.src, window)
    inner = Reading(window, reading.sink, reading.tables)
    members = _members(inner, call, set(), nested=False)

    def read(text: str) -> None:
        window.feed(text)
        try:
            next(members)
        except StopIteration as returned:
            if returned.value is not None and returned.value is not WHOLE:
                raise Ended(returned.value) from None

    lexer = JsonLexer()
    lexer.scan("{")
    quote, overrun = reading.fmt.arguments.quote, call.overrun
    try:
        yield from repaired_json(
            reading.src, read, call.repaired, lexer=lexer, quote=quote, overrun=overrun
        )
        if lexer.state is JsonState.BROKEN:
            brackets = open_brackets(reading.src, lexer)
            return Ending.broken(lexer.problem, brackets=brackets and brackets[1:])
        # Where the object was cut, its members tell what was read of the last of them.
        window.closed = True
        read("")
    except Ended as ended:
        return replace(ended.ending, brackets=None)
    finally:
        if trail is not None:
            trail.reads(reading.src)
    return WHOLE


def _members(reading: Reading, call: Call, seen: set[str], *, nested: bool) -> Steps[Ending]:
    """Read the members of a call's object; the opening brace is read.

    So are those that were `seen`: their keys, as far as they mean something.
    """
    src, tables = reading.src, reading.tables
    first, read = not seen, json_string
    if tables.fmt.tools.name_is_key and (given := _odd_names(reading)):
        read = partial(_name, given=given)
    while True:
        start, between = src.base + src.pos, call.between_calls()
        key = yield from json_key(src, first=first, overrun=call.overrun, read=read)
        char = (yield from json_space(src)) if isinstance(key, str) else ""
        # What has no name is no call.
        cut_name = _cut_name(key) if tables.fmt.tools.name_is_key else ""
        named = isinstance(key, str) and key != "" and char in ("{", "")
        is_name = named or cut_name != ""
        if between is not None and is_name:
            call.start_next_call(between)
        elif between is not None:
            between.commit()
        if key is None:
            return WHOLE
        if isinstance(key, JsonFault):
            if cut_name and not call.name:
                call.called(cut_name, start)
            else:
                call.not_emitted.append(key.read)
            ending = Ending.of(key)
            # There is no colon, or no comma.
            return replace(ending, brackets="") if key.read or not first else ending
        first = False
        field = tables.fields.get(key)
        if key in seen:
            call.repeated(key)
        elif field is not None:
            seen.add(key)
        if tables.fmt.tools.name_is_key and is_name:
            call.called(key, start)
            field = Field.ARGUMENTS
        ending = yield from _member(reading, call, key, field, char, nested=nested)
        if ending is not WHOLE:
            return ending
        if tables.unproven and call.started and call.is_unknown_unmarked:
            return STRAY
        call.announce()


def _cut_name(key: str | JsonFault | None) -> str:
    """The name of a function in the place of a key behind which the output ends, or ""."""
    cut = isinstance(key, JsonFault) and key.cut and key.read
    return str(json.loads(cut)) if cut else ""


def _member(
    reading: Reading, call: Call, key: str, field: Field | None, char: str, *, nested: bool
) -> Steps[Ending]:
    """Read the value of a member, which begins with `char`."""
    src, by_look = reading.src, reading.tables.structural_only
    if field in (Field.NAME, Field.FUNCTION) and char == '"' and not call.name:
        start = src.offset
        name = yield from _name(src, call.overrun, _odd_names(reading))
        if isinstance(name, JsonFault):
            return Ending.of(name)
        call.called(name, start)
        call.stands_under(key, Field.NAME)
        return WHOLE
    if field is Field.FUNCTION and char == "{" and not nested:
        call.stands_under(key, Field.FUNCTION)
        src.pos += 1
        ending = yield from _members(reading, call, set(), nested=True)
        inner = ending.brackets
        return ending if inner is None else replace(ending, brackets="{" + inner)
    if field is Field.ID and not call.id:
        return (yield from _id(reading, call, key, char, by_look=by_look))
    if field is Field.ARGUMENTS and not call.started and (char in '{"n' or not by_look):
        call.stands_under(key, Field.ARGUMENTS)
        if reading.tables.unproven and call.is_unknown_unmarked:
            return STRAY
        return (yield from json_arguments(src, call))
    proven = bool(call.name) and call.started and not reading.tables.exact
    known = (field is Field.TYPE and char == '"') or key in reading.fmt.tools.constants[::2]
    if by_look and not proven and not known:
        # Where no marker says that this is a call, an object with other members is text.
        return Ending.broken(f"{key!r} is no member of a call") if char else CUT
    return (yield from _skipped(reading, call, key))


def _name(src: Window, overrun: UnclosedString | None, given: Given) -> Steps[str | JsonFault]:
    """Read a name that may be one of the given ones, without what JSON needs in it."""
    if given and (found := (yield from given_name(src, given, END_OF_NAME))):
        src.pos += len(QUOTE)
        return found[1]
    return (yield from json_string(src, overrun))


def _odd_names(reading: Reading) -> Given:
    """The names of tools that JSON would have to spell otherwise than they are."""
    rules = reading.sink.rules
    if rules.tools is None:
        return NONE
    known = rules.odd_names.get(("json", ""))
    if known is None:
        odd = [name for name in rules.tools if encode_basestring(name) != f'"{name}"']
        odd.sort(key=len, reverse=True)
        known = rules.odd_names["json", ""] = tuple((QUOTE + name, name) for name in odd)
    return known


def _id(reading: Reading, call: Call, key: str, char: str, *, by_look: bool) -> Steps[Ending]:
    """Read an id: a string, or a number as it is spelled; anything else is none."""
    src = reading.src
    if char == '"':
        text = yield from json_string(src, call.overrun)
        if isinstance(text, JsonFault):
            return Ending.of(text)
        call.identify(text)
        return WHOLE
    if char not in "-0123456789":
        if by_look and not (call.name and call.started):
            return Ending.broken(f"{key!r} is no id")
        return (yield from _skipped(reading, call, key))
    digits: list[str] = []
    yield from json_value(src, digits.append)
    call.identify("".join(digits))
    return WHOLE


def _skipped(reading: Reading, call: Call, key: str) -> Steps[Ending]:
    """Read a value that means nothing to us, and keep it to be reported, if templates have none."""
    src, known = reading.src, reading.tables.says_nothing.get(key, ("null",))
    value = call.sink.held = list[str]()
    scanner = yield from json_value(src, value.append, overrun=call.overrun)
    call.sink.held = []
    said = "".join(value)
    is_known = scanner.state is JsonState.DONE and ("" in known or compact_json(said) in known)
    if not is_known:
        call.extra_members.append(f"{', ' * bool(call.extra_members)}{key}: {said}")
    if scanner.state is JsonState.BROKEN:
        return Ending.broken(scanner.problem, brackets=open_brackets(src, scanner))
    return WHOLE if scanner.state is JsonState.DONE else CUT
