"""Python strings, written as JSON while they stream: quotes, prefixes, escapes, joins."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from ..bypass import Lane
from ..json_text.compact import spelled
from ..json_text.lexer import CUT_ESCAPE as CUT_SAME_ESCAPE
from ..json_text.lexer import MAX_TOKEN, match_end
from ..json_text.repairs import Note
from ..surrogates import SURROGATES, escape_surrogates
from ..window import Steps, Window
from .writer import Stop, Writer, note_repair

__all__ = ["STRING", "STRING_RUNS", "after_space", "python_strings"]

Search = Callable[[str], object]

# Python's whitespace inside brackets, including the form feed.
SPACE = re.compile(r"[ \t\n\r\f]*+")
COMMENT = re.compile(r"[^\n\r]*+")
# Byte strings and f-strings have no JSON value, so their prefixes are missing.
STRING = re.compile("[rRuU]?['\"]")
# The prefix and the quote may be in different chunks.
NEXT_STRING = re.compile(r"([ \t\f]*+)[rRuU]?(?:(['\"])|\Z)")
HEX = "[0-9a-fA-F]"
# Raw strings have no escapes, so the pattern never matches.
NO_ESCAPE = "(?!)"
SAME_ESCAPE = rf'\\(?:["\\bfnrt]|u{HEX}{{4}})'  # in Python and in JSON
ESCAPE = re.compile(
    rf"\\(?:([0-7]{{1,3}})|x({HEX}{{2}})|U({HEX}{{8}})|N{{([\w -]{{1,100}})}}|(\r\n|[\n\r'av]))"
)
CUT_ESCAPE = re.compile(
    rf"\\(?:[0-7]{{1,2}}|x{HEX}?|u{HEX}{{0,3}}|U{HEX}{{0,7}}|N(?:{{[\w -]{{0,100}})?|\r)?\Z"
)
# In a raw string a backslash still protects the next quote.
CUT_RAW_ESCAPE = re.compile(r"\\\Z")
OTHER_ESCAPES = {"'": "'", "a": "\a", "v": "\v"}


def _run(quote: str, escapes: str) -> str:
    """Return a pattern for the part of a string with the same spelling in JSON."""
    odd = _odd(quote)
    return f"[^{odd}]*+(?:{escapes}[^{odd}]*+)*+"


def _odd(quote: str) -> str:
    return rf"\\\x00-\x1f{SURROGATES}\"{quote}"


def _string_patterns(quote: str, escapes: str) -> tuple[re.Pattern[str], Lane]:
    """Return the pattern for the part with the same spelling in JSON, and its lane."""
    run = re.compile(_run(quote, escapes))

    def split(text: str) -> int:
        """Return the start of an incomplete escape at the end, or -1 if odd text precedes it."""
        end = match_end(run, text, 0)
        return end if end == len(text) or CUT_SAME_ESCAPE.match(text, end) else -1

    # The quick test is one character class, so it also stops at complete escapes.
    at_odd = re.compile(f"[{_odd(quote)}]").search
    return run, Lane(at_odd, re.compile(rf"(?!{run.pattern}\Z)").match, split)


STRING_RUNS = {quote: _run(quote, SAME_ESCAPE) for quote in "'\""}
"""Patterns for the part of a string that JSON spells as Python does, by quote."""
IN_STRING = {quote: _string_patterns(quote, SAME_ESCAPE) for quote in "'\""}
IN_RAW_STRING = {quote: _string_patterns(quote, NO_ESCAPE) for quote in "'\""}


def python_strings(src: Window, out: Writer, note: Note) -> Steps[None]:
    """Read a string and adjacent strings, which Python joins, and write one JSON string.

    If `out.quote` is set, the first string was started before, and its rest is read.
    """
    another = True
    while another:
        prefix, quotes = "", out.quote
        # A string started by `simple_tokens` has no prefix.
        if not quotes:
            prefix = src.text[src.pos].strip("'\"")
            out.quote = src.text[src.pos + len(prefix)]
            src.pos += len(prefix) + 1
            # Joined strings become one JSON string with one opening quote.
            if not out.in_string:
                out.begin('"')
                out.in_string = True
        # Only directly after the first quote can it be part of a triple quote.
        if out.fresh or not quotes:
            quotes = yield from _opened(src, out.quote)
        out.quote, out.fresh = "", False
        if quotes:
            yield from _body(src, out, note, quotes, raw=prefix in ("r", "R"))
        another = yield from _followed(src, inside=bool(out.frames))
    out.in_string = False
    out.write('"')


def _opened(src: Window, quote: str) -> Steps[str]:
    """Return the quotes at the end of a string with its first quote read; "" if it has ended."""
    while True:
        two = src.text[src.pos : src.pos + 2]
        if two == quote * 2:
            src.pos += 2
            return quote * 3
        # With one quote only, the next character decides between empty and triple-quoted.
        if src.closed or len(two) == 2 or two not in ("", quote):
            empty = two[:1] == quote
            src.pos += empty
            return "" if empty else quote
        yield


def _body(src: Window, out: Writer, note: Note, quotes: str, *, raw: bool) -> Steps[None]:
    """Read the rest of a string, including the `quotes` that end it."""
    run, lane = (IN_RAW_STRING if raw else IN_STRING)[quotes[0]]
    cut_escape = CUT_RAW_ESCAPE if raw else CUT_ESCAPE
    while True:
        end = match_end(run, src.text, src.pos)
        if end > src.pos:
            out.write(src.consume(end))
        # Three characters are enough for the longest closing quotes.
        ahead = src.text[end : end + 3]
        if ahead.startswith(quotes):
            src.pos += len(quotes)
            return
        # A prefix of the closing quotes or of an escape waits for more text.
        if not quotes.startswith(ahead) and not cut_escape.match(src.text, end):
            start = src.offset
            text, src.pos, repair = _odd_character(src.text, end, quotes, raw=raw)
            if repair:
                note_repair(note, repair, start)
            out.write(text)
        elif src.closed:
            raise Stop
        else:
            # Without a possible tuple, text need not be buffered, so it bypasses the writer.
            src.wait(out.write, lane, None if out.slots else out.emit)
            yield


def _odd_character(text: str, pos: int, quotes: str, *, raw: bool) -> tuple[str, int, str]:
    """Return the JSON of the character at `pos`, its end, and the necessary repair."""
    if text[pos] != "\\":
        # Line ends are valid only in triple-quoted strings.
        ends_line = text[pos] in "\n\r" and len(quotes) == 1
        return _spelled(text[pos]), pos + 1, "control_characters" if ends_line else ""
    # The backslash and the next character are both literal.
    if raw:
        return _spelled(text[pos : pos + 2]), pos + 2, ""
    escape = ESCAPE.match(text, pos)
    meant = _meant(escape) if escape else None
    if escape and meant is not None:
        return _spelled(meant), escape.end(), ""
    # The backslash is literal, and the next character is read on its own.
    return "\\\\", pos + 1, "invalid_escapes" if text[pos + 1] in "xuUN" else ""


def _meant(escape: re.Match[str]) -> str | None:
    """Return the character of an escape, or None."""
    octal, short, long, name, other = escape.groups()
    try:
        if name:
            meant = unicodedata.lookup(name)
            # Named sequences have several characters, and Python rejects them in strings.
            return meant if len(meant) == 1 else None
        if octal:
            return chr(int(octal, 8))
        return OTHER_ESCAPES.get(other, "") if other else chr(int(short or long, 16))
    # Unknown names and code points beyond Unicode have no meaning.
    except (KeyError, ValueError, OverflowError):
        return None


def _spelled(text: str) -> str:
    """Return `text` as the inside of a JSON string, with surrogates as escapes."""
    return escape_surrogates(spelled(text))


def _followed(src: Window, *, inside: bool) -> Steps[bool]:
    """Read up to the next string, and return True if there is one."""
    # Only in brackets does Python join strings across lines and comments.
    if inside:
        yield from after_space(src)
    while True:
        found = NEXT_STRING.match(src.text, src.pos)
        # Whitespace on one line is buffered here, so it has a limit.
        if not found or len(found[1]) > MAX_TOKEN:
            return False
        if found[2]:
            src.pos = found.end(1)
            return True
        if src.closed:
            # In brackets the closing bracket is missing, so the text is truncated.
            if inside:
                raise Stop
            return False
        yield


def after_space(src: Window) -> Steps[str]:
    """Skip whitespace and comments, and return the next character, unread."""
    skipped = SPACE
    while True:
        src.pos = match_end(skipped, src.text, src.pos)
        if src.pos == len(src.text):
            if src.closed:
                raise Stop
            yield
        # The comment ended at a line break, and whitespace may follow.
        elif skipped is COMMENT:
            skipped = SPACE
        elif src.text[src.pos] == "#":
            skipped = COMMENT
        else:
            return src.text[src.pos]
