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


DICT = Frame("}", "{", "}", ":")
TUPLE = Frame(")", "[", "]")
PARENTHESIS = Frame(")", odd=True)
LONG_VALUE = Frame(")", odd=True)
LONG_TUPLE = Frame("", "[", "]", odd=True)  # no bracket ends it before a comma
OPENERS = {"[": Frame("]", "[", "]"), "{": DICT, "(": PARENTHESIS}

Expects = Literal["element", "key", "value", "comma"]
"""The expected token: an element or the end, a key or the end, a value, a comma or the end."""


class Stop(Exception):
    """Ends the reading: the text is broken, for a reason, or without one the input has ended."""


def note_repair(note: Note, name: str, offset: int) -> None:
    """Note a repair, and stop if it is refused."""
    if note(name, offset) is False:
        raise Stop(f"not a Python literal ({name})")


@dataclass(slots=True, eq=False)
class Writer:
    """Writes JSON and tracks the open brackets.

    Attributes:
        held: the text in parentheses that may be tuples.
        slots: the indices in `held` of the brackets of these parentheses.
        size: the number of characters in `held`.
        quote: the quote of a string that `simple_tokens` started.
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
        if self.src.offset <= 0 and not self.src.emits_prompt:
            return
        if not self.slots:
            self.emit(text)
            return
        self.held.append(text)
        self.size += len(text)
        if self.size > MAX_TOKEN:
            self._guess()

    def begin(self, text: str) -> None:
        """Write the start of a key or a value, after the buffered comma."""
        self.write(self.comma + text)
        self.comma = ""

    def open(self, frame: Frame) -> None:
        """Write a bracket that was read, or buffer it if it may not be a tuple."""
        if frame is PARENTHESIS:
            self.slots.append(len(self.held))
            self.held.append(self.comma)
            self.comma = ""
        else:
            self.begin(frame.begins)
        self.frames.append(frame)
        self.expects = "key" if frame.sign else "element"

    def separate(self) -> None:
        """Buffer a comma that was read until the next element."""
        frame = self.frames[-1]
        if frame is PARENTHESIS or frame is LONG_TUPLE:
            self.frames[-1] = TUPLE
        if frame is PARENTHESIS:
            self._decide("[")
        self.comma = ", "
        self.expects = "key" if frame.sign else "element"

    def close(self) -> None:
        """Close the innermost bracket, whose end was read."""
        frame = self.frames[-1]
        if frame is PARENTHESIS:
            empty = self.expects == "element"
            self._decide("[]" if empty else "")
        elif frame.ends:
            self.write(frame.ends)
        self.frames.pop()
        self.expects = "comma"

    def closers(self) -> str:
        """Return the text that completes the emitted JSON; "" if no value was started."""
        frames, in_string = self.frames, self.in_string
        in_member = self.expects == ("key" if in_string else "value")
        if self.slots:
            frames = frames[: frames.index(PARENTHESIS)]
            in_string, in_member = False, bool(frames and frames[-1].sign)
        if in_member:
            return ""
        return '"' * in_string + "".join(frame.ends for frame in reversed(frames))

    def _decide(self, bracket: str) -> None:
        """Write the bracket of the innermost parenthesis; "" if it is not a tuple."""
        self.held[self.slots.pop()] += bracket
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
            is_value = self.frames[at] is LONG_VALUE
