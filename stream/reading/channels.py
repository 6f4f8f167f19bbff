"""A turn of several messages, each with a header that names its channel.

    turn    = [header message] body { end | start role header message body }

Where the turn begins, the prompt has written the first `start role`. What a message is, its
header says, and nothing else: one to a function is a call, on whatever channel; one on a channel
of reasoning is reasoning; the others are content, in the order in which they come. Markers in
the body that end no message are text, and so is text where a header should stand: models forget
it, and the answer must not be lost with it. What stands behind an end-of-turn marker is read all
the same, and reported. (Harmony, the format of gpt-oss, is written so.)
"""

from __future__ import annotations

from deltaparse.partial import (
    Emit,
    Steps,
    StringSink,
    consume_marker,
    json_space,
    peek_marker,
    whitespace,
)

from ..message.message import Attempt
from ..message.provenance import TextRole
from ..wire.channel_markers import READERS, HeaderPart
from ..wire.escapes import escapes_of
from ..wire.marker_tables import MarkerTables
from ..wire.section_markers import Role
from ..wire.spellings import MOST_SPACE, stripped
from .channel_header import Header, read_author, read_header
from .channel_text import channel_text, message_text
from .checkpoint import Checkpoint
from .constrained_json import text_of_calls
from .content import (
    may_become,
    report_cut,
    report_cut_marker,
    report_stray_end,
)
from .content_writer import ContentWriter, PrecededBy
from .reading import Reading
from .reasoning import report_unclosed
from .tool_calls.call import Call
from .tool_calls.code_calls import code_arguments
from .tool_calls.dispatch import tool_calls
from .tool_calls.ending import CUT, WHOLE, Ending, settle
from .tool_calls.given_names import NONE, Given, odd_names
from .tool_calls.json_arguments import json_arguments

__all__ = ["channel_turn"]


def channel_turn(reading: Reading) -> Steps[None]:
    """Read one turn, from behind `start role` to the end of the input."""
    src, marks = reading.src, reading.tables.channels
    before, ended = PrecededBy.START, False
    turn_ends = stripped(reading.fmt.turn.ends)
    while src.unread or not src.closed or before is PrecededBy.START:
        if before is PrecededBy.CALL and not ended and (yield from _usual_message(reading)):
            checkpoint = reading.checkpoint()
            before = yield from _message(reading, checkpoint, marks.role, ended=False)
            checkpoint.commit()
            continue
        checkpoint = reading.checkpoint()
        yield from whitespace(src, MOST_SPACE if before is PrecededBy.END else marks.longest)
        marker = yield from peek_marker(src, marks.outside)
        author: str | None = marks.role
        if marker and (marker in marks.ends or marker == marks.start + marks.role):
            checkpoint.commit()
            src.pos += len(marker)
            ended = marker in turn_ends or (ended and marker not in marks.continuing)
            if marker in turn_ends and reading.sink.trail is not None:
                reading.sink.trail.said(src.offset - len(marker), src.offset, TextRole.END)
            if marker != marks.start:
                after = (
                    PrecededBy.CALL if before is PrecededBy.CALL and not ended else PrecededBy.END
                )
                before = after if marker in marks.ends else PrecededBy.MARKER
                continue
            checkpoint = reading.checkpoint()
            author = yield from read_author(src, marks)
            before = PrecededBy.MARKER
        if (author is None and _report_cut_role(reading, checkpoint)) or (
            not marker and before is PrecededBy.CALL and report_cut_marker(reading, marks.outside)
        ):
            checkpoint.commit()
            break
        if marker and author is not None:
            before = yield from _message(reading, checkpoint, author, ended=ended)
        elif (
            src.unread or not src.closed or before is PrecededBy.START or checkpoint.text().strip()
        ):
            # White space at the end belongs to the marker before it, if there is one.
            called = reading.tables.constrained and not ended and before is not PrecededBy.CALL
            if called:
                called = yield from text_of_calls(reading, checkpoint, before, marks.in_text)
            else:
                marker = yield from _text_without_header(reading, before, checkpoint)
                if before is PrecededBy.START and marker.strip() in marks.message_ends:
                    became = "and what stands before it is content"
                    report_stray_end(reading, marker, src.offset, became)
            before = (
                PrecededBy.CALL
                if called
                else PrecededBy.END
                if before is PrecededBy.START
                else before
            )
        checkpoint.commit()


