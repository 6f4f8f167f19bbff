r"""Python literals, and the arguments of a Python call, written as JSON while they stream.

    arguments = [argument {"," argument} [","]] ")"        argument = name "=" value
    value     = string {string} | number | name | "[" ... "]" | "{" ... "}" | "(" ... ")"

No code is evaluated, and emitted text is never retracted. Calls, operators, sets, f-strings, `**`
and other names break the text. Some text is buffered:

    number, name, escape     until it is complete; a key that is not a string, and the name of an
                             argument, until the sign after it
    closing quote            until no string can follow, which Python would join
    comma                    until the next element
    parenthesis              completely, until "," or ")" shows if it is a tuple

A parenthesis may have any length, so it is limited to `MAX_TOKEN` characters of JSON. After that, a
string is treated as a value in parentheses, because long joined strings are written that way. Other
values are treated as a tuple. The text breaks if this was wrong.

Whitespace and comments are allowed between tokens, as in Python within brackets. Some text is
accepted beyond Python: JSON's `true`, `false` and `null`, and argument names with "-" or ".". Some
text is repaired, and reported. Raw line ends in a string with single quotes (control_characters).
Escapes `\x`, `\u`, `\U` and `\N` without a character, whose backslash is kept, as in `\d`
(invalid_escapes). Numbers unknown to JSON, which become null (non_finite). A raw "\r\n" is kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from ..bypass import Emit, Waiter
from ..json_text.lexer import MAX_DEPTH, MAX_TOKEN, match_end
from ..json_text.repairs import Note
from ..text_readers import peek
from ..window import Steps, Window
from .python_numbers import NAMES, is_python_name, python_key, python_number
from .simple_tokens import simple_tokens
from .strings import STRING, after_space, python_strings
from .writer import LONG_TUPLE, LONG_VALUE, OPENERS, Frame, Stop, Writer, note_repair

__all__ = ["PythonReading", "python_arguments", "python_value"]

# The call `float(...)` is read as one word, because it is the only spelling of some numbers.
WORD = re.compile(r"[-+.\w]*+(?:(?<=float)\([-+\w'\"]*+\)?+)?+")
NAME_OR_NUMBER = re.compile(r"[-+.\w\x80-\U0010ffff]*+")
# Spaces and comments are included, because the sign after them decides about the key.
KEY = re.compile(rf"{NAME_OR_NUMBER.pattern}(?:[ \t\n\r\f]++|#[^\n\r]*+)*+")
# JSON has no notation for these numbers.
NON_FINITE = re.compile(
    r"[-+]?(?:inf|nan|Infinity|NaN|float\(('|\")[-+]?(?i:inf|infinity|nan)\1\))"
)


@dataclass(frozen=True, slots=True)
class PythonReading:
    """The end of the reading of a Python value, or of a call's arguments.

    Attributes:
        state: "done": all text was read. "broken": the text is invalid, and unread from the error
            on. "cut": the input ended early.
        problem: the reason why the text is broken, or "".
        closers: the text that completes the emitted JSON; "" if no value was started, or only its
            key.
        held: the JSON that was read and not emitted, because it is unknown if its parenthesis is a
            tuple.
    """

    state: Literal["done", "broken", "cut"]
    problem: str = ""
    closers: str = ""
    held: str = field(default="", compare=False)


# Shared, because it has no further data.
DONE = PythonReading("done")
ARGUMENTS = Frame(")", "{", "}", "=")


def python_value(
    src: Window, emit: Emit, note: Note, *, max_depth: int = MAX_DEPTH
) -> Steps[PythonReading]:
    """Read one Python literal at the current position, and emit it as JSON.

    Outside of brackets, only strings on one line are joined. Never raises.

    Args:
        src: the window to read from.
        emit: takes the JSON, chunk by chunk.
        note: takes the name of each repair, a field of `Repairs`, and its offset.
        max_depth: the limit of open brackets.

    Returns:
        The end of the reading.
    """
    return (yield from _reading(src, Writer(src, emit, max_depth), note))


def python_arguments(
    src: Window,
    emit: Emit,
    note: Note,
    *,
    closer: str = ")",
    max_depth: int = MAX_DEPTH,
) -> Steps[PythonReading]:
    """Read the arguments of a Python call, after its "(", and emit one JSON object.

    Reads up to and including `closer`, one character. A duplicate name is emitted twice. See
    `python_value` for the other arguments and the result.
    """
    frame = ARGUMENTS if closer == ARGUMENTS.closer else Frame(closer, "{", "}", "=")
    out = Writer(src, emit, max_depth, [frame], "key")
    # A bracket in the prompt is not emitted, because it is not part of the response.
    if src.offset >= 0 or src.emits_prompt:
        emit("{")
    return (yield from _reading(src, out, note))


def _reading(src: Window, out: Writer, note: Note) -> Steps[PythonReading]:
    """Read until a value is complete and no bracket is open."""
    # The step reads nearly all tokens, and the generators below read the rest.
    emit, step = out.emit, simple_tokens(out)
    try:
        while out.frames or out.expects != "comma":
            src.waiter = Waiter(emit, step, emit)
            # At the top level a value may end without a sign, so the step cannot be used.
            if out.frames and (text := step(src)) is not None:
                if text:
                    emit(text)
                yield
                continue
            # The general readers set their own waiters.
            src.waiter = None
            if out.quote:
                yield from _rest_of_string(src, out, note)
            elif out.frames or out.expects != "comma":
                yield from _token(src, out, note)
    # An exception ends all nested generators at once.
    except Stop as stop:
        problem = str(stop)
        state: Literal["broken", "cut"] = "broken" if problem else "cut"
        return PythonReading(state, problem, out.closers(), "".join(out.held))
    return DONE


def _token(src: Window, out: Writer, note: Note) -> Steps[None]:
    """Read the next bracket, comma, key or value."""
    frame = out.frames[-1] if out.frames else None
    # At the top level, whitespace and comments belong to the caller.
    char = yield from (after_space(src) if frame else peek(src))
    if not char:
        # The input ended before a value, so the text is truncated.
        raise Stop
    if frame and char == frame.closer and out.expects != "value":
        src.pos += 1
        out.close()
    elif out.expects == "comma":
        # A long parenthesis was already written as a value, so a comma is too late.
        if char != "," or frame is LONG_VALUE:
            what = "so long a parenthesis" if frame in (LONG_VALUE, LONG_TUPLE) else "a value"
            raise Stop(f"{char!r} after {what}")
        src.pos += 1
        out.separate()
    elif out.expects == "key":
        yield from _key(src, out, note)
    elif char in OPENERS:
        # The limit protects later recursive parsers of the JSON.
        if len(out.frames) >= out.max_depth:
            raise Stop(f"more than {out.max_depth} open brackets")
        src.pos += 1
        out.open(OPENERS[char])
    else:
        yield from _scalar(src, out, note)
        out.expects = "comma"


def _key(src: Window, out: Writer, note: Note) -> Steps[None]:
    """Read a key and the sign after it."""
    # The sign distinguishes a dictionary (":") from arguments ("=").
    sign = out.frames[-1].sign
    held = yield from _whole(src, KEY)
    if sign == ":" and STRING.match(src.text, src.pos):
        yield from python_strings(src, out, note)
        yield from _colon(src, out)
    else:
        # Without the spaces and comments before the sign.
        word = held[: match_end(NAME_OR_NUMBER, held, 0)]
        # Argument names are identifiers, but keys of dictionaries may be numbers.
        name = is_python_name(word) and word if sign == "=" else python_key(word)
        if not name or not src.text.startswith(sign, src.pos + len(held)):
            raise Stop("a key must be a string or a number" if sign == ":" else "a name is missing")
        src.pos += len(held) + 1
        out.begin(f'"{name}": ')
    out.expects = "value"


def _colon(src: Window, out: Writer) -> Steps[None]:
    """Read the sign after a string key."""
    char = yield from after_space(src)
    if char != ":":
        raise Stop(f"{char!r} after a key")
    src.pos += 1
    out.write(": ")


def _rest_of_string(src: Window, out: Writer, note: Note) -> Steps[None]:
    """Read the rest of a string that `simple_tokens` started, which may be a key."""
    yield from python_strings(src, out, note)
    if out.expects == "key":
        yield from _colon(src, out)
        out.expects = "value"
    else:
        out.expects = "comma"


def _scalar(src: Window, out: Writer, note: Note) -> Steps[None]:
    """Read a string, number or name."""
    # A string prefix is matched as a word, too, so the word must be complete before the test for a
    # string.
    word = yield from _whole(src, WORD, alone=not out.frames)
    if STRING.match(src.text, src.pos):
        yield from python_strings(src, out, note)
        return
    text = NAMES.get(word) or python_number(word)
    # Reported, because null is a different value.
    if NON_FINITE.fullmatch(word):
        note_repair(note, "non_finite", src.offset)
        text = "null"
    if not text:
        # A literal that is terminated only by end-of-input may be incomplete.
        cut = src.pos + len(word) == len(src.text)
        raise Stop("" if cut else f"{word[:50] or src.text[src.pos]!r} is not a value")
    src.pos += len(word)
    out.begin(text)


def _whole(src: Window, pattern: re.Pattern[str], *, alone: bool = False) -> Steps[str]:
    """Return the match of `pattern`, unread, once its end is certain.

    The end of the input ends only a top-level value (`alone`), because other text may be truncated.
    """
    while True:
        end = match_end(pattern, src.text, src.pos)
        # Words are buffered completely, so their length is limited.
        if end - src.pos > MAX_TOKEN:
            raise Stop(f"a word of more than {MAX_TOKEN} characters")
        if end < len(src.text) or (src.closed and alone):
            return src.text[src.pos : end]
        if src.closed:
            raise Stop
        yield
