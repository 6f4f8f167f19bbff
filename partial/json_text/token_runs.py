"""Patterns that read all tokens between two brackets at once.

A chunk of nested JSON has two or three tokens. A Python loop over them would cost more than all
other work on the chunk. Between brackets no token needs the stack, and tokens form a cycle: key,
colon, value and comma in an object, value and comma in an array. So there is one pattern for each
place of the cycle. It reads complete members or the start of one, up to the next bracket. Its last
group determines the state at its end.

A pattern must match only text that the loop of `JsonLexer` passes, and must lead to the same state.
The loop reads all other text: brackets, invalid text, and incomplete tokens. Nothing after a group
can fail, so no group is undone, and only an incomplete string is read twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

from .states import JsonState

__all__ = ["ESCAPE", "INSIDE", "NO_RUNS", "RUNS", "Run", "Runs"]

# Only the escapes of RFC 8259. Others are left to the repairs.
ESCAPE = r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
INSIDE = rf'[^"\\\x00-\x1f]*+(?:{ESCAPE}[^"\\\x00-\x1f]*+)*+'
"""The inside of a string, up to an escape that may be incomplete."""

WHITE = r"[ \t\n\r]*+"
# A string includes the whitespace after it, so the next token starts directly after.
WHOLE = rf'"{INSIDE}"{WHITE}'
# Limits bound the text read twice, and the loop reads longer numbers.
DIGITS = "[0-9]{1,64}+"
# A number needs a character after it, because "12" may become "125".
NUMBER = rf"-?+(?:0|[1-9][0-9]{{0,64}}+)(?:\.{DIGITS})?+(?:[eE][-+]?+{DIGITS})?+(?=[^-+.0-9eE])"
# The length is bounded, because waiting text is matched again with each chunk.
CUT = "[-0-9][-+.0-9eE]{0,64}+|t(?:ru?+)?+|f(?:a(?:ls?+)?+)?+|n(?:ul?+)?+"
"""A number or a name that may be incomplete."""
SCALAR = rf"(?:{WHOLE}|(?:true|false|null|{NUMBER}){WHITE})"


OF_BOTH = {
    JsonState.AFTER_OPEN,
    JsonState.STRING,
    JsonState.AFTER_VALUE,
    JsonState.AFTER_COMMA,
}
OF_OBJECTS = OF_BOTH | {JsonState.KEY, JsonState.AFTER_KEY, JsonState.AFTER_COLON}
"""The states between brackets."""


class Run(NamedTuple):
    """A pattern for tokens, and the result for each of its groups.

    A result is the state at the end, and True if the rest may be an incomplete number or name.
    """

    match: Callable[[str, int], re.Match[str]]
    ends: tuple[tuple[JsonState, bool], ...]


class _Circle:
    """The cycle of tokens in an object or an array.

    `comma` matches a passed comma, and `cut_comma` a comma buffered at the end of the text.
    """

    def __init__(self, key: str, comma: str, cut_comma: str) -> None:
        self._member = rf"{key}{SCALAR}{comma}"
        self._key = bool(key)
        self._comma = comma
        self._cut_comma = cut_comma
        self._ends: list[tuple[JsonState, bool]] = []

    def run(self, state: JsonState) -> Run | None:
        """Return the run starting in a state, or None if none of these tokens can follow."""
        # Arrays have no keys and colons.
        if state not in (OF_OBJECTS if self._key else OF_BOTH):
            return None
        self._ends = [(state, False)]
        # Building the pattern also fills `_ends`, in the order of its groups.
        pattern = self._from(state)
        match = cast("Callable[[str, int], re.Match[str]]", re.compile(pattern).match)
        return Run(match, tuple(self._ends))

    def _from(self, state: JsonState, *, again: bool = True) -> str:
        """Return a pattern for the text after a state. With `again`, more members may follow."""
        follow = self._follow
        if state is JsonState.KEY:
            return INSIDE + follow('"', JsonState.AFTER_KEY, again)
        if state is JsonState.STRING:
            return INSIDE + follow('"', JsonState.AFTER_VALUE, again)
        if state is JsonState.AFTER_KEY:
            return WHITE + follow(":", JsonState.AFTER_COLON, again)
        if state is JsonState.AFTER_VALUE:
            # With `again`, this is the comma of the first member. The last member has no comma.
            comma = self._marked(self._comma, JsonState.AFTER_COMMA, again) + "|" if again else ""
            return f"{WHITE}(?:{comma}{self._cut(self._cut_comma, state)})"
        # Further complete members in one repetition, because only the last one may be incomplete.
        if state is JsonState.AFTER_COMMA and again:
            return f"{WHITE}(?:{self._member})*+" + self._from(state, again=False)
        # In an object, a key must precede any value.
        if self._key and state is not JsonState.AFTER_COLON:
            return WHITE + follow('"', JsonState.KEY, again)
        whole = self._marked(SCALAR, JsonState.AFTER_VALUE, again)
        begun = self._marked('"', JsonState.STRING, again=None)
        return f"{WHITE}(?:{whole}|{begun}{INSIDE}|{self._cut(CUT, state)})"

    def _follow(self, token: str, state: JsonState, again: bool) -> str:
        """Return a pattern for an optional token, its group, and the text after it."""
        return f"(?:{self._marked(token, state, again)}|)"

    def _cut(self, token: str, state: JsonState) -> str:
        """Return a lookahead for an incomplete token at the end, as an alternative to no token."""
        # Commas are not buffered here, so an incomplete one does not exist.
        if not token:
            return ""
        # The empty group marks this alternative in `lastindex`.
        self._ends.append((state, True))
        return rf"(?=(?:{token})\Z)()|"

    def _marked(self, token: str, state: JsonState, again: bool | None) -> str:
        self._ends.append((state, False))
        return f"{token}()" + ("" if again is None else self._from(state, again=again))


class Runs(dict[JsonState, "Run | None"]):
    """The runs after an open bracket by their first state, each compiled on first use.

    Args:
        tokens: the arguments of `_Circle`, or no arguments for no runs.
    """

    def __init__(self, *tokens: str) -> None:
        # Patterns are compiled lazily, because most streams use only a few of them.
        super().__init__()
        self._tokens = tokens

    def __missing__(self, state: JsonState) -> Run | None:
        """Compile a run. Concurrent threads compile equal runs, so no lock is needed."""
        run = self[state] = _Circle(*self._tokens).run(state) if self._tokens else None
        return run


def _runs(hold_commas: bool) -> Mapping[str, Runs]:
    key, comma = rf"{WHOLE}:{WHITE}", f",{WHITE}"
    before_key, before_value, cut = "", "", ""
    # A comma is passed only with the start of a member, so a trailing comma stops the run.
    if hold_commas:
        before_key, before_value, cut = '(?=")', r'(?=["{\[\-0-9tfn])', r",[ \t\n\r]{0,64}+"
    return {
        "{": Runs(key, comma + before_key, cut),
        "[": Runs("", comma + before_value, cut),
        "": Runs(),
    }


RUNS = {hold_commas: _runs(hold_commas) for hold_commas in (False, True)}
"""All runs, by the buffering of commas and by the innermost bracket."""

NO_RUNS: Mapping[str, Runs] = {bracket: Runs() for bracket in ("{", "[", "")}
