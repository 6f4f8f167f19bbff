r"""Mending JSON while it streams: a closed list of repairs, each reported, none ever taken back.

The strict scanner reads until it breaks. If what breaks it is on the list, JSON is written in
its place and the scanner goes on; if not, the text is broken there for good. So text that is
JSON costs what it costs without this, and passes unchanged.

    single_quotes       'it\'s "x"'      -> "it's \"x\""
    python_literals     True False None  -> true false null
    control_characters  a raw newline, tab, ... in a string -> \n, \t, ...
    invalid_escapes     \' \x41 \d       -> ' \u0041 \\d
    trailing_commas     [1, ]            -> [1 ]
    non_finite          NaN -Infinity    -> null
    comments            // ... and # ... to the end of the line, /* ... */ -> nothing
    unquoted_keys       {a: 1}           -> {"a": 1}
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from .json_scan import MAX_DEPTH, MAX_TOKEN, STRING_WAKE, JsonScanner, JsonState
from .source import Source, Steps

__all__ = ["Repairs", "mended_json"]

S = JsonState
PYTHON = {"True": "true", "False": "false", "None": "null"}
NON_FINITE = {"NaN": "null", "Infinity": "null", "-Infinity": "null"}
WORD = re.compile(r"-?[A-Za-z_$][A-Za-z0-9_$]*+")
HEX = re.compile(r"\\x([0-9a-fA-F]{2})")
# In a string in single quotes: all but what ends it, escapes, or must be escaped.
IN_SINGLE = re.compile(r"""[^'"\\\x00-\x1f]*+""")
SINGLE_WAKE = re.compile(r"""['"\\\x00-\x1f]""").search
ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
CUT_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3})?\Z")
COMMENT_ENDS = {"//": "\n", "/*": "*/", "#": "\n"}
BEFORE_KEY = frozenset({S.AFTER_OPEN, S.AFTER_COMMA})


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """Which of the repairs at the top of this module are made; all of them unless told."""

    single_quotes: bool = True
    python_literals: bool = True
    control_characters: bool = True
    invalid_escapes: bool = True
    trailing_commas: bool = True
    non_finite: bool = True
    comments: bool = True
    unquoted_keys: bool = True


ALL_REPAIRS = Repairs()


def mended_json(
    src: Source,
    emit: Callable[[str], None],
    note: Callable[[str, int], None],
    *,
    repairs: Repairs = ALL_REPAIRS,
    max_depth: int = MAX_DEPTH,
) -> Steps[JsonScanner]:
    """Read one value that should be JSON, handing on JSON.

    Like `json_value`, and the same for text that is JSON, but that a comma comes with what
    follows it. `note` is told the name of each repair and the offset where it was made.
    """
    scanner = JsonScanner(max_depth=max_depth, hold_commas=repairs.trailing_commas)
    while True:
        pos = scanner.scan(src.text, src.pos, final=src.closed and not scanner.stack)
        if pos > src.pos:
            emit(src.take(pos))
        if scanner.state is S.BROKEN:
            start = src.offset
            repair = yield from _mend(src, scanner, emit, repairs)
            if not repair:
                return scanner
            note(repair, start)
            continue
        if scanner.state is S.DONE or src.closed:
            return scanner
        if scanner.state is S.STRING or scanner.state is S.KEY:
            src.sleep(STRING_WAKE, emit)
        yield


