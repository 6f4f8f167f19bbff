"""The end of a call's text, and the policies for it.

Readers of calls and arguments return an `Ending` and decide nothing else. `settle` applies the
policies for all families:

    WHOLE    the text of the call is complete; its arguments may still not be an object
    CUT      the input or the turn ends in the call: `truncated_call`
    BROKEN   the text cannot continue like this: missing closing brackets are added
             (`repaired_arguments`), otherwise the rest is not emitted (`malformed_arguments`)
    STRAY    only the name could prove the call, and it is not the name of a tool: the call is
             text (`unknown_tool`)

These are values and not exceptions, because truncated calls are normal in a stream. A reader has a
dozen places for them, and several readers on the stack must finish their work.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from deltaparse.partial import (
    Emit,
    JsonFault,
    JsonState,
    Markers,
    Steps,
    Window,
    json_space,
    json_value,
    marker_set,
    nowhere,
    peek_marker,
    until,
)

from ...wire.section_markers import Role
from ..checkpoint import Checkpoint
from ..content import content
from ..content_writer import ContentWriter, PrecededBy
from ..reading import Reading
from .call import Call

__all__ = ["CUT", "STRAY", "WHOLE", "End", "Ending", "is_text", "not_another_call", "settle"]


class End(Enum):
    """The end of a call's text."""

    WHOLE = auto()
    CUT = auto()
    BROKEN = auto()
    STRAY = auto()


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of the text of a call or of its arguments.

    Attributes:
        kind: the kind of the end.
        problem: the error in broken text.
        closers: the brackets that complete the arguments at the error, "" if brackets do not help.
        held: text of the arguments that was read but not emitted, because its meaning was unknown.
        brackets: the open JSON brackets in the object of the call, None if unknown.
    """

    kind: End
    problem: str = ""
    closers: str = ""
    held: str = ""
    brackets: str | None = None

    @classmethod
    def broken(
        cls, problem: str, closers: str = "", held: str = "", *, brackets: str | None = None
    ) -> Ending:
        """Return the ending of text that cannot continue."""
        return cls(End.BROKEN, problem, closers, held, brackets)

    @classmethod
    def of(cls, fault: JsonFault) -> Ending:
        """Return the ending of a call that contains invalid JSON."""
        return CUT if fault.cut else cls.broken(fault.problem)


OPENED_BY = {"}": "{", "]": "["}

WHOLE, CUT, STRAY = Ending(End.WHOLE), Ending(End.CUT), Ending(End.STRAY)


def settle(reading: Reading, call: Call, ending: Ending) -> Steps[bool]:
    """Apply the ending of a call, and return True if it was a call."""
    if ending.kind is End.STRAY:
        call.stray()
        return False
    # An exact call must be complete, so the draft has failed.
    if ending.kind is not End.WHOLE and reading.tables.exact:
        return False
    if ending.kind is End.BROKEN:
        return (yield from _broken(reading, call, ending))
    if ending.kind is End.CUT:
        return _cut(reading, call, ending)
    # The text is complete, but there is a value other than an object in place of the arguments.
    if call.is_call and call.started and not call.whole:
        text = "".join(call.not_emitted)
        _report_malformed(call, f"the arguments of {call.name!r} are not an object: {text!r}")
    return call.end()


def is_text(reading: Reading, calls: int) -> bool:
    """Return True if all calls after the first `calls` are text, so that their closer is too."""
    return reading.sink.call_is_text and reading.sink.calls == calls


def _cut(reading: Reading, call: Call, ending: Ending) -> bool:
    """End a call in which the output or the turn ends."""
    src, sink = reading.src, reading.sink
    # Held text is part of the arguments, so it is not content.
    if ending.held:
        detail = f"in the call of {call.name!r}, not emitted: {ending.held}"
        sink.issue("truncated_call", call.checkpoint.span, detail)
    start = src.offset
    # The end of the turn is left unread with the text after it.
    takes = src.closed and not _turn_ends(reading)
    rest = "".join(call.not_emitted) + (src.consume(len(src.text)) if takes else "")
    # The header contains the function's name, even if the call itself is truncated before it.
    if reading.recipient and not call.name:
        call.called(reading.recipient, call.checkpoint.start)
    if not call.is_call:
        if reading.tables.structural_only and sink.calls:
            call.fault = "truncated"
            call.attempted()
        # Without a name, only a truncated output suggests a call. Otherwise it is text.
        if sink.natural or reading.tables.structural_only:
            return False
        text = call.checkpoint.text()
        sink.issue("truncated_call", call.checkpoint.span, f"a call without a name: {text!r}")
        call.fault = "truncated"
        call.attempted()
        return True
    if not call.whole:
        call.fault = "truncated"
        detail = f"the output ends in the call of {call.name!r}; not emitted: {rest!r}"
        sink.issue("truncated_call", (start, src.offset), detail)
    # The arguments are complete, so the rest cannot change the call.
    elif rest:
        call.extra_members.append(rest)
    return call.end(cut=True)


def _turn_ends(reading: Reading) -> bool:
    """Return True if an end-of-turn marker follows, possibly after whitespace."""
    src, tables = reading.src, reading.tables
    text = src.unread.lstrip()
    marker = text[: max(tables.after_bad_call.match(text, final=True), 0)]
    return tables.role(marker) is Role.TURN_END


def _broken(reading: Reading, call: Call, ending: Ending) -> Steps[bool]:
    """End a call with broken text.

    Before its closer, missing brackets are added. Complete arguments are accepted. If not, the text
    up to the next marker belongs to the call, and is reported. Without markers the end is
    unknown, so it is content.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    if not call.is_call:
        # The next element may still be a call, so skip only this one.
        if call.listed and not tables.structural_only and ending.brackets is not None:
            # The brace of the call itself is open too.
            brackets = "{" + ending.brackets
            yield from _skip_element(src, tables.after_bad_call, brackets, nowhere)
        return False
    unmarked = tables.unmarked or tables.constrained
    start = src.offset
    problem = ending.problem + (f", not emitted: {ending.held};" if ending.held else "")
    # Brackets do not help if held text is missing before them.
    closers = "" if ending.held else ending.closers
    marker = yield from peek_marker(src, tables.after_bad_call)
    role = tables.role(marker) if marker else None
    # Without arguments there is no text to lose. Otherwise the policy decides about the brackets.
    repairs = not call.started or (closers and call.may_repair)
    if role is not None and (call.whole or (repairs and role is Role.TOOL_END)):
        if call.started and not call.whole:
            call.emit(closers)
            call.close()
        detail = f"the brackets of the call of {call.name!r} were closed: {problem}"
        sink.issue("repaired_arguments", (start, start), detail)
        return call.end()
    rest = call.not_emitted
    if call.listed and ending.brackets is not None:
        yield from _skip_element(src, tables.after_bad_call, "{" + ending.brackets, rest.append)
    # Markers end the broken call, so text up to the next one belongs to it.
    elif not unmarked:
        yield from until(src, tables.after_bad_call, rest.append)
    lost = "the text after it is content" if unmarked and not any(rest) else ""
    lost = lost or f"not emitted: {''.join(rest)!r}"
    detail = f"{problem} in the call of {call.name!r}; {lost}"
    # Complete arguments are not harmed by the broken text after them.
    if call.whole:
        sink.issue("repaired_arguments", call.checkpoint.span, detail)
    # The turn ended first, so the model had no room to complete the call.
    elif role is Role.TURN_END:
        call.fault = "truncated"
        sink.issue("truncated_call", (start, start), detail)
    else:
        _report_malformed(call, detail)
    # The call is incomplete, so its missing arguments are not replaced by an empty object.
    called = call.end(cut=True)
    # No marker ends the broken call, so text after it must be shown as content.
    if unmarked:
        call.checkpoint.commit()
        src.emits_prompt = False
        writer = ContentWriter(reading, PrecededBy.CALL if sink.calls else PrecededBy.START)
        yield from content(reading, tables.in_content, writer.emit)
        writer.end()
    return called


