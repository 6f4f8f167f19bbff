"""The window: the text that has come and is not yet read, and how a parser waits for more.

A sub-parser is a generator function `name(src, ...) -> Steps[T]`. It reads `src.text` from
`src.pos`, moves `src.pos`, and does a bare `yield` when it needs more text; composition is
`yield from`, and the result is its return value. Rules that every sub-parser keeps:

1. After a `yield` every index into `src.text` is stale: what was read has been cut off.
2. The end of input is `src.closed`; no more text comes then, and nothing is thrown.
3. `src.pos` moves before what was read is handed out, so nothing can be handed out twice.

To resume a generator costs as much as many pieces of text are worth, the more so the deeper it
stands. So a sub-parser that waits may leave two things behind: a `step`, which reads more text in
its place and returns what of it is to be handed out, or None when it must be resumed; and with
`src.sleep` a word on which texts need no reading at all:

    while (piece := step(src)) is not None:
        if piece:
            emit(piece)
        src.step, src.plain = step, emit
        yield
    src.awake()

A step takes the source that it reads: what refers to its source would outlive the parser.

Offsets count characters of the model's output. Text that was fed before it, the end of the
prompt, lies below zero: it moves the parser into the right state and is never handed out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator
from typing import TypeVar

__all__ = ["SURROGATES", "Spelling", "Steps", "Window"]

T = TypeVar("T")

Steps = Generator[None, None, T]
"""What a sub-parser is: it yields when it needs more text, and returns a `T`."""


SURROGATES = "\ud800-\udfff"
"""Half characters, for a class in a pattern: a `wake` must find them."""


class Spelling:
    """How text is handed out by a function that spells some of it anew.

    Text in which `quick` finds nothing goes to `sink` as it stands, other text as `spell` has it.
    There is no `sink` before it is known that all text goes there.
    """

    __slots__ = ("quick", "sink", "spell")

    def __init__(self, quick: Callable[[str], object], spell: Callable[[str], str]) -> None:
        self.quick = quick
        self.spell = spell
        self.sink: Callable[[str], None] | None = None


class Window:
    """The unread text of one stream.

    `text` from `pos` on is unread; `base` is the offset of its beginning. What the parser that
    waits left behind: `step` reads on in its place, `plain` takes what that returns; while `wake`
    and `quick` are set, the window is empty (see `sleep`).
    """

    __slots__ = (
        "_kept",
        "_kept_to",
        "_marks",
        "_offsets",
        "base",
        "closed",
        "hold",
        "plain",
        "pos",
        "quick",
        "sink",
        "spell",
        "step",
        "text",
        "wake",
    )

    # Set by the first `mark`.
    _kept: list[str]
    _offsets: list[int]
    _kept_to: int

    def __init__(self, text: str = "", *, closed: bool = False, offset: int = 0) -> None:
        self.text = text
        self.pos = 0
        self.closed = closed
        self.wake: Callable[[str], object] | None = None
        self.plain: Callable[[str], None] = _nowhere
        self.quick: Callable[[str], object] = len
        self.hold: Callable[[str], int] = _never
        self.sink: Callable[[str], None] = _nowhere
        self.spell: Callable[[str], str] | None = None
        self.step: Callable[[Window], str | None] = _resume
        self.base = offset
        self._marks = 0

    @property
    def offset(self) -> int:
        """Where the parser stands: the offset of the next unread character."""
        return self.base + self.pos

    @property
    def end(self) -> int:
        """The offset of the end of the text that has come."""
        return self.base + len(self.text)

    @property
    def prompt_end(self) -> int:
        """The index into `text` before which it is the prompt's."""
        return max(-self.base, 0)

    @property
    def unread(self) -> str:
        """The unread text, for a look ahead or for what follows the end of a parse."""
        return self.text[self.pos :]

    def feed(self, text: str) -> None:
        """Append `text` to the window and cut off what was read."""
        self.wake = None
        pos = self.pos
        if self._marks:
            self._keep()
        self.text = text if pos == len(self.text) else self.text[pos:] + text
        self.base += pos
        self.pos = 0

    def receive(self, text: str) -> bool:
        """Take the next text; return whether the parser must be resumed to read it."""
        wake = self.wake
        if wake is not None and wake(text) is None:
            self.pass_by(text)
            return False
        self.feed(text)
        step, plain = self.step, self.plain
        piece = step(self)
        if piece:
            plain(piece)
        return piece is None

    def pass_by(self, text: str) -> None:
        """Hand out `text` unread: for which the sleeping parser's `wake` found nothing."""
        self.base += len(text)
        end = self.base + self.pos
        if end < len(text):
            text = text[len(text) - max(end, 0) :]
        plain = self.plain
        plain(text)

    def take(self, end: int) -> str:
        """Read up to `end`, an index into `text`; hand out what of it is the model's."""
        start = self.pos
        self.pos = end
        return self.clipped(start, end)

    def clipped(self, start: int, end: int) -> str:
        """The text between two indices, without what of it is the prompt's."""
        if self.base < 0:
            start = max(start, -self.base)
        return self.text[start:end]

    def sleep(
        self,
        wake: Callable[[str], object],
        plain: Callable[[str], None],
        quick: Callable[[str], object] | None = None,
        hold: Callable[[str], int] | None = None,
        spelling: Spelling | None = None,
    ) -> None:
        """Say, before a `yield`, which texts need no parser.

        Until the next `feed`, a text for which `wake` finds nothing goes to `plain` whole, and
        nobody looks at it again; so `wake` must find `SURROGATES` too. It has no effect while
        something is held back or kept, which the parser must see again.

        The rest makes that faster. Where `quick`, which takes less time, finds nothing, `wake`
        would not either. `hold` says of a text for which `wake` found something where that is
        which is held back, if nothing else is the matter; -1 if the parser must read it.
        `spelling` says what `plain` does.
        """
        if self.pos == len(self.text) and not self._marks:
            self.wake = wake
            self.plain = plain
            self.quick = quick or wake
            self.hold = hold or _never
            self.sink, self.spell = plain, None
            if spelling is not None and spelling.sink is not None:
                self.quick, self.sink, self.spell = spelling.quick, spelling.sink, spelling.spell

    def awake(self) -> None:
        """Say that the parser reads on by itself: what it left behind goes."""
        self.step = _resume
        self.wake = None
        self.plain = self.sink = _nowhere
        self.spell = None

    def mark(self) -> int:
        """Keep all that is read from here on, until `release`; returns the offset for `since`."""
        if not self._marks:
            self._kept, self._offsets, self._kept_to = [], [], self.offset
        self._marks += 1
        return self.offset

    def since(self, mark: int) -> str:
        """The model's text from `mark` to here, as it came."""
        self._keep()
        mark = max(mark, 0)
        if not self._kept or mark >= self._kept_to:
            return ""
        # From the piece that holds the mark on: what was kept before it costs nothing.
        first = max(bisect_right(self._offsets, mark) - 1, 0)
        return "".join(self._kept[first:])[mark - self._offsets[first] :]

    def release(self) -> None:
        """Stop keeping for the last `mark` that was not released."""
        self._marks -= 1
        if not self._marks:
            self._kept.clear()
            self._offsets.clear()

    def _keep(self) -> None:
        """Add to the kept pieces what was read since the last."""
        if self.offset > self._kept_to:
            self._kept.append(self.text[self._kept_to - self.base : self.pos])
            self._offsets.append(self._kept_to)
            self._kept_to = self.offset


def _resume(src: Window) -> None:
    """The `step` of a parser that left none: it must be resumed."""


def _never(text: str) -> int:  # noqa: ARG001 - whatever it is
    """The `hold` of a sleeper that knows none: it must be woken."""
    return -1


def _nowhere(text: str) -> None:
    """The `plain` of a parser that never slept."""
