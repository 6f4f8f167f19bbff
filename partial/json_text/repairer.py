"""What is nearly JSON, read, and JSON emitted in its place: the repairs of `repair`, one by one."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from ..bypass import Emit, Lane, StringSink
from ..markers import marker_set
from ..surrogates import SURROGATES
from ..text_readers import peek_marker, until
from ..window import Steps, Window
from .compact import spelled
from .lexer import (
    AFTER_COLON,
    AFTER_COMMA,
    AFTER_KEY,
    AFTER_OPEN,
    AFTER_VALUE,
    CLOSERS,
    KEY,
    MAX_TOKEN,
    MEMBER,
    START,
    STRING,
    JsonLexer,
    match_end,
)
from .readers import json_space
from .repairs import Note, Repairs
from .token_runs import ESCAPE
from .unclosed_string import UnclosedString
from .unquoted_keys import own_key

__all__ = ["NOTHING_MORE", "Repairer"]

LITERALS = {
    "True": ("python_literals", "true"),
    "False": ("python_literals", "false"),
    "None": ("python_literals", "null"),
    "NaN": ("non_finite", "null"),
    "Infinity": ("non_finite", "null"),
    "-Infinity": ("non_finite", "null"),
}
KEY_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$.-]*+")
WORD = re.compile(rf"-?{KEY_WORD.pattern}")
HEX = re.compile(r"\\(?:x([0-9a-fA-F]{2})|U(0010[0-9a-fA-F]{4}|000[0-9a-fA-F]{5}))")
# In a string in single quotes: all but what ends it, escapes, or must be escaped.
IN_SINGLE = re.compile(r"""[^'"\\\x00-\x1f]*+""")
ODD_IN_SINGLE = rf"""'"\\\x00-\x1f{SURROGATES}"""
WHOLE_ESCAPE = re.compile(ESCAPE)
CUT_ODD_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?\Z")
NOTHING_MORE = "nothing more"
"""What stands for the name of a repair where none is to be noted, such as quotes of the format."""
COMMENTS = marker_set({"//", "/*"})
"""Comments where a key may begin as other comments do."""
NO_MARKERS = marker_set(())
COMMENT_ENDS = {"//": "\n", "/*": "*/", "#": "\n"}
BEFORE_KEY = frozenset({AFTER_OPEN, AFTER_COMMA})


class Repairer:
    """Writes JSON in the place of what broke it.

    Its sub-parsers return the name of the repair that they made; "" if there is none for what
    stands here; None where the input ends in what more text might have made a repair of.
    """

    __slots__ = ("_emit", "_keys", "_lexer", "_note", "_overrun", "_quote", "_repairs", "_src")

    def __init__(
        self,
        src: Window,
        lexer: JsonLexer,
        emit: Emit,
        note: Note,
        repairs: Repairs,
        quote: str = "",
        overrun: UnclosedString | None = None,
        keys: Sequence[str] = (),
    ) -> None:
        self._quote = quote
        self._keys = keys
        self._overrun = overrun
        self._src = src
        self._lexer = lexer
        self._emit = emit
        self._note = note
        self._repairs = repairs

    def write(self, text: str) -> None:
        """Emit JSON that the lexer did not pass."""
        self._lexer.passed += len(text)
        self._emit(text)

    def repair(self) -> Steps[str | None]:
        """Repair what breaks the text here, in the state in which the lexer broke."""
        src, lexer, repairs = self._src, self._lexer, self._repairs
        state = lexer.state = lexer.broken_in or START
        char = src.text[src.pos]
        if state is STRING or state is KEY:
            return (yield from self._odd_character())
        is_key = bool(lexer.stack) and lexer.stack[-1] == "{" and state in BEFORE_KEY
        is_value = not is_key and state in (START, AFTER_COLON, AFTER_OPEN, AFTER_COMMA)
        if char == "," and state is AFTER_VALUE:
            return (yield from self._comma())
        if self._quote and char == self._quote[0] and (is_key or is_value):
            if (yield from peek_marker(src, marker_set({self._quote}))):
                lexer.state = KEY if is_key else STRING
                return (yield from self._quoted())
        if self._quote and is_key and char != "'" and repairs.unquoted_keys:
            outside = self._overrun.outside if self._overrun else NO_MARKERS
            key = yield from own_key(src, self._quote, outside, self._keys)
            if key:
                self.write(f'"{spelled(key)}"')
                lexer.state = AFTER_KEY
                return "unquoted_keys"
            if key is None:
                return None
        if char in "/#" and repairs.comments:
            return (yield from self._comment())
        if char == "'" and repairs.single_quotes and (is_key or is_value):
            lexer.state = KEY if is_key else STRING
            return (yield from self._single_quoted())
        if is_key or is_value:
            return (yield from self._word(is_key=is_key))
        return ""

    def _comma(self) -> Steps[str | None]:
        """Read a comma behind which no member stands: a bracket, a comment, or nearly one.

        It is emitted when it is certain that a member follows it.
        """
        src, lexer = self._src, self._lexer
        src.pos += 1
        done = ""
        while True:
            char = yield from json_space(src)
            if not char:
                return done or None
            if char not in "/#" or not self._repairs.comments:
                break
            if (
                self._quote
                and lexer.stack[-1] == "{"
                and not (yield from peek_marker(src, COMMENTS))
            ):
                break
            start = src.offset
            comment = yield from self._comment()
            if not comment:
                return comment
            self._note(comment, start)
            done = NOTHING_MORE
        if char == CLOSERS[lexer.stack[-1]]:
            return "trailing_commas" if self._repairs.trailing_commas else ""
        self.write(", ")
        lexer.state = AFTER_COMMA
        if char in MEMBER[lexer.stack[-1]]:
            return done
        lexer.broken_in = AFTER_COMMA
        return (yield from self.repair())

    def _word(self, *, is_key: bool) -> Steps[str | None]:
        """Repair a word where a key or a value must stand, once it is certain where it ends."""
        src, lexer, repairs = self._src, self._lexer, self._repairs
        while True:
            end = match_end(KEY_WORD if is_key else WORD, src.text, src.pos)
            if end < len(src.text) or end - src.pos > MAX_TOKEN or src.closed:
                break
            yield
        word = src.text[src.pos : end]
        if len(word) > MAX_TOKEN:
            return ""
        cut = end == len(src.text) and bool(lexer.stack)
        if cut and word and (is_key or any(known.startswith(word) for known in LITERALS)):
            return None
        if is_key and word and repairs.unquoted_keys:
            src.pos = end
            self.write(f'"{word}"')
            lexer.state = AFTER_KEY
            return "unquoted_keys"
        name, literal = LITERALS.get(word, ("", ""))
        if is_key or not name or not getattr(repairs, name):
            return ""
        src.pos = end
        self.write(literal)
        lexer.value_ends()
        return name

    def _odd_character(self) -> Steps[str | None]:
        """Write the control character or escape that stands here in a way that JSON allows."""
        src = self._src
        if src.text[src.pos] != "\\":
            if not self._repairs.control_characters:
                return ""
            self.write(spelled(src.text[src.pos]))
            src.pos += 1
            return "control_characters"
        while CUT_ODD_ESCAPE.match(src.text, src.pos):
            if src.closed:
                return None
            yield
        escape = WHOLE_ESCAPE.match(src.text, src.pos)
        found = HEX.match(src.text, src.pos)
        if escape:
            self.write(src.consume(escape.end()))
        elif not self._repairs.invalid_escapes:
            return ""
        elif found:
            self.write(json.dumps(chr(int(found[1] or found[2], 16)))[1:-1])
            src.pos = found.end()
        elif src.text[src.pos + 1] == "'":
            self.write("'")
            src.pos += 2
        else:
            # It was meant as a backslash; what follows is read on its own.
            self.write("\\\\")
            src.pos += 1
        return "invalid_escapes"

    def _single_quoted(self) -> Steps[str]:
        """Read a string in single quotes, writing one in double quotes."""
        src, lexer = self._src, self._lexer
        src.pos += 1
        self.write('"')
        while True:
            found = IN_SINGLE.match(src.text, src.pos)
            if found and found.end() > src.pos:
                end = yield from self._clear(found.end(), "'")
                if end is None:
                    return "single_quotes"
                self.write(src.consume(end))
                continue
            char = src.text[src.pos : src.pos + 1]
            if char == "'":
                src.pos += 1
                self.write('"')
                lexer.string_ends()
                return "single_quotes"
            if char == '"':
                src.pos += 1
                self.write('\\"')
            elif char:
                repair = yield from self._odd_character()
                if not repair:
                    if repair == "":
                        lexer.breaks("an escape" if char == "\\" else "a control character")
                    return "single_quotes"
            elif src.closed:
                return "single_quotes"
            else:
                firsts = self._overrun.markers.firsts if self._overrun else ""
                src.wait(self.write, _single_quoted_lane(firsts))
                yield

    def _quoted(self) -> Steps[str | None]:
        """Read a string that begins and ends with `quote`."""
        src, lexer, quote = self._src, self._lexer, self._quote
        src.pos += len(quote)
        self.write('"')
        string = StringSink(self._emit)
        markers = marker_set({quote, *(self._overrun.markers.literals if self._overrun else ())})
        while True:
            marker = yield from until(
                src, markers, self._write_spelled, certain=True, string=string
            )
            if not marker:
                return None
            if marker.startswith(quote):
                break
            if (yield from self._overruns()):
                return NOTHING_MORE
            self._write_spelled(src.consume(src.pos + 1))
        src.pos += len(quote)
        self.write('"')
        lexer.string_ends()
        return NOTHING_MORE

    def _overruns(self) -> Steps[bool]:
        """Break the text if the string has overrun here."""
        overruns = self._overrun is not None and (
            yield from self._overrun.is_here(self._src, self._quote)
        )
        if overruns:
            self._lexer.overruns()
        return overruns

    def _clear(self, end: int, quote: str) -> Steps[int | None]:
        """Return up to which index before `end` the text is the string's; None if it overran."""
        if self._overrun is None:
            return end
        clear = yield from self._overrun.clear(self._src, end, quote)
        if clear is None:
            self._lexer.overruns()
        return clear

    def _write_spelled(self, text: str) -> None:
        self.write(spelled(text))

    def _comment(self) -> Steps[str | None]:
        """Read a comment, writing nothing."""
        src = self._src
        while src.text[src.pos :] == "/":
            if src.closed:
                return None
            yield
        opening = next((text for text in COMMENT_ENDS if src.text.startswith(text, src.pos)), "")
        if not opening:
            return ""
        end = COMMENT_ENDS[opening]
        src.pos += len(opening)
        while (at := src.text.find(end, src.pos)) < 0 and not src.closed:
            # The end may be cut. What is before it is dropped: a comment may be long.
            held = end[:-1] if src.text.endswith(end[:-1]) else ""
            src.pos = max(src.pos, len(src.text) - len(held))
            yield
        src.pos = len(src.text) if at < 0 else at + len(end)
        return "comments"


@lru_cache(maxsize=64)
def _single_quoted_lane(firsts: str) -> Lane:
    """Text that may pass in single quotes: none with a character that markers begin with."""
    odd = re.compile(f"[{ODD_IN_SINGLE}{re.escape(firsts)}]").search
    return Lane(odd, odd)
