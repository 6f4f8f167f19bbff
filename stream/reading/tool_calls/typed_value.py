"""One argument's value that stands between markers, written as JSON.

The schema decides what it is. A string streams from its first character; so does a value that may
be a string, as soon as it can be nothing else. Numbers, literals, and what may be several things
wait for their end. They are then the first of these that the schema allows: JSON; a string that it
names; a Python literal; a string. If it allows none, the first that has one of its types.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import TypeVar

from deltaparse.partial import (
    Emit,
    JsonLexer,
    JsonState,
    Repairs,
    Steps,
    StringSink,
    Window,
    python_value,
    repaired_json,
    spelled,
)

from ...wire.argument_types import ALL_TYPES, Kinds, fits
from ...wire.escapes import Escapes, Unescaped

__all__ = ["Value", "is_json"]

T = TypeVar("T")

LONGEST_NUMBER = 400
"""Characters of what may be a number or a string; all digits of the largest float are fewer."""

NUMBER_SO_FAR = re.compile(rf"[-+.0-9][-+.0-9a-zA-Z_]{{0,{LONGEST_NUMBER}}}\s*")
JSON_SCALAR = re.compile(
    r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+|true|false|null"
)
WORDS = {
    "true": "boolean",
    "false": "boolean",
    "null": "null",
    "True": "boolean",
    "False": "boolean",
    "None": "null",
    "NaN": "number",
    "Infinity": "number",
    "-Infinity": "number",
}
NON_FINITE = Repairs(
    **{repair.name: repair.name == "non_finite" for repair in dataclasses.fields(Repairs)}
)
"""The one repair that does not make another language of JSON."""
# What a value begins with that may be one of these types up to its end.
OPENERS = {"{": "object", "[": "array", "(": "array", '"': "quoted", "'": "quoted"}
# What JSON of a type begins with; all else is a number.
FIRST = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}
LONGEST_WORD = max(map(len, WORDS))


class Value:
    """Writes the text of one value as JSON, chunk by chunk.

    `kinds` are the JSON types that it may have. `note` takes how a value was read that was not
    spelled as the format has it: a repair, or "argument_type" for text that is none of the types
    and is therefore a string. `string` is where the text goes once it is a string's;
    `chunks` are the text of which it is not decided yet what it is. `escapes` are those of strings.
    """

    __slots__ = (
        "_core",
        "_deciding",
        "_emit",
        "_escapes",
        "_kinds",
        "_note",
        "_python",
        "_spaced",
        "_streams",
        "_unescaped",
        "chunks",
        "string",
    )

    def __init__(
        self,
        emit: Emit,
        note: Callable[[str], None],
        kinds: Kinds,
        *,
        python: bool = False,
        escapes: Escapes | None = None,
    ) -> None:
        self._emit = emit
        self._escapes = escapes or None
        self._unescaped: Unescaped | None = None
        self.string = StringSink()
        self._note = note
        self._kinds = kinds
        self._python = python
        self.chunks: list[str] = []
        # While it is not decided what it is: its text without white space before it, and whether
        # there are chunks of that behind.
        self._core = ""
        self._spaced = False
        self._streams = False
        self._deciding = "string" in kinds
        if self._deciding and len(kinds) == 1:
            self._begin_string()

    def write(self, text: str) -> None:
        """Take the next chunk of the value."""
        if self._streams:
            if self._unescaped is None:
                self._emit(spelled(text))
            else:
                self._unescaped.write(text)
            return
        self.chunks.append(text)
        # White space decides nothing; it is not looked at again, for there may be much of it.
        if self._deciding and text and not text.isspace():
            core = self._core + text if self._core else text.lstrip()
            if OPENERS.get(core[0]) in self._may_be:
                self._deciding = False
            elif self._spaced or not self._may_go_on(core.rstrip()):
                self._begin_string()
            self._core = core
        elif text and self._core:
            self._spaced = True

    def end(self) -> None:
        """The value is all there."""
        if self._streams:
            if self._unescaped is not None:
                self._unescaped.end()
            self._emit('"')
            return
        text = self.held
        value = self._as_json(text.strip())
        if value is None:
            if "string" not in self._kinds:
                self._note("argument_type")
            value = encode_basestring(self._escapes.read(text) if self._escapes else text)
        self._emit(value)

    @property
    def held(self) -> str:
        """The text of which it is not decided yet what it is."""
        return "".join(self.chunks) + (self._unescaped.held if self._unescaped else "")

    @property
    def _may_be(self) -> set[str]:
        # Quotes belong to a string whose type is known.
        return set(self._kinds) | ({"quoted"} if self._kinds.keys() == ALL_TYPES else set())

    def _begin_string(self) -> None:
        held = self.held
        self.chunks.clear()
        self._streams = True
        if self._escapes:
            self._unescaped = Unescaped(self._escapes, lambda text: self._emit(spelled(text)))
            self._emit('"')
            self._unescaped.write(held)
            return
        self.string.sink = self._emit
        self._emit('"' + spelled(held))

    def _may_go_on(self, text: str) -> bool:
        """Whether `text` is, or may become, a number or a word of one of the types."""
        if "number" in self._kinds and NUMBER_SO_FAR.fullmatch(text):
            return True
        return len(text) <= LONGEST_WORD and any(
            word.startswith(text) and kind in self._kinds for word, kind in WORDS.items()
        )

    def _as_json(self, text: str) -> str | None:
        """The JSON that the whole `text` is or stands for, if it has one of the types."""
        lexer = JsonLexer()
        if lexer.scan(text, final=True) == len(text) and lexer.state is JsonState.DONE:
            return text if self._allows(text, text) else None
        if self._kinds.get("string") and self._may_be_string(text):
            return None
        fragments: list[str] = []
        noted: list[str] = []
        src = Window(text, closed=True)

        def note(name: str, _: int) -> None:
            noted.append(name)

        read = _result(repaired_json(src, fragments.append, note, repairs=NON_FINITE))
        if read.state is not JsonState.DONE or src.unread:
            fragments.clear()
            noted = [] if self._python else ["python_literals"]
            src = Window(text, closed=True)
            reading = _result(python_value(src, fragments.append, note))
            if reading.state != "done" or src.unread:
                return None
        written = "".join(fragments)
        if not self._allows(written, text):
            return None
        for name in noted:
            self._note(name)
        return written

    def _allows(self, made: str, text: str) -> bool:
        """Whether the value is `made`, JSON of the `text`, rather than the text as a string.

        A value that is left out may be null all the same.
        """
        kind = FIRST.get(made[0], "number")
        if "string" not in self._kinds:
            return kind in self._kinds or kind == "null"
        if kind not in self._kinds:
            return False
        allowed = self._kinds[kind]
        # What may be a string too is not so long that Python refuses to read its digits.
        return allowed is None or fits(json.loads(made), allowed) or not self._may_be_string(text)

    def _may_be_string(self, text: str) -> bool:
        """Whether the schema allows the text as a string."""
        allowed = self._kinds["string"]
        read = self._escapes.read(text) if self._escapes else text
        return allowed is None or read in allowed


def is_json(text: str, kinds: Kinds) -> bool:
    """Whether a text is a number or a word of JSON that `Value` writes as it stands.

    `kinds` are types among which no string is.
    """
    kind = FIRST.get(text[0], "number")
    return (kind in kinds or kind == "null") and JSON_SCALAR.fullmatch(text) is not None


def _result(steps: Steps[T]) -> T:
    """What a sub-parser returns whose input is all there."""
    while True:
        try:
            next(steps)
        except StopIteration as returned:
            result: T = returned.value
            return result
