r"""A lexer for JSON that is not all there yet, which reads each character once.

    value   = object | array | string | number | "true" | "false" | "null"     (RFC 8259)

`JsonLexer.scan` reads on from where it stopped and returns how far it came. What it has passed is
certain: that ends between tokens or inside a string, never inside a number, a literal or an
escape, so it may be emitted as it stands. Behind the last character of the value it stops: the
text that follows belongs to the caller. The state says what stands open, which is all that is
needed to complete a value that was cut off (see `heal`).

Nesting is a string of open brackets, never the call stack, and has a limit, because a model can
write `[[[[[...`. The length of what is held back has one too: a number or a key of more than
`MAX_TOKEN` characters breaks the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import cast

__all__ = ["CLOSERS", "MAX_DEPTH", "MAX_TOKEN", "SMALL_OBJECT", "JsonLexer", "JsonState"]

CLOSERS = {"{": "}", "[": "]"}

MAX_DEPTH = 512
"""Open brackets that a value may have: far above honest output, far below every stack."""

MAX_TOKEN = 4096
"""Characters of a number, or of a key or name that must be whole: these are held back."""

ESCAPE = r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
# Whole escapes only: a string is passed up to an escape that may still be cut.
IN_STRING = re.compile(rf'[^"\\\x00-\x1f]*+(?:{ESCAPE}[^"\\\x00-\x1f]*+)*+')
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
    """Where in a JSON value a lexer or scanner stands.

    START        before the value
    AFTER_OPEN   behind an opening bracket
    KEY          in a key
    AFTER_KEY    behind a key, before its colon
    AFTER_COLON  behind a colon, before the value
    STRING       in a string that is a value
    AFTER_VALUE  behind a value, before a comma or a closing bracket
    AFTER_COMMA  behind a comma, before the next key or value
    DONE         behind the whole value
    BROKEN       before a character that cannot follow
    """

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


# The memory of moves. A chunk of nested JSON holds two or three tokens, each of which takes a turn
# of the loop in `_scan`, and a parser of such JSON would spend more than half of its time there.
# But models have few tokens: what a short chunk does in some place, most chunks did there before.
# To look that up takes a fifth of the time that reading takes, and a stream of nested JSON costs
# less than half of what it would.
#
# It must be exact: a move is what `_scan` did, and so must be remembered under all that `_scan`
# looked at. That is the state, the text, whether commas are held back, and of the open brackets
# one more than the chunk closes. So a place has the `NEAR` innermost brackets, and a chunk that
# closes as many is not remembered. Nor is one that breaks the text: its `problem` is worth a look
# at the text, and it is the last. A lexer that `tracks` counts characters and needs each token, so
# it remembers nothing; near the limit of depth chunks are read, for no place knows the depth.
#
# It must not grow: keys have at most `SHORT` characters, and when it is full, all is forgotten. To
# forget what was not used for long would cost something at each look-up, where this costs nothing;
# and a text that is made of ever new chunks pays for one entry a chunk, whatever is done.
#
# It is one for all lexers, as the tokens of a model are for all its answers. Threads may share it:
# a place has one move, so whoever writes it writes the same.
SHORT = 12
"""Characters that a chunk may have whose move is remembered."""
NEAR = 4
"""Brackets that a place tells apart, counted from the innermost."""
MOST_MOVES = 512
"""Moves that are remembered, by all lexers together; one more, and all are forgotten."""
Place = tuple[JsonState, str, bool, str]
"""What decides a move: the state, the innermost brackets, whether commas are held, the chunk."""
Move = tuple[int, JsonState, bool, int, str]
"""What a chunk did: how many characters were passed, and the state after it; whether there are
brackets in it, how many of those that were open it closed, and which it opened."""
MOVES: dict[Place, Move] = {}


# Most arguments are small objects, and where all of one is there, as in a text that is read at
# once, one pattern reads what takes a turn of the loop for each token. It must pass only what the
# loop passes: so it knows nothing of escapes, and where it does not match, the loop reads. Its
# lengths are bounded, for what it does not match in the end is read twice.
PLAIN = r'"[^"\\\x00-\x1f]{0,256}+"'
FEW = rf"-?(?:0|[1-9][0-9]{{0,30}}+)(?:\.[0-9]{{1,30}}+)?+(?:[eE][-+]?+[0-9]{{1,4}}+)?+|{PLAIN}"
GAP = r"[ \t\n\r]{0,64}+"


def _bracketed(element: str, begin: str, end: str) -> str:
    """A pattern of elements in brackets, with commas in between."""
    return rf"{begin}{GAP}(?:{element}{GAP}(?:,{GAP}(?!{end})|(?={end}))){{0,64}}+{end}"


def _small_object(values: str) -> str:
    return _bracketed(rf"{PLAIN}{GAP}:{GAP}(?:{values})", r"\{", r"\}")


VALUES = rf"{FEW}|true|false|null"
LIST = _bracketed(rf"(?:{VALUES})", r"\[", r"\]")
SMALL_OBJECT = _small_object(rf"{VALUES}|{LIST}|{_small_object(VALUES)}")
"""A pattern of objects that `JsonLexer.scan` passes from end to end, and of no others."""
small_object = re.compile(SMALL_OBJECT).match
DEPTH_OF_SMALL = 2


class JsonLexer:
    """Reads one JSON value, chunk by chunk, in a text that the caller keeps.

    Attributes:
        state: where in the value the lexer stands.
        stack: the brackets that are open, from the outside in, as in "{[".
        problem: what is wrong, once the state is BROKEN.
        broken_in: what the state was before it was BROKEN; None where nothing repairs it.
        hold_commas: whether a comma is passed only with what follows it; then a comma before a
            closing bracket is where the text breaks.
        passed: how many characters `scan` passed. This and the next two are counted only by a
            lexer that `tracks`.
        settled: up to which of them the text can be completed with closing brackets alone.
        opened: how many of them lie before the last string.
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
        literal or escape that is not all there: scan that again with more text. `final` says that
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
        """Read a short chunk, and remember what it did."""
        before, text = self.stack, place[-1]
        length = self._scan(text)
        after = self.stack
        # One bracket more than it closes was looked at.
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
        """Read as `scan` does, without the memory."""
        start, end = pos, len(text)
        base = self.passed - start
        state, stack = self.state, self.stack
        if state is START and not self._tracks and self._max_depth >= DEPTH_OF_SMALL:
            if small := small_object(text, pos):
                self.state = DONE
                return small.end()
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

        `read` is how many characters this scan passed before it.
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
        """Read a comma; with `hold_commas`, only when the next token has begun.

        Returns 1, or 0 when it is not known what follows or the text breaks.
        """
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
        """Read the number or literal at `pos`; return as `_token` does."""
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

    def string_ends(self) -> None:
        """End the key or string that is open: its closing quote was read in another spelling."""
        if self.state is KEY:
            self.state = AFTER_KEY
        else:
            self.value_ends()

    def value_ends(self, read: int = 0) -> None:
        """End a value `read` characters behind what was passed."""
        self.settled = self.passed + read
        self.state = AFTER_VALUE if self.stack else DONE

    def breaks(self, problem: str) -> int:
        """Break the text here: it cannot go on as it does. Returns 0, the length of no token."""
        self.broken_in = self.state
        self.state = BROKEN
        self.problem = problem
        return 0

    def go_back(self, state: JsonState, stack: str) -> None:
        """Take back a scan, before which this was the state, and these brackets were open."""
        self.state, self.stack, self._near = state, stack, stack[-NEAR:]

    def overruns(self) -> None:
        """Break the text in a string that never ended; nothing repairs that."""
        self.breaks("a string that does not end")
        self.broken_in = None


def whole_end(text: str, pos: int = 0) -> int:
    r"""Return where `text`, the inside of a string, ends for good: its length at most.

    A first half of a surrogate pair at its end (`\ud83d`) may still become a character.
    """
    found = HALF_PAIR.search(text, pos)
    return found.start(1) if found else len(text)


def match_end(pattern: re.Pattern[str], text: str, pos: int) -> int:
    """Return where a match of `pattern` at `pos` ends; the pattern matches the empty text too."""
    found = pattern.match(text, pos)
    return found.end() if found else pos
