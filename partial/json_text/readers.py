"""Sub-parsers over JSON: a whole value, a string, the members of an object."""

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
"""An escape, and of a pair of them both halves."""


class JsonFault(NamedTuple):
    """Text that is not JSON where JSON must stand, and is unread.

    `cut`: the input ended there, and more text might have made it JSON. `read` is a key that was
    read before it.
    """

    problem: str
    cut: bool
    read: str = ""


STRING_LANE = lane_of_strings(marker_set(()))


def json_value(
    src: Window, emit: Emit, lexer: JsonLexer | None = None, overrun: UnclosedString | None = None
) -> Steps[JsonLexer]:
    """Read one JSON value, emitting its text as it stands, character for character.

    Begins at its first character. Returns the lexer, a new one unless one is given: DONE;
    BROKEN, the text from the offending character on unread; or in the state in which the input
    ended. `overrun` says where a string ends that was not closed: the text is BROKEN there.
    """
    lexer = lexer or JsonLexer()
    scan, end = lexer.scan, 0
    watched, string_lane = (overrun.watched, overrun.lane) if overrun else ("\x00", STRING_LANE)
    tokens: Lane | None = None

    def step(window: Window) -> str | None:
        nonlocal end, tokens
        text, pos, before, foreseen = window.text, window.pos, lexer.state, lexer.foreseen
        if foreseen is not None and foreseen[0] is text and not pos:
            # Nothing can have overrun there: what might, passes no lane.
            lexer.go_back(DONE, "")
            end = foreseen[1]
            return None
        stack = lexer.stack if watched in text else None
        end = scan(text, pos)
        if stack is not None and overrun is not None and overrun.may_stand(text, pos, end):
            lexer.go_back(before, stack)
            return None
        state = lexer.state
        if state is DONE or state is BROKEN:
            return None
        window.pos = end
        # In a string that is longer than a chunk, nothing is read.
        if state is before and (state is STRING or state is KEY):
            window.let_pass(string_lane)
        else:
            tokens = tokens or value_lane(lexer, overrun.markers.firsts if overrun else "")
            window.let_pass(tokens)
        # To take all of it, as most often, needs no slice.
        if window.base < 0:
            return window.clipped(pos, end)
        return text if end - pos == len(text) else text[pos:end]

    while not src.closed and lexer.state not in ENDS:
        src.waiter = Waiter(emit, step, emit)
        chunk = step(src)
        if chunk is None:
            if overrun is None or lexer.state in ENDS:
                break
            src.waiter, start = None, src.offset
            yield from _watched(src, emit, lexer, overrun, end)
            end = src.pos
            if src.offset == start and lexer.state not in ENDS and not src.closed:
                yield  # what stands here means nothing without more
            continue
        if chunk:
            emit(chunk)
        yield
    src.waiter = None
    if overrun is not None and lexer.state not in ENDS:
        yield from _watched(src, emit, lexer, overrun, len(src.text))
        end = src.pos
    if lexer.state not in ENDS:
        end = scan(src.text, src.pos, final=True)
    if end > src.pos:
        emit(src.consume(end))
    return lexer


def _watched(
    src: Window, emit: Emit, lexer: JsonLexer, overrun: UnclosedString, end: int
) -> Steps[None]:
    """Read as `json_value` does up to an index, and break the text where a string has overrun."""
    cleared, end = src.offset, src.base + end
    while lexer.state not in ENDS:
        text, pos = src.text, src.pos
        start = overrun.first(text, max(cleared - src.base, pos), end - src.base)
        stop = pos + lexer.scan(text[pos:start])
        if stop > pos:
            emit(src.consume(stop))
        if start == end - src.base:
            return
        if stop < start or lexer.state not in (STRING, KEY):
            cleared = src.base + start + 1
        elif (yield from overrun.is_here(src, '"')):
            lexer.overruns()
        else:
            cleared = src.offset + 1


def json_string(src: Window, overrun: UnclosedString | None = None) -> Steps[str | JsonFault]:
    """Read one whole JSON string and return its value; an escaped half of a pair is U+FFFD.

    It is a fault where there is none, where it has more than `MAX_TOKEN` characters, where
    the input ends in it, or where it has overrun its end.
    """
    while True:
        text, pos = src.text, src.pos
        if pos < len(text):
            end = match_end(IN_STRING, text, pos + 1)
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
            cut = text[pos] == '"' and (end == len(text) or CUT_ESCAPE.match(text, end) is not None)
            if src.closed or not cut or end - pos > MAX_TOKEN:
                return _fault(src, "no whole string", cut=cut)
        elif src.closed:
            return _fault(src, "no string")
        yield


def _overran(src: Window, start: int, end: int, overrun: UnclosedString) -> bool | None:
    """Whether the whole string between two indices overran its end; None if it is not known."""
    answers = [
        overrun.stands_at(src.text, at, '"', final=src.closed)
        for at in overrun.starts(src.text, start, end)
    ]
    return True if True in answers else None if None in answers else False


def json_decoded(src: Window, emit: Emit, overrun: UnclosedString | None = None) -> Steps[bool]:
    """Read a JSON string whose opening quote is read, emitting the text it stands for.

    Returns whether its closing quote was read; if not, the text from what breaks it on, or from
    where it has overrun its end, is unread. Half of a surrogate pair waits for the other half.
    """
    while True:
        text, pos = src.text, src.pos
        end = match_end(IN_STRING, text, pos)
        cut = end == len(text) or CUT_ESCAPE.match(text, end) is not None
        half = HALF_PAIR.search(text, pos, end) if cut else None
        stop = half.start(1) if half else end
        more = False
        if overrun is not None:
            clear = yield from overrun.clear(src, stop, '"')
            if clear is None:
                return False
            more = clear < stop or src.text is not text
            stop, text, pos = clear, src.text, src.pos
            escape = match_end(IN_STRING, text, pos, stop)
            if escape < stop:  # what begins in an escape is no marker
                stop = match_end(WHOLE_ESCAPE, text, escape)
        if stop > pos:
            # An escape that begins in the prompt and ends after it is the model's.
            start = match_end(IN_STRING, text, pos, src.prompt_end)
            chunk = text[start:stop]
            src.pos = stop
            emit(json.loads(f'"{chunk}"') if "\\" in chunk else chunk)
        if more:
            continue
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
    """Read on to the next value of an object whose opening brace is read.

    Returns its key, the value being next, or None when the closing brace was read instead; a
    fault where there is neither. `first` says that no member was read yet; `read` reads the key.
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
    if (yield from json_space(src)) != ":":
        return _fault(src, "no colon")._replace(read=json.dumps(key, ensure_ascii=False))
    src.pos += 1
    yield from json_space(src)
    return key


def json_space(src: Window) -> Steps[str]:
    """Skip JSON's white space; return the character after it, unread, or "" at the end."""
    while True:
        text = src.text
        src.pos = pos = space(text, src.pos).end()
        if pos < len(text):
            return text[pos]
        if src.closed:
            return ""
        yield


def _fault(src: Window, problem: str, *, cut: bool = False) -> JsonFault:
    """What is wrong where the reader stands; `cut`: more text might have repaired it."""
    return JsonFault(problem, src.closed and (cut or src.pos == len(src.text)))
