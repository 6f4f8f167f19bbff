r"""Python literals, and the arguments of a Python call, written as JSON while they stream.

    arguments = [argument {"," argument} [","]] ")"        argument = name "=" value
    value     = string {string} | number | name | "[" ... "]" | "{" ... "}" | "(" ... ")"

Nothing is evaluated, and what was written is never taken back. Calls, operators, sets, f-strings,
`**` and names that stand for something else are where the text breaks. What is held back:

    number, name, escape     until it is whole; a key that is not a string, and the name of an
                             argument, until the sign that follows it
    closing quote            until it is known that no string follows, which Python would join
    comma                    until something follows it that it separates
    parenthesis              all within it, until "," or ")" says whether it is a tuple

The last would hold a text of any length, so it has a limit of `MAX_TOKEN` characters of JSON.
From there on a string is taken for a value in parentheses, as they are put round strings that
are joined over many lines, and anything else for a tuple; the text breaks if that was wrong.

White space and comments stand between tokens where Python allows them within brackets. Beyond
Python: JSON's `true`, `false` and `null`, names of arguments with "-" or "." in them, and what
is noted: raw line ends in a string of single quotes (control_characters), `\x`, `\u`, `\U` and
`\N` that are no characters (invalid_escapes: the backslash is kept, as in `\d`), and numbers
that JSON has not, which become null (non_finite). A raw "\r\n" stays what it is.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from .json_lexer import MAX_DEPTH, MAX_TOKEN, match_end
from .source import Source, Steps
from .text import peek

__all__ = ["PythonReading", "python_arguments", "python_value"]

Note = Callable[[str, int], None]
Search = Callable[[str], object]

SPACE = re.compile(r"[ \t\n\r\f]*+")
COMMENT = re.compile(r"[^\n\r]*+")
WORD = re.compile(r"[-+.\w]*+(?:(?<=float)\([-+\w'\"]*+\)?+)?+")
KEY = re.compile(r"[-+.\w]*+(?:[ \t\n\r\f]++|#[^\n\r]*+)*+")
NAME = re.compile(r"[^\W\d][-.\w]*+")
NAMES = {"True": "true", "False": "false", "None": "null"}
NAMES |= {name: name for name in NAMES.values()}
NON_FINITE = re.compile(
    r"[-+]?(?:inf|nan|Infinity|NaN|float\(('|\")[-+]?(?i:inf|infinity|nan)\1\))"
)
DIGITS = "[0-9](?:_?[0-9])*+"
NUMBER = re.compile(rf"([-+]?)({DIGITS})?+(?:(\.)({DIGITS})?+)?+([eE][-+]?{DIGITS})?+")
RADIX = re.compile(r"[-+]?0(?:[xX](?:_?[0-9a-fA-F])++|[oO](?:_?[0-7])++|[bB](?:_?[01])++)")

STRING = re.compile("[rRuU]?['\"]")
NEXT_STRING = re.compile(r"([ \t\f]*+)[rRuU]?(?:(['\"])|\Z)")
HEX = "[0-9a-fA-F]"
NO_ESCAPE = "(?!)"
SAME_ESCAPE = rf'\\(?:["\\bfnrt]|u{HEX}{{4}})'  # in Python and in JSON
ESCAPE = re.compile(
    rf"\\(?:([0-7]{{1,3}})|x({HEX}{{2}})|U({HEX}{{8}})|N{{([\w -]{{1,100}})}}|(\r\n|[\n\r'av]))"
)
CUT_ESCAPE = re.compile(
    rf"\\(?:[0-7]{{1,2}}|x{HEX}?|u{HEX}{{0,3}}|U{HEX}{{0,7}}|N(?:{{[\w -]{{0,100}})?|\r)?\Z"
)
CUT_RAW_ESCAPE = re.compile(r"\\\Z")
OTHER_ESCAPES = {"'": "'", "a": "\a", "v": "\v"}
LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


def _string_patterns(quote: str, escapes: str) -> tuple[re.Pattern[str], Search]:
    """What of a string JSON spells as Python does, and what wakes a parser that sleeps in it."""
    odd = rf"\\\x00-\x1f\ud800-\udfff\"{quote}"
    run = re.compile(f"[^{odd}]*+(?:{escapes}[^{odd}]*+)*+")
    return run, re.compile(f"[{odd}]").search


IN_STRING = {quote: _string_patterns(quote, SAME_ESCAPE) for quote in "'\""}
IN_RAW_STRING = {quote: _string_patterns(quote, NO_ESCAPE) for quote in "'\""}


@dataclass(frozen=True, slots=True)
class PythonReading:
    """How the reading of a value or of arguments ended.

    "done": all of it was read. "broken": the text cannot go on as it does, for which `problem` is
    the reason; from what breaks it on, it is unread. "cut": the input ended before. `closers`
    makes JSON of what was written until then; "" where no value, or only its key, was.
    """

    state: Literal["done", "broken", "cut"]
    problem: str = ""
    closers: str = ""


def python_value(
    src: Source, emit: Callable[[str], None], note: Note, *, max_depth: int = MAX_DEPTH
) -> Steps[PythonReading]:
    """Read one Python literal, which begins here, writing it as JSON.

    Strings that stand alone are joined on one line only. `note` is told what was mended, in the
    words of `Repairs`, and the offset where it was.
    """
    return (yield from _reading(src, _Writer(src, emit, max_depth), note))


def python_arguments(
    src: Source,
    emit: Callable[[str], None],
    note: Note,
    *,
    closer: str = ")",
    max_depth: int = MAX_DEPTH,
) -> Steps[PythonReading]:
    """Read the arguments of a call up to and with `closer`, one character, writing an object.

    The opening parenthesis is read. A name that stands twice is written twice. `note` as above.
    """
    out = _Writer(src, emit, max_depth, [_Frame(closer, "{", "}", "=")], "key")
    if src.offset >= 0:
        emit("{")
    return (yield from _reading(src, out, note))


@dataclass(frozen=True, slots=True, eq=False)
class _Frame:
    """What stands open: its end in Python, both its ends in JSON, and the sign after a key."""

    closer: str
    begins: str = ""
    ends: str = ""
    sign: str = ""


DICT = _Frame("}", "{", "}", ":")
TUPLE = _Frame(")", "[", "]")
PARENTHESIS = _Frame(")")
LONG_VALUE = _Frame(")")
LONG_TUPLE = _Frame("", "[", "]")  # nothing ends it before a comma came
OPENERS = {"[": _Frame("]", "[", "]"), "{": DICT, "(": PARENTHESIS}

Expects = Literal["element", "key", "value", "comma"]
"""What comes next: the first two, or the end; a value; a comma, or the end."""


class _Stop(Exception):
    """The text breaks here, for a reason; without one, the input ends here."""


@dataclass(slots=True, eq=False)
class _Writer:
    """Writes JSON, and knows what stands open.

    What is written in parentheses that may be tuples waits in `held`; `slots` are the places in
    it where their brackets belong, or do not.
    """

    src: Source
    emit: Callable[[str], None]
    max_depth: int
    frames: list[_Frame] = field(default_factory=list)
    expects: Expects = "value"
    comma: str = ""
    in_string: bool = False
    in_member: bool = False
    held: list[str] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    size: int = 0

    def write(self, text: str) -> None:
        """Write more of what was begun, unless all that was read is the prompt's."""
        if self.src.offset <= 0:
            return
        if not self.slots:
            self.emit(text)
            return
        self.held.append(text)
        self.size += len(text)
        if self.size > MAX_TOKEN:
            self._guess()

    def begin(self, text: str) -> None:
        """Write the beginning of a key or a value, after the comma that was held for it."""
        self.write(self.comma + text)
        self.comma = ""
        self.in_member = self.expects == "key"

    def open(self, frame: _Frame) -> None:
        """Open a bracket, which is read."""
        if frame is PARENTHESIS:
            self.slots.append(len(self.held))
            self.held.append(self.comma)
            self.comma = ""
        else:
            self.begin(frame.begins)
        self.frames.append(frame)
        self.expects = "key" if frame.sign else "element"

    def separate(self) -> None:
        """Hold a comma, which is read."""
        frame = self.frames[-1]
        if frame is PARENTHESIS or frame is LONG_TUPLE:
            self.frames[-1] = TUPLE
        if frame is PARENTHESIS:
            self._decide("[")
        self.comma = ", "
        self.expects = "key" if frame.sign else "element"

    def close(self) -> None:
        """Close what stands open, its end being read."""
        frame = self.frames[-1]
        if frame is PARENTHESIS:
            empty = self.expects == "element"
            self._decide("[]" if empty else "")
        elif frame.ends:
            self.write(frame.ends)
        self.frames.pop()
        self.expects = "comma"

    def closers(self) -> str:
        """What makes JSON of all that was handed out, if a value was begun."""
        frames, in_string, in_member = self.frames, self.in_string, self.in_member
        if self.slots:
            frames = frames[: frames.index(PARENTHESIS)]
            in_string, in_member = False, bool(frames and frames[-1].sign)
        if in_member:
            return ""
        return '"' * in_string + "".join(frame.ends for frame in reversed(frames))

    def _decide(self, bracket: str) -> None:
        """Write the bracket of the innermost parenthesis; "" if it is none."""
        self.held[self.slots.pop()] += bracket
        if not self.slots:
            held = "".join(self.held)
            self.held.clear()
            self.size = 0
            if held:
                self.emit(held)

    def _guess(self) -> None:
        """Decide all parentheses, too much being held."""
        is_value = True
        for at in range(len(self.frames) - 1, -1, -1):
            if self.frames[at] is PARENTHESIS:
                self.frames[at] = LONG_VALUE if is_value else LONG_TUPLE
                self._decide(self.frames[at].begins)
            is_value = is_value and self.frames[at] is LONG_VALUE


