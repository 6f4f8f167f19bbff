r"""Python literals, and the arguments of a Python call, written as JSON while they stream.

    arguments = [argument {"," argument} [","]] ")"        argument = name "=" value
    value     = string {string} | number | name | "[" ... "]" | "{" ... "}" | "(" ... ")"

Nothing is evaluated, and what was emitted is never taken back. Calls, operators, sets, f-strings,
`**` and names that stand for something else are where the text breaks. What is held back:

    number, name, escape     until it is whole; a key that is not a string, and the name of an
                             argument, until the sign that follows it
    closing quote            until it is certain that no string follows, which Python would join
    comma                    until something follows it that it separates
    parenthesis              all within it, until "," or ")" says whether it is a tuple

The last would hold a text of any length, so it has a limit of `MAX_TOKEN` characters of JSON.
From there on a string is taken for a value in parentheses, as they are put round strings that
are joined over many lines, and anything else for a tuple; the text breaks if that was wrong.

White space and comments stand between tokens where Python allows them within brackets. Beyond
Python: JSON's `true`, `false` and `null`, names of arguments with "-" or "." in them, and what
is noted as a repair: raw line ends in a string of single quotes (control_characters), `\x`, `\u`,
`\U` and `\N` that are no characters (invalid_escapes: the backslash is kept, as in `\d`), and
numbers that JSON has not, which become null (non_finite). A raw "\r\n" stays what it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from ..json_text.lexer import MAX_DEPTH, MAX_TOKEN, match_end
from ..json_text.repairs import Note
from ..text_readers import peek
from ..waiting import Emit, Waiter
from ..window import Steps, Window
from .numbers import NAMES, is_python_name, python_key, python_number
from .simple_tokens import simple_tokens
from .strings import STRING, after_space, python_strings
from .writer import LONG_TUPLE, LONG_VALUE, OPENERS, Frame, Stop, Writer, note_repair

__all__ = ["PythonReading", "python_arguments", "python_value"]

WORD = re.compile(r"[-+.\w]*+(?:(?<=float)\([-+\w'\"]*+\)?+)?+")
NAME_OR_NUMBER = re.compile(r"[-+.\w\x80-\U0010ffff]*+")
KEY = re.compile(rf"{NAME_OR_NUMBER.pattern}(?:[ \t\n\r\f]++|#[^\n\r]*+)*+")
NON_FINITE = re.compile(
    r"[-+]?(?:inf|nan|Infinity|NaN|float\(('|\")[-+]?(?i:inf|infinity|nan)\1\))"
)


@dataclass(frozen=True, slots=True)
class PythonReading:
    """How the reading of a Python value, or of the arguments of a call, ended.

    Attributes:
        state: "done": all of it was read. "broken": the text cannot go on as it does; it is unread
            from what breaks it on. "cut": the input ended before.
        problem: the reason why the text is broken; "" otherwise.
        closers: what makes JSON of what was emitted; "" where no value was begun, or only its key.
        held: the JSON of what was read and not emitted, for it was not certain whether its
            parenthesis is a tuple.
    """

    state: Literal["done", "broken", "cut"]
    problem: str = ""
    closers: str = ""
    held: str = field(default="", compare=False)


DONE = PythonReading("done")
ARGUMENTS = Frame(")", "{", "}", "=")


def python_value(
    src: Window, emit: Emit, note: Note, *, max_depth: int = MAX_DEPTH
) -> Steps[PythonReading]:
    """Read one Python literal, which begins here, emitting it as JSON.

    Strings outside of brackets are joined on one line only. Returns how the reading ended, and
    never raises.

    Args:
        src: the window to read from.
        emit: takes the JSON, chunk by chunk.
        note: takes the name of each repair, in the words of `Repairs`, and the offset where it was
            made.
        max_depth: how many brackets may be open.
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
    """Read the arguments of a Python call, whose "(" was read, emitting one JSON object.

    Reads up to and with `closer`, one character. A name that stands twice is emitted twice.
    Otherwise as `python_value`.
    """
    frame = ARGUMENTS if closer == ARGUMENTS.closer else Frame(closer, "{", "}", "=")
    out = Writer(src, emit, max_depth, [frame], "key")
    if src.offset >= 0 or src.emits_prompt:
        emit("{")
    return (yield from _reading(src, out, note))


