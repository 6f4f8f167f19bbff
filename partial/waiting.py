"""What a sub-parser leaves behind while it waits for more text.

To resume a generator costs as much as many chunks of text are worth, the more so the deeper it
stands. So a sub-parser that is about to `yield` may leave a `Waiter` in `window.waiter`, which
says how the next text is read without it:

    passing by   text of the waiter's `Lane` is emitted and never read: nothing is in it
    splitting    text with nothing in it but a tail that may become a marker: the text before
                 the tail passes by, the tail waits for more
    a step       the waiter's function reads the text in the place of the sub-parser
    resuming     the sub-parser goes on, and leaves a waiter again if it waits again

What each is worth, in nanoseconds a chunk of four characters on CPython 3.11: passing by 281 for
855 (content), splitting 728 for 990 (content full of `<`). Nested JSON passes by too, with a lexer
that goes along (`value_lane`): 1700 for 2500 that a step takes. A step may also do no more than
wait: while what is unread may still become a marker or the head of a call, it reads nothing and
returns "", for 800 where resuming takes 3000 (`Markers.waiter`). Nor is it asked where the unread
text is `known`, which it is in nearly each call, for markers and names are few: that takes 420.

A waiter is good until the next text arrives that does not pass by: whoever resumes the sub-parser
takes it away. It must not refer to the window, nor a step to its own waiter: what goes round in a
circle is freed by the garbage collector alone, and servers run without it for long.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

__all__ = ["Emit", "Lane", "Step", "StringSink", "Waiter", "never_split", "nowhere"]

Emit = Callable[[str], None]
"""Takes text that is certain."""

Step = Callable[[Any], str | None]
"""Takes the window and reads in it; returns what is to be emitted, None to be resumed."""


def nowhere(text: str) -> None:
    """Take text that is not emitted."""


def never_split(text: str) -> int:  # noqa: ARG001 - whatever it is
    """The `split` of a lane whose text is never cut in two: the sub-parser reads it."""
    return -1


class Lane:
    """Which text may pass a waiting sub-parser.

    Most lanes are made once for a set of markers; some go along with what passes (`value_lane`).
    So of a text one asks once: `quick`, if that finds something `exact`, unless the two are one,
    and if that does, `split`.

    Args:
        quick: finds nothing in most texts that may pass, in the least time, and something in all
            others; it may be `exact`. Where the text is spelled anew, it finds what is not spelled
            as it stands, too.
        exact: finds nothing in a text that may pass, and something in all others. Nobody looks
            at that text again, so half characters (`SURROGATES`) may not pass.
        split: takes a text in which `exact` finds something; returns where the tail begins that
            is to wait for more, if nothing else is in it, and -1 if the sub-parser must read it.
        spell: spells text for `Waiter.sink`, where it does not arrive as it stands.
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
    """What one waiting sub-parser leaves behind.

    `emit` takes text that passes by, and what `step` returns of the text that it read: that is
    None where the sub-parser must be resumed. `lane` is the text that may pass now, None for none
    (`Window.let_pass`). `sink` is where that text arrives in the end, spelled as the lane has it:
    whoever knows it can take the text there and leave `emit` out. `known` are unread texts of which
    the step reads nothing and returns "": whoever finds the unread text there need not ask it.
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
    """Where the text of a JSON string goes, spelled as its inside.

    `sink` is None before it is known that all text goes there; `until` looks each time it waits.
    """

    __slots__ = ("sink",)

    def __init__(self, sink: Emit | None = None) -> None:
        self.sink = sink
