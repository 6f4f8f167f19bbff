r"""Repair of JSON while it streams: a closed list of repairs, each reported, none ever taken back.

    single_quotes       'it\'s "x"'      -> "it's \"x\""
    python_literals     True False None  -> true false null
    control_characters  a raw newline, tab, ... in a string -> \n, \t, ...
    invalid_escapes     \' \x41 \d       -> ' A \\d
    trailing_commas     [1, ]            -> [1 ]
    non_finite          NaN -Infinity    -> null
    comments            // ... and # ... to the end of the line, /* ... */ -> nothing
    unquoted_keys       {a: 1}           -> {"a": 1}

What is emitted must be JSON, must not be taken back, and must not depend on the chunks. Text that
is JSON must pass unchanged, at the cost that it has without repair. So there is no lenient grammar
beside the strict one: all text would pay for it, and the two would have to agree for ever. The
strict lexer reads until it breaks. Then the character where it broke, and the state in which it
did, say which repair applies; the repair emits JSON in the place of what it reads, puts the lexer
into the state in which that JSON would have left it, and the lexer reads on. Where no repair
applies, the text is broken there for good.

The list is closed, and holds only what has one meaning, which a bounded look ahead decides: a
word, an escape, what follows a comma. A missing comma, bracket or quotation mark is not on it.
Libraries that repair whole texts guess where it belongs, and guess anew with each chunk: what they
return for a prefix is often no prefix of what they return for the whole. Here the caller gets what
is certain, and a lexer whose `problem` says why there is no more.

Only a comma costs text that is JSON something: it is held back until something follows it, for it
may be one too many (`JsonLexer.hold_commas`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from ..surrogates import SURROGATES
from ..waiting import Emit, Lane
from ..window import Steps, Window
from .compact import spelled
from .lexer import (
    AFTER_COLON,
    AFTER_COMMA,
    AFTER_KEY,
    AFTER_OPEN,
    AFTER_VALUE,
    BROKEN,
    CLOSERS,
    KEY,
    MAX_TOKEN,
    MEMBER,
    START,
    STRING,
    JsonLexer,
)
from .readers import json_space, json_value

__all__ = ["Note", "Repairs", "json_document", "repaired_json"]

Note = Callable[[str, int], object]
"""Takes the name of a repair, which is a field of `Repairs`, and its offset.

