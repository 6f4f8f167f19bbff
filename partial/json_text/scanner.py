"""A JSON value that comes in pieces: what of it is certain, as soon as it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..errors import UsageError
from ..window import Steps, Window
from .compact import CompactJson, escape_surrogates
from .heal import HealedJson, closing, heal_json
from .lexer import MAX_DEPTH, JsonLexer, JsonState
from .readers import ENDS, json_space, json_value
from .repair import Repairs, repaired_json

__all__ = ["JsonScanner"]


class JsonScanner:
    """Reads one JSON value that is fed in pieces of any size, each character once.

    `feed` returns what is certain now, and what it returned is never taken back: joined, it is a
    prefix of the value's text, cut between tokens or within a string. Held back is only half of
    a number, a literal or an escape, and a comma until something follows it. White space before
    the value is left out.

    Args:
        compact: hand on JSON without white space and with each string in its shortest spelling
            (see `json_spell`); otherwise the text as it stands.
        repairs: what of nearly JSON is mended, see `json_mend`; nothing if None.
        max_depth: how many brackets may stand open.
        keep: keep what was handed on, for `text` and `snapshot`. Without it a scanner takes the
            same few hundred bytes however long the value is.

    >>> scanner = JsonScanner()
    >>> scanner.feed('{"path": "a.txt", "li'), scanner.feed('ne": 1'), scanner.feed("2} and so on")
    ('{"path": "a.txt", "li', 'ne": ', '12}')
    >>> scanner.state, scanner.end, scanner.unread
    (<JsonState.DONE: 'done'>, 29, ' and so on')
    """

    __slots__ = ("_behind", "_kept", "_lexer", "_out", "_source", "_steps", "repaired")

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
        self._source = Window()
        self._lexer = JsonLexer(max_depth=max_depth, hold_commas=True)
        emit = CompactJson(self._out.append).write if compact else self._out.append
        src, lexer = self._source, self._lexer

        def steps() -> Steps[None]:
            yield from json_space(src)
            if repairs is None:
                yield from json_value(src, emit, lexer)
            else:
                yield from repaired_json(src, emit, self._note, repairs=repairs, lexer=lexer)

        self._steps = steps()
        next(self._steps)

    @property
    def state(self) -> JsonState:
        """Where in the value the text fed so far ends."""
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
        """How many characters were fed up to the end of the value; None while it goes on."""
        return self._source.offset if self.state is JsonState.DONE else None

    @property
    def unread(self) -> str:
        """What was fed and is held back, follows the value, or broke it."""
        self._behind = ["".join(self._behind)]
        return self._source.unread + self._behind[0]

    @property
    def text(self) -> str:
        """All that was handed on."""
        if self._kept is None:
            raise UsageError("this scanner keeps no text: make it with keep=True")
        self._kept = ["".join(self._kept)]
        return self._kept[0]

    def feed(self, text: str) -> str:
        """Take the next piece; return what is certain now, often nothing."""
        if not isinstance(text, str):
            raise UsageError(f"feed() takes str, not {type(text).__name__}; see TextDecoder")
        if self.state in ENDS:
            # The window would be put together anew with each piece.
            self._behind.append(text)
        elif self._source.receive(text):
            next(self._steps, None)
        return self._handed_on()

    def finish(self, *, heal: bool = False) -> str:
        """Say that no more comes; return the rest.

        That is the last number of a text that is nothing else. With `heal`, also what makes the
        whole JSON: a number that is held is taken as it is, what has no value yet gets null.
        """
        self._source.closed = True
        next(self._steps, None)
        rest = self._handed_on()
        if heal and self.state is not JsonState.DONE:
            rest += closing(self._lexer, self.unread)
        return rest

    def snapshot(self, *, marker: str | None = None) -> HealedJson:
        """The value so far, completed: `heal_json` of what was handed on.

        It takes time in proportion to the text; to follow the values while they come, see
        `JsonValues`.
        """
        # A space behind a value says that it is whole, for it may be a number.
        whole = self.state in (JsonState.AFTER_VALUE, JsonState.DONE)
        healed = heal_json(self.text + " " * whole, marker=marker)
        return replace(
            healed,
            end=self._source.offset,
            problem=self.problem,
            repairs=tuple(self.repaired),
        )

    def _note(self, repair: str, offset: int) -> None:  # noqa: ARG002 - counted, not placed
        self.repaired[repair] += 1

    def _handed_on(self) -> str:
        out = self._out
        if not out:
            return ""
        piece = out[0] if len(out) == 1 else "".join(out)
        out.clear()
        if not piece.isascii():
            piece = escape_surrogates(piece)
        if self._kept is not None:
            self._kept.append(piece)
        return piece
