"""The window: the received and unread text.

A sub-parser is a generator function `name(src, ...) -> Steps[T]`. It reads `src.text` from
`src.pos` and moves `src.pos`. It needs more text at a bare `yield`. Sub-parsers compose with
`yield from`, and return their result. Every sub-parser keeps three rules:

1. After a `yield`, every index into `src.text` is stale, because read text was removed.
2. `src.closed` marks the end of the input. No exception is thrown into a sub-parser.
3. `src.pos` moves before text is emitted, so no text can be emitted twice.

The window keeps the unread text, and the text read since a mark. So no buffer grows with the
output. The cost of a chunk does not depend on the text before it, because a chunk is appended to
unread text only, of which there is usually none. Text without anything to read bypasses the window
for the price of one search in C (`partial/bypass.py`). One growing string with an index would be
simpler, but would copy all received text with each chunk.

Offsets count characters of the model's output. The end of the prompt is fed before it and has
negative offsets. It sets the parser's state and is never emitted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator
from typing import TypeVar

from .bypass import Emit, Lane, Waiter

__all__ = ["Steps", "Window"]

T = TypeVar("T")

Steps = Generator[None, None, T]
"""Type of a sub-parser: it yields when it needs more text, and returns a `T`."""

# The values of a window without marks. They are shared, so they are never modified.
NO_TEXTS: list[str] = []
NO_OFFSETS: list[int] = []


class Window:
    """The unread text of one stream.

    Attributes:
        text: the text of the window. The part from `pos` on is unread.
        base: the offset of the start of `text`.
        before: the character before `text`, "" at the start of the stream.
        waiter: the `Waiter` of a sub-parser waiting for more text. The window is empty while the
            waiter has a lane.
        emits_prompt: True if the prompt's text is emitted too, because the current part must be
            emitted completely.
    """

    __slots__ = (
        # The token accounting refers weakly to the window, to avoid a cycle.
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
        # The text read since the first mark up to `_kept_to`: its chunks, their offsets, and the
        # character before the first. Chunks are joined only on request, so marks stay linear.
        self._behind = ""
        self._marks = self._kept_to = 0
        self._kept = NO_TEXTS
        self._offsets = NO_OFFSETS

    @property
    def offset(self) -> int:
        """The offset of the next unread character."""
        return self.base + self.pos

    @property
    def ended(self) -> bool:
        """True if all text is read and the input is closed."""
        return self.closed and self.pos == len(self.text)

    @property
    def previous(self) -> str:
        """The character before the next unread one, "" at the start."""
        return self.text[self.pos - 1] if self.pos else self.before

    @property
    def end(self) -> int:
        """The offset of the end of the received text."""
        return self.base + len(self.text)

    @property
    def prompt_end(self) -> int:
        """The index of the end of the prompt in `text`. Text before it is not emitted."""
        return 0 if self.emits_prompt else max(-self.base, 0)

    @property
    def held(self) -> int:
        """The number of received characters that are unread or may be read again."""
        return self.end - max(self.held_from, 0) if self.end > 0 else 0

    @property
    def unread(self) -> str:
        """The unread text, for lookahead or for the text after the end of a parse."""
        return self.text[self.pos :]

    @property
    def held_from(self) -> int:
        """The offset from which text is kept because its meaning is undecided."""
        if not self._marks:
            return self.offset
        return self._offsets[0] if self._offsets else self._kept_to

    def feed(self, text: str) -> None:
        """Append `text` to the window and remove the text that was read."""
        pos = self.pos
        if self._marks:
            # Marked text is still needed, so it is copied before the window drops it.
            self._keep()
        # Lookbehind across chunks needs one character of the removed text.
        self.before = self.text[pos - 1 : pos] or self.before
        # Usually all text was read, so the chunk itself becomes the text without a copy.
        self.text = text if pos == len(self.text) else self.text[pos:] + text
        self.base, self.pos = self.base + pos, 0

    def receive(self, text: str) -> bool:
        """Take the next text, and return True if the sub-parser must be resumed to read it."""
        waiter = self.waiter
        if waiter is not None and waiter.lane is not None:
            # Fast path: most chunks are plain text, and no generator is resumed.
            if waiter.lane.exact(text) is None:
                self.pass_by(text)
                return False
            # The lane is valid only up to the first text it rejects.
            waiter.lane = None
        self.feed(text)
        chunk = self.step()
        # A step may read text without emitting any, and empty chunks are never emitted.
        if chunk and waiter is not None:
            waiter.emit(chunk)
        return chunk is None

    def step(self) -> str | None:
        """Let the waiter read the text, and return the text for `Waiter.emit`.

        Returns None, and removes the waiter, if the sub-parser must be resumed.
        """
        waiter = self.waiter
        if waiter is not None and waiter.step is not None:
            chunk = waiter.step(self)
            if chunk is not None:
                return chunk
        self.waiter = None
        return None

    def pass_by(self, text: str) -> None:
        """Emit `text` without reading it, because the waiter's lane lets it pass."""
        self.move_after(text)
        # A text reaching across the end of the prompt is clipped to the model's part.
        if self.base < len(text):
            text = text[len(text) - max(self.base, 0) :]
        if self.waiter is not None:
            self.waiter.emit(text)

    def move_after(self, text: str) -> None:
        """Count `text`, which follows the text of the window and was not fed, as read."""
        self.base += self.pos + len(text)
        self.before = text[-1:] or self.previous
        # The window was read completely, so dropping its text loses no unread part.
        self.text, self.pos = "", 0

    def consume(self, end: int) -> str:
        """Read up to `end`, an index into `text`, and return the model's part of it."""
        start = self.pos
        self.pos = end
        # A negative base occurs only at the start of a stream, so the usual path is one slice.
        return self.clipped(start, end) if self.base < 0 else self.text[start:end]

    def clipped(self, start: int, end: int) -> str:
        """Return the text between two indices, without the prompt's part."""
        # The prompt sets the state only, and emitting it would repeat text the client already has.
        if self.base < 0 and not self.emits_prompt:
            start = max(start, -self.base)
        return self.text[start:end]

    def wait(self, emit: Emit, lane: Lane, sink: Emit | None = None) -> None:
        """Let text without a match bypass the sub-parser until its lane finds a match.

        Call this before a `yield`. It has no effect while text is unread or marked, because the
        sub-parser must see that text again.

        Args:
            emit: takes the text bypassing the sub-parser.
            lane: decides which text may pass.
            sink: see `Waiter`; default `emit`.
        """
        # Bypassing text does not enter the window, so a marked or unread part would lose its
        # continuation.
        if self.pos == len(self.text) and not self._marks:
            self.waiter = Waiter(emit, None, sink or emit, lane)

    def let_pass(self, lane: Lane) -> None:
        """Open a lane past a waiter with a step, under the conditions of `wait`."""
        # The same conditions as in `wait`, because the lane bypasses the window, too.
        if self.pos == len(self.text) and not self._marks and self.waiter is not None:
            self.waiter.lane = lane

    def mark(self) -> int:
        """Keep the text that is read until `release`, and return the offset for `text_since`."""
        here = self.base + self.pos
        # Nested marks share the kept text of the first mark.
        if not self._marks:
            self._kept_to = here
            self._behind = self.text[self.pos - 1] if self.pos else self.before
        self._marks += 1
        return here

    def text_since(self, mark: int, *, prompt: bool = False) -> str:
        """Return the model's text from `mark` to here; with `prompt`, the prompt's text too."""
        self._keep()
        return self._kept_from(mark if prompt else max(mark, 0))

    def rewind_to(self, mark: int) -> None:
        """Make the text from `mark` unread again, the last mark or a later offset."""
        self._keep()
        self.before = self._kept_before(mark)
        # Joined only here, so reading under a mark costs no copies.
        self.text, self.base, self.pos = self._kept_from(mark) + self.unread, mark, 0
        # Text after the mark is unread again, and would otherwise be kept twice.
        while self._offsets and self._offsets[-1] >= mark:
            del self._kept[-1], self._offsets[-1]
        # The mark may lie inside a kept chunk.
        if self._offsets:
            self._kept[-1] = self._kept[-1][: mark - self._offsets[-1]]
        self._kept_to = mark

    @property
    def marks(self) -> int:
        """The number of marks that were not released."""
        return self._marks

    def release(self, *, to: int | None = None) -> None:
        """Release the last mark, or all marks but the first `to`."""
        self._marks = marks = self._marks - 1 if to is None else to
        # Without a mark the kept text is garbage, and the shared lists avoid an allocation.
        if not marks:
            self._kept, self._offsets = NO_TEXTS, NO_OFFSETS

    def rewind(self) -> None:
        """Return to the first mark and release all marks, because the reader gives up."""
        if self._marks:
            # The first mark is the earliest place another reader may need.
            text = self.text_since(self.held_from)
            # The prompt was read for good.
            base = self.offset - len(text)
            self.before = self._kept_before(base)
            self.base, self.text, self.pos = base, text + self.unread, 0
            self._marks = 1
            self.release()

    def _kept_before(self, offset: int) -> str:
        """Return the character before an offset from the first mark on."""
        return self._kept_from(offset - 1)[:1] if offset > self.held_from else self._behind

    def _kept_from(self, mark: int) -> str:
        """Return the kept text from `mark` on."""
        if not self._kept:
            return ""
        # Join from the chunk with the mark on, so that the cost does not depend on earlier chunks.
        first = bisect_right(self._offsets, mark) - 1
        return "".join(self._kept[first:])[mark - self._offsets[first] :]

    def _keep(self) -> None:
        """Keep the text that was read since the last call."""
        here = self.base + self.pos
        # Several calls without reading must not append empty chunks.
        if here > self._kept_to:
            # Most marks are released before any text is kept, so lists are created lazily.
            if not self._kept:
                self._kept, self._offsets = [], []
            self._kept.append(self.text[self._kept_to - self.base : self.pos])
            self._offsets.append(self._kept_to)
            self._kept_to = here
