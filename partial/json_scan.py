r"""JSON that is not all there yet: a scanner that reads each character once.

    value   = object | array | string | number | "true" | "false" | "null"     (RFC 8259)

`JsonScanner.scan` reads on from where it stopped and says how far it came. What it has passed
is certain: it ends between tokens or inside a string, never inside a number, a literal or an
escape, so what lies before may be handed on as it stands, and after the last character of the
value it stops: the text that follows belongs to the caller. Its state says what stands open,
which is what completes ("heals") a value that was cut off. Nesting is a list, never the call
stack, and has a limit, because a model can write `[[[[[...`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import StrEnum

from .errors import MalformedJson
from .source import Source, Steps
from .text import peek

__all__ = [
    "CLOSERS",
    "MAX_DEPTH",
    "MAX_TOKEN",
    "JsonScanner",
    "JsonState",
    "json_decoded",
    "json_key",
    "json_space",
    "json_string",
    "json_value",
]

CLOSERS = {"{": "}", "[": "]"}

MAX_DEPTH = 512
"""Open brackets that a value may have: far above honest output, far below every stack."""

MAX_TOKEN = 4096
"""Characters of a number, or of a key or name that must be whole: these are held back."""

# Whole escapes only: a string is passed on up to an escape that may still be cut.
IN_STRING = re.compile(r'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
# The first half of a surrogate pair at the end; backslashes before it come in pairs.
HALF_PAIR = re.compile(r"(?<!\\)(?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})\Z")
CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
IN_NUMBER = re.compile(r"[-+.0-9eE]*+")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
SPACE = re.compile(r"[ \t\n\r]*+")
LITERALS = {"t": "true", "f": "false", "n": "null"}
# In a string: what ends it, escapes, or breaks it; all else passes by a sleeping parser.
STRING_WAKE = re.compile(r'["\\\x00-\x1f]').search


class JsonState(StrEnum):
    """Where in a JSON text a scanner stands."""

    START = "start"
    AFTER_OPEN = "after_open"
    KEY = "key"
    AFTER_KEY = "after_key"
    AFTER_COLON = "after_colon"
    STRING = "string"
    AFTER_VALUE = "after_value"
    AFTER_COMMA = "after_comma"
    DONE = "done"
    BROKEN = "broken"


S = JsonState
# The value of an object's key, an array's element, or the whole: which states read a value.
BEFORE_VALUE = frozenset({S.START, S.AFTER_COLON})


class JsonScanner:
    """Scans one JSON value, fed piece by piece.

    `state` says where it stands, `stack` which brackets are open ("{" and "["). Once the state
    is BROKEN, `problem` says what is wrong and `broken_in` what the state was. `passed` counts
    the characters that were passed; up to `settled` of them, the text can be completed with
    closing brackets alone. With `hold_commas`, a comma is passed with what follows it, and one
    before a closing bracket is where the text breaks.
    """

    __slots__ = (
        "_hold_commas",
        "_max_depth",
        "broken_in",
        "passed",
        "problem",
        "settled",
        "stack",
        "state",
    )

    def __init__(self, *, max_depth: int = MAX_DEPTH, hold_commas: bool = False) -> None:
        self.stack: list[str] = []
        self.state = S.START
        self.problem = ""
        self.broken_in: JsonState | None = None
        self.passed = 0
        self.settled = 0
        self._max_depth = max_depth
        self._hold_commas = hold_commas

    def scan(self, text: str, pos: int = 0, *, final: bool = False) -> int:
        """Read `text` from index `pos` on; return the index up to which it is passed.

        That is less than `len(text)` when the value has ended (DONE), when the text cannot go on
        like this (BROKEN, at the character that breaks it), or when what follows is a number,
        literal or escape that is not all there: feed that again with more text. `final` says that
        a number that reaches the end of the text is all there.
        """
        start = pos
        end = len(text)
        while True:
            state = self.state
            if state is S.STRING or state is S.KEY:
                pos = _end(IN_STRING, text, pos)
                if pos == end:
                    break
                if text[pos] == '"':
                    pos += 1
                    if state is S.KEY:
                        self.state = S.AFTER_KEY
                    else:
                        self._value_ends(pos - start)
                elif CUT_ESCAPE.match(text, pos):
                    break
                else:
                    self._broken("an escape" if text[pos] == "\\" else "a control character")
            elif state is S.DONE or state is S.BROKEN:
                break
            else:
                pos = _end(SPACE, text, pos)
                if pos == end:
                    break
                token = self._token(text, pos, pos - start, final=final)
                if not token:
                    break
                pos += token
        self.passed += pos - start
        return pos

    def _token(self, text: str, pos: int, read: int, *, final: bool) -> int:
        """Read the token at `pos`; return its length, or 0 when it is not all there or wrong.

        `read` is how many characters of this scan lie before it.
        """
        char = text[pos]
        state = self.state
        stack = self.stack
        top = stack[-1] if stack else ""
        if state is S.AFTER_VALUE:
            if char == ",":
                return self._comma(text, pos)
            if char == CLOSERS[top]:
                return self._close(read + 1)
        elif state is S.AFTER_KEY:
            if char == ":":
                self.state = S.AFTER_COLON
                return 1
        elif state is S.AFTER_OPEN and char == CLOSERS[top]:
            return self._close(read + 1)
        elif top == "{" and state not in BEFORE_VALUE:
            if char == '"':
                self.state = S.KEY
                return 1
        elif char == '"':
            self.state = S.STRING
            return 1
        elif char in "{[":
            if len(stack) < self._max_depth:
                stack.append(char)
                self.state = S.AFTER_OPEN
                self.settled = self.passed + read + 1
                return 1
            return self._broken(f"more than {self._max_depth} open brackets")
        else:
            return self._scalar(text, pos, read, final=final)
        return self._broken(f"{char!r} {state.value.replace('_', ' ')}")

    def _comma(self, text: str, pos: int) -> int:
        """Read a comma; where it may have to be left out again, only when a token follows."""
        if self._hold_commas:
            after = _end(SPACE, text, pos + 1)
            if after <= pos + MAX_TOKEN:
                if after == len(text):
                    return 0
                if text[after] == CLOSERS[self.stack[-1]]:
                    return self._broken("a comma before a closing bracket")
        self.state = S.AFTER_COMMA
        return 1

    def _scalar(self, text: str, pos: int, read: int, *, final: bool) -> int:
        char = text[pos]
        word = LITERALS.get(char)
        if word:
            if text.startswith(word, pos):
                self._value_ends(read + len(word))
                return len(word)
            return 0 if word.startswith(text[pos:]) else self._broken(f"{char!r} begins no value")
        stop = _end(IN_NUMBER, text, pos)
        if pos < stop <= pos + MAX_TOKEN:
            whole = NUMBER.fullmatch(text, pos, stop)
            # A number ends where another character stands, or the text: "12" may become "125".
            if stop == len(text) and not (final and whole):
                return 0
            if whole:
                self._value_ends(read + stop - pos)
                return stop - pos
        return self._broken(f"{char!r} begins no value")

    def go_on(self, state: JsonState) -> None:
        """Scan on in `state`, what broke the text being mended. DONE stands for a value's end."""
        ended = state is S.DONE and self.stack
        self.state = S.AFTER_VALUE if ended else state

    def _value_ends(self, read: int) -> None:
        self.settled = self.passed + read
        self.state = S.AFTER_VALUE if self.stack else S.DONE

    def _close(self, read: int) -> int:
        self.stack.pop()
        self._value_ends(read)
        return 1

    def _broken(self, problem: str) -> int:
        self.broken_in = self.state
        self.state = S.BROKEN
        self.problem = problem
        return 0


