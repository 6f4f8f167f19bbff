"""A turn of several messages, each with a header that names its channel.

    turn    = [header message] body { end | start role header message body }

The prompt contains the first `start role`. Only the header determines the kind of a message:

- A message to a function is a call, on any channel.
- A message on a reasoning channel is reasoning.
- All other messages are content, in order.

Text instead of a header is content, because models forget headers and the answer must not be lost.
Markers that do not end a message are part of its text. Messages after an end-of-turn marker are
read too, with an issue. (Harmony, the format of gpt-oss, is written this way.)
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
    """Read one turn, from the end of `start role` to the end of the input."""
    src, marks = reading.src, reading.tables.channels
    before, ended = PrecededBy.START, False
    turn_ends = stripped(reading.fmt.turn.ends)
    while src.unread or not src.closed or before is PrecededBy.START:
        # One pattern reads all markers between two calls, because the readers below cost more.
        if before is PrecededBy.CALL and not ended and (yield from _fast_message(reading)):
            checkpoint = reading.checkpoint()
            before = yield from _message(reading, checkpoint, marks.role, ended=False)
            checkpoint.commit()
            continue
        checkpoint = reading.checkpoint()
        # The text after an end-of-turn marker decides about it, so more whitespace is buffered.
        yield from whitespace(src, MOST_SPACE if before is PrecededBy.END else marks.longest)
        marker = yield from peek_marker(src, marks.outside)
        author: str | None = marks.role
        # These markers do not start a header, except after a role.
        if marker and (marker in marks.ends or marker == marks.start + marks.role):
            checkpoint.commit()
            src.pos += len(marker)
            # In some formats a new header continues the turn after its end marker.
            ended = marker in turn_ends or (ended and marker not in marks.continuing)
            if marker in turn_ends and reading.sink.recorder is not None:
                reading.sink.recorder.set_role(src.offset - len(marker), src.offset, TextRole.END)
            if marker != marks.start:
                after = (
                    PrecededBy.CALL if before is PrecededBy.CALL and not ended else PrecededBy.END
                )
                before = after if marker in marks.ends else PrecededBy.MARKER
                continue
            # The role is arbitrary text, so it is a header only if a marker follows.
            checkpoint = reading.checkpoint()
            author = yield from read_author(src, marks)
            before = PrecededBy.MARKER
        # A truncated role or marker cannot be told from text, so it is reported and not emitted.
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
            # Whitespace at the end belongs to the marker before it, if there is one.
            called = reading.tables.constrained and not ended and before is not PrecededBy.CALL
            # The request allows JSON calls in place of text, but only before the first call.
            if called:
                called = yield from text_of_calls(reading, checkpoint, before, marks.in_text)
            else:
                marker = yield from _text_without_header(reading, before, checkpoint)
                # The prompt may have opened the message that this marker ends.
                if before is PrecededBy.START and marker.strip() in marks.message_ends:
                    became = "and the text before it is content"
                    report_stray_end(reading, marker, src.offset, became)
            # Once text was read, the turn is not at its start.
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
        reading.sink.issue("odd_header", span, f"{marker!r} follows text instead of a header")
    return marker


def _report_cut_role(reading: Reading, checkpoint: Checkpoint) -> bool:
    """Report a truncated role after the checkpoint, and return False for any other text."""
    begun, role = checkpoint.text(), reading.tables.channels.role
    cut = bool(begun) and reading.src.ended and role.startswith(begun)
    if cut:
        report_cut(reading, checkpoint.start, begun)
    return cut


def _fast_message(reading: Reading) -> Steps[bool]:
    """Read the end of a call and the start of the next message by one pattern, if it matches."""
    src, usual = reading.src, reading.tables.channels.usual
    while usual is not None:
        if found := usual.following.match(src.text, src.pos):
            src.pos = found.end()
            return True
        # The wait ends as soon as the text cannot match any more.
        if not usual.following.may_follow(src):
            break
        yield
    return False


def _message(
    reading: Reading, checkpoint: Checkpoint, author: str, *, ended: bool
) -> Steps[PrecededBy]:
    """Read a message from the start of its header. Its end marker may stay unread.

    Args:
        reading: the turn.
        checkpoint: started before the header.
        author: the role in the header.
        ended: True after an end-of-turn marker.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    marks = tables.channels
    header = yield from read_header(src, marks, _odd_recipients(reading))
    # Messages are separate parts, even if two of the same kind follow each other.
    sink.end_part()
    if not header.whole:
        return (yield from _no_message(reading, header, checkpoint))
    if header.odd:
        detail = f"the header has extra words or repeated parts: {checkpoint.text()!r}"
        sink.issue("odd_header", checkpoint.span, detail)
    # Without a role in the format, a different role cannot be recognized.
    if author and marks.role and author != marks.role:
        yield from _foreign(reading, checkpoint, "foreign_role", f"by {author!r}")
        return PrecededBy.END
    name = _function(reading, header.recipient)
    if name and tables.calls:
        if header.recipient not in (name, reading.fmt.function.namespace + name):
            detail = f"{header.recipient!r} has an unknown namespace; it is read as {name!r}"
            sink.issue("odd_header", checkpoint.span, detail)
        if ended:
            span = (checkpoint.start, src.offset)
            sink.issue("text_after_end", span, "a call follows the end of the turn")
        if tables.in_message is not None:
            if not (yield from _own_calls(reading, tables.in_message, header, name, checkpoint)):
                return PrecededBy.MARKER
        else:
            yield from _call(reading, header, name, checkpoint)
        # A policy made the call content, so its end marker is content too.
        if not sink.call_is_text:
            return PrecededBy.CALL
        end = yield from peek_marker(src, marks.after_body)
        sink.content(src.consume(src.pos + len(end)) if end.strip() != marks.start else "")
        return PrecededBy.CALL if sink.calls else PrecededBy.END
    # A message to another recipient is not for the user, so it is not content.
    if not name and not _is_reader(reading, header.recipient):
        who = f"to {header.recipient!r}"
        yield from _foreign(reading, checkpoint, "foreign_recipient", who)
    elif (header.channel or header.recipient) in tables.fmt.channels.reasoning and not name:
        yield from _reasoning(reading, checkpoint)
    else:
        # Without tools, a call is content, and its header is content to show whom it was for.
        writer = ContentWriter(reading, PrecededBy.END if ended else PrecededBy.START)
        writer.emit(checkpoint.text() if name else "")
        checkpoint.commit()
        # The request allows JSON calls in place of content, but not after the end of the turn.
        if tables.constrained and not ended:
            body, start = reading.checkpoint(), PrecededBy.START
            if (yield from text_of_calls(reading, body, start, marks.after_body)):
                return PrecededBy.CALL
        else:
            yield from message_text(reading, writer.emit, "content")
            writer.end()
    return PrecededBy.END


