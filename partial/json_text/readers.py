"""Sub-parsers for JSON: a complete value, a string, the members of an object."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NamedTuple

from ..bypass import Emit, Lane, Waiter
from ..markers import marker_set
from ..window import Steps, Window
from .compact import sound_escapes
from .lexer import (
    CUT_ESCAPE,
    HALF_PAIR,
    IN_STRING,
    MAX_TOKEN,
    JsonLexer,
    JsonState,
    match_end,
    space,
)
from .string_lane import string_lane as lane_of_strings
from .token_runs import ESCAPE
from .unclosed_string import UnclosedString
from .value_lane import value_lane

__all__ = ["JsonFault", "json_decoded", "json_key", "json_space", "json_string", "json_value"]

KEY = JsonState.KEY
STRING = JsonState.STRING
DONE = JsonState.DONE
BROKEN = JsonState.BROKEN
ENDS = (DONE, BROKEN)
WHOLE_ESCAPE = re.compile(
    rf"\\u[dD][89abAB][0-9a-fA-F]{{2}}\\u[dD][c-fC-F][0-9a-fA-F]{{2}}|{ESCAPE}"
)
"""An escape, or both escapes of a surrogate pair."""


class JsonFault(NamedTuple):
    """Unread invalid text in the place of JSON.

    Attributes:
        problem: the reason.
        cut: True if the input ended there and more text could have made it valid.
        read: a key that was read before it.
    """

    problem: str
    cut: bool
    read: str = ""


STRING_LANE = lane_of_strings(marker_set(()))


def json_value(
    src: Window, emit: Emit, lexer: JsonLexer | None = None, overrun: UnclosedString | None = None
) -> Steps[JsonLexer]:
    """Read one JSON value, and emit its text unchanged.

    Reading starts at the first character of the value.

    Args:
        src: the window to read from.
        emit: takes the text, chunk by chunk.
        lexer: the lexer to read with (default: a new one).
        overrun: the test for unclosed strings. The text is BROKEN where it succeeds.

    Returns:
        The lexer. Its state is DONE, BROKEN with the text from the invalid character on unread, or
        the state at the end of the input.
    """
    lexer = lexer or JsonLexer()
    scan, end = lexer.scan, 0
    # NUL never occurs unescaped in valid JSON, so it disables the check for overruns.
    watched, string_lane = (overrun.watched, overrun.lane) if overrun else ("\x00", STRING_LANE)
    # Created lazily, because short values never need a lane.
    tokens: Lane | None = None

    def step(window: Window) -> str | None:
        nonlocal end, tokens
        text, pos, before, foreseen = window.text, window.pos, lexer.state, lexer.foreseen
        # A lane has already scanned this text up to the end of the value.
        if foreseen is not None and foreseen[0] is text and not pos:
            # Text of a possibly unclosed string never bypasses in a lane, so this value is closed.
            lexer.go_back(DONE, "")
            end = foreseen[1]
            return None
        # Without the first character of a marker, an overrun is impossible.
        stack = lexer.stack if watched in text else None
        end = scan(text, pos)
        if stack is not None and overrun is not None and overrun.may_occur(text, pos, end):
            # The text is read again by `_watched`, which tests each possible marker.
            lexer.go_back(before, stack)
            return None
        state = lexer.state
        # The generator must return the result, so it is resumed.
        if state is DONE or state is BROKEN:
            return None
        window.pos = end
        # Inside a string longer than a chunk, the lane for strings avoids the lexer.
        if state is before and (state is STRING or state is KEY):
            window.let_pass(string_lane)
        else:
            # A lane is stateful and belongs to one value, so it is created once per value.
            tokens = tokens or value_lane(lexer, overrun.markers.firsts if overrun else "")
            window.let_pass(tokens)
        # Usually the complete text is taken, so a slice would be a useless copy.
        if window.base < 0:
            return window.clipped(pos, end)
        return text if end - pos == len(text) else text[pos:end]

    # After the end of the input no waiter is needed, and the rest is read below.
    while not src.closed and lexer.state not in ENDS:
        # A new waiter each time, because resuming removes the old one.
        src.waiter = Waiter(emit, step, emit)
        chunk = step(src)
        if chunk is None:
            if overrun is None or lexer.state in ENDS:
                break
            # The waiter would read the same text again without the tests for an overrun.
            src.waiter, start = None, src.offset
            yield from _watched(src, emit, lexer, overrun, end)
            end = src.pos
            if src.offset == start and lexer.state not in ENDS and not src.closed:
                yield  # The unread text is undecided until more text arrives.
            continue
        if chunk:
            emit(chunk)
        yield
    src.waiter = None
    if overrun is not None and lexer.state not in ENDS:
        yield from _watched(src, emit, lexer, overrun, len(src.text))
        end = src.pos
    if lexer.state not in ENDS:
        # At the end of the input a top-level number is complete.
        end = scan(src.text, src.pos, final=True)
    if end > src.pos:
        emit(src.consume(end))
    return lexer


def _watched(
    src: Window, emit: Emit, lexer: JsonLexer, overrun: UnclosedString, end: int
) -> Steps[None]:
    """Read like `json_value` up to an index, and break the text if a string has overrun."""
    # Offsets instead of indices, because the window moves while a test waits for more text.
    cleared, end = src.offset, src.base + end
    while lexer.state not in ENDS:
        text, pos = src.text, src.pos
        start = overrun.first(text, max(cleared - src.base, pos), end - src.base)
        stop = pos + lexer.scan(text[pos:start])
        if stop > pos:
            emit(src.consume(stop))
        # No marker is left in this text.
        if start == end - src.base:
            return
        # Outside of strings, the first character of a marker has no special meaning.
        if stop < start or lexer.state not in (STRING, KEY):
            cleared = src.base + start + 1
        elif (yield from overrun.is_here(src, '"')):
            lexer.overruns()
        else:
            cleared = src.offset + 1


def json_string(src: Window, overrun: UnclosedString | None = None) -> Steps[str | JsonFault]:
    """Read one complete JSON string and return its value. A lone surrogate becomes U+FFFD.

    Return a fault if there is no string, if it has more than `MAX_TOKEN` characters, if the input
    ends in it, or if it has overrun its end.
    """
    while True:
        text, pos = src.text, src.pos
        if pos < len(text):
            end = match_end(IN_STRING, text, pos + 1)
            # The string is complete, so its value can be decoded in C.
            if text[pos] == '"' and text.startswith('"', end) and end - pos <= MAX_TOKEN:
                overran: bool | None = False
                if overrun is not None and overrun.watched in text:
                    overran = _overran(src, pos + 1, end, overrun)
                if overran:
                    return _fault(src, "a string that does not end")
                if overran is not None:
                    src.pos = end + 1
                    return str(json.loads(sound_escapes(text[pos : end + 1])))
                yield
                continue
            # The limit bounds the buffer, because an unclosed string could be endless.
            cut = text[pos] == '"' and (end == len(text) or CUT_ESCAPE.match(text, end) is not None)
            if src.closed or not cut or end - pos > MAX_TOKEN:
                return _fault(src, "no whole string", cut=cut)
        elif src.closed:
            return _fault(src, "no string")
        yield


def _overran(src: Window, start: int, end: int, overrun: UnclosedString) -> bool | None:
    """Return True if the string between two indices has overrun its end, None if unknown."""
    # An earlier undecided marker must not hide the proof at a later one.
    answers = [
        overrun.stands_at(src.text, at, '"', final=src.closed)
        for at in overrun.starts(src.text, start, end)
    ]
    return True if True in answers else None if None in answers else False


def json_decoded(src: Window, emit: Emit, overrun: UnclosedString | None = None) -> Steps[bool]:
    """Read a JSON string after its opening quote, and emit its decoded text.

    Return True if its closing quote was read. Otherwise the text is unread from the invalid
    character on, or from the place where the string has overrun. Half of a surrogate pair waits for
    the other half.
    """
    while True:
        text, pos = src.text, src.pos
        end = match_end(IN_STRING, text, pos)
        cut = end == len(text) or CUT_ESCAPE.match(text, end) is not None
        # Only at the end of the text may a second half still follow.
        half = HALF_PAIR.search(text, pos, end) if cut else None
        stop = half.start(1) if half else end
        more = False
        # The text up to a possible marker is emitted first, so a test for an overrun buffers
        # little.
        if overrun is not None:
            clear = yield from overrun.clear(src, stop, '"')
            if clear is None:
                return False
            more = clear < stop or src.text is not text
            stop, text, pos = clear, src.text, src.pos
            escape = match_end(IN_STRING, text, pos, stop)
            if escape < stop:  # A marker cannot begin inside an escape.
                stop = match_end(WHOLE_ESCAPE, text, escape)
        if stop > pos:
            # An escape across the end of the prompt belongs to the model.
            start = match_end(IN_STRING, text, pos, src.prompt_end)
            chunk = text[start:stop]
            src.pos = stop
            emit(json.loads(f'"{chunk}"') if "\\" in chunk else chunk)
        if more:
            continue
        # The string ended here, by its quote or by an invalid character.
        if not cut:
            closed = text.startswith('"', end)
            src.pos += closed
            return closed
        if src.closed:
            return False
        yield


def json_key(
    src: Window,
    *,
    first: bool,
    overrun: UnclosedString | None = None,
    read: Callable[[Window, UnclosedString | None], Steps[str | JsonFault]] | None = None,
) -> Steps[str | JsonFault | None]:
    """Read up to the next value of an object, after its opening brace.

    Return the key of the value, None if the closing brace was read instead, or a fault. `first` is
    True before the first member. `read` is the reader of keys (default: `json_string`).
    """
    char = yield from json_space(src)
    if char == "}":
        src.pos += 1
        return None
    if not first:
        if char != ",":
            return _fault(src, "no comma")
        src.pos += 1
        yield from json_space(src)
    key = yield from (read or json_string)(src, overrun)
    if isinstance(key, JsonFault):
        return key
    # The key is part of the fault, so the caller can report or emit it.
    if (yield from json_space(src)) != ":":
        return _fault(src, "no colon")._replace(read=json.dumps(key, ensure_ascii=False))
    src.pos += 1
    yield from json_space(src)
    return key


def json_space(src: Window) -> Steps[str]:
    """Skip JSON's whitespace. Return the next character, unread, or "" at the end."""
    while True:
        text = src.text
        src.pos = pos = space(text, src.pos).end()
        if pos < len(text):
            return text[pos]
        if src.closed:
            return ""
        yield


def _fault(src: Window, problem: str, *, cut: bool = False) -> JsonFault:
    """Return a fault at the current position. `cut`: more text could have made it valid."""
    return JsonFault(problem, src.closed and (cut or src.pos == len(src.text)))