def json_value(
    src: Source, emit: Callable[[str], None], *, max_depth: int = MAX_DEPTH
) -> Steps[JsonScanner]:
    """Read one JSON value, handing its text on as it stands, character for character.

    Begins at its first character. Returns the scanner: DONE; BROKEN, the text from the offending
    character on unread; or in the state in which the input ended.
    """
    scanner = JsonScanner(max_depth=max_depth)
    while True:
        # A number that the end of the input cuts is not known: only one that stands alone is.
        pos = scanner.scan(src.text, src.pos, final=src.closed and not scanner.stack)
        if pos > src.pos:
            emit(src.take(pos))
        state = scanner.state
        if state is S.DONE or state is S.BROKEN or src.closed:
            return scanner
        if state is S.STRING or state is S.KEY:
            src.sleep(STRING_WAKE, emit)
        start = src.offset
        yield
        # What passed by in the sleep was passed too.
        scanner.passed += src.offset - start


def json_string(src: Source) -> Steps[str]:
    """Read one whole JSON string and return its value.

    Raises `MalformedJson`, the text unread, when there is none, when it has more than `MAX_TOKEN`
    characters, or when the input ends in it.
    """
    while True:
        text, pos = src.text, src.pos
        if pos < len(text):
            end = _end(IN_STRING, text, pos + 1)
            if text[pos] == '"' and text.startswith('"', end) and end - pos <= MAX_TOKEN:
                src.pos = end + 1
                return str(json.loads(text[pos : end + 1]))
            cut = text[pos] == '"' and (end == len(text) or CUT_ESCAPE.match(text, end) is not None)
            if src.closed or not cut or end - pos > MAX_TOKEN:
                raise _malformed(src, "no whole string", cut=cut)
        elif src.closed:
            raise _malformed(src, "no string")
        yield