def _odd_recipients(reading: Reading) -> Given:
    """Return the names of tools that are not a single word in a header."""
    rules = reading.sink.rules
    if not rules.tools:
        return NONE
    # Cached in the rules of the request, because every header needs the names.
    known = rules.odd_names.get(("recipient", ""))
    if known is None:
        ends, prefixes = reading.tables.channels.in_header, (reading.fmt.function.namespace, "")
        known = rules.odd_names["recipient", ""] = odd_names(
            rules.tools, ends, escapes_of(()), prefixes
        )
    return known


def _no_message(reading: Reading, header: Header, checkpoint: Checkpoint) -> Steps[PrecededBy]:
    """Decide the kind of a header without a following message.

    If it is truncated, it is a call if it contains the complete name of a function. Otherwise it
    is reported. A complete header may have been the answer: with more words than the names of a
    header, it is content.
    """
    src, sink, tables = reading.src, reading.sink, reading.tables
    text, ended = checkpoint.text(), src.closed and not src.unread
    is_call = header.addressed and tables.calls
    # At a natural end, only an unfinished call is incomplete. Other headers are judged below.
    if ended and (is_call or not sink.natural):
        recipient, known = header.recipient, not text.endswith(header.recipient)
        if is_call and not known:
            # A partial marker at the end of the output does not belong to the name.
            end, _ = tables.channels.in_header.find(recipient, 0, final=False)
            recipient, known = recipient[:end], end < len(recipient)
        name = _function(reading, recipient) if is_call else ""
        # Only a marker after the name proves that the name is complete.
        if name and known:
            call = Call(reading, checkpoint)
            call.called(name, header.span[0])
            yield from settle(reading, call, CUT)
            return PrecededBy.CALL
        kind = "truncated_call" if is_call else "odd_header"
        sink.issue(kind, checkpoint.span, f"the output ends in a header: {text!r}")
        # Every call that began is recorded, even if its name is incomplete.
        if is_call:
            sink.attempts.append(Attempt(name, checkpoint.span, "truncated"))
        return PrecededBy.END
    at_marker = src.text.startswith(tables.channels.ends, src.pos)
    is_text = header.has_text or header.addressed or not (ended or at_marker)
    fate = "kept as content" if is_text else "left out"
    sink.issue("odd_header", checkpoint.span, f"no message follows a header, {fate}: {text!r}")
    if is_text:
        sink.content(text)
    return PrecededBy.MARKER


def _function(reading: Reading, recipient: str) -> str:
    """Return the function that a message to `recipient` calls, "" if it does not call one."""
    tools, fmt = reading.sink.tools, reading.fmt
    namespace = fmt.function.namespace
    # Known tools take precedence, even if a tool is named like a reader.
    if tools is not None and recipient in tools:
        return recipient
    if _is_reader(reading, recipient):
        return ""
    if recipient.startswith(namespace):
        return recipient.removeprefix(namespace)
    # In these formats a recipient is a plain function name.
    if reading.tables.in_message is not None or not reading.fmt.channels.channel:
        return recipient
    # Without a list of tools, only the code function can be recognized by its name.
    if tools is None:
        return recipient if recipient == fmt.code.function else ""
    # The model invented the namespace, because only this tool has the name.
    name = recipient.rpartition(".")[2]
    return name if name in tools else ""


