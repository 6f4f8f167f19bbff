"""A push parser for one JSON value that returns text as soon as it is certain."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..errors import AFTER_FINISH, UsageError
from ..json_text.compact import CompactJson
from ..json_text.lexer import MAX_DEPTH, JsonLexer, JsonState
from ..json_text.readers import ENDS
from ..json_text.repair import json_document
from ..json_text.repairs import Repairs
from ..surrogates import escape_surrogates
from ..window import Window
from .heal import HealedJson, closing, heal_json

__all__ = ["JsonScanner"]


class JsonScanner:
    """Reads one JSON value in chunks of any size, each character once.

    `feed` returns the text that is certain now, and never retracts it. The joined results are a
    prefix of the value's text, cut between tokens or inside a string. Only an incomplete number,
    literal or escape is buffered, and a comma until the next token. Whitespace before the value is
    dropped. Model output never raises: invalid text leaves the scanner in the state BROKEN, with a
    `problem`.

    Args:
        compact: return compact JSON instead of the original spelling.
        repairs: the repairs to make; None for no repairs.
        max_depth: the limit of open brackets.
        keep: keep the returned text, for `text` and `snapshot`. Without it, a scanner has a
            constant size of a few hundred bytes.

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
        # A list, because appending to a string would copy all text with each chunk.
        self._kept: list[str] | None = [] if keep else None
        self._behind: list[str] = []
        self._out: list[str] = []
        self._src = Window()
        self._lexer = JsonLexer(max_depth=max_depth, hold_commas=True)
        emit = CompactJson(self._out.append).write if compact else self._out.append
        # The generator is created once and resumed with each chunk, so no text is read twice.
        self._steps = json_document(self._src, emit, self._lexer, repairs, self.repaired)

    @property
    def state(self) -> JsonState:
        """The position of the end of the fed text in the value."""
        return self._lexer.state

    @property
    def stack(self) -> tuple[str, ...]:
        """The open brackets, "{" and "[", from the outside in."""
        return tuple(self._lexer.stack)

    @property
    def problem(self) -> str:
        """The reason why the first character of `unread` is invalid; "" unless BROKEN."""
        return self._lexer.problem if self.state is JsonState.BROKEN else ""

    @property
    def end(self) -> int | None:
        """The number of characters up to the end of the value, or None before it."""
        return self._src.offset if self.state is JsonState.DONE else None

    @property
    def unread(self) -> str:
        """The fed text that is buffered, follows the value, or is invalid."""
        # Joined on access and stored, so repeated access does not join again.
        self._behind = ["".join(self._behind)]
        return self._src.unread + self._behind[0]

    @property
    def text(self) -> str:
        """All returned text.

        Raises:
            UsageError: the scanner was created with `keep=False`.
        """
        if self._kept is None:
            raise UsageError("this scanner keeps no text: create it with keep=True")
        # The joined text replaces its parts, so the memory is not doubled.
        self._kept = ["".join(self._kept)]
        return self._kept[0]

    def feed(self, text: str) -> str:
        """Read the next chunk, and return the text that is certain now.

        Raises:
            UsageError: the chunk is not a `str`, or follows `finish`.
        """
        if not isinstance(text, str):
            raise UsageError(f"feed() takes str, not {type(text).__name__} (see TextDecoder)")
        if self._src.closed:
            raise UsageError(AFTER_FINISH)
        # Text after the end is not part of the value, but belongs to the caller.
        if self.state in ENDS:
            # A list avoids copying the rest with each chunk, as the window would.
            self._behind.append(text)
        # Text inside a string usually bypasses the generator.
        elif self._src.receive(text):
            next(self._steps, None)
        return self._emitted()

    def finish(self, *, heal: bool = False) -> str:
        """End the input, and return the rest, a top-level number.

        Args:
            heal: return the text that completes the JSON too. A buffered number is kept, and a key
                without a value gets null.
        """
        self._src.closed = True
        next(self._steps, None)
        rest = self._emitted()
        # The closers are based on the emitted text, so they follow after it.
        if heal:
            rest += closing(self._lexer, self.unread)
        return rest

    def snapshot(self, *, marker: str | None = None) -> HealedJson:
        """Return the value so far, completed by `heal_json`.

        Takes time in proportion to the text. `JsonValues` follows growing values in linear time.

        Raises:
            UsageError: the scanner keeps no text, or the marker has characters that JSON escapes.
        """
        # A space after a value marks a number as complete.
        whole = self.state in (JsonState.AFTER_VALUE, JsonState.DONE)
        # The kept text is read again, because the scanner itself builds no values.
        healed = heal_json(self.text + " " * whole, marker=marker)
        return replace(
            healed,
            end=self._src.offset,
            problem=self.problem,
            repairs=tuple(self.repaired),
        )

    def _emitted(self) -> str:
        """Return the text that the sub-parser emitted since the last call."""
        out = self._out
        # Many chunks make no text certain.
        if not out:
            return ""
        text = "".join(out)
        out.clear()
        # Half characters may arrive in any chunk, and JSON spells them as escapes.
        if not text.isascii():
            text = escape_surrogates(text)
        if self._kept is not None:
            self._kept.append(text)
        return text
