r"""JSON that is not all there yet: a lexer that reads each character once.

    value   = object | array | string | number | "true" | "false" | "null"     (RFC 8259)

`JsonLexer.scan` reads on from where it stopped and says how far it came. What it has passed
is certain: it ends between tokens or inside a string, never inside a number, a literal or an
escape, so what lies before may be handed on as it stands, and after the last character of the
value it stops: the text that follows belongs to the caller. Its state says what stands open,
which is what completes ("heals") a value that was cut off. Nesting is a list, never the call
stack, and has a limit, because a model can write `[[[[[...`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import cast

__all__ = ["CLOSERS", "MAX_DEPTH", "MAX_TOKEN", "JsonLexer", "JsonState"]

CLOSERS = {"{": "}", "[": "]"}

MAX_DEPTH = 512
"""Open brackets that a value may have: far above honest output, far below every stack."""

MAX_TOKEN = 4096
"""Characters of a number, or of a key or name that must be whole: these are held back."""

# Whole escapes only: a string is passed on up to an escape that may still be cut.
IN_STRING = re.compile(r'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
# The first half of a surrogate pair at the end; backslashes before it come in pairs.
HALF_PAIR = re.compile(r"(?<!\\)(?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})\Z")
CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
IN_NUMBER = re.compile(r"[-+.0-9eE]*+")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
SPACE = re.compile(r"[ \t\n\r]*+")
WHITE = frozenset(" \t\n\r")
# Both match the empty text too, so they always match.
in_string = cast("Callable[[str, int], re.Match[str]]", IN_STRING.match)
space = cast("Callable[[str, int], re.Match[str]]", SPACE.match)
# What may follow a comma in an object, and in an array.
MEMBER = {"{": '"', "[": '"{[-0123456789tfn'}
LITERALS = {"t": "true", "f": "false", "n": "null"}


class JsonState(StrEnum):
    """Where in a JSON text a lexer or scanner stands."""

    START = "start"
    AFTER_OPEN = "after_open"
    KEY = "key"
    AFTER_KEY = "after_key"
    AFTER_COLON = "after_colon"
    STRING = "string"
    AFTER_VALUE = "after_value"
    AFTER_COMMA = "after_comma"
    DONE = "done"
    BROKEN = "broken"


# A global costs a tenth of what an attribute of an enum does (before Python 3.12).
(
    START,
    AFTER_OPEN,
    KEY,
    AFTER_KEY,
    AFTER_COLON,
    STRING,
    AFTER_VALUE,
    AFTER_COMMA,
    DONE,
    BROKEN,
) = JsonState
BEFORE_STRING = frozenset({START, AFTER_OPEN, AFTER_COLON, AFTER_COMMA})
BEFORE_CLOSER = frozenset({AFTER_OPEN, AFTER_VALUE})


# Tokens are few: what a short piece does in some place, most pieces did there before. To look
# that up takes a fifth of the time that reading takes.
SHORT = 12
"""Characters of a piece that is remembered."""
NEAR = 4
"""Brackets that a place tells apart, counted from the innermost."""
MOST_MOVES = 512
"""Moves that are remembered, by all lexers together; beyond them, all is forgotten."""
Place = tuple[JsonState, str, bool, str]
"""The state, the innermost open brackets, whether commas are held, and the piece."""
Move = tuple[int, JsonState, bool, int, str]
"""How much is passed, the new state; whether there are brackets, how many of those that were open
are closed, and which stand open then."""
MOVES: dict[Place, Move] = {}


class JsonLexer:
    """Reads one JSON value in a text that the caller keeps, piece by piece.

    `state` says where it stands, `stack` which brackets are open, as "{[". Once the state
    is BROKEN, `problem` says what is wrong and `broken_in` what the state was. With `hold_commas`,
    a comma is passed with what follows it, and one before a closing bracket is where the text
    breaks.

    With `tracks`, `passed` counts the characters that `scan` passed; up to `settled` of them, the
    text can be completed with closing brackets alone; `opened` of them lie before the last
    string.
    """

    __slots__ = (
        "_max_depth",
        "_near",
        "_tracks",
        "broken_in",
        "hold_commas",
        "opened",
        "passed",
        "problem",
        "settled",
        "stack",
        "state",
    )

    def __init__(
        self, *, max_depth: int = MAX_DEPTH, hold_commas: bool = False, tracks: bool = False
    ) -> None:
        self.stack = ""
        self._near = ""
        self._tracks = tracks
        self.state = START
        self.problem = ""
        self.broken_in: JsonState | None = None
        self.passed = 0
        self.settled = 0
        self.opened = 0
        self.hold_commas = hold_commas
        self._max_depth = max_depth

    def scan(self, text: str, pos: int = 0, *, final: bool = False) -> int:
        """Read `text` from index `pos` on; return the index up to which it is passed.

        That is less than `len(text)` when the value has ended (DONE), when the text cannot go on
        like this (BROKEN, at the character that breaks it), or when what follows is a number,
        literal or escape that is not all there: feed that again with more text. `final` says that
        no more comes: then a number that stands alone is all there.
        """
        if pos or final or self._tracks or len(text) > SHORT:
            return self._scan(text, pos, final=final)
        place = self.state, self._near, self.hold_commas, text
        move = MOVES.get(place)
        if move is None:
            return self._learn(place)
        length, state, nests, closed, opened = move
        if nests:
            stack = self.stack
            if len(stack) > self._max_depth - SHORT:
                return self._scan(text)
            stack = self.stack = stack[: len(stack) - closed] + opened
            self._near = stack[-NEAR:]
        self.state = state
        return length

    def _learn(self, place: Place) -> int:
        """Read a short piece, and remember what it did."""
        before, text = self.stack, place[-1]
        length = self._scan(text)
        after = self.stack
        # A place tells all that was looked at: a bracket more than are closed.
        closers = text.count("}") + text.count("]")
        if self.state is not BROKEN and closers < NEAR:
            kept = len(before)
            while not after.startswith(before[:kept]):
                kept -= 1
            nests = closers > 0 or "{" in text or "[" in text
            if len(MOVES) >= MOST_MOVES:
                MOVES.clear()
            MOVES[place] = length, self.state, nests, len(before) - kept, after[kept:]
        return length

    def _scan(self, text: str, pos: int = 0, *, final: bool = False) -> int:
        start, end = pos, len(text)
        base = self.passed - start
        state, stack = self.state, self.stack
        while pos < end:
            if state is STRING or state is KEY:
                pos = in_string(text, pos).end()
                if pos == end:
                    break
                if text[pos] != '"':
                    if not CUT_ESCAPE.match(text, pos):
                        self.breaks("an escape" if text[pos] == "\\" else "a control character")
                    break
                pos += 1
                if state is KEY:
                    state = self.state = AFTER_KEY
                else:
                    self.settled = base + pos
                    state = self.state = AFTER_VALUE if stack else DONE
                continue
            if state is DONE or state is BROKEN:
                break
            char = text[pos]
            # What is most frequent is done here: a call costs as much as all of it.
            if char in WHITE:
                pos = space(text, pos + 1).end()
            elif char == '"' and state in BEFORE_STRING:
                is_key = state is not AFTER_COLON and stack[-1:] == "{"
                state = self.state = KEY if is_key else STRING
                self.opened = base + pos
                pos += 1
            elif char == ":" and state is AFTER_KEY:
                state = self.state = AFTER_COLON
                pos += 1
            elif char in "}]" and state in BEFORE_CLOSER and char == CLOSERS[stack[-1]]:
                stack = self.stack = stack[:-1]
                pos += 1
                self.settled = base + pos
                state = self.state = AFTER_VALUE if stack else DONE
            else:
                token = self._token(text, pos, pos - start, final=final)
                if not token:
                    break
                pos += token
                state, stack = self.state, self.stack
        self._near = stack[-NEAR:]
        self.passed = base + pos
        return pos

    def _token(self, text: str, pos: int, read: int, *, final: bool) -> int:
        """Read the token at `pos`; return its length, or 0 when it is not all there or wrong.

        `read` is how many characters of this scan lie before it.
        """
        char = text[pos]
        state = self.state
        stack = self.stack
        if state is AFTER_VALUE:
            if char == ",":
                return self._comma(text, pos)
        elif state is not AFTER_KEY and (state is AFTER_COLON or stack[-1:] != "{"):
            if char not in "{[":
                return self._scalar(text, pos, read, final=final)
            if len(stack) < self._max_depth:
                self.stack += char
                self.state = AFTER_OPEN
                self.settled = self.passed + read + 1
                return 1
            return self.breaks(f"more than {self._max_depth} open brackets")
        return self.breaks(f"{char!r} {state.value.replace('_', ' ')}")

    def _comma(self, text: str, pos: int) -> int:
        """Read a comma; where it may have to be left out again, only when a token follows."""
        if self.hold_commas:
            after = match_end(SPACE, text, pos + 1)
            if after <= pos + MAX_TOKEN:
                if after == len(text):
                    return 0
                if text[after] not in MEMBER[self.stack[-1]]:
                    return self.breaks("a comma that nothing follows")
        self.state = AFTER_COMMA
        return 1

    def _scalar(self, text: str, pos: int, read: int, *, final: bool) -> int:
        char = text[pos]
        word = LITERALS.get(char)
        if word:
            if text.startswith(word, pos):
                self.value_ends(read + len(word))
                return len(word)
            return 0 if word.startswith(text[pos:]) else self.breaks(f"{char!r} begins no value")
        stop = match_end(IN_NUMBER, text, pos)
        if pos < stop <= pos + MAX_TOKEN:
            whole = NUMBER.fullmatch(text, pos, stop)
            # A number ends where another character stands, or the text: "12" may become "125".
            if stop == len(text) and not (final and whole and not self.stack):
                return 0
            if whole:
                self.value_ends(read + stop - pos)
                return stop - pos
        return self.breaks(f"{char!r} begins no value")

    def value_ends(self, read: int = 0) -> None:
        """A value ends here, `read` characters from what was passed."""
        self.settled = self.passed + read
        self.state = AFTER_VALUE if self.stack else DONE

    def breaks(self, problem: str) -> int:
        """The text cannot go on as it does."""
        self.broken_in = self.state
        self.state = BROKEN
        self.problem = problem
        return 0


def match_end(pattern: re.Pattern[str], text: str, pos: int) -> int:
    """Where a match of `pattern`, which matches the empty text too, ends."""
    found = pattern.match(text, pos)
    return found.end() if found else pos