def _text_without_header(
    reading: Reading, before: PrecededBy, checkpoint: Checkpoint
) -> Steps[str]:
    """Read text between messages as content, and return the marker after it, unread."""
    src, marks = reading.src, reading.tables.channels
    writer = ContentWriter(reading, before)
    writer.emit(checkpoint.text())
    checkpoint.commit()
    marker = yield from channel_text(reading, marks.in_text, writer.emit)
    writer.end()
    if marks.parts.get(marker) is HeaderPart.MESSAGE:
        span = (src.offset, src.offset + len(marker))
        reading.sink.issue("odd_header", span, f"{marker!r} has no header, but text before it")
    return marker


def _report_cut_role(reading: Reading, checkpoint: Checkpoint) -> bool:
    """Report the beginning of a role, read since the checkpoint, if the output ends in it."""
    begun, role = checkpoint.text(), reading.tables.channels.role
    cut = bool(begun) and reading.src.ended and role.startswith(begun)
    if cut:
        report_cut(reading, checkpoint.start, begun)
    return cut


def _usual_message(reading: Reading) -> Steps[bool]:
    """Read the end of a call and the beginning of the next message, if both are as usual."""
    src, usual = reading.src, reading.tables.channels.usual
    while usual is not None:
        if found := usual.following.match(src.text, src.pos):
            src.pos = found.end()
            return True
        if not usual.following.may_follow(src):
            break
        yield
    return False


