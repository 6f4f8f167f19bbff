"""Tool calls of any family: which reader reads what stands behind an opening marker."""

from __future__ import annotations

import re
from dataclasses import replace

from deltaparse.partial import (
    Emit,
    Steps,
    consume_marker,
    is_whole,
    json_space,
    marker_set,
    match_end,
    peek_marker,
)

from ...message.message import Attempt
from ...wire.format import ToolFormat
from ...wire.spellings import GAP, stripped
from ..checkpoint import Checkpoint
from ..reading import Reading
from .code_calls import coded_calls
from .ending import is_text
from .json_object_calls import json_calls
from .python_calls import python_calls
from .tagged_calls import more_in_section, tagged_calls

__all__ = ["tool_calls"]

SPACE = re.compile(GAP)
"""White space that may stand between a call and the markers that end it."""


def tool_calls(
    reading: Reading,
    checkpoint: Checkpoint,
    emit_text: Emit | None = None,
    *,
    several: bool = False,
) -> Steps[bool]:
    """Read the calls that may begin at the marker that stands here; commit `checkpoint`.

    `several`: also those behind it, each behind its own marker, as far as they are as usual and
    none may be text.

    Returns whether there were any. If not, all that was read since the checkpoint goes to
    `emit_text`, as content if there is none. The markers that end the calls are left unread; but
    those of calls that are text by a policy are text too, and such calls are none.
    """
    src, tables = reading.src, reading.tables
    fmt = tables.fmt
    # A section's marker may be followed by that of its first call, and by that of its name.
    prefix, code, section, separator = tables.call_openers
    begun = reading.sink.calls
    start = end = src.offset
    marker, strays, in_section = "", list[str](), False
    while marker != (prefix or None) and (
        more := (yield from peek_marker(src, tables.call_starts))
    ):
        marker = more.strip().removeprefix(separator).lstrip()
        if section and marker == section:
            reading.before_section = begun
            in_section = tables.derived.in_section
            reading.in_section = tables.derived.token_sections
        if code and marker == code:
            yield from consume_marker(src, more, tables.trailing(more))
            break
        src.pos += len(more)
        strays.append(marker)
        end = src.offset
        yield from json_space(src)
    # A call that the prompt began comes out whole.
    src.emits_prompt = True
    several = several and not _may_be_text(reading)
    attempts = reading.sink.attempted
    if code and marker == code:
        called = yield from coded_calls(replace(reading, behind_code=True), checkpoint)
    elif reading.needs_token and all(map(is_whole, strays)):
        called = False
    elif fmt.tools.format is ToolFormat.PYTHONIC:
        called = yield from python_calls(reading, checkpoint)
    else:
        form = _form_here(reading) if tables.also else reading
        if form.tables.derived.is_tagged:
            prefixed = marker == prefix and form is reading
            called = yield from tagged_calls(form, checkpoint, prefixed=prefixed, several=several)
        else:
            called = yield from json_calls(form, checkpoint, several=several)
    src.emits_prompt = False
    if called and strays and tables.constrained:
        detail = f"left out before the call: {' '.join(strays)!r}"
        reading.sink.issue("stray_marker", (start, end), detail)
    if not (called or reading.sink.attempted > attempts) and (marker or tables.constrained):
        detail = f"no call behind {marker!r}" if marker else "JSON that is no call"
        reading.sink.attempts.append(Attempt("", checkpoint.span, "not_a_call", detail))
    if not called:
        (emit_text or reading.sink.content)(checkpoint.text())
    checkpoint.commit()
    if called and in_section:
        yield from more_in_section(reading)
    if called and reading.sink.call_is_text:
        yield from _closers_as_text(reading)
        return reading.sink.calls > begun
    return called


def _form_here(reading: Reading) -> Reading:
    """The reading in the form that a call has which begins here: JSON begins with a bracket."""
    src, tables = reading.src, reading.tables
    char = src.text[src.pos : src.pos + 1]
    in_json = bool(char) and char in "[{"
    if not char or in_json is not tables.derived.is_tagged:
        return reading
    return replace(reading, tables=tables.other_form())


def _may_be_text(reading: Reading) -> bool:
    """Whether a call may be text by a policy: what closes it is text then, and more is to say."""
    sink = reading.sink
    policies = sink.policies
    extra = not sink.parallel and policies.extra_calls == "text"
    return extra or "text" in (policies.unknown_tool, policies.malformed_arguments)


def _closers_as_text(reading: Reading) -> Steps[None]:
    """Emit the markers that end a call which is text, and the section's if all in it is text."""
    src, fmt = reading.src, reading.fmt
    section = fmt.tools.section_end.strip()
    markers = marker_set(stripped(fmt.derived.closers))
    while True:
        start = match_end(SPACE, src.text, src.pos)
        end = markers.match(src.text, start, final=src.closed)
        if end > start:
            marker = src.text[start:end]
            text = src.consume(end)
            reading.closes(marker)
            if marker == section and not is_text(reading, reading.before_section):
                return
            reading.sink.content(text)
        elif end < 0:
            return
        else:
            yield
