"""Fast patterns: the usual text at some place of a turn, read in one step.

The complete readers split a call into markers, whitespace and names. Each part is read by its own
generator. That handles all text of models, but for short calls it is most of the cost. Nearly all
calls have the spelling of the template. So at the places in each call, one pattern reads all text
up to the next delta:

    JSON      the brace and the name; the key of the arguments; a small complete call
    tags      the name; an argument's name and the text before its value; a short non-string value
              with its end; the end of a value with its proof
    channels  the header of a message; the end of a message with the start of the next one
    Python    the text between two calls of a list, with the name of the second one
    between   the end of a call with the start of the next one, in JSON and in tags

The patterns are in `fast_json_patterns.py`, `fast_tag_patterns.py`, `fast_channel_patterns.py` and
`fast_next_patterns.py`. The pattern of Python is in its reader of heads.

The results equal those of the complete readers:

1.  A pattern matches only text without deltas before its last character. At its end, the reader has
    the same position and the same state of the call.
2.  Text is left unread while it may still match. The complete readers would not emit anything for
    it either.
3.  If the text cannot match, the complete readers read all of it. Their results do not depend on
    chunks.

Each pattern has a maximum length, because waiting text is checked again with each chunk. Usually it
is found in a set of known texts: the usual spellings, and texts that waited at the same place
before. Matching the pattern takes ten times as long.
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

# These limits bound the waiting text. Longer text is left to the complete readers.
SPACE = r"[ \t\n\r]{0,16}+"
# Letters of names in nearly all tools. Other names take the complete path.
LETTER = "[-A-Za-z0-9_.:/]"
LONGEST_NAME = 128
WORD = rf"{LETTER}{{1,{LONGEST_NAME}}}+"
"""A name of plain letters."""

LONGEST_WAIT = 512
"""The maximum length of waiting text. A longer one, as in an unchunked response, takes the complete
path.
"""

MOST_KNOWN = 512
"""The maximum number of known texts at a place, for all parsers. Then all are dropped."""
LONGEST_KNOWN = 128
"""The maximum length of a known text, in characters."""


class FastPattern:
    """A pattern of the usual text at some place, with the means to wait for the rest of it.

    Args:
        pattern: the pattern of the text. `match` matches it.
        begun: a pattern of its possible beginnings, as made by `so_far`.
        spelled: usual spellings of the text. Their beginnings are known to be possible.

    Attributes:
        match: the match method of the compiled pattern.
    """

    __slots__ = ("_waiter", "match")

    def __init__(self, pattern: str, begun: str, spelled: Iterable[str] = ()) -> None:
        self.match = re.compile(pattern).match
        may_become = re.compile(begun).fullmatch
        # Only real beginnings: a complete text must be matched, and does not wait.
        known = {text[:size] for text in spelled for size in range(len(text))}

        def step(window: Window) -> str | None:
            text, pos = window.text, window.pos
            # Matching a long text again with each chunk would take quadratic time.
            if len(text) - pos > LONGEST_WAIT:
                return None
            rest = text[pos:]
            # A set is faster than a pattern, and most waiting texts are known.
            if rest in known:
                return ""
            # The complete readers take over at the first character that cannot match.
            if not may_become(rest):
                return None
            # Names and tokens are few, so the same text waits here in nearly each call.
            if len(rest) <= LONGEST_KNOWN:
                # Shared by all parsers, so it must not grow with their input.
                if len(known) >= MOST_KNOWN:
                    known.clear()
                known.add(rest)
            return ""

        self._waiter = Waiter(nowhere, step, nowhere, known=known)

    def may_follow(self, src: Window) -> bool:
        """Return whether the unread text may become a match, and install the waiter if so.

        Args:
            src: the window with the unread text.
        """
        # The waiter is shared by all parsers, since it has no state besides the known texts.
        waiter = self._waiter
        # After the end of the input, an incomplete text cannot become a match.
        if src.closed or waiter.step is None or waiter.step(src) is None:
            return False
        src.waiter = waiter
        return True


class Text(str):
    """A part of a pattern with a literal text."""

    __slots__ = ()


def whole(parts: Iterable[str]) -> str:
    """Return a pattern of all parts. Parts other than `Text` are patterns."""
    # `Text` is a str too, so the exact type decides.
    return "".join(re.escape(part) if type(part) is Text else part for part in parts)


def so_far(parts: Sequence[str]) -> str:
    """Return a pattern of the first parts, the last text possibly incomplete."""
    pattern = ""
    # Built from the end, so that each part is optional only together with all later parts.
    for part in reversed(parts):
        if type(part) is Text:
            # An incomplete literal is possible only at the end of the text.
            pattern = rf"(?:{re.escape(part)}{pattern}|{some_of(part[:-1])}\Z)"
        else:
            pattern = f"(?:{part}{pattern})?+"
    return pattern


def some_of(text: str) -> str:
    """Return a pattern of all beginnings of a text, from the empty one to the whole text."""
    pattern = ""
    for letter in reversed(text):
        pattern = f"(?:{re.escape(letter)}{pattern})?+"
    return pattern


def unambiguous(text: str, markers: Markers) -> bool:
    """Return whether a text is one of the markers, and not the beginning of another one."""
    # Otherwise the next character would decide which marker it is.
    return [marker for marker in markers.literals if marker.startswith(text)] == [text]
