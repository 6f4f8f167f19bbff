"""The choice of a reader for the calls after an opening marker."""

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
"""Limited whitespace between a call and its closers."""


def tool_calls(
    reading: Reading,
    checkpoint: Checkpoint,
    emit_text: Emit | None = None,
    *,
    several: bool = False,
) -> Steps[bool]:
    """Read the calls that may start at the marker at this place, and commit `checkpoint`.

    The closers of the calls stay unread, except those of calls that are text by a policy.

    Args:
        reading: the turn.
        checkpoint: started at the marker or before it.
        emit_text: takes the text since the checkpoint if it is not a call, default: as content.
        several: True to read consecutive usual calls too, each with its own marker. It is ignored
            if a policy may make calls text.

    Returns:
        True if there was a call that is not text.
    """
    src, tables = reading.src, reading.tables
    fmt = tables.fmt
    # The opener of a section may precede that of its first call, and that may precede the name.
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
        # Raw code may start like any marker, so the search for markers ends here.
        if code and marker == code:
            yield from consume_marker(src, more, tables.trailing(more))
            break
        src.pos += len(more)
        # Markers without a call after them are reported together.
        strays.append(marker)
        end = src.offset
        yield from json_space(src)
    # A call that the prompt began is emitted completely.
    src.emits_prompt = True
    # If calls may be text, each closer must be examined, so they are read one by one.
    several = several and not _may_be_text(reading)
    attempts = reading.sink.attempted
    if code and marker == code:
        called = yield from coded_calls(replace(reading, after_code_marker=True), checkpoint)
    # The opener must be a special token, but the tokenizer produced ordinary text.
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
    # Constrained JSON has no opener, so markers before it are reported and left out.
    if called and strays and tables.constrained:
        detail = f"left out before the call: {' '.join(strays)!r}"
        reading.sink.issue("stray_marker", (start, end), detail)
    # Unmarked calls look like text, so a failed one is not an attempt.
    if not (called or reading.sink.attempted > attempts) and (marker or tables.constrained):
        detail = f"no call follows {marker!r}" if marker else "the JSON is not a call"
        reading.sink.attempts.append(Attempt("", checkpoint.span, "not_a_call", detail))
    if not called:
        (emit_text or reading.sink.content)(checkpoint.text())
    checkpoint.commit()
    # Calls in a section follow each other without an opener.
    if called and in_section:
        yield from more_in_section(reading)
    # The opener was emitted as text, so the closer is too.
    if called and reading.sink.call_is_text:
        yield from _closers_as_text(reading)
        return reading.sink.calls > begun
    return called


def _form_here(reading: Reading) -> Reading:
    """Return the reading for the form of the call at this place: a bracket starts JSON."""
    src, tables = reading.src, reading.tables
    char = src.text[src.pos : src.pos + 1]
    in_json = bool(char) and char in "[{"
    # The bracket is the only difference that is visible at the start.
    if not char or in_json is not tables.derived.is_tagged:
        return reading
    return replace(reading, tables=tables.other_form())


def _may_be_text(reading: Reading) -> bool:
    """Return True if a policy may make a call text, so that its closers are text too."""
    sink = reading.sink
    policies = sink.policies
    extra = not sink.parallel and policies.extra_calls == "text"
    return extra or "text" in (policies.unknown_tool, policies.malformed_arguments)


def _closers_as_text(reading: Reading) -> Steps[None]:
    """Emit the closers of a call that is text, and of its section if all its calls are text."""
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
            # A call is left in the section, so its closer is a marker.
            if marker == section and not is_text(reading, reading.before_section):
                return
            reading.sink.content(text)
        elif end < 0:
            return
        else:
            yield