def _is_reader(reading: Reading, recipient: str) -> bool:
    """Return True if a message to `recipient` is for the user, so that it is not a call."""
    channels, marks = reading.fmt.channels, reading.tables.channels
    own = recipient in channels.readers or (
        not channels.channel and recipient in channels.reasoning
    )
    return not recipient or recipient == marks.role or recipient in READERS or own


def _own_calls(
    reading: Reading, tables: MarkerTables, header: Header, name: str, checkpoint: Checkpoint
) -> Steps[bool]:
    """Read the calls in the body of a message to a function, in the format's own call syntax.

    Returns False if the body does not start with a call. Header and body are text then.
    """
    src = reading.src
    inner = Reading(src, reading.sink, tables, recipient=name)
    yield from json_space(src)
    marker = yield from peek_marker(src, tables.call_starts)
    if not marker and may_become(src, tables.call_starts):
        # The output is truncated before the call, but the header contains the function's name.
        call = Call(reading, checkpoint)
        call.called(name, header.span[0])
        yield from settle(reading, call, CUT)
    elif not marker:
        # Nothing but the header suggested a call, so the header is shown as text.
        reading.sink.content(checkpoint.text())
        return False
    while marker and (role := tables.role(marker)) in (Role.TOOL_START, Role.TOOL_END):
        if role is Role.TOOL_START:
            yield from tool_calls(inner, checkpoint)
        else:
            yield from consume_marker(src, marker, tables.trailing(marker))
            # The closer was found, so the call is not reported as unclosed.
            reading.sink.unclosed = None
            inner.closes(marker)
            checkpoint.commit()
        # Whitespace after a call belongs to the next marker, so it is buffered with it.
        checkpoint = reading.checkpoint()
        yield from whitespace(src, tables.longest)
        marker = yield from peek_marker(src, tables.after_call)
    if not marker:
        report_cut_marker(inner, tables.after_call)
    checkpoint.commit()
    return True


def _reasoning(reading: Reading, checkpoint: Checkpoint) -> Steps[None]:
    """Read the body of reasoning up to its end marker or the end of the turn."""
    sink, marks = reading.sink, reading.tables.channels
    sink.open_reasoning(checkpoint.text())
    checkpoint.commit()
    marker = yield from message_text(reading, sink.reasoning, "reasoning")
    # The input ended before the marker.
    if not marker:
        report_unclosed(reading)
    # A header's marker starts the next message, so it is not shown as the end of reasoning.
    shown = "" if marker.strip() in (marks.start, *marks.parts) else marker
    if sink.recorder is not None:
        sink.recorder.behind = -len(shown)  # the marker is read later, with the text after it
    sink.close_reasoning(shown)
    if sink.recorder is not None:
        sink.recorder.behind = 0


def _foreign(reading: Reading, checkpoint: Checkpoint, kind: str, who: str) -> Steps[None]:
    """Report a message for another recipient or by another role, without emitting it."""
    # The sink holds the text, so an exception while reading does not lose it.
    text = reading.sink.held = [checkpoint.text()]
    checkpoint.commit()
    yield from message_text(reading, text.append, "not emitted")
    span = checkpoint.span
    if reading.sink.recorder is not None:
        reading.sink.recorder.set_role(*span, TextRole.DROPPED)
    reading.sink.issue(kind, span, f"a message {who}, not emitted: {''.join(text)!r}")
    reading.sink.held = []


def _call(reading: Reading, header: Header, name: str, checkpoint: Checkpoint) -> Steps[None]:
    """Read the arguments in the body of a message to a function."""
    src, tools, code = reading.src, reading.sink.tools, reading.fmt.code
    ends = reading.tables.channels.after_body
    call = Call(reading, checkpoint)
    call.find_name(name, *header.span)
    call.called(name, header.span[0])
    # A call must be emitted completely, even if the prompt contains its beginning.
    src.emits_prompt = True
    body = reading.checkpoint()
    char = yield from json_space(src)
    marker = yield from peek_marker(src, ends)
    is_tool = tools is None or name in tools
    # An empty body is a call without arguments.
    if marker:
        yield from settle(reading, call, WHOLE)
    # The input ended before the arguments.
    elif not char:
        yield from settle(reading, call, CUT)
    # Only this function takes raw code. A brace may start its arguments as JSON.
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
    """Read arguments that should be an object, and extra closing brackets after them."""
    src, ends = reading.src, reading.tables.channels.after_body
    # `null` is accepted, because models write it for no arguments.
    if char in '{"n':
        ending = yield from json_arguments(src, call)
    else:
        call.announce()
        ending = Ending.broken("not a JSON object")
    yield from settle(reading, call, ending)
    start, extra = src.offset, []
    # Models may close more brackets than are open. The extra ones are not content.
    while call.may_repair:
        char = yield from json_space(src)
        if not char or char not in "}]" or (yield from peek_marker(src, ends)):
            break
        extra.append(char)
        src.pos += 1
    if extra:
        detail = f"left out: {''.join(extra)!r}"
        reading.sink.issue("repaired_arguments", (start, src.offset), detail)
