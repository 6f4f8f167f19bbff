"""How the text of a call ends, and what becomes of the call.

Every reader of a call, or of its arguments, returns an `Ending` and decides nothing. `settle`
applies the policies, for all families alike:

    WHOLE    the call has all of its text; its arguments may still be no object
    CUT      the input ends in it, or the turn: `truncated_call`
    BROKEN   its text cannot go on as it does: brackets are closed where that is all that is
             missing (`repaired_arguments`), else what follows is not emitted
             (`malformed_arguments`)
    STRAY    only its name could say that it is a call, and no tool is called so: it is text
             (`unknown_tool`)

Why values and not exceptions: a call that is cut off is the normal course of a stream, a reader
has a dozen places where it may be, and each passes through three or four readers that have
something to finish.
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
    """What ended the text of a call."""

    WHOLE = auto()
    CUT = auto()
    BROKEN = auto()
    STRAY = auto()


@dataclass(frozen=True, slots=True)
class Ending:
    """How the text of a call, or of its arguments, ended.

    Where it broke, `problem` says why, and `closers` are the brackets that would make the
    arguments an object there, "" if none would. `held` is text that was read of them and not
    emitted, for it was not known what it was. `brackets` are those of JSON that are open in the
    object of the call, None if that is not known.
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
        """The text cannot go on as it does."""
        return cls(End.BROKEN, problem, closers, held, brackets)

    @classmethod
    def of(cls, fault: JsonFault) -> Ending:
        """What JSON that is none makes of the call that it stands in."""
        return CUT if fault.cut else cls.broken(fault.problem)


OPENED_BY = {"}": "{", "]": "["}

WHOLE, CUT, STRAY = Ending(End.WHOLE), Ending(End.CUT), Ending(End.STRAY)


def settle(reading: Reading, call: Call, ending: Ending) -> Steps[bool]:
    """End a call as its reader found that it ends; return whether it was one."""
    if ending.kind is End.STRAY:
        call.stray()
        return False
    if ending.kind is not End.WHOLE and reading.tables.exact:
        return False
    if ending.kind is End.BROKEN:
        return (yield from _broken(reading, call, ending))
    if ending.kind is End.CUT:
        return _cut(reading, call, ending)
    if call.is_call and call.started and not call.whole:
        text = "".join(call.not_emitted)
        _report_malformed(call, f"the arguments of {call.name!r} are no JSON object: {text!r}")
    return call.end()


def is_text(reading: Reading, calls: int) -> bool:
    """Whether what ends all calls is text: each is, of those since there were so many."""
    return reading.sink.call_is_text and reading.sink.calls == calls


def _cut(reading: Reading, call: Call, ending: Ending) -> bool:
    """The output ends in a call, or the turn does."""
    src, sink = reading.src, reading.sink
    if ending.held:
        detail = f"in the call of {call.name!r}, not emitted: {ending.held}"
        sink.issue("truncated_call", call.checkpoint.span, detail)
    start = src.offset
    # What ends the turn is left unread, as is what follows it.
    takes = src.closed and not _turn_ends(reading)
    rest = "".join(call.not_emitted) + (src.consume(len(src.text)) if takes else "")
    if reading.recipient and not call.name:
        call.called(reading.recipient, call.checkpoint.start)
    if not call.is_call:
        if reading.tables.structural_only and sink.calls:
            call.fault = "truncated"
            call.attempted()
        if sink.natural or reading.tables.structural_only:
            return False
        text = call.checkpoint.text()
        sink.issue("truncated_call", call.checkpoint.span, f"no name: {text!r}")
        call.fault = "truncated"
        call.attempted()
        return True
    if not call.whole:
        call.fault = "truncated"
        detail = f"the output ends in the call of {call.name!r}; not emitted: {rest!r}"
        sink.issue("truncated_call", (start, src.offset), detail)
    elif rest:
        call.extra_members.append(rest)
    return call.end(cut=True)


