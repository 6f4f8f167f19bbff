"""JSON that was asked for and comes wrapped in a Markdown code block, without the wrapping.

    content = [space] "```" ["json"] space value space "```" [space text]

Models write this though the answer was to be JSON alone. White space is optional; but a value
that is a word or a number stands on a line of its own, not to be taken for a language. Whether
there is a fence is known when the value begins; the value is read by the JSON lexer, so that a
fence inside a string is text; and text behind the closing fence is kept. Content that begins
otherwise passes as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum, auto

from deltaparse.partial import Emit, JsonLexer, JsonState

from .message import Issue
from .provenance import Trail
from .reports import Issues

__all__ = ["JsonFence"]

# On the line of the fence, a letter or a digit would be of the name of another language.
FENCE = r"\s{0,64}```[ \t]{0,8}(?:[jJ][sS][oO][nN])?[ \t]{0,8}"
OPENING = re.compile(rf"{FENCE}(?:(?=[\[{{\"])|\r?\n\s{{0,64}}(?=[\[{{\"\-0-9]|true|false|null))")
CUT_WORD = "(?:t|tr|tru|f|fa|fal|fals|n|nu|nul)?"
MAY_OPEN = re.compile(
    rf"\s{{0,64}}`{{0,2}}|\s{{0,64}}```[ \t]{{0,8}}(?:[jJ][sS]?|[jJ][sS][oO])"
    rf"|{FENCE}(?:\r|\r?\n\s{{0,64}}{CUT_WORD})?"
)
CLOSING = re.compile(r"\s{0,64}```")
MAY_CLOSE = re.compile(r"\s{0,64}`{0,2}")
SPACE = re.compile(r"\s{0,64}")


class Place(Enum):
    """Where in the content the filter stands."""

    OPENING = auto()
    VALUE = auto()
    CLOSING = auto()
    AFTER = auto()
    TEXT = auto()


class JsonFence:
    """Takes content as it comes, and emits it without the fences round its JSON.

    Args:
        emit: takes the content.
        issues: takes one of a fence that was left out, when the content ends.
        offset: the offset in the output of the end of what was written last.
    """

    __slots__ = (
        "_emit",
        "_end",
        "_held",
        "_issues",
        "_left_out",
        "_lexer",
        "_offset",
        "_place",
        "_span",
        "_trail",
    )

    _span: tuple[int, int]

    def __init__(
        self,
        emit: Emit,
        issues: Issues,
        offset: Callable[[], int],
        trail: Trail | None = None,
    ) -> None:
        self._emit = emit
        self._issues = issues
        self._offset = offset
        self._trail = trail
        self._begin()

    def _begin(self) -> None:
        self._place = Place.OPENING
        self._held = ""
        self._lexer = JsonLexer()
        self._left_out: list[str] = []
        self._end = 0

    def write(self, text: str) -> None:
        """Take the next text of the content."""
        if self._place is Place.TEXT or not text:
            self._emit(text)
            return
        self._held += text
        self._end = self._offset()
        if self._place is Place.OPENING:
            self._opening()
        if self._place is Place.VALUE:
            self._value(final=False)
        if self._place is Place.CLOSING:
            self._closing()
        if self._place is Place.AFTER and not SPACE.fullmatch(self._held):
            self._let_pass()

    def end(self) -> None:
        """Take the end of this content; what comes next is judged anew."""
        if self._place is Place.OPENING:
            self._let_pass()
        elif self._place is Place.VALUE:
            self._value(final=True)
            self._let_pass()
        elif self._place in (Place.CLOSING, Place.AFTER):
            self._leave_out(len(self._held))
        if self._left_out:
            wrapping = " and ".join(map(repr, self._left_out))
            detail = f"left out round the JSON: {wrapping}"
            self._issues.append(Issue("code_block", self._span, detail))
        self._begin()

    def _opening(self) -> None:
        fence = OPENING.match(self._held)
        if fence:
            self._span = (self._end - len(self._held), 0)
            self._leave_out(fence.end())
            self._place = Place.VALUE
        elif not MAY_OPEN.fullmatch(self._held):
            self._let_pass()

    def _value(self, *, final: bool) -> None:
        pos = self._lexer.scan(self._held, final=final)
        self._pass(pos)
        if self._lexer.state is JsonState.DONE:
            self._place = Place.CLOSING
        elif self._lexer.state is JsonState.BROKEN:
            self._let_pass()

    def _closing(self) -> None:
        fence = CLOSING.match(self._held)
        if fence:
            self._leave_out(fence.end())
            self._place = Place.AFTER
        elif not MAY_CLOSE.fullmatch(self._held):
            self._let_pass()

    def _leave_out(self, end: int) -> None:
        """Leave out what is held back, up to `end`."""
        if end:
            self._left_out.append(self._held[:end])
            self._held = self._held[end:]
            self._span = (self._span[0], self._end - len(self._held))

    def _let_pass(self) -> None:
        """Emit what is held back, and all that follows."""
        self._place = Place.TEXT
        self._pass(len(self._held))

    def _pass(self, end: int) -> None:
        """Emit what is held back, up to `end`: the rest, and what was read since, is behind it."""
        text, self._held = self._held[:end], self._held[end:]
        if self._trail is not None:
            self._trail.behind = self._offset() - self._end + len(self._held)
        self._emit(text)
        if self._trail is not None:
            self._trail.behind = 0
