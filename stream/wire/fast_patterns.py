r"""What models nearly always write in some place, read in one step.

Readers take a call apart: a marker, space, a name, space, a marker. That is right for all that a
model may write, and for short calls it is most of the cost: each of these is a generator that is
made, resumed with each chunk, and left. But nearly all calls are spelled as the template has them.
So in the places that each call passes, one pattern reads all up to where something is emitted.

    JSON      the brace and the name; the key of the arguments; a small call that is all there
    tags      the name; an argument's name and what stands before its value; a short value that is
              no string, with its end; the end of a value and what proves that
    channels  the header of a message; what ends a message and begins the next
    Python    what stands between two calls of a list, and the name of the second
    between   what ends a call and begins the next, in JSON and in tags

`usual_head.py`, `usual_tags.py`, `usual_channels.py`, `usual_next.py` have the patterns; of Python,
the reader of its heads has it.

Why this equals the long way: a pattern matches only text of which the long way emits nothing before
its last character, and there the reader stands where the long way would, with the same known of the
call. Text that may still become it is left unread, while nothing is emitted on either way; at the
first character that fits in none, the long way reads all of it, and what it makes of a text does
not depend on how it was cut. Whatever has no bound of its own is bounded here, for what waits is
looked at again with each chunk. That is mostly to find it in a set, of what waited there before and
of how most models spell it, for to match a pattern takes ten times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from deltaparse.partial import Markers, Waiter, Window, nowhere

__all__ = [
    "LETTER",
    "LONGEST_NAME",
    "SPACE",
    "WORD",
    "FastPattern",
    "Text",
    "so_far",
    "some_of",
    "unambiguous",
    "whole",
]

SPACE = r"[ \t\n\r]{0,16}+"
LETTER = "[-A-Za-z0-9_.:/]"
LONGEST_NAME = 128
WORD = rf"{LETTER}{{1,{LONGEST_NAME}}}+"
"""A name of plain letters."""

LONGEST_WAIT = 512
"""Characters that wait; with more, as in a text that comes whole, the long way reads."""

MOST_KNOWN = 512
"""Texts that are known to wait in one place, for all parsers; one more, and all are forgotten."""
LONGEST_KNOWN = 128
"""Characters of such a text."""


class FastPattern:
    """A pattern of what usually stands somewhere, and what waits for the rest of it.

    Args:
        pattern: what is read; `match` is that of the compiled pattern.
        begun: a pattern of all that may become it, as `so_far` makes them.
        spelled: texts of it, as most models write them, of which a beginning waits too.
    """

    __slots__ = ("_waiter", "match")

    def __init__(self, pattern: str, begun: str, spelled: Iterable[str] = ()) -> None:
        self.match = re.compile(pattern).match
        may_become = re.compile(begun).fullmatch
        known = {text[:size] for text in spelled for size in range(len(text))}

        def step(window: Window) -> str | None:
            text, pos = window.text, window.pos
            if len(text) - pos > LONGEST_WAIT:
                return None
            rest = text[pos:]
            if rest in known:
                return ""
            if not may_become(rest):
                return None
            # Names and tokens are few: what waited here once does so with nearly each call.
            if len(rest) <= LONGEST_KNOWN:
                if len(known) >= MOST_KNOWN:
                    known.clear()
                known.add(rest)
            return ""

        self._waiter = Waiter(nowhere, step, nowhere, known=known)

    def may_follow(self, src: Window) -> bool:
        """Whether the unread text may become what `match` matches; wait for that, if so."""
        waiter = self._waiter
        if src.closed or waiter.step is None or waiter.step(src) is None:
            return False
        src.waiter = waiter
        return True


class Text(str):
    """A part of a pattern that is this text, to the letter."""

    __slots__ = ()


def whole(parts: Iterable[str]) -> str:
    """A pattern of all parts; what is no `Text` is one."""
    return "".join(re.escape(part) if type(part) is Text else part for part in parts)


def so_far(parts: Sequence[str]) -> str:
    """A pattern of some of the parts, from the first on, and of a last text that is cut."""
    pattern = ""
    for part in reversed(parts):
        if type(part) is Text:
            pattern = rf"(?:{re.escape(part)}{pattern}|{some_of(part[:-1])}\Z)"
        else:
            pattern = f"(?:{part}{pattern})?+"
    return pattern


def some_of(text: str) -> str:
    """A pattern of the beginnings of a text, none and all of it among them."""
    pattern = ""
    for letter in reversed(text):
        pattern = f"(?:{re.escape(letter)}{pattern})?+"
    return pattern


def unambiguous(text: str, markers: Markers) -> bool:
    """Whether a text is one of the markers, and begins no other."""
    return [marker for marker in markers.literals if marker.startswith(text)] == [text]