def _turn_ends(reading: Reading) -> bool:
    """Whether what ends the turn stands here, behind white space at most."""
    src, tables = reading.src, reading.tables
    text = src.unread.lstrip()
    marker = text[: max(tables.after_bad_call.match(text, final=True), 0)]
    return tables.role(marker) is Role.TURN_END


def _broken(reading: Reading, call: Call, ending: Ending) -> Steps[bool]:
    """The text of a call breaks off here.

    Where its closer stands, brackets that are still open are closed; where the arguments were
    whole, nothing is missing that matters. Otherwise the text up to the next marker is the
    call's too, and is reported; but where calls stand in no markers, nothing would say where
    that ends, so that it is content.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    if not call.is_call:
        if call.listed and not tables.structural_only and ending.brackets is not None:
            brackets = "{" + ending.brackets
            yield from _skip_element(src, tables.after_bad_call, brackets, nowhere)
        return False
    unmarked = tables.unmarked or tables.constrained
    start = src.offset
    problem = ending.problem + (f", not emitted: {ending.held};" if ending.held else "")
    closers = "" if ending.held else ending.closers
    marker = yield from peek_marker(src, tables.after_bad_call)
    role = tables.role(marker) if marker else None
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
    elif not unmarked:
        yield from until(src, tables.after_bad_call, rest.append)
    lost = "what follows is content" if unmarked and not any(rest) else ""
    lost = lost or f"not emitted: {''.join(rest)!r}"
    detail = f"{problem} in the call of {call.name!r}; {lost}"
    if call.whole:
        sink.issue("repaired_arguments", call.checkpoint.span, detail)
    elif role is Role.TURN_END:
        call.fault = "truncated"
        sink.issue("truncated_call", (start, start), detail)
    else:
        _report_malformed(call, detail)
    called = call.end(cut=True)
    if unmarked:
        call.checkpoint.commit()
        src.emits_prompt = False
        writer = ContentWriter(reading, PrecededBy.CALL if sink.calls else PrecededBy.START)
        yield from content(reading, tables.in_content, writer.emit)
        writer.end()
    return called


def _skip_element(src: Window, markers: Markers, brackets: str, emit: Emit) -> Steps[None]:
    """Read the rest of an element of a list that is not JSON, in which `brackets` are open.

    A bracket that closes an outer one closes those in it. All up to one of `markers` is read if
    nothing tells where the element ends: no comma follows it, or a string in it is not followed as
    strings are, so that a quotation mark may be missing.
    """
    still_open, lists = list(brackets), brackets.count("[")
    ends = marker_set([*OPENED_BY, *OPENED_BY.values(), '"', *markers.literals])
    while still_open:
        found = yield from until(src, ends, emit)
        if found == '"':
            lexer = yield from json_value(src, emit)
            char = yield from json_space(src)
            if lexer.state is not JsonState.DONE or char not in ",:}]":
                break
            continue
        if len(found) != 1:
            return
        emit(src.consume(src.pos + 1))
        opener = OPENED_BY.get(found)
        if opener is None:
            still_open.append(found)
            lists += found == "["
        elif opener == "{" or lists:
            while (closed := still_open.pop()) != opener:
                lists -= closed == "["
            lists -= closed == "["
    if still_open or (yield from json_space(src)) != ",":
        yield from until(src, markers, emit)


def not_another_call(reading: Reading, checkpoint: Checkpoint) -> Steps[None]:
    """Emit what was read behind a call, and is none; where no marker ends calls, up to the next.

    A call may stand in what is text now, where another would be looked for.
    """
    writer = ContentWriter(reading, PrecededBy.CALL if reading.sink.calls else PrecededBy.START)
    writer.emit(checkpoint.text())
    checkpoint.commit()
    tables = reading.tables
    if tables.unproven or tables.constrained:
        reading.src.emits_prompt = False
        yield from content(reading, tables.in_content, writer.emit)
    writer.end()


def _report_malformed(call: Call, detail: str) -> None:
    """Report arguments that are no JSON object and cannot be repaired."""
    call.fault = "broken"
    policy = call.sink.policies.malformed_arguments
    call.sink.issue("malformed_arguments", call.checkpoint.span, detail, policy)
