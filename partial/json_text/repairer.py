"""The single repairs of `repair`: read invalid JSON, and emit JSON in its place."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

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

__all__ = ["NOTHING_MORE", "Notation", "Repairer"]

LITERALS = {
    "True": ("python_literals", "true"),
    "False": ("python_literals", "false"),
    "None": ("python_literals", "null"),
    "NaN": ("non_finite", "null"),
    "Infinity": ("non_finite", "null"),
    "-Infinity": ("non_finite", "null"),
}
# ASCII identifiers of JavaScript, extended by dots and dashes.
KEY_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$.-]*+")
# The sign is needed for `-Infinity` only.
WORD = re.compile(rf"-?{KEY_WORD.pattern}")
# Python escapes unknown to JSON. Code points above U+10FFFF do not match.
HEX = re.compile(r"\\(?:x([0-9a-fA-F]{2})|U(0010[0-9a-fA-F]{4}|000[0-9a-fA-F]{5}))")
# The plain part of a string in single quotes. Quotes, escapes and control characters need care.
IN_SINGLE = re.compile(r"""[^'"\\\x00-\x1f]*+""")
ODD_IN_SINGLE = rf"""'"\\\x00-\x1f{SURROGATES}"""
WHOLE_ESCAPE = re.compile(ESCAPE)
# The escape may be completed by the next chunk.
CUT_ODD_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?\Z")
NOTHING_MORE = "nothing more"
"""The result of a step without a repair to report, e.g. for the format's own quotes."""
COMMENTS = marker_set({"//", "/*"})
"""Comments before a key. A key may begin with the other comment marker, "#"."""
NO_MARKERS = marker_set(())
# The line break after a comment is dropped with it, because it is only whitespace.
COMMENT_ENDS = {"//": "\n", "/*": "*/", "#": "\n"}
BEFORE_KEY = frozenset({AFTER_OPEN, AFTER_COMMA})


class Notation(NamedTuple):
    """A format's own notation of strings and keys. `repaired_json` describes the fields."""

    quote: str = ""
    overrun: UnclosedString | None = None
    keys: Sequence[str] = ()


class Repairer:
    """Writer of JSON in place of invalid text.

    Its sub-parsers return the name of the repair, or "" if no repair applies. They return None if
    the input ended before a repair was certain.

    Args:
        src: the window to read from.
        lexer: the lexer that broke.
        emit: takes the JSON.
        note: takes the name and offset of a repair that is followed by another one.
        repairs: the repairs to make.
        notation: the format's own notation.
    """

    __slots__ = ("_emit", "_keys", "_lexer", "_note", "_overrun", "_quote", "_repairs", "_src")

    def __init__(
        self,
        src: Window,
        lexer: JsonLexer,
        emit: Emit,
        note: Note,
        repairs: Repairs,
        notation: Notation,
    ) -> None:
        self._quote, self._overrun, self._keys = notation
        self._src = src
        self._lexer = lexer
        self._emit = emit
        self._note = note
        self._repairs = repairs

    def write(self, text: str) -> None:
        """Emit JSON that the lexer has not read."""
        # The counters must match the emitted JSON, not the text read in its place.
        self._lexer.passed += len(text)
        self._emit(text)

    def repair(self) -> Steps[str | None]:
        """Repair the invalid text here, in the state before the lexer broke."""
        src, lexer, repairs = self._src, self._lexer, self._repairs
        # The lexer must not remain BROKEN, because it continues after the repair.
        state = lexer.state = lexer.broken_in or START
        char = src.text[src.pos]
        # Inside a string, only its characters can be wrong.
        if state is STRING or state is KEY:
            return (yield from self._odd_character())
        # In an object, a word after a bracket or comma is a key and otherwise a value.
        is_key = bool(lexer.stack) and lexer.stack[-1] == "{" and state in BEFORE_KEY
        is_value = not is_key and state in (START, AFTER_COLON, AFTER_OPEN, AFTER_COMMA)
        # The lexer breaks at a comma only if the next token is not a member.
        if char == "," and state is AFTER_VALUE:
            return (yield from self._comma())
        if self._quote and char == self._quote[0] and (is_key or is_value):
            # The quote may be longer than one character and incomplete.
            if (yield from peek_marker(src, marker_set({self._quote}))):
                lexer.state = KEY if is_key else STRING
                return (yield from self._quoted())
        # Formats with their own quotes write keys without quotes.
        if self._quote and is_key and char != "'" and repairs.unquoted_keys:
            outside = self._overrun.outside if self._overrun else NO_MARKERS
            key = yield from own_key(src, self._quote, outside, self._keys)
            if key:
                self.write(f'"{spelled(key)}"')
                lexer.state = AFTER_KEY
            # If the input ended in the key, it is None, because a truncated key is not invalid.
            if key != "":
                return "unquoted_keys" if key else None
        if char in "/#" and repairs.comments:
            return (yield from self._comment())
        if char == "'" and repairs.single_quotes and (is_key or is_value):
            lexer.state = KEY if is_key else STRING
            return (yield from self._single_quoted())
        if is_key or is_value:
            return (yield from self._word(is_key=is_key))
        return ""

    def _comma(self) -> Steps[str | None]:
        """Read a comma before a bracket, a comment or an invalid member.

        The comma is emitted once the next member is certain.
        """
        src, lexer = self._src, self._lexer
        # The comma is not emitted yet, because it may be a trailing one.
        src.pos += 1
        done = ""
        while True:
            # A comment may follow, so the next token can be far away.
            char = yield from json_space(src)
            if not char:
                return done or None
            if char not in "/#" or not self._repairs.comments:
                break
            # In formats with their own quotes, "#" and "/" may begin a key instead of a comment.
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
        # The comma is dropped by not writing it.
        if char == CLOSERS[lexer.stack[-1]]:
            return "trailing_commas" if self._repairs.trailing_commas else ""
        self.write(", ")
        lexer.state = AFTER_COMMA
        if char in MEMBER[lexer.stack[-1]]:
            return done
        # The next token is invalid too, so its repair starts after the comma.
        lexer.broken_in = AFTER_COMMA
        return (yield from self.repair())

    def _word(self, *, is_key: bool) -> Steps[str | None]:
        """Repair a word in the place of a key or a value, once its end is certain."""
        src, lexer, repairs = self._src, self._lexer, self._repairs
        while True:
            end = match_end(KEY_WORD if is_key else WORD, src.text, src.pos)
            # A word at the end of the text may continue in the next chunk.
            if end < len(src.text) or end - src.pos > MAX_TOKEN or src.closed:
                break
            yield
        word = src.text[src.pos : end]
        # Buffered text is limited, and a longer word is hardly a literal.
        if len(word) > MAX_TOKEN:
            return ""
        # Only a top-level word is complete at the end of the input, like a number.
        cut = end == len(src.text) and bool(lexer.stack)
        if cut and word and (is_key or any(known.startswith(word) for known in LITERALS)):
            return None
        if is_key and word and repairs.unquoted_keys:
            # A key is accepted as it is, because it needs no escapes.
            src.pos = end
            self.write(f'"{word}"')
            lexer.state = AFTER_KEY
            return "unquoted_keys"
        name, literal = LITERALS.get(word, ("", ""))
        # Other words have no single meaning in JSON.
        if is_key or not name or not getattr(repairs, name):
            return ""
        src.pos = end
        self.write(literal)
        lexer.value_ends()
        return name

    def _odd_character(self) -> Steps[str | None]:
        """Write the control character or escape at this position as valid JSON."""
        src = self._src
        if src.text[src.pos] != "\\":
            if not self._repairs.control_characters:
                return ""
            # Control characters are valid only as escapes in JSON.
            self.write(spelled(src.text[src.pos]))
            src.pos += 1
            return "control_characters"
        # Without its last digits an escape has no certain meaning.
        while CUT_ODD_ESCAPE.match(src.text, src.pos):
            if src.closed:
                return None
            yield
        escape = WHOLE_ESCAPE.match(src.text, src.pos)
        found = HEX.match(src.text, src.pos)
        # A valid escape occurs in single-quoted strings, which the lexer does not read.
        if escape:
            self.write(src.consume(escape.end()))
        elif not self._repairs.invalid_escapes:
            return ""
        elif found:
            # `json.dumps` escapes quotes, control characters and non-ASCII characters.
            self.write(json.dumps(chr(int(found[1] or found[2], 16)))[1:-1])
            src.pos = found.end()
        elif src.text[src.pos + 1] == "'":
            self.write("'")
            src.pos += 2
        else:
            # The backslash is literal, and the next character is read on its own.
            self.write("\\\\")
            src.pos += 1
        return "invalid_escapes"

    def _single_quoted(self) -> Steps[str]:
        """Read a string in single quotes, and write it in double quotes."""
        src, lexer = self._src, self._lexer
        src.pos += 1
        self.write('"')
        while True:
            found = IN_SINGLE.match(src.text, src.pos)
            if found and found.end() > src.pos:
                # A marker in the string may be proof of a missing closing quote.
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
                # A quotation mark is plain in single quotes, but must be escaped in JSON.
                self.write('\\"')
            elif char:
                repair = yield from self._odd_character()
                if not repair:
                    # An empty result means invalid, and None means truncated.
                    if repair == "":
                        lexer.breaks("an escape" if char == "\\" else "a control character")
                    return "single_quotes"
            elif src.closed:
                return "single_quotes"
            else:
                # Characters of markers must be seen by this generator, so they cannot bypass it.
                firsts = self._overrun.markers.firsts if self._overrun else ""
                src.wait(self.write, _single_quoted_lane(firsts))
                yield

    def _quoted(self) -> Steps[str | None]:
        """Read a string delimited by `quote`."""
        src, lexer, quote = self._src, self._lexer, self._quote
        src.pos += len(quote)
        self.write('"')
        string = StringSink(self._emit)
        # One search finds both the end of the string and any marker inside it.
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
            # The marker is text, but another marker may begin inside it.
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
        """Return the index up to which the text belongs to the string; None if it has overrun."""
        if self._overrun is None:
            return end
        clear = yield from self._overrun.clear(self._src, end, quote)
        if clear is None:
            self._lexer.overruns()
        return clear

    def _write_spelled(self, text: str) -> None:
        self.write(spelled(text))

    def _comment(self) -> Steps[str | None]:
        """Read a comment without writing it."""
        src = self._src
        # A single slash may still become a comment.
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
            # A comment may be long, so only a possible prefix of its end is kept.
            held = end[:-1] if src.text.endswith(end[:-1]) else ""
            src.pos = max(src.pos, len(src.text) - len(held))
            yield
        # An unclosed comment extends to the end of the input.
        src.pos = len(src.text) if at < 0 else at + len(end)
        return "comments"


@lru_cache(maxsize=64)
def _single_quoted_lane(firsts: str) -> Lane:
    """Return a lane for single-quoted strings, without the first characters of markers."""
    odd = re.compile(f"[{ODD_IN_SINGLE}{re.escape(firsts)}]").search
    return Lane(odd, odd)
