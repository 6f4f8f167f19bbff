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
import sys
from collections.abc import Callable
from typing import cast

from .runs import INSIDE, NO_RUNS, RUNS
from .states import JsonState

__all__ = ["CLOSERS", "MAX_DEPTH", "MAX_TOKEN", "SMALL_OBJECT", "JsonLexer", "JsonState"]

CLOSERS = {"{": "}", "[": "]"}

MAX_DEPTH = 512
"""Open brackets that a value may have: far above honest output, far below every stack."""

MAX_TOKEN = 4096
"""Characters of a number, or of a key or name that must be whole: these are held back."""

IN_STRING = re.compile(INSIDE)
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
        runs: what reads the tokens up to the next bracket, by the state; see `runs.py`.
        foreseen: a text, and where in it the value ends, where a lane found that out for its
            reader, who need not scan it again.
    """

    __slots__ = (
        "_max_depth",
        "_runs",
        "_tracks",
        "broken_in",
        "foreseen",
        "hold_commas",
        "opened",
        "passed",
        "problem",
        "runs",
        "settled",
        "stack",
        "state",
    )

    def __init__(
        self, *, max_depth: int = MAX_DEPTH, hold_commas: bool = False, tracks: bool = False
    ) -> None:
        self.stack = ""
        self._tracks = tracks
        self.state = START
        self.problem = ""
        self.broken_in: JsonState | None = None
        self.passed = 0
        self.settled = 0
        self.opened = 0
        self.foreseen: tuple[str, int] | None = None
        self._max_depth = max_depth
        self.hold_commas = hold_commas
        # By the innermost bracket, and those behind it now.
        self._runs = NO_RUNS if tracks else RUNS[hold_commas]
        self.runs = self._runs[""]

    def hold(self, commas: bool) -> None:
        """Say whether commas are held back from here on."""
        self.hold_commas = commas
        self._runs = NO_RUNS if self._tracks else RUNS[commas]
        self.runs = self._runs[self.stack[-1:]]

    def scan(self, text: str, pos: int = 0, *, final: bool = False) -> int:
        """Read `text` from index `pos` on; return the index up to which it is passed.

        That is less than `len(text)` when the value has ended (DONE), when the text cannot go on
        like this (BROKEN, at the character that breaks it), or when what follows is a number,
        literal or escape that is not all there: scan that again with more text. `final` says that
        no more comes: then a number that stands alone is all there.
        """
        end, base = len(text), self.passed - pos
        state, stack, runs = self.state, self.stack, self.runs
        if state is START and (small := self._small(text, pos)):
            return small
        while pos < end:
            run = runs[state]
            if run is not None:  # all up to the next bracket, nearly always
                match, ends = run
                found = match(text, pos)
                pos = found.end()
                last = found.lastindex
                if last is not None:
                    state, cut = ends[last]
                    self.state = state
                    if cut:
                        break
                if pos == end:
                    break
            if state is STRING or state is KEY:
                pos = self._string(text, pos, base)
                if self.state is state or self.state is BROKEN:
                    break
                state = self.state
                continue
            if state is DONE or state is BROKEN:
                break
            char = text[pos]
            # What is most frequent is done here: a call costs as much as all of it.
            if char in "}]" and state in BEFORE_CLOSER and char == CLOSERS[stack[-1]]:
                stack = self.stack = stack[:-1]
                runs = self.runs = self._runs[stack[-1:]]
                pos += 1
                self.settled = base + pos
                state = self.state = AFTER_VALUE if stack else DONE
            elif char in WHITE:
                pos = space(text, pos + 1).end()
            elif char == '"' and state in BEFORE_STRING:
                is_key = state is not AFTER_COLON and stack[-1:] == "{"
                state = self.state = KEY if is_key else STRING
                self.opened = base + pos
                pos += 1
            elif char == ":" and state is AFTER_KEY:
                state = self.state = AFTER_COLON
                pos += 1
            else:
                token = self._token(text, pos, base + pos - self.passed, final=final)
                if not token:
                    break
                pos += token
                state, stack, runs = self.state, self.stack, self.runs
        self.passed = base + pos
        return pos

    def _small(self, text: str, pos: int) -> int:
        """Read a whole small object; return where it ends, 0 where none stands."""
        if (
            self._tracks
            or self._max_depth < DEPTH_OF_SMALL
            or not (small := small_object(text, pos))
        ):
            return 0
        self.state = DONE
        return small.end()

    def _string(self, text: str, pos: int, base: int) -> int:
        """Read on in a string, or key, and its closing quote if it is there; return where."""
        pos = in_string(text, pos).end()
        if pos < len(text) and text[pos] == '"':
            pos += 1
            if self.state is KEY:
                self.state = AFTER_KEY
            else:
                self.settled = base + pos
                self.state = AFTER_VALUE if self.stack else DONE
        elif pos < len(text) and not CUT_ESCAPE.match(text, pos):
            self.breaks("an escape" if text[pos] == "\\" else "a control character")
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
                self.runs = self._runs[char]
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
        if stop > pos + MAX_TOKEN:
            return self.breaks(f"a number of more than {MAX_TOKEN} characters")
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
        self.state, self.stack, self.runs = state, stack, self._runs[stack[-1:]]

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


def match_end(pattern: re.Pattern[str], text: str, pos: int, end: int = sys.maxsize) -> int:
    """Return where a match of `pattern` at `pos` ends, `end` at the latest; `pos` if none is."""
    found = pattern.match(text, pos, end)
    return found.end() if found else pos
