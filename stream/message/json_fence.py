"""Removal of a Markdown code fence around requested JSON.

    content = [space] "```" ["json"] space value space "```" [space text]

Models write a code fence even if only JSON was requested. Whitespace is optional, but a word
or a number needs its own line. On the line of the fence it would be the name of a language. The
decision is made when the value begins. The JSON lexer reads the value, so a fence inside a string
is text. Text after the closing fence is kept. Content with any other beginning is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum, auto

from deltaparse.partial import Emit, JsonLexer, JsonState

from .message import Issue
from .provenance import RoleRecorder
from .reports import Issues

__all__ = ["JsonFence"]

# A letter or a digit on the line of the fence would belong to the name of another language.
# All lengths are bounded, so that the buffer is bounded too.
FENCE = r"\s{0,64}```[ \t]{0,8}(?:[jJ][sS][oO][nN])?[ \t]{0,8}"
OPENING = re.compile(rf"{FENCE}(?:(?=[\[{{\"])|\r?\n\s{{0,64}}(?=[\[{{\"\-0-9]|true|false|null))")
# Prefixes of the literals, because a chunk may end inside a word.
CUT_WORD = "(?:t|tr|tru|f|fa|fal|fals|n|nu|nul)?"
# Matches each prefix of an opening fence: such text stays buffered.
MAY_OPEN = re.compile(
    rf"\s{{0,64}}`{{0,2}}|\s{{0,64}}```[ \t]{{0,8}}(?:[jJ][sS]?|[jJ][sS][oO])"
    rf"|{FENCE}(?:\r|\r?\n\s{{0,64}}{CUT_WORD})?"
)
CLOSING = re.compile(r"\s{0,64}```")
# The same for a closing fence.
MAY_CLOSE = re.compile(r"\s{0,64}`{0,2}")
SPACE = re.compile(r"\s{0,64}")


class Place(Enum):
    """Position of the filter in the content."""

    OPENING = auto()
    VALUE = auto()
    CLOSING = auto()
    AFTER = auto()
    TEXT = auto()


class JsonFence:
    """A filter that emits content without the fences around its JSON.

    Args:
        emit: receives the content.
        issues: receives an issue about a removed fence, at the end of the content.
        offset: returns the offset in the output after the last written text.
        recorder: receives the position of the emitted text, if tokens are tracked.
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
        "_recorder",
        "_span",
    )

    _span: tuple[int, int]

    def __init__(
        self,
        emit: Emit,
        issues: Issues,
        offset: Callable[[], int],
        recorder: RoleRecorder | None = None,
    ) -> None:
        self._emit = emit
        self._issues = issues
        # A function, because the reader moves on while text is buffered here.
        self._offset = offset
        self._recorder = recorder
        self._begin()

    def _begin(self) -> None:
        # Each section of content may have its own fence, so the state starts anew.
        self._place = Place.OPENING
        self._held = ""
        self._lexer = JsonLexer()
        self._left_out: list[str] = []
        self._end = 0

    def write(self, text: str) -> None:
        """Take the next text of the content."""
        # Fast path: most content has no fence, and is known to have none after its first
        # characters.
        if self._place is Place.TEXT or not text:
            self._emit(text)
            return
        self._held += text
        # One text may contain the whole fence, so each step continues with the rest of the buffer.
        self._end = self._offset()
        if self._place is Place.OPENING:
            self._opening()
        if self._place is Place.VALUE:
            self._value(final=False)
        if self._place is Place.CLOSING:
            self._closing()
        # Whitespace at the end belongs to the closing fence, but whitespace before text is kept.
        if self._place is Place.AFTER and not SPACE.fullmatch(self._held):
            self._let_pass()

    def end(self) -> None:
        """End this content. Content after it is decided anew."""
        if self._place is Place.OPENING:
            self._let_pass()
        elif self._place is Place.VALUE:
            # A number at the end of the content is complete only now.
            self._value(final=True)
            self._let_pass()
        elif self._place in (Place.CLOSING, Place.AFTER):
            # Buffered backticks at the end are an incomplete closing fence.
            self._leave_out(len(self._held))
        # Reported at the end, with both fences in one issue.
        if self._left_out:
            wrapping = " and ".join(map(repr, self._left_out))
            detail = f"removed around the JSON: {wrapping}"
            self._issues.append(Issue("code_block", self._span, detail))
        self._begin()

    def _opening(self) -> None:
        fence = OPENING.match(self._held)
        if fence:
            # The issue covers both fences, so its end is set by `_leave_out`.
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
        # The rest is not JSON, so its end cannot be found.
        elif self._lexer.state is JsonState.BROKEN:
            self._let_pass()

    def _closing(self) -> None:
        fence = CLOSING.match(self._held)
        if fence:
            self._leave_out(fence.end())
            self._place = Place.AFTER
        # Text after the value without a fence: the opening fence stays removed.
        elif not MAY_CLOSE.fullmatch(self._held):
            self._let_pass()

    def _leave_out(self, end: int) -> None:
        """Remove the buffered text up to `end`."""
        if end:
            self._left_out.append(self._held[:end])
            self._held = self._held[end:]
            self._span = (self._span[0], self._end - len(self._held))

    def _let_pass(self) -> None:
        """Emit the buffered text and all following text."""
        self._place = Place.TEXT
        self._pass(len(self._held))

    def _pass(self, end: int) -> None:
        """Emit the buffered text up to `end`. The remaining buffer and later text follow it."""
        text, self._held = self._held[:end], self._held[end:]
        if self._recorder is not None:
            # The emitted text is older than the read position, so its tokens are looked up further
            # back.
            self._recorder.behind = self._offset() - self._end + len(self._held)
        self._emit(text)
        if self._recorder is not None:
            self._recorder.behind = 0
