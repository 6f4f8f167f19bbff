"""What may pass in a JSON value of which a lexer stands in the middle: all that does not end it."""

from __future__ import annotations

from ..surrogates import is_whole
from ..waiting import Lane
from .lexer import BROKEN, DONE, START, STRING, JsonLexer
from .states import JsonState

__all__ = ["LONG_STRING", "value_lane"]

LONG_STRING = 3
"""Chunks within one string; for more of them the lane of strings is worth its while."""

Seen = tuple[str | None, int, JsonState, str]
"""Text that may pass but for its end, where that begins, and where the lexer stands before it."""
NOTHING: Seen = None, 0, START, ""


def value_lane(lexer: JsonLexer, firsts: str) -> Lane:
    """Return a lane in which the lexer goes along: what passes, it has read.

    So text is to be looked at once, and in order. What ends the value or breaks it, the rest of a
    long string, and text that holds one of the characters `firsts` may not pass; the lexer has not
    read that, but `foreseen` where the value ends.
    """
    # Of bytes this asks what raises TypeError, as a lane should.
    first, others = firsts[:1] or "\x00", firsts[1:]
    scan = lexer.scan
    inside = 0
    seen = NOTHING

    def passes(text: str) -> str | None:
        nonlocal inside, seen
        seen = NOTHING
        if first in text or not (text.isascii() or is_whole(text)):
            return text
        if others and any(map(text.__contains__, others)):
            return text
        state, stack, pos = lexer.state, lexer.stack, 0
        run = lexer.runs[state]
        if run is not None:  # what `scan` would do first, and nearly always all that it would do
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
        if end < len(text):
            if now is not BROKEN:
                seen = text, end, now, lexer.stack
        elif now is not state or now is not STRING:
            if now is not DONE:
                inside = 0
                return None
            seen = text, end, now, ""
        elif inside < LONG_STRING:
            inside += 1
            return None
        lexer.go_back(state, stack)
        return text

    def split(text: str) -> int:
        nonlocal inside, seen
        if seen[0] is not text and inside < LONG_STRING and passes(text) is None:
            return len(text)
        known, end, now, stack = seen
        seen = NOTHING
        if known is None:
            inside = 0
        elif now is DONE:
            lexer.foreseen = text, end
        else:
            lexer.go_back(now, stack)
            return end
        return -1

    return Lane(passes, passes, split)
