"""Ways for text to bypass a waiting sub-parser.

Resuming a generator costs as much as many chunks of text, more so for nested generators. So a
sub-parser may leave a `Waiter` in `window.waiter` before it yields. The waiter determines how the
next text is read without the sub-parser:

    bypassing    text in the waiter's `Lane` is emitted without being read
    splitting    only the tail may become a marker: the text before it bypasses, the tail waits
    a step       the waiter's function reads the text in place of the sub-parser
    resuming     the sub-parser continues, and may leave a waiter again

The gain, in nanoseconds for a chunk of four characters on CPython 3.11: bypassing takes 281 instead
of 855 (content), splitting 728 instead of 990 (content full of `<`). Nested JSON bypasses in 1700
with a lexer following the text (`value_lane`), instead of 2500 for a step. A step may return ""
without reading, while the unread text may become a marker or the start of a call. That takes 800,
and resuming takes 3000 (`Markers.waiter`). If the unread text is in `known`, the step is not even
called, which takes 420. Most texts are known, because markers and names are few.

A waiter is valid until text arrives that does not bypass it. The code that resumes the sub-parser
removes the waiter. A waiter must not refer to the window, nor a step to its waiter: only the
garbage collector frees a reference cycle, and servers run for a long time without it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

__all__ = ["Emit", "Lane", "Step", "StringSink", "Waiter", "never_split", "nowhere"]

Emit = Callable[[str], None]
"""A function for certain text."""

Step = Callable[[Any], str | None]
"""Reads in the window; returns the text to emit, or None if the sub-parser must be resumed."""


def nowhere(text: str) -> None:
    """Discard the text instead of emitting it."""


def never_split(text: str) -> int:  # noqa: ARG001 - whatever it is
    """Return -1. As `split` of a lane, this lets the sub-parser read the text."""
    return -1


class Lane:
    """A test for text allowed to bypass a waiting sub-parser.

    Most lanes are made once for a set of markers. Some follow the text (`value_lane`), so each text
    is tested once: with `quick`, then with `exact` unless it is the same function, then with
    `split`.

    Args:
        quick: returns None for most texts that may pass, as fast as possible, and a match for all
            others. If `spell` changes a text, `quick` must match it. May be `exact`.
        exact: returns None for a text that may pass, and a match for all others. Passed text is not
            examined again, so half characters (`SURROGATES`) must match.
        split: takes a text matched by `exact`, and returns the index of the tail to buffer, or -1
            if the sub-parser must read the text.
        spell: spells text for `Waiter.sink`, if it is not emitted unchanged.
    """

    # Slots make the lookups on the hot path faster, and a waiter is created at each wait.
    __slots__ = ("exact", "quick", "spell", "split")

    def __init__(
        self,
        quick: Callable[[str], object],
        exact: Callable[[str], object],
        split: Callable[[str], int] = never_split,
        spell: Callable[[str], str] | None = None,
    ) -> None:
        # Usually bound methods of compiled patterns, so no Python frame is needed per chunk.
        self.quick = quick
        self.exact = exact
        self.split = split
        self.spell = spell


# One shared empty set, because most waiters have no known texts.
NONE: frozenset[str] = frozenset()


class Waiter:
    """The way in which the next text is read without the waiting sub-parser.

    Args:
        emit: takes text bypassing the sub-parser, and the results of `step`.
        step: reads in the window; returns None if the sub-parser must be resumed.
        sink: receives the text in the end, spelled by the lane. A caller that knows `sink` may skip
            `emit`.
        lane: the text that may pass now, None for no text (`Window.let_pass`).
        known: unread texts for which the step returns "" without reading, so it need not be called.
    """

    # No back reference to the window or the sub-parser, because it would be a reference cycle.
    __slots__ = ("emit", "known", "lane", "sink", "step")

    def __init__(
        self,
        emit: Emit,
        step: Step | None,
        sink: Emit,
        lane: Lane | None = None,
        known: AbstractSet[str] = NONE,
    ) -> None:
        self.emit = emit
        self.step = step
        # Callers with access to `sink` skip the chain of `emit` functions between the parsers.
        self.sink = sink
        # The lane is mutable, because a step opens it for long text and the window closes it again.
        self.lane = lane
        # A set lookup costs less than the call of a step.
        self.known = known


class StringSink:
    """The receiver of the text of a JSON string, spelled as the inside of the string.

    `sink` is None until it is known that all text goes there. `until` checks it at each wait.
    """

    __slots__ = ("sink",)

    def __init__(self, sink: Emit | None = None) -> None:
        self.sink = sink
