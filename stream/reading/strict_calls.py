"""Read calls that neither a marker nor the name of a tool proves.

If calls have no markers of their own (`DerivedFormat.unproven_calls`) and the tools are unknown,
ordinary answers look like calls: `f() takes a city.`, a `package.json`, a shell session. Therefore
calls must fill a complete part of the turn, from one marker to the next or to the end of the
response. Each must be spelled exactly as in the format, including the fence around calls if the
format has one. The decision is possible only at the end of the part, so the part is buffered until
then. A truncated part is never a call. The first character that fits no call turns the part into
text, which is then emitted.
"""

from __future__ import annotations

from deltaparse.partial import Emit, Steps, Window, consume_marker

from ..message.message import Attempt
from ..message.policy_sink import NotExact
from ..wire.marker_tables import marker_tables
from ..wire.section_markers import Role
from .checkpoint import Checkpoint
from .content import may_become
from .content_writer import PrecededBy
from .next_marker import next_marker
from .reading import Reading
from .tool_calls.dispatch import tool_calls

__all__ = ["is_unproven", "strict_calls"]


def is_unproven(reading: Reading, marker: str) -> bool:
    """Return True if calls after an opener are unproven: the tools are unknown, too."""
    return reading.tables.unproven and reading.sink.tools is None and not _is_code(reading, marker)


def _is_code(reading: Reading, marker: str) -> bool:
    """Return True for the code marker, which proves the calls after it."""
    return marker.strip() == reading.fmt.code.start.strip()


def strict_calls(reading: Reading, checkpoint: Checkpoint, emit_text: Emit) -> Steps[bool]:
    """Read the part that starts at the opener at this place, and commit `checkpoint`.

    Returns True if the part consists of calls. If not, its text goes to `emit_text`.
    """
    src, start, marks = reading.src, checkpoint.start, reading.src.marks
    # The draft raises at the first character that is not part of a call, so text is not delayed.
    tables = marker_tables(reading.fmt, calls=True, exact=True)
    exact = Reading(src, reading.sink.exact_draft(), tables)
    try:
        yield from _prove(reading, exact)
    except NotExact:
        # The exception left the marks of inner readers set.
        src.release(to=marks)
        src.emits_prompt = False
        begun = exact.sink.builder.name
        if begun:
            detail = "the part contains more than calls in the format's spelling"
            tried = Attempt(begun, checkpoint.span, "not_a_call", detail)
            reading.sink.attempts.append(tried)
        emit_text(checkpoint.text())
        checkpoint.commit()
        return False
    text = src.text_since(start, prompt=True)
    checkpoint.commit()
    # Calls in the prompt are history, so they are not emitted.
    if src.offset > 0:
        yield from _emit_calls(reading, text, start)
    return True


def _prove(reading: Reading, exact: Reading) -> Steps[None]:
    """Read the part up to its end, and raise `NotExact` for text other than calls."""
    src, start = exact.src, exact.src.offset
    yield from _calls(exact)
    # The reason of the end is known only now, and only to the sink of the turn.
    if src.ended and reading.sink.cut:
        raise NotExact  # the missing text may not have been calls
    text = src.text_since(start, prompt=True).rstrip()
    # A separator announces another call, so the part is incomplete.
    if exact.tables.unmarked and text.endswith(tuple(exact.tables.separators.literals)):
        raise NotExact


def _emit_calls(reading: Reading, text: str, start: int) -> Steps[None]:
    """Read a proven part again and emit it: `text`, from the offset `start` on."""
    sink, prompted = reading.sink, max(-start, 0)
    window = Window(text[:prompted], start)
    sink.reads(window)
    calls = _calls(Reading(window, sink, reading.tables))
    if prompted:
        # The last call of the prompt may continue in the output. The others are history.
        next(calls, None)
        sink.drop_prompt()
    window.waiter = None
    window.feed(text[prompted:])
    window.closed = True
    yield from calls
    sink.reads(reading.src)


def _calls(reading: Reading) -> Steps[None]:
    """Read consecutive calls, and the whitespace after the last."""
    src, tables = reading.src, reading.tables
    while True:
        start = src.offset
        called = yield from tool_calls(reading, reading.checkpoint())
        if tables.exact:
            check_spelling(reading, start, called=called)
        marker = yield from next_marker(reading, PrecededBy.CALL)
        if tables.structural_only:
            marker = yield from _after_closers(reading, marker)
        is_call = tables.role(marker) is Role.TOOL_START and not _is_code(reading, marker)
        if not (marker and is_call):
            break
    if tables.exact and not marker and src.unread:
        # A marker that is truncated by a limit may as well have been text.
        begun = reading.sink.natural and may_become(src, tables.after_call)
        if not begun:
            raise NotExact


def _after_closers(reading: Reading, marker: str) -> Steps[str]:
    """Read each closer of calls once, and return the marker after them, or ""."""
    src, tables = reading.src, reading.tables
    # Each closer occurs once, so a repeated closer is text.
    for _ in tables.derived.closers:
        if not marker or not tables.ends_calls(marker):
            break
        yield from consume_marker(src, marker, tables.trailing(marker))
        # The closer was found, so the call is not reported as unclosed.
        reading.sink.unclosed = None
        marker = yield from next_marker(reading, PrecededBy.CALL)
    return marker


def check_spelling(reading: Reading, start: int, *, called: bool) -> None:
    """Raise `NotExact` unless the text since `start` is a call with its brackets or complete head.

    Readers accept calls without brackets and with extra whitespace, so the text is checked again.
    """
    fmt, text = reading.fmt, reading.src.text_since(start, prompt=True).strip()
    fits = called
    if called and fmt.derived.is_tagged:
        function, name = fmt.function, reading.sink.builder.name
        head = function.name_prefix.lstrip() + function.namespace + name + function.name_suffix
        fits = head in text
    elif called:
        # The openers are outside of the list, so they are removed before its brackets are checked.
        for opener in fmt.derived.openers:
            text = text.removeprefix(opener.strip()).lstrip()
        listed = text[:1] == "["
        fits = listed is (text[-1:] == "]") and (listed or not fmt.tools.array_wrapped)
    if not fits:
        raise NotExact
