"""The JSON that is written while Python's literals are read: what is open, and what is held."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..json_text.lexer import MAX_TOKEN
from ..json_text.repairs import Note
from ..waiting import Emit
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
    """A bracket that is open: its end in Python, both its ends in JSON, the sign after a key.

    `odd`: those in JSON are not known at sight.
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
LONG_TUPLE = Frame("", "[", "]", odd=True)  # nothing ends it before a comma came
OPENERS = {"[": Frame("]", "[", "]"), "{": DICT, "(": PARENTHESIS}

Expects = Literal["element", "key", "value", "comma"]
"""What comes next: the first two, or the end; a value; a comma, or the end."""


class Stop(Exception):
    """Ends the reading: the text breaks here, for a reason; without one, the input ends here."""


def note_repair(note: Note, name: str, offset: int) -> None:
    """Note a repair; stop where it is refused."""
    if note(name, offset) is False:
        raise Stop(f"what is no Python literal ({name})")


@dataclass(slots=True, eq=False)
class Writer:
    """Writes JSON, and knows what is open.

    What is written in parentheses that may be tuples waits in `held`; `slots` are the indices in
    it where their brackets belong, if they are tuples. `size` counts the characters in `held`.
    `quote` is that of a string which `simple_tokens` began; `fresh`: nothing behind it was read.
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
        """Write more of what was begun, unless all that was read is the prompt's."""
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
        """Write the beginning of a key or a value, after the comma that was held for it."""
        self.write(self.comma + text)
        self.comma = ""

    def open(self, frame: Frame) -> None:
        """Write a bracket that was read, or hold it if it may be no tuple's."""
        if frame is PARENTHESIS:
            self.slots.append(len(self.held))
            self.held.append(self.comma)
            self.comma = ""
        else:
            self.begin(frame.begins)
        self.frames.append(frame)
        self.expects = "key" if frame.sign else "element"

    def separate(self) -> None:
        """Hold a comma that was read until something follows it."""
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
        """Return what makes JSON of all that was emitted; "" where no value was begun."""
        frames, in_string = self.frames, self.in_string
        in_member = self.expects == ("key" if in_string else "value")
        if self.slots:
            frames = frames[: frames.index(PARENTHESIS)]
            in_string, in_member = False, bool(frames and frames[-1].sign)
        if in_member:
            return ""
        return '"' * in_string + "".join(frame.ends for frame in reversed(frames))

    def _decide(self, bracket: str) -> None:
        """Write the bracket that the innermost parenthesis is; "" if it is no tuple."""
        self.held[self.slots.pop()] += bracket
        if not self.slots:
            held = "".join(self.held)
            self.held.clear()
            self.size = 0
            if held:
                self.emit(held)

    def _guess(self) -> None:
        """Decide all open parentheses, for too much is held: values first, then tuples."""
        is_value = True
        for at in range(len(self.frames) - 1, -1, -1):
            if self.frames[at] is PARENTHESIS:
                self.frames[at] = LONG_VALUE if is_value else LONG_TUPLE
                self._decide(self.frames[at].begins)
            is_value = self.frames[at] is LONG_VALUE
