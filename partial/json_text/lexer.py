"""A lexer for incomplete JSON that reads each character once.

    value   = object | array | string | number | "true" | "false" | "null"     (RFC 8259)

`JsonLexer.scan` continues at the place of its last call, and returns the index up to which text is
certain. That index is between tokens or inside a string, never inside a number, a literal or an
escape. So text up to it may be emitted unchanged. The lexer stops after the last character of the
value, because later text belongs to the caller. Its state and stack are enough to complete a
truncated value (see `heal`).

Nesting is a string of open brackets, not the call stack, and has a limit, because a model can write
`[[[[[...`. Buffered text has a limit too: a number or a key of more than `MAX_TOKEN` characters
breaks the text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import cast

from .states import JsonState
from .token_runs import INSIDE, NO_RUNS, RUNS

__all__ = ["CLOSERS", "MAX_DEPTH", "MAX_TOKEN", "SMALL_OBJECT", "JsonLexer", "JsonState"]

CLOSERS = {"{": "}", "[": "]"}

MAX_DEPTH = 512
"""The default limit of open brackets: far above normal output, far below the limit of any stack."""

MAX_TOKEN = 4096
"""The maximum length of a buffered number, key or name, in characters."""

# The patterns are possessive, because backtracking on untrusted text could be quadratic.
IN_STRING = re.compile(INSIDE)
# The first half of a surrogate pair at the end. An even number of backslashes precedes it.
HALF_PAIR = re.compile(r"(?<!\\)(?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})\Z")
CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
IN_NUMBER = re.compile(r"[-+.0-9eE]*+")
# Leading zeros are invalid in JSON, and parsers of clients would reject them.
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
SPACE = re.compile(r"[ \t\n\r]*+")
# JSON allows only these four, unlike `str.isspace`.
WHITE = frozenset(" \t\n\r")
# Both match the empty string, so the cast is safe: they always match.
in_string = cast("Callable[[str, int], re.Match[str]]", IN_STRING.match)
space = cast("Callable[[str, int], re.Match[str]]", SPACE.match)
# The characters that may follow a comma in an object, and in an array.
MEMBER = {"{": '"', "[": '"{[-0123456789tfn'}
LITERALS = {"t": "true", "f": "false", "n": "null"}


# A global costs a tenth of an enum attribute before Python 3.12.
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


# Most arguments are small objects. One pattern reads a complete one, for which the loop needs an
# iteration per token. It must match only text that the loop passes, so it has no escapes. The loop
# reads all other text. Lengths are bounded, because text without a match is read twice.
PLAIN = r'"[^"\\\x00-\x1f]{0,256}+"'
FEW = rf"-?(?:0|[1-9][0-9]{{0,30}}+)(?:\.[0-9]{{1,30}}+)?+(?:[eE][-+]?+[0-9]{{1,4}}+)?+|{PLAIN}"
GAP = r"[ \t\n\r]{0,64}+"


def _bracketed(element: str, begin: str, end: str) -> str:
    """Return a pattern of elements in brackets, separated by commas."""
    return rf"{begin}{GAP}(?:{element}{GAP}(?:,{GAP}(?!{end})|(?={end}))){{0,64}}+{end}"


def _small_object(values: str) -> str:
    return _bracketed(rf"{PLAIN}{GAP}:{GAP}(?:{values})", r"\{", r"\}")


VALUES = rf"{FEW}|true|false|null"
LIST = _bracketed(rf"(?:{VALUES})", r"\[", r"\]")
SMALL_OBJECT = _small_object(rf"{VALUES}|{LIST}|{_small_object(VALUES)}")
"""A pattern of small objects that `JsonLexer.scan` passes completely."""
small_object = re.compile(SMALL_OBJECT).match
DEPTH_OF_SMALL = 2


class JsonLexer:
    """Reads one JSON value, chunk by chunk, in a text that the caller keeps.

    Attributes:
        state: the lexer's position in the value.
        stack: the open brackets from the outside in, as in "{[".
        problem: the error, once the state is BROKEN.
        broken_in: the state before BROKEN, or None if no repair applies.
        hold_commas: True if a comma is passed only together with the next token. Then a comma
            before a closing bracket breaks the text.
        passed: the number of characters that `scan` passed. Only a lexer that `tracks` counts this
            and the next two attributes.
        settled: the number of passed characters that closing brackets alone complete.
        opened: the number of passed characters before the last string.
        runs: the patterns for tokens up to the next bracket, by state (see `token_runs.py`).
        foreseen: a text and the index of the value's end in it. A lane sets it, so that the reader
            need not scan the text again.

    Args:
        max_depth: the limit of open brackets.
        hold_commas: see above.
        tracks: count `passed`, `settled` and `opened`.
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
        # All runs by innermost bracket, and the runs for the current one.
        # Runs pass many tokens at once, so they cannot keep the counters of a tracking lexer.
        self._runs = NO_RUNS if tracks else RUNS[hold_commas]
        self.runs = self._runs[""]

    def hold(self, commas: bool) -> None:
        """Set whether commas are buffered from here on."""
        self.hold_commas = commas
        self._runs = NO_RUNS if self._tracks else RUNS[commas]
        # The current runs belong to the old setting, so they are replaced.
        self.runs = self._runs[self.stack[-1:]]

    def scan(self, text: str, pos: int = 0, *, final: bool = False) -> int:
        """Read `text` from index `pos` on, and return the index up to which it is passed.

        The index is less than `len(text)` in three cases. The value has ended (DONE). The text is
        invalid (BROKEN, at the first invalid character). Or a number, literal or escape is
        incomplete: pass it again with more text.

        Args:
            text: the text, which starts with the part that was not passed yet.
            pos: the index to start at.
            final: True if no more text follows, so that a top-level number is complete.
        """
        # Local names, because attribute lookups dominate the cost of this loop.
        end, base = len(text), self.passed - pos
        state, stack, runs = self.state, self.stack, self.runs
        # Fast path for small objects, the most frequent values.
        if state is START and (small := self._small(text, pos)):
            return small
        while pos < end:
            run = runs[state]
            if run is not None:  # usually reads all tokens up to the next bracket
                match, ends = run
                found = match(text, pos)
                pos = found.end()
                last = found.lastindex
                # Without a matched group, no token followed, so the state is unchanged.
                if last is not None:
                    state, cut = ends[last]
                    self.state = state
                    # An incomplete token waits for more text.
                    if cut:
                        break
                if pos == end:
                    break
            if state is STRING or state is KEY:
                pos = self._string(text, pos, base)
                # Still in the string, so the rest is an incomplete escape or empty.
                if self.state is state or self.state is BROKEN:
                    break
                state = self.state
                continue
            # Text after the value belongs to the caller, and text after an error is unreadable.
            if state is DONE or state is BROKEN:
                break
            char = text[pos]
            # The most frequent tokens are read inline, because a call would double the cost.
            if char in "}]" and state in BEFORE_CLOSER and char == CLOSERS[stack[-1]]:
                stack = self.stack = stack[:-1]
                runs = self.runs = self._runs[stack[-1:]]
                pos += 1
                # Brackets alone complete the text after a complete value.
                self.settled = base + pos
                state = self.state = AFTER_VALUE if stack else DONE
            elif char in WHITE:
                pos = space(text, pos + 1).end()
            elif char == '"' and state in BEFORE_STRING:
                # After a colon a string is a value, even in an object.
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
        """Read a complete small object, and return its end, or 0 if there is none."""
        # A tracking lexer needs the place of each token, and a depth limit of one forbids nested
        # objects.
        if (
            self._tracks
            or self._max_depth < DEPTH_OF_SMALL
            or not (small := small_object(text, pos))
        ):
            return 0
        self.state = DONE
        return small.end()

    def _string(self, text: str, pos: int, base: int) -> int:
        """Read on in a string or key, including its closing quote, and return the new index."""
        pos = in_string(text, pos).end()
        if pos < len(text) and text[pos] == '"':
            pos += 1
            if self.state is KEY:
                self.state = AFTER_KEY
            else:
                self.settled = base + pos
                self.state = AFTER_VALUE if self.stack else DONE
        # An incomplete escape at the end is not an error yet.
        elif pos < len(text) and not CUT_ESCAPE.match(text, pos):
            self.breaks("an escape" if text[pos] == "\\" else "a control character")
        return pos

    def _token(self, text: str, pos: int, read: int, *, final: bool) -> int:
        """Read the token at `pos`, and return its length, or 0 if it is incomplete or invalid.

        `read` is the number of characters that this scan passed before it.
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
            # The limit protects later recursive parsers, because this lexer itself does not
            # recurse.
            if len(stack) < self._max_depth:
                self.stack += char
                self.runs = self._runs[char]
                self.state = AFTER_OPEN
                self.settled = self.passed + read + 1
                return 1
            return self.breaks(f"more than {self._max_depth} open brackets")
        return self.breaks(f"{char!r} {state.value.replace('_', ' ')}")

    def _comma(self, text: str, pos: int) -> int:
        """Read a comma. With `hold_commas`, this needs the start of the next token.

        Returns 1, or 0 if the next token is unknown or the text breaks.
        """
        if self.hold_commas:
            after = match_end(SPACE, text, pos + 1)
            # Whitespace is unlimited, so after `MAX_TOKEN` characters the comma is passed without a
            # check.
            if after <= pos + MAX_TOKEN:
                # The next token is unknown, so the comma may be a trailing one.
                if after == len(text):
                    return 0
                if text[after] not in MEMBER[self.stack[-1]]:
                    return self.breaks("a trailing comma")
        # The state allows a key or value only, so a second comma breaks the text.
        self.state = AFTER_COMMA
        return 1

    def _scalar(self, text: str, pos: int, read: int, *, final: bool) -> int:
        """Read the number or literal at `pos`, and return as `_token` does."""
        char = text[pos]
        word = LITERALS.get(char)
        if word:
            if text.startswith(word, pos):
                self.value_ends(read + len(word))
                return len(word)
            # A prefix of a literal may be completed by the next chunk.
            return 0 if word.startswith(text[pos:]) else self.breaks(f"{char!r} begins no value")
        stop = match_end(IN_NUMBER, text, pos)
        # An endless number would fill the buffer, because numbers are buffered completely.
        if stop > pos + MAX_TOKEN:
            return self.breaks(f"a number of more than {MAX_TOKEN} characters")
        whole = NUMBER.fullmatch(text, pos, stop)
        # A number needs a character after it, because "12" may become "125".
        if stop == len(text) and not (final and whole and not self.stack):
            return 0
        if whole:
            self.value_ends(read + stop - pos)
            return stop - pos
        return self.breaks(f"{char!r} begins no value")

    def string_ends(self) -> None:
        """End the open key or string, whose closing quote had another spelling."""
        if self.state is KEY:
            self.state = AFTER_KEY
        else:
            self.value_ends()

    def value_ends(self, read: int = 0) -> None:
        """End a value `read` characters after the passed text."""
        self.settled = self.passed + read
        self.state = AFTER_VALUE if self.stack else DONE

    def breaks(self, problem: str) -> int:
        """Break the text here, and return 0, the length of an invalid token."""
        self.broken_in = self.state
        self.state = BROKEN
        self.problem = problem
        return 0

    def go_back(self, state: JsonState, stack: str) -> None:
        """Undo a scan, given the `state` and `stack` before it."""
        self.state, self.stack, self.runs = state, stack, self._runs[stack[-1:]]

    def overruns(self) -> None:
        """Break the text inside an unclosed string, which no repair fixes."""
        # `broken_in` is reset, because a repair could only guess the end of the string.
        self.breaks("a string that does not end")
        self.broken_in = None


def whole_end(text: str, pos: int = 0) -> int:
    r"""Return the end of the certain part of `text`, the inside of a string.

    The first half of a surrogate pair at the end (`\ud83d`) may still become a character.
    """
    # Emitting the first half alone would be final, so it waits for the second half.
    found = HALF_PAIR.search(text, pos)
    return found.start(1) if found else len(text)


def match_end(pattern: re.Pattern[str], text: str, pos: int, end: int = sys.maxsize) -> int:
    """Return the end of a match of `pattern` at `pos`, at most `end`; `pos` if there is none."""
    # A function, because the patterns of this package often match the empty string and a missing
    # match means the same.
    found = pattern.match(text, pos, end)
    return found.end() if found else pos