def _reading(src: Source, out: _Writer, note: Note) -> Steps[PythonReading]:
    """Read until nothing stands open."""
    try:
        while out.frames or out.expects != "comma":
            yield from _token(src, out, note)
    except _Stop as stop:
        problem = str(stop)
        return PythonReading("broken" if problem else "cut", problem, out.closers())
    return PythonReading("done")


def _token(src: Source, out: _Writer, note: Note) -> Steps[None]:
    """Read the next bracket, comma, key or value."""
    frame = out.frames[-1] if out.frames else None
    char = yield from (_after_space(src) if frame else peek(src))
    if not char:
        raise _Stop
    if frame and char == frame.closer and out.expects != "value":
        src.pos += 1
        out.close()
    elif out.expects == "comma":
        if char != "," or frame is LONG_VALUE:
            what = "so long a parenthesis" if frame in (LONG_VALUE, LONG_TUPLE) else "a value"
            raise _Stop(f"{char!r} after {what}")
        src.pos += 1
        out.separate()
    elif out.expects == "key":
        yield from _key(src, out, note)
    elif char in OPENERS:
        if len(out.frames) >= out.max_depth:
            raise _Stop(f"more than {out.max_depth} open brackets")
        src.pos += 1
        out.open(OPENERS[char])
    else:
        yield from _scalar(src, out, note)
        out.expects = "comma"


