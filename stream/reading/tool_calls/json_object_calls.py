"""Tool calls as JSON objects, including the name.

    calls     = "[" call ("," call)* "]" | call+
    call      = "{" member ("," member)* "}"
    member    = name-field ":" string | arguments-field ":" arguments | id-field ":" scalar
              | function-field ":" call | name ":" arguments | any-key ":" any-value
    arguments = object | string-that-holds-an-object | "null"

If a server constrains the model to such calls and the request names the function, its arguments may
also be alone (`named_function.py`).

In the form `name ":" arguments`, the name is the key. Keys are in any order. The arguments are
emitted verbatim, so that the client's text equals the model's. They wait for the name, and for the
id if the format has one, because the first delta of a call contains both.
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
from .fast_next_call import fast_next
from .given_names import NONE, Given, given_name
from .json_arguments import json_arguments, open_brackets
from .named_function import is_arguments

__all__ = ["beyond_separator", "json_calls"]

SEPARATOR = re.compile(rf"{GAP}(?:,{GAP})?+")
"""Text between two calls. The text after more whitespace does not belong to the calls."""

NO_MORE = re.compile(rf"{GAP}[^\s,{{}}\]]")
"""Text after the last call, if calls are separated only by whitespace or a comma."""

QUOTE = '"'
END_OF_NAME = marker_set({QUOTE})

NEAR = 1024
"""Maximum distance of the first closing bracket in a call that is read at once, in characters."""


class Ended(Exception):
    """The members of a repaired object ended before its text."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending)
        self.ending = ending


def json_calls(reading: Reading, checkpoint: Checkpoint, *, several: bool = False) -> Steps[bool]:
    """Read the calls at this place, after their opening marker.

    Args:
        reading: the turn.
        checkpoint: started at the marker.
        several: True if calls with their own markers may follow.

    Returns:
        True if there were calls. Otherwise no text was emitted.
    """
    src, tables = reading.src, reading.tables
    char = yield from json_space(src)
    begun = reading.sink.calls
    # Without markers a bracket is text, unless the format writes lists.
    in_array = char == "[" and (not tables.unmarked or tables.fmt.tools.array_wrapped)
    if in_array:
        # A marker that starts with a bracket is not a list.
        if (yield from peek_marker(src, tables.bracketed)):
            return False
        src.pos += 1
        char = yield from json_space(src)
        # Without markers, an empty list is ordinary text.
        if char == "]" and not tables.structural_only:
            src.pos += 1
            detail = f"the list of calls is empty: {checkpoint.text()!r}"
            reading.sink.issue("no_calls", checkpoint.span, detail)
            return True
    # The truncated object may have been a call.
    if not char:
        return (yield from settle(reading, Call(reading, checkpoint), CUT))
    if char != "{":
        return False
    called = yield from _call_object(reading, checkpoint, alone=not in_array, in_array=in_array)
    # Only heads that prove a call are read here. The loop below reads all others.
    while called and several and not in_array and (again := (yield from fast_next(reading))):
        called = yield from _call_object(reading, again)
        again.commit()
    if not called and in_array and (yield from _left_out(reading, checkpoint)):
        called = True
    # Without a marker or bracket at their end, calls are searched for one by one.
    more = called and (in_array or not tables.unmarked)
    plain = not tables.fmt.tools.separator.strip()
    # One match of a pattern is cheaper than a checkpoint, and most turns have a single call.
    while more and not (plain and NO_MORE.match(src.text, src.pos)):
        between = reading.checkpoint()
        more = yield from _another_call(reading, between, begun, in_array=in_array)
        between.commit()
    return called


