"""The text allowed to bypass the reader of an open JSON value, up to the end of the value."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ..bypass import Lane
from ..surrogates import is_whole
from .lexer import BROKEN, DONE, START, STRING, JsonLexer
from .states import JsonState

__all__ = ["LONG_STRING", "value_lane"]

LONG_STRING = 3
"""The number of chunks in one string from which the lane for strings is faster."""

Seen = tuple[str | None, int, JsonState, str]
"""A text of which only the end may not pass, the index of the end, and the lexer's state there."""
NOTHING: Seen = None, 0, START, ""


def value_lane(lexer: JsonLexer, firsts: str) -> Lane:
    """Return a lane whose lexer reads the passing text.

    So each text must be tested once, and in order. Three texts may not pass: text that ends or
    breaks the value, the rest of a long string, and text with one of the characters `firsts`. The
    lexer has not read these, but `foreseen` may have the end of the value.
    """
    # bytes input raises TypeError here, as the lane contract requires.
    first, other = firsts[:1] or "\x00", _search(firsts[1:]) if firsts[1:] else None
    # Bound once, because the lane runs for each chunk.
    scan = lexer.scan
    inside = 0
    seen = NOTHING

    def passes(text: str) -> str | None:
        nonlocal inside, seen
        # Only the last tested text is known.
        seen = NOTHING
        # Surrogates must be escaped and markers may prove an overrun, so the sub-parser reads both.
        if first in text or not (text.isascii() or is_whole(text)) or (other and other(text)):
            return text
        state, stack, pos = lexer.state, lexer.stack, 0
        run = lexer.runs[state]
        if run is not None:  # inlined from `scan`, whose first step is usually its only one
            found = run[0](text, 0)
            pos, last = found.end(), found.lastindex
            if last is not None:
                now, cut = run[1][last]
                if cut:
                    seen = text, pos, now, stack
                    return text
                lexer.state = now
                if pos == len(text):
                    inside = 0
                    return None
        end, now = scan(text, pos), lexer.state
        if end == len(text) and now is not DONE:
            if now is not state or now is not STRING:
                inside = 0
                return None
            # The lane for strings pays off only after several chunks in one string.
            if inside < LONG_STRING:
                inside += 1
                return None
        # The end of the text is an incomplete token, or the value has ended.
        elif now is not BROKEN:
            seen = text, end, now, lexer.stack
        # The text does not pass, so the lexer must not have read it.
        lexer.go_back(state, stack)
        return text

    def split(text: str) -> int:
        nonlocal inside, seen
        # `split` may be called without a test of the same text before.
        if seen[0] is not text and inside < LONG_STRING and passes(text) is None:
            return len(text)
        known, end, now, stack = seen
        seen = NOTHING
        if known is None:
            inside = 0
        elif now is DONE:
            # The reader would otherwise scan the same text a second time.
            lexer.foreseen = text, end
        else:
            lexer.go_back(now, stack)
            return end
        return -1

    return Lane(passes, passes, split)


# Cached, because each value has a lane of its own.
@lru_cache(maxsize=64)
def _search(characters: str) -> Callable[[str], re.Match[str] | None]:
    """Return a search for any of several characters."""
    return re.compile(f"[{re.escape(characters)}]").search