def _message(
    reading: Reading, checkpoint: Checkpoint, author: str, *, ended: bool
) -> Steps[PrecededBy]:
    """Read a message, whose header begins here; its end marker may stay unread.

    `checkpoint` began before the header; `author` is the role in it; `ended`: an end-of-turn
    marker stands before it.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    marks = tables.channels
    header = yield from read_header(src, marks, _odd_recipients(reading))
    sink.end_part()
    if not header.whole:
        return (yield from _no_message(reading, header, checkpoint))
    if header.odd:
        detail = f"read as well as may be: {checkpoint.text()!r}"
        sink.issue("odd_header", checkpoint.span, detail)
    if author and marks.role and author != marks.role:
        yield from _foreign(reading, checkpoint, "foreign_role", f"by {author!r}")
        return PrecededBy.END
    name = _function(reading, header.recipient)
    if name and tables.calls:
        if header.recipient not in (name, reading.fmt.function.namespace + name):
            detail = f"{header.recipient!r} is read as {name!r}, in a namespace of the model's own"
            sink.issue("odd_header", checkpoint.span, detail)
        if ended:
            span = (checkpoint.start, src.offset)
            sink.issue("text_after_end", span, "a call begins behind the end of the turn")
        if tables.in_message is not None:
            if not (yield from _own_calls(reading, tables.in_message, header, name, checkpoint)):
                return PrecededBy.MARKER
        else:
            yield from _call(reading, header, name, checkpoint)
        if not sink.call_is_text:
            return PrecededBy.CALL
        end = yield from peek_marker(src, marks.after_body)
        sink.content(src.consume(src.pos + len(end)) if end.strip() != marks.start else "")
        return PrecededBy.CALL if sink.calls else PrecededBy.END
    if not name and not _is_reader(reading, header.recipient):
        who = f"to {header.recipient!r}"
        yield from _foreign(reading, checkpoint, "foreign_recipient", who)
    elif (header.channel or header.recipient) in tables.fmt.channels.reasoning and not name:
        yield from _reasoning(reading, checkpoint)
    else:
        # Where there are no tools, a call is text, and its header is how it shows.
        writer = ContentWriter(reading, PrecededBy.END if ended else PrecededBy.START)
        writer.emit(checkpoint.text() if name else "")
        checkpoint.commit()
        if tables.constrained and not ended:
            body, start = reading.checkpoint(), PrecededBy.START
            if (yield from text_of_calls(reading, body, start, marks.after_body)):
                return PrecededBy.CALL
        else:
            yield from message_text(reading, writer.emit, "content")
            writer.end()
    return PrecededBy.END


def _odd_recipients(reading: Reading) -> Given:
    """The names of tools that stand in headers and are no one word."""
    rules = reading.sink.rules
    if not rules.tools:
        return NONE
    known = rules.odd_names.get(("recipient", ""))
    if known is None:
        ends, prefixes = reading.tables.channels.in_header, (reading.fmt.function.namespace, "")
        known = rules.odd_names["recipient", ""] = odd_names(
            rules.tools, ends, escapes_of(()), prefixes
        )
    return known


def _no_message(reading: Reading, header: Header, checkpoint: Checkpoint) -> Steps[PrecededBy]:
    """Decide what a header is that never came to the marker of a message.

    If it was cut off, it is a call if the name of a function is known, and reported if not.
    Otherwise what stands in it may have been the answer: if it has more words than the names in a
    header, it is content as written.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    text, ended = checkpoint.text(), src.closed and not src.unread
    is_call = header.addressed and tables.calls
    if ended and (is_call or not sink.natural):
        recipient, known = header.recipient, not text.endswith(header.recipient)
        if is_call and not known:
            # The beginning of a marker, in which the output may end, is no part of the name.
            end, _ = tables.channels.in_header.find(recipient, 0, final=False)
            recipient, known = recipient[:end], end < len(recipient)
        name = _function(reading, recipient) if is_call else ""
        if name and known:
            call = Call(reading, checkpoint)
            call.called(name, header.span[0])
            yield from settle(reading, call, CUT)
            return PrecededBy.CALL
        kind = "truncated_call" if is_call else "odd_header"
        sink.issue(kind, checkpoint.span, f"the output ends in a header: {text!r}")
        if is_call:
            sink.attempts.append(Attempt(name, checkpoint.span, "truncated"))
        return PrecededBy.END
    at_marker = src.text.startswith(tables.channels.ends, src.pos)
    is_text = header.has_text or header.addressed or not (ended or at_marker)
    said = "kept as content" if is_text else "left out"
    sink.issue("odd_header", checkpoint.span, f"a header without a message, {said}: {text!r}")
    if is_text:
        sink.content(text)
    return PrecededBy.MARKER


def _function(reading: Reading, recipient: str) -> str:
    """The function that a message to `recipient` calls, "" if it calls none of ours."""
    tools, fmt = reading.sink.tools, reading.fmt
    namespace = fmt.function.namespace
    if tools is not None and recipient in tools:
        return recipient
    if _is_reader(reading, recipient):
        return ""
    if recipient.startswith(namespace):
        return recipient.removeprefix(namespace)
    if reading.tables.in_message is not None or not reading.fmt.channels.channel:
        return recipient
    if tools is None:
        return recipient if recipient == fmt.code.function else ""
    # A tool under a namespace of the model's own: it can be no other.
    name = recipient.rpartition(".")[2]
    return name if name in tools else ""


def _is_reader(reading: Reading, recipient: str) -> bool:
    """Whether a message to `recipient` is for the reader, or to nobody: no function is called."""
    channels, marks = reading.fmt.channels, reading.tables.channels
    own = recipient in channels.readers or (
        not channels.channel and recipient in channels.reasoning
    )
    return not recipient or recipient == marks.role or recipient in READERS or own