def _key(src: Source, out: _Writer, note: Note) -> Steps[None]:
    """Read a key and the sign after it."""
    sign = out.frames[-1].sign
    held = yield from _whole(src, KEY)
    if sign == ":" and STRING.match(src.text, src.pos):
        yield from _strings(src, out, note)
        char = yield from _after_space(src)
        if char != sign:
            raise _Stop(f"{char!r} after a key")
        src.pos += 1
        out.write(": ")
    else:
        word = held[: match_end(WORD, held, 0)]
        name = NAME.fullmatch(word) and word if sign == "=" else _key_of(word)
        if not name or not src.text.startswith(sign, src.pos + len(held)):
            raise _Stop("a key that is neither string nor number" if sign == ":" else "no name")
        src.pos += len(held) + 1
        out.begin(f'"{name}": ')
    out.expects = "value"


def _scalar(src: Source, out: _Writer, note: Note) -> Steps[None]:
    """Read a string, number or name."""
    word = yield from _whole(src, WORD, alone=not out.frames)
    if STRING.match(src.text, src.pos):
        yield from _strings(src, out, note)
        return
    text = NAMES.get(word) or _number(word)
    if NON_FINITE.fullmatch(word):
        note("non_finite", src.offset)
        text = "null"
    if not text:
        # What only the end of the input ends may have been more.
        cut = src.pos + len(word) == len(src.text)
        raise _Stop("" if cut else f"{word[:50] or src.text[src.pos]!r} is no value")
    src.pos += len(word)
    out.begin(text)


def _strings(src: Source, out: _Writer, note: Note) -> Steps[None]:
    """Read a string and those that Python joins to it."""
    another = True
    while another:
        prefix = src.text[src.pos].strip("'\"")
        quote = src.text[src.pos + len(prefix)]
        src.pos += len(prefix) + 1
        if not out.in_string:
            out.begin('"')
            out.in_string = True
        quotes = yield from _opened(src, quote)
        if quotes:
            yield from _body(src, out, note, quotes, raw=prefix in ("r", "R"))
        another = yield from _followed(src, inside=bool(out.frames))
    out.in_string = False
    out.write('"')


def _opened(src: Source, quote: str) -> Steps[str]:
    """Return the quotes that will end a string whose first quote is read; "" if it ended."""
    while True:
        two = src.text[src.pos : src.pos + 2]
        if two == quote * 2:
            src.pos += 2
            return quote * 3
        if src.closed or len(two) == 2 or two not in ("", quote):
            empty = two[:1] == quote
            src.pos += empty
            return "" if empty else quote
        yield