def _left_out(reading: Reading, checkpoint: Checkpoint) -> Steps[bool]:
    """Skip a first list element that is not a call, if another object follows.

    This is done only for lists with a marker.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    # Only a complete object proves that the list goes on after it.
    if tables.structural_only or tables.exact or src.previous != "}":
        return False
    char, end = yield from beyond_separator(src, tables.fmt.tools.separator.strip())
    # Without a comma and another object, the brackets are not a list of calls.
    if char != "{" or "," not in src.text[src.pos : end]:
        return False
    detail = f"a list element is not a call: {checkpoint.text()!r}"
    sink.attempts.append(Attempt("", checkpoint.span, "not_a_call", "an object without a name"))
    sink.issue("malformed_arguments", checkpoint.span, detail, sink.policies.malformed_arguments)
    checkpoint.commit()
    return True


def _another_call(
    reading: Reading, checkpoint: Checkpoint, begun: int, *, in_array: bool
) -> Steps[bool]:
    """Read the text after a call: another call, or the end of the array.

    Other text stays unread for the reader of the turn. After calls that are text, the end is text
    too.

    Args:
        reading: the turn.
        checkpoint: started after the call.
        begun: the number of calls before the array.
        in_array: True in an array.

    Returns:
        True if more calls may follow.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    repairs = sink.policies.malformed_arguments == "repair" and not sink.call_is_text
    char, end = yield from beyond_separator(src, tables.fmt.tools.separator.strip())
    # Each call in the output needs its own special token.
    if char == "{" and not in_array and reading.needs_token:
        return False
    if char == "{":
        src.pos = end
        attempted = sink.attempted
        if not (yield from _call_object(reading, checkpoint, in_array=in_array)):
            if sink.attempted == attempted:
                detail = "the object after a call is not a call"
                sink.attempts.append(Attempt("", checkpoint.span, "not_a_call", detail))
            yield from not_another_call(reading, checkpoint)
            # Unproven calls must fill their part, so text ends them.
            return not (tables.unproven or tables.constrained)
        return True
    if in_array and char == "]":
        src.pos = end + 1
    # The output ends in a separator or in a truncated marker, which is not content.
    elif in_array and not char and src.unread.strip():
        report_cut(reading, src.offset, src.consume(len(src.text)))
    # Models may close more brackets than are open.
    elif char and char in "}]" and repairs:
        src.pos = end
        if (yield from _is_bracket(reading)):
            while (yield from _is_bracket(reading)):
                src.pos += 1
            detail = f"left out: {checkpoint.text().strip()!r}"
            sink.issue("repaired_arguments", checkpoint.span, detail)
        else:
            src.rewind_to(checkpoint.start)
    # The calls before are text by a policy, so their end is content too.
    if is_text(reading, begun):
        sink.content(checkpoint.text())
    return False


def _is_bracket(reading: Reading) -> Steps[bool]:
    """Skip whitespace, and return True before a closing bracket that does not start a marker."""
    src, markers = reading.src, reading.tables.after_call
    char = yield from json_space(src)
    if not char or char not in "}]":
        return False
    return not ((yield from peek_marker(src, markers)) or may_become(src, markers))


def beyond_separator(src: Window, own: str) -> Steps[tuple[str, int]]:
    """Return the character after a separator at this place and its index. Reads nothing.

    `own` is the separator of the format, without whitespace.
    """
    marker = marker_set({own} - {"", ","})
    while True:
        end = match_end(SEPARATOR, src.text, src.pos)
        behind = marker.match(src.text, end, final=src.closed) if marker.literals else -1
        if behind > end:
            end = match_end(SEPARATOR, src.text, behind)
        # The separator is incomplete, so the character after it is unknown.
        elif behind == end:
            yield
            continue
        if end < len(src.text) or src.closed:
            return src.text[end : end + 1], end
        yield


def _call_object(
    reading: Reading, checkpoint: Checkpoint, *, alone: bool = False, in_array: bool = False
) -> Steps[bool]:
    """Read one object that may be a call, and return True if it is a call.

    Args:
        reading: the turn.
        checkpoint: started before the object.
        alone: True if the object is not in a list and does not follow another call.
        in_array: True in a list.
    """
    src, sink = reading.src, reading.sink
    call = Call(reading, checkpoint)
    call.listed = in_array
    # The request names the function, so the object may be its arguments alone.
    if alone and sink.named and not sink.calls and (yield from is_arguments(src, sink)):
        call.called(sink.named, src.offset)
        return (yield from settle(reading, call, (yield from json_arguments(src, call))))
    # The pattern for a complete call is tried only if the call may be complete.
    near = src.text.find("}", src.pos, src.pos + NEAR) >= 0
    if near and _whole_call(reading, call):
        return call.end()
    seen: set[str] = set()
    ending = yield from _fast_head(reading, call, seen)
    if seen:
        while ending is WHOLE and call.whole and src.pos == len(src.text) and not src.closed:
            yield  # wait for the brace, because most calls end directly after their arguments
        if ending is WHOLE and call.whole and src.text.startswith("}", src.pos):
            src.pos += 1
            return call.end()
        if ending is WHOLE:
            ending = yield from _members(reading, call, seen, nested=False)
        return (yield from settle(reading, call, ending))
    src.pos += 1
    char = yield from json_space(src)
    # A key without quotes, or text before the first key, needs the repairing reader.
    if char and char not in '"}' and call.may_repair and not reading.tables.unmarked:
        ending = yield from _repaired_members(reading, call)
    else:
        ending = yield from _members(reading, call, seen, nested=False)
    called = yield from settle(reading, call, ending)
    if call.checkpoint is not checkpoint:
        call.checkpoint.commit()  # it belongs to another call in the same object
    return called