def json_decoded(src: Source, emit: Callable[[str], None]) -> Steps[bool]:
    """Read a JSON string whose opening quote is read, handing on the text it stands for.

    Returns whether its closing quote was read; if not, the text from what breaks it on is
    unread. Half of a surrogate pair waits for the other half.
    """
    while True:
        text, pos = src.text, src.pos
        end = _end(IN_STRING, text, pos)
        cut = end == len(text) or CUT_ESCAPE.match(text, end) is not None
        half = HALF_PAIR.search(text, pos, end) if cut else None
        stop = half.start(1) if half else end
        if stop > pos:
            # An escape that begins in the prompt and ends after it is the model's.
            found = IN_STRING.match(text, pos, max(src.prompt_end, pos))
            piece = text[found.end() if found else pos : stop]
            src.pos = stop
            emit(json.loads(f'"{piece}"') if "\\" in piece else piece)
        if not cut:
            closed = text.startswith('"', end)
            src.pos += closed
            return closed
        if src.closed:
            return False
        yield


def json_key(src: Source, *, first: bool) -> Steps[str | None]:
    """Read on to the next value of an object whose opening brace is read.

    Returns its key, the value being next, or None when the closing brace was read instead.
    `first` says that no member was read yet. Raises `MalformedJson` where there is neither.
    """
    char = yield from json_space(src)
    if char == "}":
        src.pos += 1
        return None
    if not first:
        if char != ",":
            raise _malformed(src, "no comma")
        src.pos += 1
        yield from json_space(src)
    key = yield from json_string(src)
    if (yield from json_space(src)) != ":":
        raise _malformed(src, "no colon")
    src.pos += 1
    yield from json_space(src)
    return key


def json_space(src: Source) -> Steps[str]:
    """Skip JSON's white space; return the character after it, unread, or "" at the end."""
    while True:
        src.pos = _end(SPACE, src.text, src.pos)
        if src.pos < len(src.text) or src.closed:
            return (yield from peek(src))
        yield


def _end(pattern: re.Pattern[str], text: str, pos: int) -> int:
    """Where a match of `pattern`, which matches the empty text too, ends."""
    found = pattern.match(text, pos)
    return found.end() if found else pos


def _malformed(src: Source, detail: str, *, cut: bool = False) -> MalformedJson:
    """The error for where the parser stands; `cut`: more text might have mended it."""
    ended = src.closed and (cut or src.pos == len(src.text))
    kind = "truncated" if ended else "malformed_json"
    return MalformedJson(detail, kind=kind, span=(src.offset, src.offset + 1))
