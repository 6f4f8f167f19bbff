"""A JSON value fed in chunks: what of it is certain is returned as soon as it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..errors import AFTER_FINISH, UsageError
from ..surrogates import escape_surrogates
from ..window import Window
from .compact import CompactJson
from .heal import HealedJson, closing, heal_json
from .lexer import MAX_DEPTH, JsonLexer, JsonState
from .readers import ENDS
from .repair import json_document
from .repairs import Repairs

__all__ = ["JsonScanner"]


class JsonScanner:
    """Reads one JSON value that is fed in chunks of any size, each character once.

    `feed` returns the text that is certain now, and never takes it back: joined, what it returned
    is a prefix of the value's text, cut between tokens or in a string. Held back is only half of a
    number, a literal or an escape, and a comma until something follows it. White space before the
    value is left out. Model output never raises: a text that is not JSON leaves the scanner in the
    state BROKEN, with a `problem`.

    Args:
        compact: return JSON without white space, each string in its shortest spelling, in place of
            the text as it stands.
        repairs: which repairs are made of what is nearly JSON; none if None.
        max_depth: how many brackets may be open.
        keep: keep what was returned, for `text` and `snapshot`. Without it a scanner takes the
            same few hundred bytes however long the value is.

    >>> scanner = JsonScanner()
    >>> scanner.feed('{"path": "a.txt", "li'), scanner.feed('ne": 1'), scanner.feed("2} and so on")
    ('{"path": "a.txt", "li', 'ne": ', '12}')
    >>> scanner.state, scanner.end, scanner.unread
    (<JsonState.DONE: 'done'>, 29, ' and so on')
    """

    __slots__ = ("_behind", "_kept", "_lexer", "_out", "_src", "_steps", "repaired")

    repaired: Counter[str]
    """How often each repair was made."""

    def __init__(
        self,
        *,
        compact: bool = False,
        repairs: Repairs | None = None,
        max_depth: int = MAX_DEPTH,
        keep: bool = True,
    ) -> None:
        self.repaired = Counter()
        self._kept: list[str] | None = [] if keep else None
        self._behind: list[str] = []
        self._out: list[str] = []
        self._src = Window()
        self._lexer = JsonLexer(max_depth=max_depth, hold_commas=True)
        emit = CompactJson(self._out.append).write if compact else self._out.append
        self._steps = json_document(self._src, emit, self._lexer, repairs, self.repaired)

    @property
    def state(self) -> JsonState:
        """Where in the value the text ends that was fed so far."""
        return self._lexer.state

    @property
    def stack(self) -> tuple[str, ...]:
        """The brackets that are open, "{" and "[", from the outside in."""
        return tuple(self._lexer.stack)

    @property
    def problem(self) -> str:
        """What is wrong with the character that `unread` begins with, when BROKEN."""
        return self._lexer.problem if self.state is JsonState.BROKEN else ""

    @property
    def end(self) -> int | None:
        """The number of characters fed up to the end of the value; None while it goes on."""
        return self._src.offset if self.state is JsonState.DONE else None

    @property
    def unread(self) -> str:
        """The text that was fed and is held back, follows the value, or broke it."""
        self._behind = ["".join(self._behind)]
        return self._src.unread + self._behind[0]

    @property
    def text(self) -> str:
        """All that was returned; raises `UsageError` where the scanner keeps nothing."""
        if self._kept is None:
            raise UsageError("this scanner keeps no text: make it with keep=True")
        self._kept = ["".join(self._kept)]
        return self._kept[0]

    def feed(self, text: str) -> str:
        """Read the next chunk; return the text that is certain now, often "".

        Raises:
            UsageError: the chunk is no `str`, or comes after `finish`.
        """
        if not isinstance(text, str):
            raise UsageError(f"feed() takes str, not {type(text).__name__}; see TextDecoder")
        if self._src.closed:
            raise UsageError(AFTER_FINISH)
        if self.state in ENDS:
            # The window would be put together anew with each chunk.
            self._behind.append(text)
        elif self._src.receive(text):
            next(self._steps, None)
        return self._emitted()

    def finish(self, *, heal: bool = False) -> str:
        """End the input; return the rest, which is a number that stands alone.

        With `heal`, also what makes the whole JSON: a number that is held back is taken as it is,
        a key without a value gets null.
        """
        self._src.closed = True
        next(self._steps, None)
        rest = self._emitted()
        if heal:
            rest += closing(self._lexer, self.unread)
        return rest

    def snapshot(self, *, marker: str | None = None) -> HealedJson:
        """Return the value so far, completed: `heal_json` of what was returned.

        Takes time in proportion to the text; to follow the values while they come, see
        `JsonValues`.

        Raises:
            UsageError: the scanner keeps nothing, or the marker has characters that JSON escapes.
        """
        # A space behind a value says that it is whole, for it may be a number.
        whole = self.state in (JsonState.AFTER_VALUE, JsonState.DONE)
        healed = heal_json(self.text + " " * whole, marker=marker)
        return replace(
            healed,
            end=self._src.offset,
            problem=self.problem,
            repairs=tuple(self.repaired),
        )

    def _emitted(self) -> str:
        """Return what the sub-parser emitted since the last call."""
        out = self._out
        if not out:
            return ""
        text = "".join(out)
        out.clear()
        if not text.isascii():
            text = escape_surrogates(text)
        if self._kept is not None:
            self._kept.append(text)
        return text
