"""The JSON writer for Python literals: open brackets and buffered text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..bypass import Emit
from ..json_text.lexer import MAX_TOKEN
from ..json_text.repairs import Note
from ..window import Window

__all__ = [
    "LONG_TUPLE",
    "LONG_VALUE",
    "OPENERS",
    "Expects",
    "Frame",
    "Stop",
    "Writer",
    "note_repair",
]


# Compared by identity, because some frames differ only in their meaning.
@dataclass(slots=True, eq=False)
class Frame:
    """An open bracket: its end in Python, its start and end in JSON, and the sign after a key.

    `odd`: its spelling in JSON is not known yet.
    """

    closer: str
    begins: str = ""
    ends: str = ""
    sign: str = ""
    odd: bool = False


# Shared constants, because frames have no state of their own.
DICT = Frame("}", "{", "}", ":")
TUPLE = Frame(")", "[", "]")
PARENTHESIS = Frame(")", odd=True)
LONG_VALUE = Frame(")", odd=True)
LONG_TUPLE = Frame("", "[", "]", odd=True)  # no bracket ends it before a comma
OPENERS = {"[": Frame("]", "[", "]"), "{": DICT, "(": PARENTHESIS}

Expects = Literal["element", "key", "value", "comma"]
"""The expected token: an element or the end, a key or the end, a value, a comma or the end."""


# An exception, because the readers are nested several generators deep.
class Stop(Exception):
    """Ends the reading: the text is broken, for a reason, or without one the input has ended."""


def note_repair(note: Note, name: str, offset: int) -> None:
    """Note a repair, and stop if it is refused."""
    # A caller may refuse repairs, and then the text is not a literal.
    if note(name, offset) is False:
        raise Stop(f"not a Python literal ({name})")


@dataclass(slots=True, eq=False)
class Writer:
    """Writes JSON and tracks the open brackets.

    Attributes:
        held: the text in parentheses with undecided meaning.
        slots: the indices in `held` of the brackets of these parentheses.
        size: the number of characters in `held`.
        quote: the quote of a string started by `simple_tokens`.
        fresh: True if no text after that quote was read.
    """

    src: Window
    emit: Emit
    max_depth: int
    frames: list[Frame] = field(default_factory=list)
    expects: Expects = "value"
    comma: str = ""
    in_string: bool = False
    held: list[str] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    size: int = 0
    quote: str = ""
    fresh: bool = False

    def write(self, text: str) -> None:
        """Write more of a started value, unless all read text belongs to the prompt."""
        # The prompt sets the state only, so its JSON is not written.
        if self.src.offset <= 0 and not self.src.emits_prompt:
            return
        # Outside of undecided parentheses the text is certain.
        if not self.slots:
            self.emit(text)
            return
        self.held.append(text)
        self.size += len(text)
        # A parenthesis may have any length, and the buffer must not.
        if self.size > MAX_TOKEN:
            self._guess()

    def begin(self, text: str) -> None:
        """Write the start of a key or a value, after the buffered comma."""
        # Only now is it certain: the comma is not a trailing one.
        self.write(self.comma + text)
        self.comma = ""

    def open(self, frame: Frame) -> None:
        """Write a bracket after reading it, or buffer it if it may not be a tuple."""
        if frame is PARENTHESIS:
            self.slots.append(len(self.held))
            # The comma is buffered in the same slot, because the bracket follows it.
            self.held.append(self.comma)
            self.comma = ""
        else:
            self.begin(frame.begins)
        self.frames.append(frame)
        self.expects = "key" if frame.sign else "element"

    def separate(self) -> None:
        """Buffer a comma until the next element, after reading it."""
        frame = self.frames[-1]
        # A comma proves a tuple.
        if frame is PARENTHESIS or frame is LONG_TUPLE:
            self.frames[-1] = TUPLE
        # The bracket of a long tuple was already written.
        if frame is PARENTHESIS:
            self._decide("[")
        self.comma = ", "
        self.expects = "key" if frame.sign else "element"

    def close(self) -> None:
        """Close the innermost bracket, whose end was read."""
        frame = self.frames[-1]
        if frame is PARENTHESIS:
            # `()` is an empty tuple, but `(x)` is only x.
            empty = self.expects == "element"
            self._decide("[]" if empty else "")
        elif frame.ends:
            self.write(frame.ends)
        self.frames.pop()
        self.expects = "comma"

    def closers(self) -> str:
        """Return the text to complete the emitted JSON, "" if no value was started."""
        frames, in_string = self.frames, self.in_string
        in_member = self.expects == ("key" if in_string else "value")
        if self.slots:
            # Buffered text was not emitted, so it needs no closers.
            frames = frames[: frames.index(PARENTHESIS)]
            in_string, in_member = False, bool(frames and frames[-1].sign)
        # A key without a value cannot be completed.
        if in_member:
            return ""
        return '"' * in_string + "".join(frame.ends for frame in reversed(frames))

    def _decide(self, bracket: str) -> None:
        """Write the bracket of the innermost parenthesis, "" if it is not a tuple."""
        self.held[self.slots.pop()] += bracket
        # All outer parentheses are decided, so the text is in its final order.
        if not self.slots:
            held = "".join(self.held)
            self.held.clear()
            self.size = 0
            if held:
                self.emit(held)

    def _guess(self) -> None:
        """Decide all open parentheses, because too much is buffered: values first, then tuples."""
        is_value = True
        for at in range(len(self.frames) - 1, -1, -1):
            if self.frames[at] is PARENTHESIS:
                self.frames[at] = LONG_VALUE if is_value else LONG_TUPLE
                self._decide(self.frames[at].begins)
            # Only parentheses directly around a value can be values themselves.
            is_value = self.frames[at] is LONG_VALUE