def _mend(
    src: Source, scanner: JsonScanner, emit: Callable[[str], None], repairs: Repairs
) -> Steps[str]:
    """Mend what breaks the text here; return the name of the repair, "" if there is none."""
    state = scanner.broken_in or S.START
    char = src.text[src.pos]
    if state is S.STRING or state is S.KEY:
        name = "invalid_escapes" if char == "\\" else "control_characters"
        if getattr(repairs, name):
            mended = yield from _odd_character(src, emit)
            scanner.go_on(state)
            return name if mended else ""
        return ""
    is_key = bool(scanner.stack) and scanner.stack[-1] == "{" and state in BEFORE_KEY
    is_value = not is_key and state in (S.START, S.AFTER_COLON, S.AFTER_OPEN, S.AFTER_COMMA)
    if char == "," and repairs.trailing_commas and state is S.AFTER_VALUE:
        src.pos += 1
        scanner.go_on(state)
        return "trailing_commas"
    if char in "/#" and repairs.comments:
        return (yield from _comment(src, scanner, state))
    if char == "'" and repairs.single_quotes and (is_key or is_value):
        if (yield from _single_quoted(src, emit, repairs)):
            scanner.go_on(S.AFTER_KEY if is_key else S.DONE)
            return "single_quotes"
        return ""
    word = ""
    if is_key or is_value:
        word = yield from _word(src, alone=not scanner.stack)
    if is_key and word and repairs.unquoted_keys and word[0] != "-":
        src.pos += len(word)
        emit(f'"{word}"')
        scanner.go_on(S.AFTER_KEY)
        return "unquoted_keys"
    for name, words in (("python_literals", PYTHON), ("non_finite", NON_FINITE)):
        if is_value and word in words and getattr(repairs, name):
            src.pos += len(word)
            emit(words[word])
            scanner.go_on(S.DONE)
            return name
    return ""


def _odd_character(src: Source, emit: Callable[[str], None]) -> Steps[bool]:
    """Write the control character or escape that stands here in a way that JSON allows.

    Returns False, the text unread, when the input ends in an escape.
    """
    if src.text[src.pos] != "\\":
        emit(json.dumps(src.text[src.pos])[1:-1])
        src.pos += 1
        return True
    while CUT_ESCAPE.match(src.text, src.pos):
        if src.closed:
            return False
        yield
    escape = ESCAPE.match(src.text, src.pos)
    found = HEX.match(src.text, src.pos)
    if escape:
        emit(src.take(escape.end()))
    elif found:
        emit(f"\\u00{found[1]}")
        src.pos = found.end()
    elif src.text[src.pos + 1] == "'":
        emit("'")
        src.pos += 2
    else:
        # It was meant as a backslash; what follows is read on its own.
        emit("\\\\")
        src.pos += 1
    return True


def _single_quoted(src: Source, emit: Callable[[str], None], repairs: Repairs) -> Steps[bool]:
    """Read a string in single quotes, writing one in double quotes; return whether it ended."""
    src.pos += 1
    emit('"')
    while True:
        found = IN_SINGLE.match(src.text, src.pos)
        if found and found.end() > src.pos:
            emit(src.take(found.end()))
        char = src.text[src.pos : src.pos + 1]
        if char == "'":
            src.pos += 1
            emit('"')
            return True
        if char == '"':
            src.pos += 1
            emit('\\"')
        elif char:
            allowed = repairs.invalid_escapes if char == "\\" else repairs.control_characters
            if not (allowed and (yield from _odd_character(src, emit))):
                return False
        elif src.closed:
            return False
        else:
            src.sleep(SINGLE_WAKE, emit)
            yield


def _comment(src: Source, scanner: JsonScanner, state: JsonState) -> Steps[str]:
    """Read a comment, writing nothing; return "" if none begins here."""
    while src.text[src.pos :] == "/" and not src.closed:
        yield
    opening = next((text for text in COMMENT_ENDS if src.text.startswith(text, src.pos)), "")
    if not opening:
        return ""
    end = COMMENT_ENDS[opening]
    src.pos += len(opening)
    while (at := src.text.find(end, src.pos)) < 0 and not src.closed:
        # The end may be cut; a comment may be long, and is not kept.
        src.pos = max(src.pos, len(src.text) - len(end) + 1)
        yield
    src.pos = len(src.text) if at < 0 else at + len(end)
    scanner.go_on(state)
    return "comments"


def _word(src: Source, *, alone: bool) -> Steps[str]:
    """Return the word that stands here, unread, once it is known where it ends; "" if none.

    The end of the input ends a word only if that is `alone`: otherwise it may be cut.
    """
    while True:
        found = WORD.match(src.text, src.pos)
        end = found.end() if found else src.pos + (src.text[src.pos :] == "-")
        known = end < len(src.text) or (src.closed and alone)
        if known or src.closed or end - src.pos > MAX_TOKEN:
            return found[0] if found and known else ""
        yield