In Python text it refuses the repair by returning False, and the text is broken there."""

LITERALS = {
    "True": ("python_literals", "true"),
    "False": ("python_literals", "false"),
    "None": ("python_literals", "null"),
    "NaN": ("non_finite", "null"),
    "Infinity": ("non_finite", "null"),
    "-Infinity": ("non_finite", "null"),
}
WORD = re.compile(r"-?[A-Za-z_$][A-Za-z0-9_$.-]*+")
HEX = re.compile(r"\\(?:x([0-9a-fA-F]{2})|U(0010[0-9a-fA-F]{4}|000[0-9a-fA-F]{5}))")
# In a string in single quotes: all but what ends it, escapes, or must be escaped.
IN_SINGLE = re.compile(r"""[^'"\\\x00-\x1f]*+""")
AT_ODD = re.compile(rf"""['"\\\x00-\x1f{SURROGATES}]""").search
SINGLE_QUOTED_LANE = Lane(AT_ODD, AT_ODD)
ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
CUT_ODD_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?\Z")
OWN_QUOTE = "own_quote"
COMMENT_ENDS = {"//": "\n", "/*": "*/", "#": "\n"}
BEFORE_KEY = frozenset({AFTER_OPEN, AFTER_COMMA})


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    r"""Switches for the repairs of JSON; each is made unless it is switched off.

    Attributes:
        single_quotes: `'x'` becomes `"x"`.
        python_literals: `True`, `False` and `None` become `true`, `false` and `null`.
        control_characters: a raw newline, tab or the like in a string becomes an escape.
        invalid_escapes: an escape that JSON has not is written as what it means (`\x41`), or its
            backslash is kept (`\d`).
        trailing_commas: a comma before a closing bracket is left out.
        non_finite: `NaN`, `Infinity` and `-Infinity` become `null`.
        comments: `// ...`, `# ...` and `/* ... */` are left out.
        unquoted_keys: `{a: 1}` becomes `{"a": 1}`.
    """

    single_quotes: bool = True
    python_literals: bool = True
    control_characters: bool = True
    invalid_escapes: bool = True
    trailing_commas: bool = True
    non_finite: bool = True
    comments: bool = True
    unquoted_keys: bool = True


ALL_REPAIRS = Repairs()


def json_document(
    src: Window,
    emit: Emit,
    lexer: JsonLexer,
    repairs: Repairs | None,
    repaired: Counter[str],
) -> Steps[None]:
    """Read one value and the white space before it, which is not emitted.

    `repairs` are the repairs that are made, None for none; `repaired` counts them by name. How the
    value ended is in the lexer.
    """

    def note(repair: str, offset: int) -> None:  # noqa: ARG001 - counted, not placed
        repaired[repair] += 1

    yield from json_space(src)
    if repairs is None:
        yield from json_value(src, emit, lexer)
    else:
        yield from repaired_json(src, emit, note, repairs=repairs, lexer=lexer)


def repaired_json(
    src: Window,
    emit: Emit,
    note: Note,
    *,
    repairs: Repairs = ALL_REPAIRS,
    lexer: JsonLexer | None = None,
    quote: str = "",
) -> Steps[JsonLexer]:
    """Read one value that should be JSON, emitting JSON.

    Begins at the first character of the value. Text that is JSON is emitted as `json_value` does,
    but that a comma comes with what follows it. Returns the lexer, whose state is that of what was
    emitted: DONE; BROKEN, the text from the offending character on unread; or that in which the
    input ended.

    Args:
        src: the window to read from.
        emit: takes the JSON, chunk by chunk.
        note: takes the name of each repair, and the offset where it was made.
        repairs: which repairs are made.
        lexer: a new lexer to read with, such as one with another limit of depth.
        quote: what a format writes round strings in place of quotation marks, nothing in them
            being escaped. That is another spelling, and no repair.
    """
    lexer = lexer or JsonLexer()
    lexer.hold_commas = repairs.trailing_commas
    repairer = Repairer(src, lexer, emit, repairs, quote)
    while True:
        yield from json_value(src, emit, lexer)
        if lexer.state is not BROKEN:
            return lexer
        start, problem = src.offset, lexer.problem
        repair = yield from repairer.repair()
        if repair is None:
            return lexer
        if not repair:
            lexer.breaks(problem)
            return lexer
        if repair != OWN_QUOTE:
            note(repair, start)


class Repairer:
    """Writes JSON in the place of what broke it.

    Its sub-parsers return the name of the repair that they made; "" if there is none for what
    stands here; None where the input ends in what more text might have made a repair of.
    """

    __slots__ = ("_emit", "_lexer", "_quote", "_repairs", "_src")

    def __init__(
        self,
        src: Window,
        lexer: JsonLexer,
        emit: Emit,
        repairs: Repairs,
        quote: str = "",
    ) -> None:
        self._quote = quote
        self._src = src
        self._lexer = lexer
        self._emit = emit
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
            if (yield from self._at_quote()):
                lexer.state = KEY if is_key else STRING
                return (yield from self._quoted())
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
            comment = yield from self._comment()
            if not comment:
                return comment
            done = comment
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
            found = WORD.match(src.text, src.pos)
            end = found.end() if found else src.pos + (src.text[src.pos :] == "-")
            if end < len(src.text) or end - src.pos > MAX_TOKEN or src.closed:
                break
            yield
        word = src.text[src.pos : end]
        if len(word) > MAX_TOKEN:
            return ""
        cut = end == len(src.text) and bool(lexer.stack)
        if cut and word and (is_key or any(known.startswith(word) for known in LITERALS)):
            return None
        if is_key and found and word[0] != "-" and repairs.unquoted_keys:
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
        escape = ESCAPE.match(src.text, src.pos)
        found = HEX.match(src.text, src.pos)
        if escape:
            self.write(src.take(escape.end()))
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
                self.write(src.take(found.end()))
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
                src.wait(self.write, SINGLE_QUOTED_LANE)
                yield

    def _at_quote(self) -> Steps[bool]:
        """Return whether `quote` stands here."""
        src, quote = self._src, self._quote
        while quote.startswith(src.text[src.pos : src.pos + len(quote)]):
            if len(src.text) - src.pos >= len(quote):
                return True
            if src.closed:
                return False
            yield
        return False

    def _quoted(self) -> Steps[str | None]:
        """Read a string that begins and ends with `quote`."""
        src, lexer, quote = self._src, self._lexer, self._quote
        src.pos += len(quote)
        self.write('"')
        while (at := src.text.find(quote, src.pos)) < 0:
            # What may be the beginning of the quote is held back.
            end = max(src.pos, len(src.text) - len(quote) + 1)
            if end > src.pos:
                self.write(spelled(src.take(end)))
            if src.closed:
                return None
            yield
        if at > src.pos:
            self.write(spelled(src.take(at)))
        src.pos += len(quote)
        self.write('"')
        lexer.string_ends()
        return OWN_QUOTE

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
            src.pos = max(src.pos, len(src.text) - len(end) + 1)
            yield
        src.pos = len(src.text) if at < 0 else at + len(end)
        return "comments"