def _body(src: Source, out: _Writer, note: Note, quotes: str, *, raw: bool) -> Steps[None]:
    """Read what is left of a string, and `quotes`."""
    run, wake = (IN_RAW_STRING if raw else IN_STRING)[quotes[0]]
    cut_escape = CUT_RAW_ESCAPE if raw else CUT_ESCAPE
    while True:
        end = match_end(run, src.text, src.pos)
        if end > src.pos:
            out.write(src.take(end))
        ahead = src.text[end : end + 3]
        if ahead.startswith(quotes):
            src.pos += len(quotes)
            return
        if not quotes.startswith(ahead) and not cut_escape.match(src.text, end):
            start = src.offset
            text, src.pos, mended = _odd_character(src.text, end, quotes, raw=raw)
            if mended:
                note(mended, start)
            out.write(text)
        elif src.closed:
            raise _Stop
        else:
            src.sleep(wake, out.write)
            yield


def _odd_character(text: str, pos: int, quotes: str, *, raw: bool) -> tuple[str, int, str]:
    """Spell what stands at `pos` for JSON; where it ends, and by what name it was mended."""
    if text[pos] != "\\":
        ends_line = text[pos] in "\n\r" and len(quotes) == 1
        return _spelled(text[pos]), pos + 1, "control_characters" if ends_line else ""
    if raw:
        return _spelled(text[pos : pos + 2]), pos + 2, ""
    escape = ESCAPE.match(text, pos)
    meant = _meant(escape) if escape else None
    if escape and meant is not None:
        return _spelled(meant), escape.end(), ""
    # It was meant as a backslash; what follows is read on its own.
    return "\\\\", pos + 1, "invalid_escapes" if text[pos + 1] in "xuUN" else ""


def _meant(escape: re.Match[str]) -> str | None:
    """Return what an escape stands for; None if that is no character."""
    octal, short, long, name, other = escape.groups()
    try:
        if name:
            meant = unicodedata.lookup(name)
            return meant if len(meant) == 1 else None
        if octal:
            return chr(int(octal, 8))
        return OTHER_ESCAPES.get(other, "") if other else chr(int(short or long, 16))
    except (KeyError, ValueError, OverflowError):
        return None


def _spelled(text: str) -> str:
    """Spell text for a JSON string; half of a surrogate pair cannot be sent but as an escape."""
    spelled = json.dumps(text, ensure_ascii=False)[1:-1]
    return LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", spelled)


def _followed(src: Source, *, inside: bool) -> Steps[bool]:
    """Whether another string follows, where it begins being read up to."""
    if inside:
        yield from _after_space(src)
    while True:
        found = NEXT_STRING.match(src.text, src.pos)
        if not found or len(found[1]) > MAX_TOKEN:
            return False
        if found[2]:
            src.pos = found.end(1)
            return True
        if src.closed:
            if inside:
                raise _Stop
            return False
        yield


def _after_space(src: Source) -> Steps[str]:
    """Skip white space and comments; return the character after them, unread."""
    skipped = SPACE
    while True:
        src.pos = match_end(skipped, src.text, src.pos)
        if src.pos == len(src.text):
            if src.closed:
                raise _Stop
            yield
        elif skipped is COMMENT:
            skipped = SPACE
        elif src.text[src.pos] == "#":
            skipped = COMMENT
        else:
            return src.text[src.pos]


def _whole(src: Source, pattern: re.Pattern[str], *, alone: bool = False) -> Steps[str]:
    """Return what `pattern` matches here, unread, once it is known where that ends.

    The end of the input ends only what stands `alone`: else it may be cut.
    """
    while True:
        end = match_end(pattern, src.text, src.pos)
        if end - src.pos > MAX_TOKEN:
            raise _Stop(f"a word of more than {MAX_TOKEN} characters")
        if end < len(src.text) or (src.closed and alone):
            return src.text[src.pos : end]
        if src.closed:
            raise _Stop
        yield


def _number(word: str) -> str:
    """Write a Python number as JSON, as it is if it may be; "" for what is none."""
    if RADIX.fullmatch(word):
        digits = str(Decimal(int(word, 0)))  # unlike that of int, its length has no limit
        return digits if len(digits) <= MAX_TOKEN else ""
    found = NUMBER.fullmatch(word)
    if not found:
        return ""
    sign, whole, point, fraction, exponent = (
        (part or "").replace("_", "") for part in found.groups()
    )
    digits = whole.lstrip("0") or "0"
    is_octal = whole[:1] == "0" != digits and not point and not exponent
    if is_octal or not (whole or fraction):
        return ""
    return sign.strip("+") + digits + (point and f".{fraction or 0}") + exponent


def _key_of(word: str) -> str:
    """Return what `json.dumps` makes of a key that is a number or name; "" for what is none."""
    text = _number(word)
    if any(char in text for char in ".eE"):
        return json.dumps(float(text))
    return NAMES.get(word) or ("0" if text == "-0" else text)