def _own_calls(
    reading: Reading, tables: MarkerTables, header: Header, name: str, checkpoint: Checkpoint
) -> Steps[bool]:
    """Read the calls in the body of a message to a function, each in the format's own syntax.

    Returns False where none begins the body: that is text, and the header with it.
    """
    src = reading.src
    inner = Reading(src, reading.sink, tables, recipient=name)
    yield from json_space(src)
    marker = yield from peek_marker(src, tables.call_starts)
    if not marker and may_become(src, tables.call_starts):
        # Cut off: whom it is for says what is called.
        call = Call(reading, checkpoint)
        call.called(name, header.span[0])
        yield from settle(reading, call, CUT)
    elif not marker:
        reading.sink.content(checkpoint.text())
        return False
    while marker and (role := tables.role(marker)) in (Role.TOOL_START, Role.TOOL_END):
        if role is Role.TOOL_START:
            yield from tool_calls(inner, checkpoint)
        else:
            yield from consume_marker(src, marker, tables.trailing(marker))
            reading.sink.unclosed = None
            inner.closes(marker)
            checkpoint.commit()
        checkpoint = reading.checkpoint()
        yield from whitespace(src, tables.longest)
        marker = yield from peek_marker(src, tables.after_call)
    if not marker:
        report_cut_marker(inner, tables.after_call)
    checkpoint.commit()
    return True


def _reasoning(reading: Reading, checkpoint: Checkpoint) -> Steps[None]:
    """Read the body of reasoning, up to its end marker, which may end the turn."""
    sink, marks = reading.sink, reading.tables.channels
    sink.open_reasoning(checkpoint.text())
    checkpoint.commit()
    marker = yield from message_text(reading, sink.reasoning, "reasoning")
    if not marker:
        report_unclosed(reading)
    shown = "" if marker.strip() in (marks.start, *marks.parts) else marker
    if sink.trail is not None:
        sink.trail.behind = -len(shown)  # it is read later, with what follows it
    sink.close_reasoning(shown)
    if sink.trail is not None:
        sink.trail.behind = 0


def _foreign(reading: Reading, checkpoint: Checkpoint, kind: str, who: str) -> Steps[None]:
    """Read a message that is not the model's to its reader: it is reported, not emitted."""
    text = reading.sink.held = [checkpoint.text()]
    checkpoint.commit()
    yield from message_text(reading, text.append, "not emitted")
    span = checkpoint.span
    if reading.sink.trail is not None:
        reading.sink.trail.said(*span, TextRole.DROPPED)
    reading.sink.issue(kind, span, f"a message {who}, not emitted: {''.join(text)!r}")
    reading.sink.held = []


def _call(reading: Reading, header: Header, name: str, checkpoint: Checkpoint) -> Steps[None]:
    """Read the arguments in the body of a message to a function."""
    src, tools, code = reading.src, reading.sink.tools, reading.fmt.code
    ends = reading.tables.channels.after_body
    call = Call(reading, checkpoint)
    call.find_name(name, *header.span)
    call.called(name, header.span[0])
    src.emits_prompt = True
    body = reading.checkpoint()
    char = yield from json_space(src)
    marker = yield from peek_marker(src, ends)
    is_tool = tools is None or name in tools
    if marker:
        yield from settle(reading, call, WHOLE)
    elif not char:
        yield from settle(reading, call, CUT)
    elif is_tool and name == code.function and not code.start and char != "{":
        begun = body.text()
        body.commit()

        def read_code(emit: Emit, string: StringSink) -> Steps[str]:
            return message_text(reading, emit, "code", string)

        ending = yield from code_arguments(call, read_code, begun)
        yield from settle(reading, call, ending)
    else:
        body.commit()
        yield from _object(reading, call, char)
    src.emits_prompt = False
    body.commit()


def _object(reading: Reading, call: Call, char: str) -> Steps[None]:
    """Read arguments that should be an object, and brackets that stand behind it."""
    src, ends = reading.src, reading.tables.channels.after_body
    if char in '{"n':
        ending = yield from json_arguments(src, call)
    else:
        call.announce()
        ending = Ending.broken("no JSON object")
    yield from settle(reading, call, ending)
    start, extra = src.offset, []
    while call.may_repair:
        char = yield from json_space(src)
        if not char or char not in "}]" or (yield from peek_marker(src, ends)):
            break
        extra.append(char)
        src.pos += 1
    if extra:
        detail = f"left out: {''.join(extra)!r}"
        reading.sink.issue("repaired_arguments", (start, src.offset), detail)
