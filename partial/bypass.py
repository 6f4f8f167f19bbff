"""The ways in which text can bypass a sub-parser that needs more text.

Resuming a generator costs as much as many chunks of text, more so for nested generators. So a
sub-parser may leave a `Waiter` in `window.waiter` before it yields. The waiter determines how the
next text is read without the sub-parser:

    bypassing    text in the waiter's `Lane` is emitted without being read
    splitting    only the tail may become a marker: the text before it bypasses, the tail waits
    a step       the waiter's function reads the text in place of the sub-parser
    resuming     the sub-parser continues, and may leave a waiter again

The gain, in nanoseconds for a chunk of four characters on CPython 3.11: bypassing takes 281 instead
of 855 (content), splitting 728 instead of 990 (content full of `<`). Nested JSON bypasses in 1700
with a lexer that follows the text (`value_lane`), instead of 2500 for a step. A step may return ""
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
"""Takes text that is certain."""

Step = Callable[[Any], str | None]
"""Reads in the window; returns the text to emit, or None if the sub-parser must be resumed."""


def nowhere(text: str) -> None:
    """Discard text that is not to be emitted."""


def never_split(text: str) -> int:  # noqa: ARG001 - whatever it is
    """Return -1: the `split` of a lane whose text the sub-parser must read."""
    return -1


class Lane:
    """A test of the text that may bypass a waiting sub-parser.

    Most lanes are made once for a set of markers. Some follow the text (`value_lane`), so each text
    is tested once: with `quick`, then with `exact` unless it is the same function, then with
    `split`.

    Args:
        quick: returns None for most texts that may pass, as fast as possible, and a match for all
            others. If `spell` changes a text, `quick` must match it. May be `exact`.
        exact: returns None for a text that may pass, and a match for all others. Passed text is not
            examined again, so half characters (`SURROGATES`) must match.
        split: takes a text that `exact` matches, and returns the index of the tail that must wait,
            or -1 if the sub-parser must read the text.
        spell: spells text for `Waiter.sink`, if it is not emitted unchanged.
    """

    __slots__ = ("exact", "quick", "spell", "split")

    def __init__(
        self,
        quick: Callable[[str], object],
        exact: Callable[[str], object],
        split: Callable[[str], int] = never_split,
        spell: Callable[[str], str] | None = None,
    ) -> None:
        self.quick = quick
        self.exact = exact
        self.split = split
        self.spell = spell


NONE: frozenset[str] = frozenset()


class Waiter:
    """The way in which the next text is read without the waiting sub-parser.

    Args:
        emit: takes text that bypasses the sub-parser, and the text that `step` returns.
        step: reads in the window; returns None if the sub-parser must be resumed.
        sink: receives the text in the end, spelled by the lane. A caller that knows `sink` may skip
            `emit`.
        lane: the text that may pass now, None for no text (`Window.let_pass`).
        known: unread texts for which the step returns "" without reading, so it need not be called.
    """

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
        self.sink = sink
        self.lane = lane
        self.known = known


class StringSink:
    """The receiver of the text of a JSON string, spelled as the inside of the string.

    `sink` is None until it is known that all text goes there. `until` checks it at each wait.
    """

    __slots__ = ("sink",)

    def __init__(self, sink: Emit | None = None) -> None:
        self.sink = sink