def _skip_element(src: Window, markers: Markers, brackets: str, emit: Emit) -> Steps[None]:
    """Read the rest of a broken list element in which `brackets` are open.

    A closing bracket of an outer pair closes the inner ones. All text to one of `markers` is read
    if the end of the element is unclear. It is unclear without a following comma, or if a string is
    not followed like a string, because then a quotation mark may be missing.
    """
    still_open, lists = list(brackets), brackets.count("[")
    ends = marker_set([*OPENED_BY, *OPENED_BY.values(), '"', *markers.literals])
    # The element ends with the last bracket that was opened in it.
    while still_open:
        found = yield from until(src, ends, emit)
        # Brackets in strings do not count, so the string is read as JSON and skipped.
        if found == '"':
            lexer = yield from json_value(src, emit)
            char = yield from json_space(src)
            if lexer.state is not JsonState.DONE or char not in ",:}]":
                break
            continue
        # The marker ends the call, even if brackets are open.
        if len(found) != 1:
            return
        emit(src.consume(src.pos + 1))
        opener = OPENED_BY.get(found)
        if opener is None:
            still_open.append(found)
            lists += found == "["
        # A surplus `]` is ignored, because the element itself is not a list.
        elif opener == "{" or lists:
            while (closed := still_open.pop()) != opener:
                lists -= closed == "["
            lists -= closed == "["
    if still_open or (yield from json_space(src)) != ",":
        yield from until(src, markers, emit)


def not_another_call(reading: Reading, checkpoint: Checkpoint) -> Steps[None]:
    """Emit text after a call that is not a call itself.

    Without markers, all text up to the next marker is emitted, because the text may contain a call.
    """
    writer = ContentWriter(reading, PrecededBy.CALL if reading.sink.calls else PrecededBy.START)
    writer.emit(checkpoint.text())
    checkpoint.commit()
    tables = reading.tables
    # The next reader would search for a call in this text.
    if tables.unproven or tables.constrained:
        reading.src.emits_prompt = False
        yield from content(reading, tables.in_content, writer.emit)
    writer.end()


def _report_malformed(call: Call, detail: str) -> None:
    """Report arguments that are not a JSON object and cannot be repaired."""
    call.fault = "broken"
    policy = call.sink.policies.malformed_arguments
    call.sink.issue("malformed_arguments", call.checkpoint.span, detail, policy)
