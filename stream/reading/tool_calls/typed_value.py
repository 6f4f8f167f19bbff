"""One argument's value between markers, written as JSON.

The schema determines the type. A string streams from its first character. So does a value that may
be a string, as soon as all other types are excluded. Numbers, literals and ambiguous values wait
for their end. They are the first of these that the schema allows: JSON, a string from an enum, a
Python literal, a string. If the schema allows none of them, the first with an allowed type counts.
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
"""Maximum length of text that may be a number or a string. The largest float has fewer digits."""

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
"""The only repair that keeps the text in the language JSON."""
# First characters of values that may have one of these types up to their end.
OPENERS = {"{": "object", "[": "array", "(": "array", '"': "quoted", "'": "quoted"}
# First characters of JSON by type. Any other character starts a number.
FIRST = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}
LONGEST_WORD = max(map(len, WORDS))


class Value:
    """A writer of one value as JSON, chunk by chunk.

    Attributes:
        string: the receiver of text, once the value is known to be a string.
        chunks: the buffered text of an undecided value.

    Args:
        emit: takes the JSON.
        note: takes the name of a repair, or "argument_type" for text that has none of the types and
            is written as a string.
        kinds: the possible JSON types.
        python: True if Python literals are the format's spelling.
        escapes: the escapes in strings.
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
        # The text of an undecided value without leading whitespace, and True if whitespace follows
        # it.
        self._core = ""
        self._spaced = False
        self._streams = False
        self._deciding = "string" in kinds
        # Only a string is possible, so it streams from the first character.
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
        # Whitespace decides nothing, and is not examined again, because it may be long.
        if self._deciding and text and not text.isspace():
            core = self._core + text if self._core else text.lstrip()
            # An object, list or quoted string can be checked only at its end.
            if OPENERS.get(core[0]) in self._may_be:
                self._deciding = False
            # After whitespace or another character, only a string is left, so it can stream.
            elif self._spaced or not self._may_go_on(core.rstrip()):
                self._begin_string()
            self._core = core
        elif text and self._core:
            self._spaced = True

    def end(self) -> None:
        """Take the end of the value."""
        if self._streams:
            if self._unescaped is not None:
                self._unescaped.end()
            self._emit('"')
            return
        text = self.held
        # Whitespace around a number or literal has no meaning, but a string keeps it.
        value = self._as_json(text.strip())
        if value is None:
            # The text has no allowed type, so it is kept as a string and reported.
            if "string" not in self._kinds:
                self._note("argument_type")
            value = encode_basestring(self._escapes.read(text) if self._escapes else text)
        self._emit(value)

    @property
    def held(self) -> str:
        """The buffered text of an undecided value."""
        return "".join(self.chunks) + (self._unescaped.held if self._unescaped else "")

    @property
    def _may_be(self) -> set[str]:
        # The quotation marks belong to a string if its type is certain.
        return set(self._kinds) | ({"quoted"} if self._kinds.keys() == ALL_TYPES else set())

    def _begin_string(self) -> None:
        held = self.held
        # The chunks are emitted now, so they must not be counted as buffered.
        self.chunks.clear()
        self._streams = True
        # Escapes may be split between chunks, so the text passes through a decoder.
        if self._escapes:
            self._unescaped = Unescaped(self._escapes, lambda text: self._emit(spelled(text)))
            self._emit('"')
            self._unescaped.write(held)
            return
        # From now on text may bypass this writer, because it is spelled in the same way.
        self.string.sink = self._emit
        self._emit('"' + spelled(held))

    def _may_go_on(self, text: str) -> bool:
        """Return True if `text` is or may become a number or word of an allowed type."""
        # The length is limited, so that a long text of digits does not stay buffered.
        if "number" in self._kinds and NUMBER_SO_FAR.fullmatch(text):
            return True
        return len(text) <= LONGEST_WORD and any(
            word.startswith(text) and kind in self._kinds for word, kind in WORDS.items()
        )

    def _as_json(self, text: str) -> str | None:
        """Return the JSON for the complete `text`, or None if it does not have an allowed type."""
        lexer = JsonLexer()
        if lexer.scan(text, final=True) == len(text) and lexer.state is JsonState.DONE:
            return text if self._allows(text, text) else None
        # The enum of the schema names this string, so a literal does not take precedence.
        if self._kinds.get("string") and self._may_be_string(text):
            return None
        # The repaired text is collected, because it is used only if its type is allowed.
        fragments: list[str] = []
        noted: list[str] = []
        src = Window(text, closed=True)

        # Noted here and reported later, because the repaired value may still be rejected.
        def note(name: str, _: int) -> None:
            noted.append(name)

        read = _result(repaired_json(src, fragments.append, note, repairs=NON_FINITE))
        # JSON with another repair is not accepted, but Python literals are.
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
        """Return True if the value is `made`, the JSON for `text`, and not the text as a string.

        null is always allowed for a value that is not a string, because optional values may be
        null.
        """
        kind = FIRST.get(made[0], "number")
        if "string" not in self._kinds:
            return kind in self._kinds or kind == "null"
        if kind not in self._kinds:
            return False
        allowed = self._kinds[kind]
        # Text that may be a string is short enough for Python to read its digits.
        return allowed is None or fits(json.loads(made), allowed) or not self._may_be_string(text)

    def _may_be_string(self, text: str) -> bool:
        """Return True if the schema allows the text as a string."""
        # None means that any string is allowed.
        allowed = self._kinds["string"]
        read = self._escapes.read(text) if self._escapes else text
        return allowed is None or read in allowed


def is_json(text: str, kinds: Kinds) -> bool:
    """Return True for a JSON number or word that `Value` writes unchanged.

    `kinds` must not contain "string".
    """
    kind = FIRST.get(text[0], "number")
    return (kind in kinds or kind == "null") and JSON_SCALAR.fullmatch(text) is not None


def _result(steps: Steps[T]) -> T:
    """Return the result of a sub-parser with complete input."""
    while True:
        try:
            next(steps)
        except StopIteration as returned:
            result: T = returned.value
            return result