def _reading(src: Window, out: Writer, note: Note) -> Steps[PythonReading]:
    """Read until no bracket is open and a value was read."""
    emit, step = out.emit, simple_tokens(out)
    try:
        while out.frames or out.expects != "comma":
            src.waiter = Waiter(emit, step, emit)
            if out.frames and (text := step(src)) is not None:
                if text:
                    emit(text)
                yield
                continue
            src.waiter = None
            if out.quote:
                yield from _rest_of_string(src, out, note)
            elif out.frames or out.expects != "comma":
                yield from _token(src, out, note)
    except Stop as stop:
        problem = str(stop)
        state: Literal["broken", "cut"] = "broken" if problem else "cut"
        return PythonReading(state, problem, out.closers(), "".join(out.held))
    return DONE


def _token(src: Window, out: Writer, note: Note) -> Steps[None]:
    """Read the next bracket, comma, key or value."""
    frame = out.frames[-1] if out.frames else None
    char = yield from (after_space(src) if frame else peek(src))
    if not char:
        raise Stop
    if frame and char == frame.closer and out.expects != "value":
        src.pos += 1
        out.close()
    elif out.expects == "comma":
        if char != "," or frame is LONG_VALUE:
            what = "so long a parenthesis" if frame in (LONG_VALUE, LONG_TUPLE) else "a value"
            raise Stop(f"{char!r} after {what}")
        src.pos += 1
        out.separate()
    elif out.expects == "key":
        yield from _key(src, out, note)
    elif char in OPENERS:
        if len(out.frames) >= out.max_depth:
            raise Stop(f"more than {out.max_depth} open brackets")
        src.pos += 1
        out.open(OPENERS[char])
    else:
        yield from _scalar(src, out, note)
        out.expects = "comma"


def _key(src: Window, out: Writer, note: Note) -> Steps[None]:
    """Read a key and the sign after it."""
    sign = out.frames[-1].sign
    held = yield from _whole(src, KEY)
    if sign == ":" and STRING.match(src.text, src.pos):
        yield from python_strings(src, out, note)
        yield from _colon(src, out)
    else:
        word = held[: match_end(NAME_OR_NUMBER, held, 0)]
        name = is_python_name(word) and word if sign == "=" else python_key(word)
        if not name or not src.text.startswith(sign, src.pos + len(held)):
            raise Stop("a key that is neither string nor number" if sign == ":" else "no name")
        src.pos += len(held) + 1
        out.begin(f'"{name}": ')
    out.expects = "value"


def _colon(src: Window, out: Writer) -> Steps[None]:
    """Read the sign after a key that is a string."""
    char = yield from after_space(src)
    if char != ":":
        raise Stop(f"{char!r} after a key")
    src.pos += 1
    out.write(": ")


def _rest_of_string(src: Window, out: Writer, note: Note) -> Steps[None]:
    """Read the rest of a string that `simple_tokens` began, which may be a key."""
    yield from python_strings(src, out, note)
    if out.expects == "key":
        yield from _colon(src, out)
        out.expects = "value"
    else:
        out.expects = "comma"


def _scalar(src: Window, out: Writer, note: Note) -> Steps[None]:
    """Read a string, number or name."""
    word = yield from _whole(src, WORD, alone=not out.frames)
    if STRING.match(src.text, src.pos):
        yield from python_strings(src, out, note)
        return
    text = NAMES.get(word) or python_number(word)
    if NON_FINITE.fullmatch(word):
        note_repair(note, "non_finite", src.offset)
        text = "null"
    if not text:
        # What only the end of the input ends may have been more.
        cut = src.pos + len(word) == len(src.text)
        raise Stop("" if cut else f"{word[:50] or src.text[src.pos]!r} is no value")
    src.pos += len(word)
    out.begin(text)


def _whole(src: Window, pattern: re.Pattern[str], *, alone: bool = False) -> Steps[str]:
    """Return what `pattern` matches here, left unread, once it is certain where that ends.

    The end of the input ends only what stands `alone`; elsewhere it may be cut there.
    """
    while True:
        end = match_end(pattern, src.text, src.pos)
        if end - src.pos > MAX_TOKEN:
            raise Stop(f"a word of more than {MAX_TOKEN} characters")
        if end < len(src.text) or (src.closed and alone):
            return src.text[src.pos : end]
        if src.closed:
            raise Stop
        yield
