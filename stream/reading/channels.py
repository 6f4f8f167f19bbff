"""A turn of several messages, each with a header that names its channel.

    turn    = [header message] body { end | start role header message body }

Where the turn begins, the prompt has written the first `start role`. What a message is, its
header says, and nothing else: one to a function is a call, on whatever channel; one on a channel
of reasoning is reasoning; the others are content, in the order in which they come. Markers in
the body that end no message are text, and so is text where a header should stand: models forget
it, and the answer must not be lost with it. (Harmony, the format of gpt-oss, is written so.)
"""

from __future__ import annotations

from deltaparse.partial import MalformedJson, Steps, Window, at, json_space, until, whitespace

from ..message.sink import Sink
from ..wire.marker_tables import MarkerTables
from .channel_header import Header, read_author, read_header
from .checkpoint import Checkpoint
from .content_writer import Before, ContentWriter
from .tool_calls.arguments import json_arguments
from .tool_calls.call import Call
from .tool_calls.code import code_arguments
from .tool_calls.ending import broken, no_object, truncated

__all__ = ["channel_turn"]

# Recipients that are no functions, beside the model itself: such a message is for the reader.
READERS = frozenset({"user", "all"})


def channel_turn(src: Window, turn: Sink, lex: MarkerTables) -> Steps[None]:
    """Read one turn, from behind `start role` to the end of the input."""
    marks = lex.channels
    edge = Before.START
    while src.unread or not src.closed or edge is Before.START:
        region = Checkpoint(src)
        yield from whitespace(src, marks.longest)
        marker = yield from at(src, marks.outside)
        author: str | None = marks.role
        if marker and (marker in marks.ends or marker == marks.start + marks.role):
            region.settle()
            src.pos += len(marker)
            if marker != marks.start:
                after = Before.CALL if edge is Before.CALL else Before.END
                edge = after if marker in marks.ends else Before.MARKER
                continue
            region = Checkpoint(src)
            author = yield from read_author(src, marks)
            edge = Before.MARKER
        if marker and author is not None:
            edge = yield from _message(src, turn, lex, region, author)
        elif src.unread or not src.closed or edge is Before.START or region.text().strip():
            # White space at the end belongs to the marker before it, if there is one.
            run = ContentWriter(src, turn, edge)
            run.emit(region.text())
            region.settle()
            yield from until(src, marks.in_text, run.emit)
            run.end()
            edge = Before.END if edge is Before.START else edge
        region.settle()


def _message(
    src: Window, turn: Sink, lex: MarkerTables, region: Checkpoint, author: str
) -> Steps[Before]:
    """Read a message, whose header begins here; its end marker may stay unread.

    `region` began before the header; `author` is the role in it.
    """
    marks = lex.channels
    if marks.role and src.text.startswith(marks.role, src.pos):
        src.pos += len(marks.role)
    header = yield from read_header(src, marks)
    turn.end_part()
    if not header.whole:
        return _no_message(src, turn, lex, header, region)
    if header.odd:
        turn.issue("odd_header", region.span, f"read as well as may be: {region.text()!r}")
    if author and marks.role and author != marks.role:
        yield from _foreign(src, turn, lex, region, "foreign_role", f"by {author!r}")
        return Before.END
    name = _function(turn, lex, header.recipient)
    if name and lex.calls:
        yield from _call(src, turn, lex, header, name, region)
        return Before.CALL
    addressed = header.recipient not in {"", marks.role, *READERS}
    if addressed and not name:
        who = f"to {header.recipient!r}"
        yield from _foreign(src, turn, lex, region, "foreign_recipient", who)
    elif header.channel in lex.fmt.channels.reasoning and not name:
        yield from _reasoning(src, turn, lex, region)
    else:
        # Where there are no tools, a call is text, and its header is how it shows.
        turn.content(region.text() if name else "")
        region.settle()
        yield from until(src, marks.after_body, turn.content)
    return Before.END