def _whole_call(reading: Reading, call: Call) -> bool:
    """Read a complete call in the usual form by one pattern, and return True if it matches.

    The result equals that of the other readers, in the same order. See `fast_patterns.py`.
    """
    src, head, overrun = reading.src, reading.tables.fast_head, call.overrun
    if head is None or _odd_names(reading):
        return False
    found = head.whole.match(src.text, src.pos)
    # A string in the arguments may lack its end, which only the slow reader can check.
    if not found or (overrun is not None and overrun.may_occur(src.text, *found.span(2))):
        return False
    start = src.base + found.start(1) - 1
    # The position is that of the name's end, because the recorder derives offsets from it.
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


def _fast_head(reading: Reading, call: Call, seen: set[str]) -> Steps[Ending]:
    """Read the brace, the name and the arguments of a call in their usual order.

    `seen` takes the keys that were read. It stays empty if `_members` must read the complete
    object. See `fast_patterns.py`.
    """
    src, tables = reading.src, reading.tables
    head, tools = tables.fast_head, tables.fmt.tools
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
    """Read the members of an object that is not quite JSON, after repairing its text.

    The repaired text is fed to a window of its own, from which the members are read.
    """
    window, recorder = Window(), reading.sink.recorder
    call.reads = window
    if recorder is not None:
        recorder.reads(reading.src, window)
    inner = Reading(window, reading.sink, reading.tables)
    members = _members(inner, call, set(), nested=False)

    # The repaired text arrives in a callback, which cannot yield, so it resumes `members` by hand.
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
            # The outermost bracket is that of the call itself.
            brackets = open_brackets(reading.src, lexer)
            return Ending.broken(lexer.problem, brackets=brackets and brackets[1:])
        # In a truncated object, the reader of the members knows the part that was read of the last
        # one.
        window.closed = True
        read("")
    except Ended as ended:
        # The offsets and brackets of the repaired window are not valid in the output.
        return replace(ended.ending, brackets=None)
    finally:
        # The recorder must continue with the output, whatever happens.
        if recorder is not None:
            recorder.reads(reading.src)
    return WHOLE


def _members(reading: Reading, call: Call, seen: set[str], *, nested: bool) -> Steps[Ending]:
    """Read the members of a call's object after its opening brace.

    `seen` has the meaningful keys of members that were already read.
    """
    src, tables = reading.src, reading.tables
    # After members that were read by the fast pattern, a comma must come first.
    first, read = not seen, json_string
    # Known names with escapes are compared as written, because models omit the escapes.
    if tables.fmt.tools.name_is_key and (given := _odd_names(reading)):
        read = partial(_name, given=given)
    while True:
        start, between = src.base + src.pos, call.between_calls()
        key = yield from json_key(src, first=first, overrun=call.overrun, read=read)
        char = (yield from json_space(src)) if isinstance(key, str) else ""
        # An empty key is not a name, so it does not start a call.
        cut_name = _cut_name(key) if tables.fmt.tools.name_is_key else ""
        named = isinstance(key, str) and key != "" and char in ("{", "")
        is_name = named or cut_name != ""
        if between is not None and is_name:
            call.start_next_call(between)
        # In this layout the next key starts another call, which ends the current one.
        elif between is not None:
            between.commit()
        if key is None:
            # The closing brace was read.
            return WHOLE
        if isinstance(key, JsonFault):
            if cut_name and not call.name:
                call.called(cut_name, start)
            else:
                call.not_emitted.append(key.read)
            ending = Ending.of(key)
            # A colon or a comma is missing.
            return replace(ending, brackets="") if key.read or not first else ending
        first = False
        field = tables.fields.get(key)
        # The first value of a repeated key was already used, so only a note remains.
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
        # The name is now known, and it is the only evidence for this call.
        if tables.unproven and call.started and call.is_unknown_unmarked:
            return STRAY
        call.announce()


def _cut_name(key: str | JsonFault | None) -> str:
    """Return the name of a function in a key at the end of a truncated output, or ""."""
    cut = isinstance(key, JsonFault) and key.cut and key.read
    return str(json.loads(cut)) if cut else ""


