"""The window: the text that has come and is not yet read.

A sub-parser is a generator function `name(src, ...) -> Steps[T]`. It reads `src.text` from
`src.pos`, moves `src.pos`, and does a bare `yield` when it needs more text; composition is
`yield from`, and the result is its return value. Rules that every sub-parser keeps:

1. After a `yield` every index into `src.text` is stale: what was read has been cut off.
2. The end of input is `src.closed`; no more text comes then, and nothing is thrown.
3. `src.pos` moves before what was read is emitted, so nothing can be emitted twice.

What must hold of the window itself: it keeps the unread text and nothing else (and from a mark
on, what was read since), so that no buffer grows with the output; a chunk costs the same however
much came before it, so a chunk is appended only to what is unread, which is nothing nearly
always; and text that needs no reading goes past it (`partial/waiting.py`) for the price of a
search in C. The obvious other way, one growing string and an index, costs a copy of all that came
with each chunk.

Offsets count characters of the model's output. Text that was fed before it, the end of the
prompt, lies below zero: it moves the parser into the right state and is never emitted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator
from typing import TypeVar

from .waiting import Emit, Lane, Waiter

__all__ = ["Steps", "Window"]

T = TypeVar("T")

Steps = Generator[None, None, T]
"""What a sub-parser is: it yields when it needs more text, and returns a `T`."""

# What nothing was kept in: shared, and so never added to.
NO_TEXTS: list[str] = []
NO_OFFSETS: list[int] = []


class Window:
    """The unread text of one stream.

    `text` from `pos` on is unread; `base` is the offset of its beginning, and `before` the
    character that stood before it, "" where none did. `waiter` is what the sub-parser that waits
    left behind; while it has a lane, the window is empty. `emits_prompt`: the prompt's text is
    emitted too, for what is read now must come out whole.
    """

    __slots__ = (
        "__weakref__",
        "_behind",
        "_kept",
        "_kept_to",
        "_marks",
        "_offsets",
        "base",
        "before",
        "closed",
        "emits_prompt",
        "pos",
        "text",
        "waiter",
    )

    def __init__(self, text: str = "", offset: int = 0, *, closed: bool = False) -> None:
        self.text = text
        self.pos = 0
        self.closed = closed
        self.waiter: Waiter | None = None
        self.emits_prompt = False
        self.base = offset
        self.before = ""
        # What was read since the first mark up to `_kept_to`, in chunks, where each begins, and the
        # character before all of it.
        self._behind = ""
        self._marks = self._kept_to = 0
        self._kept = NO_TEXTS
        self._offsets = NO_OFFSETS

    @property
    def offset(self) -> int:
        """Where the parser stands: the offset of the next unread character."""
        return self.base + self.pos

    @property
    def ended(self) -> bool:
        """Whether all is read, and no more text comes."""
        return self.closed and self.pos == len(self.text)

    @property
    def previous(self) -> str:
        """The character right before the next unread one, "" where there is none."""
        return self.text[self.pos - 1] if self.pos else self.before

    @property
    def end(self) -> int:
        """The offset of the end of the text that has come."""
        return self.base + len(self.text)

    @property
    def prompt_end(self) -> int:
        """The index into `text` before which it is the prompt's, and is not emitted."""
        return 0 if self.emits_prompt else max(-self.base, 0)

    @property
    def held(self) -> int:
        """How many characters have come and may be read again: what is unread, or behind a mark."""
        return self.end - max(self.held_from, 0) if self.end > 0 else 0

    @property
    def unread(self) -> str:
        """The unread text, for a look ahead or for what follows the end of a parse."""
        return self.text[self.pos :]

    @property
    def held_from(self) -> int:
        """From which offset on text is kept, to be read or to be read again: what is undecided."""
        if not self._marks:
            return self.offset
        return self._offsets[0] if self._offsets else self._kept_to

    def feed(self, text: str) -> None:
        """Append `text` to the window and cut off what was read."""
        pos = self.pos
        if self._marks:
            self._keep()
        self.before = self.text[pos - 1 : pos] or self.before
        self.text = text if pos == len(self.text) else self.text[pos:] + text
        self.base, self.pos = self.base + pos, 0

    def receive(self, text: str) -> bool:
        """Take the next text; return whether the sub-parser must be resumed to read it."""
        waiter = self.waiter
        if waiter is not None and waiter.lane is not None:
            if waiter.lane.exact(text) is None:
                self.pass_by(text)
                return False
            waiter.lane = None
        self.feed(text)
        chunk = self.step()
        if chunk and waiter is not None:
            waiter.emit(chunk)
        return chunk is None

    def step(self) -> str | None:
        """Let the waiter read the text; return what `Waiter.emit` is to take.

        None, and no waiter any more, where the sub-parser must be resumed.
        """
        waiter = self.waiter
        if waiter is not None and waiter.step is not None:
            chunk = waiter.step(self)
            if chunk is not None:
                return chunk
        self.waiter = None
        return None

    def pass_by(self, text: str) -> None:
        """Emit `text` unread: the waiter's lane lets it pass."""
        self.move_behind(text)
        if self.base < len(text):
            text = text[len(text) - max(self.base, 0) :]
        if self.waiter is not None:
            self.waiter.emit(text)

    def move_behind(self, text: str) -> None:
        """Count `text` as read, which follows all that was read and never came here."""
        self.base += self.pos + len(text)
        self.before = text[-1:] or self.previous
        self.text, self.pos = "", 0

    def take(self, end: int) -> str:
        """Read up to `end`, an index into `text`; return what of it is the model's."""
        start = self.pos
        self.pos = end
        return self.clipped(start, end) if self.base < 0 else self.text[start:end]

    def clipped(self, start: int, end: int) -> str:
        """The text between two indices, without what of it is the prompt's."""
        if self.base < 0 and not self.emits_prompt:
            start = max(start, -self.base)
        return self.text[start:end]

    def wait(self, emit: Emit, lane: Lane, sink: Emit | None = None) -> None:
        """Let text in which nothing is found bypass the sub-parser, until some is found.

        To be said before a `yield`; `emit`, `lane` and `sink` are those of a `Waiter`. It has no
        effect while something is unread or marked, which the sub-parser must see again.
        """
        if self.pos == len(self.text) and not self._marks:
            self.waiter = Waiter(emit, None, sink or emit, lane)

    def let_pass(self, lane: Lane) -> None:
        """Open a lane past the waiter that has a step, under the same conditions as `wait`."""
        if self.pos == len(self.text) and not self._marks and self.waiter is not None:
            self.waiter.lane = lane

    def mark(self) -> int:
        """Keep all that is read from here on, until `release`; return the offset for `since`."""
        here = self.base + self.pos
        if not self._marks:
            self._kept_to = here
            self._behind = self.text[self.pos - 1] if self.pos else self.before
        self._marks += 1
        return here

    def since(self, mark: int, *, prompt: bool = False) -> str:
        """The model's text from `mark` to here, as it came; with `prompt`, the prompt's too."""
        self._keep()
        return self._kept_from(mark if prompt else max(mark, 0))

    def back(self, mark: int) -> None:
        """Make the text from an offset on unread again, the last `mark` or one behind it."""
        self._keep()
        self.before = self._kept_before(mark)
        self.text, self.base, self.pos = self._kept_from(mark) + self.unread, mark, 0
        while self._offsets and self._offsets[-1] >= mark:
            del self._kept[-1], self._offsets[-1]
        if self._offsets:
            self._kept[-1] = self._kept[-1][: mark - self._offsets[-1]]
        self._kept_to = mark

    @property
    def marks(self) -> int:
        """How many marks were not released."""
        return self._marks

    def release(self, *, to: int | None = None) -> None:
        """Stop keeping for the last `mark` that was not released, or for all but the first `to`."""
        self._marks = marks = self._marks - 1 if to is None else to
        if not marks:
            self._kept, self._offsets = NO_TEXTS, NO_OFFSETS

    def rewind(self) -> None:
        """Go back to the first mark that was not released, and release all: for who gives up."""
        if self._marks:
            text = self.since(self.held_from)
            # Of the prompt, nothing is unread any more.
            base = self.offset - len(text)
            self.before = self._kept_before(base)
            self.base, self.text, self.pos = base, text + self.unread, 0
            self._marks = 1
            self.release()

    def _kept_before(self, offset: int) -> str:
        """The character before an offset from the first mark on."""
        return self._kept_from(offset - 1)[:1] if offset > self.held_from else self._behind

    def _kept_from(self, mark: int) -> str:
        """What is kept from `mark` on."""
        if not self._kept:
            return ""
        # From the chunk that holds the mark on: what was kept before it costs nothing.
        first = bisect_right(self._offsets, mark) - 1
        return "".join(self._kept[first:])[mark - self._offsets[first] :]

    def _keep(self) -> None:
        """Keep what was read since the last time."""
        here = self.base + self.pos
        if here > self._kept_to:
            if not self._kept:
                self._kept, self._offsets = [], []
            self._kept.append(self.text[self._kept_to - self.base : self.pos])
            self._offsets.append(self._kept_to)
            self._kept_to = here