def _no_message(
    src: Window, turn: Sink, lex: MarkerTables, header: Header, region: Checkpoint
) -> Before:
    """Settle a header that never came to the marker of a message.

    Cut off, it is told in an issue. Otherwise what stands in it may have been the answer: where
    it has more words than the names in a header, it is content as written.
    """
    text, ended = region.text(), src.closed and not src.unread
    is_call = header.addressed and lex.calls
    if ended and (is_call or not turn.natural):
        kind = "truncated_call" if is_call else "odd_header"
        turn.issue(kind, region.span, f"the output ends in a header: {text!r}")
        return Before.END
    at_marker = src.text.startswith(lex.channels.ends, src.pos)
    is_text = header.has_text or header.addressed or not (ended or at_marker)
    said = "kept as content" if is_text else "left out"
    turn.issue("odd_header", region.span, f"a header without a message, {said}: {text!r}")
    if is_text:
        turn.content(text)
    return Before.MARKER


def _function(turn: Sink, lex: MarkerTables, recipient: str) -> str:
    """The function that a message to `recipient` calls, "" if it calls none of ours."""
    tools, code = turn.tools, lex.fmt.code
    namespace = lex.fmt.function.namespace
    if tools is not None and recipient in tools:
        return recipient
    if recipient in {"", lex.channels.role, *READERS}:
        return ""
    if recipient.startswith(namespace) and recipient != namespace:
        return recipient.removeprefix(namespace)
    if tools is None:
        return recipient if recipient == code.function else ""
    # A tool under a namespace of the model's own: it can be no other.
    name = recipient.rpartition(".")[2]
    return name if name in tools else ""


def _reasoning(src: Window, turn: Sink, lex: MarkerTables, region: Checkpoint) -> Steps[None]:
    """Read the body of reasoning, and its end marker."""
    turn.open_reasoning(region.text())
    region.settle()
    marker = yield from until(src, lex.channels.after_body, turn.reasoning)
    if not marker:
        span, detail = (src.offset, src.offset), "the turn ended in reasoning"
        turn.issue("unclosed_reasoning", span, detail, turn.policies.unclosed_reasoning)
    if marker.strip() == lex.channels.start:
        marker = ""
    src.pos += len(marker)
    turn.close_reasoning(marker)


def _foreign(
    src: Window, turn: Sink, lex: MarkerTables, region: Checkpoint, kind: str, who: str
) -> Steps[None]:
    """Read a message that is not the model's to its reader: it is told in an issue."""
    text = [region.text()]
    region.settle()
    yield from until(src, lex.channels.after_body, text.append)
    span = (max(region.start, 0), src.offset)
    turn.issue(kind, span, f"a message {who}, not handed out: {''.join(text)!r}")


def _call(
    src: Window, turn: Sink, lex: MarkerTables, header: Header, name: str, region: Checkpoint
) -> Steps[None]:
    """Read the arguments in the body of a message to a function."""
    call = Call(src, turn, lex, region)
    call.called(name, header.span[0])
    body = Checkpoint(src)
    char = yield from json_space(src)
    marker = yield from at(src, lex.channels.after_body)
    known = turn.tools is None or name in turn.tools
    is_code = known and name == lex.fmt.code.function and not lex.fmt.code.start
    if marker:
        call.end()
    elif not char:
        truncated(src, turn, lex, call)
    elif is_code and char != "{":
        begun = body.text()
        body.settle()
        try:
            yield from code_arguments(src, call, lex.channels.after_body, begun)
            call.end()
        except MalformedJson:
            truncated(src, turn, lex, call)
    else:
        body.settle()
        yield from _object(src, turn, lex, call, char)
    body.settle()
    region.settle()


def _object(src: Window, turn: Sink, lex: MarkerTables, call: Call, char: str) -> Steps[None]:
    """Read arguments that should be an object, and brackets that stand behind it."""
    if char not in '{"n':
        call.started = True
        call.announce()
        yield from broken(src, turn, lex, call, "no JSON object")
        return
    try:
        yield from json_arguments(src, call)
    except MalformedJson as problem:
        if problem.kind == "truncated":
            truncated(src, turn, lex, call)
        else:
            yield from broken(src, turn, lex, call, str(problem))
        return
    if not call.whole:
        no_object(turn, call)
    call.end()
    start, extra = src.offset, []
    while call.may_repair and (after := (yield from json_space(src))) and after in "}]":
        extra.append(after)
        src.pos += 1
    if extra:
        turn.issue("repaired_arguments", (start, src.offset), f"left out: {''.join(extra)!r}")