def _member(
    reading: Reading, call: Call, key: str, field: Field | None, char: str, *, nested: bool
) -> Steps[Ending]:
    """Read the value of a member. `char` is its first character."""
    src, by_look = reading.src, reading.tables.structural_only
    if field in (Field.NAME, Field.FUNCTION) and char == '"' and not call.name:
        start = src.offset
        name = yield from _name(src, call.overrun, _odd_names(reading))
        if isinstance(name, JsonFault):
            return Ending.of(name)
        call.called(name, start)
        call.note_key(key, Field.NAME)
        return WHOLE
    if field is Field.FUNCTION and char == "{" and not nested:
        call.note_key(key, Field.FUNCTION)
        src.pos += 1
        ending = yield from _members(reading, call, set(), nested=True)
        # The outer object is open too, so its brace is added.
        inner = ending.brackets
        return ending if inner is None else replace(ending, brackets="{" + inner)
    # The first id counts, and a second is reported as an unused member.
    if field is Field.ID and not call.id:
        return (yield from _id(reading, call, key, char, by_look=by_look))
    # Without a marker, only the usual types of values prove arguments.
    if field is Field.ARGUMENTS and not call.started and (char in '{"n' or not by_look):
        call.note_key(key, Field.ARGUMENTS)
        if reading.tables.unproven and call.is_unknown_unmarked:
            return STRAY
        return (yield from json_arguments(src, call))
    # After a name and arguments, other members cannot change the decision.
    proven = bool(call.name) and call.started and not reading.tables.exact
    known = (field is Field.TYPE and char == '"') or key in reading.fmt.tools.constants[::2]
    if by_look and not proven and not known:
        # If no marker proves a call, an object with unknown members is text.
        return Ending.broken(f"{key!r} is not a member of a call") if char else CUT
    return (yield from _skipped(reading, call, key))


def _name(src: Window, overrun: UnclosedString | None, given: Given) -> Steps[str | JsonFault]:
    """Read a name, possibly one of the given names without its JSON escapes."""
    # Models write such names without escapes, so a JSON reader would end them early.
    if given and (found := (yield from given_name(src, given, END_OF_NAME))):
        src.pos += len(QUOTE)
        return found[1]
    return (yield from json_string(src, overrun))


def _odd_names(reading: Reading) -> Given:
    """Return the names of tools that need escapes in JSON."""
    rules = reading.sink.rules
    if rules.tools is None:
        return NONE
    # Cached in the rules of the request, because every call needs the names.
    known = rules.odd_names.get(("json", ""))
    if known is None:
        odd = [name for name in rules.tools if encode_basestring(name) != f'"{name}"']
        odd.sort(key=len, reverse=True)
        known = rules.odd_names["json", ""] = tuple((QUOTE + name, name) for name in odd)
    return known


def _id(reading: Reading, call: Call, key: str, char: str, *, by_look: bool) -> Steps[Ending]:
    """Read an id: a string, or a number as written. Other values are not ids."""
    src = reading.src
    if char == '"':
        text = yield from json_string(src, call.overrun)
        if isinstance(text, JsonFault):
            return Ending.of(text)
        call.identify(text)
        return WHOLE
    if char not in "-0123456789":
        # Without a marker, a wrong id proves that the object is not a call.
        if by_look and not (call.name and call.started):
            return Ending.broken(f"{key!r} is not an id")
        return (yield from _skipped(reading, call, key))
    # A number is kept as written, because a float would lose digits of long ids.
    digits: list[str] = []
    yield from json_value(src, digits.append)
    call.identify("".join(digits))
    return WHOLE


def _skipped(reading: Reading, call: Call, key: str) -> Steps[Ending]:
    """Read a value without a meaning, and keep it for a report unless templates write it."""
    src, known = reading.src, reading.tables.meaningless_values.get(key, ("null",))
    # The sink refers to the text, so an exception while reading does not lose it.
    value = call.sink.held = list[str]()
    scanner = yield from json_value(src, value.append, overrun=call.overrun)
    call.sink.held = []
    written = "".join(value)
    is_known = scanner.state is JsonState.DONE and ("" in known or compact_json(written) in known)
    if not is_known:
        call.extra_members.append(f"{', ' * bool(call.extra_members)}{key}: {written}")
    if scanner.state is JsonState.BROKEN:
        return Ending.broken(scanner.problem, brackets=open_brackets(src, scanner))
    return WHOLE if scanner.state is JsonState.DONE else CUT
