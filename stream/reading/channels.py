"""A turn of several messages, each with a header that names its channel.

    turn    = [header message] body { end | start role header message body }

The prompt contains the first `start role`. Only the header determines the kind of a message:

- A message to a function is a call, on any channel.
- A message on a reasoning channel is reasoning.
- All other messages are content, in order.

Text instead of a header is content, because models forget headers and the answer must not be lost.
Markers that do not end a message are part of its text. Messages after an end-of-turn marker are
read too, with an issue. (Harmony, the format of gpt-oss, is written this way.)

The reader is a state machine. Each `State` has a reader, which returns the `Event` at its end, and
`TRANSITIONS` has the next state. `docs/architecture.md` shows the table as a diagram.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

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
from ..wire.spellings import MOST_SPACE
from .channel_header import Header, read_author, read_header
from .channel_text import channel_text, message_text
from .checkpoint import NOTHING_READ, Checkpoint
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

__all__ = ["TRANSITIONS", "Event", "State", "channel_turn"]


class State(StrEnum):
    """A place in a turn: the thing read last, or the part that is read next."""

    START = "start"
    """After the role in the prompt. Nothing was read."""
    AFTER_MARKER = "after_marker"
    AFTER_MESSAGE = "after_message"
    """After a message that is not a call, or after the end of the turn."""
    AFTER_CALL = "after_call"
    ROLE = "role"
    """After the start marker of a message."""
    HEADER = "header"
    CALL = "call"
    REASONING = "reasoning"
    CONTENT = "content"
    FOREIGN = "foreign"
    """At a message by another role, or for another recipient. It is not emitted."""
    DONE = "done"


class Event(StrEnum):
    """The thing that ends a state."""

    START_MARKER = "start marker"
    ROLE_MARKER = "start marker with role"
    END_MARKER = "end marker"
    TURN_END = "end of turn"
    HEADER = "header"
    TEXT = "text"
    INPUT_END = "end of input"
    TO_FUNCTION = "to a function"
    REASONING = "on a reasoning channel"
    TO_USER = "to the user"
    FOREIGN = "to or by others"
    NO_MESSAGE = "no message"
    MESSAGE = "message"
    CALLED = "calls"
    NOT_A_CALL = "no call"


MARKERS = {
    Event.START_MARKER: State.ROLE,
    Event.ROLE_MARKER: State.AFTER_MARKER,
    Event.HEADER: State.HEADER,
    Event.TURN_END: State.AFTER_MESSAGE,
    Event.INPUT_END: State.DONE,
}
"""The effect of markers between messages."""

ENDED = {Event.END_MARKER: State.AFTER_MESSAGE, Event.CALLED: State.AFTER_CALL}

TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.START: {**MARKERS, **ENDED, Event.TEXT: State.AFTER_MESSAGE},
    State.AFTER_MARKER: {**MARKERS, **ENDED, Event.TEXT: State.AFTER_MARKER},
    State.AFTER_MESSAGE: {**MARKERS, **ENDED, Event.TEXT: State.AFTER_MESSAGE},
    # The end marker of a call belongs to the call, and text after the marker follows a call.
    State.AFTER_CALL: {
        **MARKERS,
        Event.END_MARKER: State.AFTER_CALL,
        Event.TEXT: State.AFTER_CALL,
    },
    State.ROLE: {
        Event.HEADER: State.HEADER,
        Event.TEXT: State.AFTER_MARKER,
        Event.CALLED: State.AFTER_CALL,
        Event.INPUT_END: State.DONE,
    },
    State.HEADER: {
        Event.TO_FUNCTION: State.CALL,
        Event.REASONING: State.REASONING,
        Event.TO_USER: State.CONTENT,
        Event.FOREIGN: State.FOREIGN,
        Event.NO_MESSAGE: State.AFTER_MARKER,
        Event.INPUT_END: State.DONE,
    },
    State.CALL: {
        Event.CALLED: State.AFTER_CALL,
        Event.NOT_A_CALL: State.AFTER_MARKER,
        Event.MESSAGE: State.AFTER_MESSAGE,
    },
    State.REASONING: {Event.MESSAGE: State.AFTER_MESSAGE},
    State.CONTENT: {Event.CALLED: State.AFTER_CALL, Event.MESSAGE: State.AFTER_MESSAGE},
    State.FOREIGN: {Event.MESSAGE: State.AFTER_MESSAGE},
}

BEFORE = {
    State.START: PrecededBy.START,
    State.AFTER_MARKER: PrecededBy.MARKER,
    State.AFTER_MESSAGE: PrecededBy.END,
    State.AFTER_CALL: PrecededBy.CALL,
    State.ROLE: PrecededBy.MARKER,
}
"""The last thing read, for the policies about text between messages."""


class ChannelTurn:
    """The data of a turn while its messages are read.

    Attributes:
        reading: the window, the sink and the marker tables.
        state: the state of the reader.
        late: True after an end-of-turn marker, until a header that continues the turn.
        author: the role in the header of the message.
        header: the header of the message.
        checkpoint: started before the header.
    """

    __slots__ = ("author", "checkpoint", "header", "late", "reading", "state")

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.state = State.START
        self.late = False
        self.author = ""
        self.header = Header()
        self.checkpoint: Checkpoint = NOTHING_READ


def channel_turn(reading: Reading) -> Steps[None]:
    """Read one turn, from the end of `start role` to the end of the input."""
    # Created at the first resume, so that parsers are cheap to create.
    turn = ChannelTurn(reading)
    while turn.state is not State.DONE:
        event = yield from STATE_READERS[turn.state](turn)
        turn.state = TRANSITIONS[turn.state][event]


def _between(turn: ChannelTurn) -> Steps[Event]:
    """Read an end marker, the start of a header, or text in place of a header."""
    reading, state = turn.reading, turn.state
    src, marks = reading.src, reading.tables.channels
    if src.ended and state is not State.START:
        return Event.INPUT_END
    # One pattern reads all markers between two calls, because the readers below cost more.
    if state is State.AFTER_CALL and not turn.late and (yield from _fast_message(reading)):
        turn.checkpoint, turn.author = reading.checkpoint(), marks.role
        return Event.HEADER
    checkpoint = reading.checkpoint()
    # The text after an end-of-turn marker decides about it, so more whitespace is buffered.
    room = MOST_SPACE if state is State.AFTER_MESSAGE else marks.longest
    yield from whitespace(src, room)
    marker = yield from peek_marker(src, marks.outside)
    # These markers do not start a header, except after a role.
    if marker and (marker in marks.ends or marker == marks.start + marks.role):
        checkpoint.commit()
        src.pos += len(marker)
        return _end_marker(turn, marker)
    if marker:
        turn.checkpoint, turn.author = checkpoint, marks.role
        return Event.HEADER
    # A truncated marker cannot be told from text, so it is reported and not emitted.
    if state is State.AFTER_CALL and report_cut_marker(reading, marks.outside):
        checkpoint.commit()
        return Event.INPUT_END
    return (yield from _text(turn, checkpoint))


def _end_marker(turn: ChannelTurn, marker: str) -> Event:
    """Return the event of a marker that was read and is not part of a header."""
    sink, marks = turn.reading.sink, turn.reading.tables.channels
    if marker in marks.turn_ends and sink.recorder is not None:
        end = turn.reading.src.offset
        sink.recorder.set_role(end - len(marker), end, TextRole.END)
    # In some formats a new header continues the turn after its end marker.
    turn.late = marker in marks.turn_ends or (turn.late and marker not in marks.continuing)
    if marker == marks.start:
        return Event.START_MARKER
    if marker not in marks.ends:
        return Event.ROLE_MARKER
    return Event.TURN_END if turn.late else Event.END_MARKER


def _role(turn: ChannelTurn) -> Steps[Event]:
    """Read the role after the start marker of a message."""
    reading, src = turn.reading, turn.reading.src
    # The role is arbitrary text, so it is a header only if a marker follows.
    checkpoint = reading.checkpoint()
    author = yield from read_author(src, reading.tables.channels)
    if author is not None:
        turn.checkpoint, turn.author = checkpoint, author
        return Event.HEADER
    # A truncated role cannot be told from text, so it is reported and not emitted.
    if _report_cut_role(reading, checkpoint):
        checkpoint.commit()
        return Event.INPUT_END
    return (yield from _text(turn, checkpoint))


def _text(turn: ChannelTurn, checkpoint: Checkpoint) -> Steps[Event]:
    """Read text in place of a header, as content or as JSON calls."""
    reading, state, before = turn.reading, turn.state, BEFORE[turn.state]
    src, marks = reading.src, reading.tables.channels
    # Whitespace at the end belongs to the marker before it, if there is one.
    if src.ended and state is not State.START and not checkpoint.text().strip():
        checkpoint.commit()
        return Event.INPUT_END
    called = False
    # The request allows JSON calls in place of text, but only before the first call.
    if reading.tables.constrained and not turn.late and state is not State.AFTER_CALL:
        called = yield from text_of_calls(reading, checkpoint, before, marks.in_text)
    else:
        marker = yield from _text_without_header(reading, before, checkpoint)
        # The prompt may have opened the message that this marker ends.
        if state is State.START and marker.strip() in marks.message_ends:
            became = "and the text before it is content"
            report_stray_end(reading, marker, src.offset, became)
    checkpoint.commit()
    return Event.CALLED if called else Event.TEXT


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


def _header(turn: ChannelTurn) -> Steps[Event]:
    """Read a header from its first marker on, and decide the kind of its message."""
    reading, sink, checkpoint = turn.reading, turn.reading.sink, turn.checkpoint
    header = turn.header = yield from read_header(
        reading.src, reading.tables.channels, _odd_recipients(reading)
    )
    # Messages are separate parts, even if two of the same kind follow each other.
    sink.end_part()
    if not header.whole:
        return (yield from _no_message(turn))
    if header.odd:
        detail = f"the header has extra words or repeated parts: {checkpoint.text()!r}"
        sink.issue("odd_header", checkpoint.span, detail)
    if _is_other_author(turn):
        return Event.FOREIGN
    name = _function(reading, header.recipient)
    if name:
        # Without tools, a call is content.
        return Event.TO_FUNCTION if reading.tables.calls else Event.TO_USER
    # A message to another recipient is not for the user, so it is not content.
    if not _is_reader(reading, header.recipient):
        return Event.FOREIGN
    thinks = (header.channel or header.recipient) in reading.fmt.channels.reasoning
    return Event.REASONING if thinks else Event.TO_USER


def _is_other_author(turn: ChannelTurn) -> bool:
    """Return True if the message is by another role."""
    # Without a role in the format, a different role cannot be recognized.
    role = turn.reading.tables.channels.role
    return bool(turn.author and role and turn.author != role)


def _no_message(turn: ChannelTurn) -> Steps[Event]:
    """Decide the kind of a header without a following message.

    A complete header may have been the answer: with more words than the names of a header, it is
    content.
    """
    src, sink, tables, header = (
        turn.reading.src,
        turn.reading.sink,
        turn.reading.tables,
        turn.header,
    )
    # At a natural end, only an unfinished call is incomplete. Other headers are judged below.
    if src.ended and ((header.addressed and tables.calls) or not sink.natural):
        yield from _cut_header(turn)
        return Event.INPUT_END
    text, span = turn.checkpoint.text(), turn.checkpoint.span
    at_marker = src.text.startswith(tables.channels.ends, src.pos)
    is_text = header.has_text or header.addressed or not (src.ended or at_marker)
    fate = "kept as content" if is_text else "left out"
    sink.issue("odd_header", span, f"no message follows a header, {fate}: {text!r}")
    if is_text:
        sink.content(text)
    turn.checkpoint.commit()
    return Event.NO_MESSAGE


def _cut_header(turn: ChannelTurn) -> Steps[None]:
    """Report a truncated header, or emit a call if it contains the complete name of a function."""
    reading, sink, checkpoint = turn.reading, turn.reading.sink, turn.checkpoint
    text, header = checkpoint.text(), turn.header
    is_call = header.addressed and reading.tables.calls
    recipient, known = header.recipient, not text.endswith(header.recipient)
    if is_call and not known:
        # A partial marker at the end of the output does not belong to the name.
        end, _ = reading.tables.channels.in_header.find(recipient, 0, final=False)
        recipient, known = recipient[:end], end < len(recipient)
    name = _function(reading, recipient) if is_call else ""
    # Only a marker after the name proves that the name is complete.
    if name and known:
        yield from _cut_call(turn, name)
    else:
        kind = "truncated_call" if is_call else "odd_header"
        sink.issue(kind, checkpoint.span, f"the output ends in a header: {text!r}")
        # Every call that began is recorded, even if its name is incomplete.
        if is_call:
            sink.attempts.append(Attempt(name, checkpoint.span, "truncated"))
    checkpoint.commit()


def _cut_call(turn: ChannelTurn, name: str) -> Steps[None]:
    """Emit a call that is truncated after its name in the header."""
    call = Call(turn.reading, turn.checkpoint)
    call.called(name, turn.header.span[0])
    yield from settle(turn.reading, call, CUT)


def _to_function(turn: ChannelTurn) -> Steps[Event]:
    """Read the body of a message to a function. Its end marker may stay unread."""
    reading, header, checkpoint = turn.reading, turn.header, turn.checkpoint
    src, sink = reading.src, reading.sink
    name = _function(reading, header.recipient)
    if header.recipient not in (name, reading.fmt.function.namespace + name):
        detail = f"{header.recipient!r} has an unknown namespace; it is read as {name!r}"
        sink.issue("odd_header", checkpoint.span, detail)
    if turn.late:
        span = (checkpoint.start, src.offset)
        sink.issue("text_after_end", span, "a call follows the end of the turn")
    called = True
    if reading.tables.in_message is not None:
        called = yield from _own_calls(turn, reading.tables.in_message, name)
    else:
        yield from _call(reading, header, name, checkpoint)
    checkpoint.commit()
    if not called:
        return Event.NOT_A_CALL
    # A policy made the call content, so its end marker is content too.
    if sink.call_is_text:
        marks = reading.tables.channels
        end = yield from peek_marker(src, marks.after_body)
        sink.content(src.consume(src.pos + len(end)) if end.strip() != marks.start else "")
        return Event.CALLED if sink.calls else Event.MESSAGE
    return Event.CALLED


def _to_user(turn: ChannelTurn) -> Steps[Event]:
    """Read the body of a message for the user, as content or as JSON calls."""
    reading, header, checkpoint = turn.reading, turn.header, turn.checkpoint
    writer = ContentWriter(reading, PrecededBy.END if turn.late else PrecededBy.START)
    # The header of a call without tools is content too, to show the function.
    writer.emit(checkpoint.text() if _function(reading, header.recipient) else "")
    checkpoint.commit()
    # The request allows JSON calls in place of content, but not after the end of the turn.
    if reading.tables.constrained and not turn.late:
        body, ends = reading.checkpoint(), reading.tables.channels.after_body
        called = yield from text_of_calls(reading, body, PrecededBy.START, ends)
        return Event.CALLED if called else Event.MESSAGE
    yield from message_text(reading, writer.emit, "content")
    writer.end()
    return Event.MESSAGE


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


def _own_calls(turn: ChannelTurn, tables: MarkerTables, name: str) -> Steps[bool]:
    """Read the calls in the body of a message to a function, in the format's own call syntax.

    Returns False if the body does not start with a call. Header and body are text then.
    """
    reading, src, checkpoint = turn.reading, turn.reading.src, turn.checkpoint
    inner = Reading(src, reading.sink, tables, recipient=name)
    yield from json_space(src)
    marker = yield from peek_marker(src, tables.call_starts)
    if not marker and may_become(src, tables.call_starts):
        # The output is truncated before the call, but the header contains the function's name.
        yield from _cut_call(turn, name)
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


def _reasoning(turn: ChannelTurn) -> Steps[Event]:
    """Read the body of reasoning up to its end marker or the end of the turn."""
    reading, sink, marks = turn.reading, turn.reading.sink, turn.reading.tables.channels
    sink.open_reasoning(turn.checkpoint.text())
    turn.checkpoint.commit()
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
    return Event.MESSAGE


def _foreign(turn: ChannelTurn) -> Steps[Event]:
    """Report a message for another recipient or by another role, without emitting it."""
    reading, checkpoint = turn.reading, turn.checkpoint
    by_other = _is_other_author(turn)
    who = f"by {turn.author!r}" if by_other else f"to {turn.header.recipient!r}"
    # The sink holds the text, so an exception while reading does not lose it.
    text = reading.sink.held = [checkpoint.text()]
    checkpoint.commit()
    yield from message_text(reading, text.append, "not emitted")
    span = checkpoint.span
    if reading.sink.recorder is not None:
        reading.sink.recorder.set_role(*span, TextRole.DROPPED)
    detail = f"a message {who}, not emitted: {''.join(text)!r}"
    reading.sink.issue("foreign_role" if by_other else "foreign_recipient", span, detail)
    reading.sink.held = []
    return Event.MESSAGE


STATE_READERS: Mapping[State, Callable[[ChannelTurn], Steps[Event]]] = {
    State.START: _between,
    State.AFTER_MARKER: _between,
    State.AFTER_MESSAGE: _between,
    State.AFTER_CALL: _between,
    State.ROLE: _role,
    State.HEADER: _header,
    State.CALL: _to_function,
    State.REASONING: _reasoning,
    State.CONTENT: _to_user,
    State.FOREIGN: _foreign,
}


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
