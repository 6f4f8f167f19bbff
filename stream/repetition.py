"""Detection of degenerate repetition: a model that writes the same text again and again.

A guard takes the deltas of one response while they arrive. Each part of the message (reasoning,
content, the arguments of a call) is checked separately. The text at the end of a part is examined
at several scales, each after a quarter of its length, with searches that run in C. So the cost of a
character does not depend on the length of the response, and memory is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from deltaparse.partial import UsageError

from .message.deltas import ContentDelta, Delta, ReasoningDelta

__all__ = ["Repetition", "RepetitionGuard"]

Kind: TypeAlias = Literal["reasoning", "content", "arguments"]

MAX_PERIOD = 1024
"""The default maximum length of the repeated text, in characters."""

MIN_LENGTH = 256
"""Default minimum of all repeats together. Rules of Markdown and columns of zeros are shorter."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """A repeated text at the end of a part.

    Attributes:
        part: the kind of the part.
        index: the index of the call, None for reasoning and content.
        text: the repeated text, as short as possible.
        start: offset of the first repeat, in characters of the part.
        count: the number of complete repeats so far.
    """

    part: Kind
    index: int | None
    text: str
    start: int
    count: int

    @property
    def period(self) -> int:
        """Return the length of the repeated text in characters."""
        return len(self.text)


class RepetitionGuard:
    """Finds degenerate repetition in the deltas of one response.

    Args:
        repeats: the number of repeats that is degenerate, at least 2.
        max_period: the maximum length of the repeated text, in characters.
        min_length: the minimum length of all repeats together, in characters. Short repeats such as
            `-----` are common in ordinary text.

    Attributes:
        found: the first repetition, None so far.

    Raises:
        UsageError: an argument is not a number in its range.

    Example:
        guard = RepetitionGuard()
        for chunk in chunks:
            if guard.feed(parser.feed(chunk)):
                break  # end generation here
    """

    __slots__ = (
        "_due",
        "_index",
        "_kind",
        "_length",
        "_next",
        "_pieces",
        "_sizes",
        "_tail",
        "found",
        "max_period",
        "repeats",
    )

    def __init__(
        self, *, repeats: int = 16, max_period: int = MAX_PERIOD, min_length: int = MIN_LENGTH
    ) -> None:
        given: list[tuple[str, object, int]] = [
            ("repeats", repeats, 2),
            ("max_period", max_period, 1),
            ("min_length", min_length, 1),
        ]
        for name, value, least in given:
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(f"{name} must be an integer of at least {least}, not {value!r}")
        self.repeats, self.max_period = repeats, max_period
        self.found: Repetition | None = None
        # Lengths of the examined ends, each double the one before.
        longest = max(min_length, repeats * max_period)
        sizes = [max(min_length, repeats)]
        while sizes[-1] < longest:
            sizes.append(min(2 * sizes[-1], longest))
        self._sizes = sizes
        self._begin("content", None)

    def feed(self, deltas: Iterable[Delta]) -> Repetition | None:
        """Take deltas, and return the first repetition of the response, None so far.

        Args:
            deltas: the next deltas, as returned by `StreamParser.feed`.
        """
        for delta in deltas:
            if self.found is not None:
                break
            if isinstance(delta, ContentDelta):
                self._add("content", None, delta.text)
            elif isinstance(delta, ReasoningDelta):
                self._add("reasoning", None, delta.text)
            else:
                self._add("arguments", delta.index, delta.arguments)
        return self.found

    def _begin(self, kind: Kind, index: int | None) -> None:
        self._kind, self._index = kind, index
        self._tail, self._length = "", 0
        self._pieces: list[str] = []
        # The length of the part at which each end is examined next.
        self._due = {size: size for size in self._sizes}
        self._next = self._sizes[0]

    def _add(self, kind: Kind, index: int | None, text: str) -> None:
        if (kind, index) != (self._kind, self._index):
            self._begin(kind, index)
        at = 0
        # A long delta is taken in pieces, so that the result does not depend on chunks.
        while at < len(text) and self.found is None:
            piece = text[at : at + self._next - self._length]
            at += len(piece)
            self._length += len(piece)
            # Joined only for a check, because most deltas are a few characters.
            self._pieces.append(piece)
            if self._length == self._next:
                self._examine()

    def _examine(self) -> None:
        """Check all ends that are due at this length of the part."""
        self._tail += "".join(self._pieces)
        self._pieces.clear()
        # Shortened rarely, so that the copies cost little for each character.
        if len(self._tail) > 4 * self._sizes[-1]:
            self._tail = self._tail[-2 * self._sizes[-1] :]
        for size, due in self._due.items():
            if due <= self._length:
                self._due[size] = self._length + (size // 4 or 1)
                if self._check(size):
                    return
        self._next = min(self._due.values())

    def _check(self, size: int) -> bool:
        """Check the last `size` characters, and set `found` if they are a repetition."""
        tail = self._tail
        period = shortest_period(tail[-size:], min(self.max_period, size // self.repeats))
        if not period:
            return False
        start = periodic_from(tail, period)
        self.found = Repetition(
            self._kind,
            self._index,
            tail[start : start + period],
            self._length - len(tail) + start,
            (len(tail) - start) // period,
        )
        return True


def shortest_period(text: str, longest: int) -> int:
    """Return the shortest period of a text.

    Args:
        text: the text, at least twice as long as `longest`.
        longest: the maximum period.

    Returns:
        The period in characters, 0 if it is longer than `longest`.
    """
    # A period of the text moves its end to an earlier place. The first place is the most distant.
    period = longest - text.find(text[longest:])
    if period == 0 or text[period:] != text[:-period]:
        return 0
    # A shorter period divides this one, because both fit into the text twice.
    unit = text[-period:]
    return (unit + unit).find(unit, 1)


def periodic_from(text: str, period: int) -> int:
    """Return the start of the longest end of a text with this period."""
    low, high = 0, len(text) - period
    # The longest equal end of the text and the text shifted by a period, by bisection.
    while low < high:
        middle = (low + high) // 2
        if text[middle + period :] == text[middle:-period]:
            high = middle
        else:
            low = middle + 1
    return low
