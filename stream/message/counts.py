"""How much of each part of a turn has come: for budgets, and for what is shown while it comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Amount", "Counts", "RunningCounts", "Section"]

Section = Literal["content", "reasoning", "tool_calls"]


@dataclass(frozen=True, slots=True)
class Amount:
    """`characters` that were emitted, and `chunks` that were fed while the part was open."""

    characters: int = 0
    chunks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What has come of each kind of part.

    Chunks are what `feed` was given: tokens, where a loop feeds token by token. A chunk counts
    for the part that was open when it came: the one with a start marker for what is before it, the
    one with an end marker for what it ends. The characters of calls are those of their arguments;
    with `reasoning="inline"` or "raw" those of reasoning are its own too, with its markers.
    """

    content: Amount = Amount()
    reasoning: Amount = Amount()
    tool_calls: Amount = Amount()


class RunningCounts:
    """Counts by looking when one part ends and another begins, so that text costs nothing.

    `chunks` is counted up by the parser; `section` is what is open.
    """

    __slots__ = ("_characters", "_chunks", "_sums", "chunks", "section")

    def __init__(self) -> None:
        self.section: Section = "content"
        self.chunks = 0
        self._sums: dict[str, tuple[int, int]] = {}
        self._characters = 0
        self._chunks = 0

    def start(self, characters: int) -> None:
        """Begin to count at this number of characters, in the section that is open."""
        self._sums = {}
        self._characters = characters
        self._chunks = self.chunks

    def enter(self, section: Section, characters: int) -> None:
        """Another section begins, `characters` having been emitted in all."""
        if section != self.section:
            # Numbers, and no `Amount`: a turn changes between sections with each call.
            self._sums[self.section] = self._amount(characters)
            self.section = section
            self._characters = characters
            self._chunks = self.chunks

    def counts(self, characters: int) -> Counts:
        """The amounts so far, `characters` having been emitted in all."""
        sums = {**self._sums, self.section: self._amount(characters)}
        return Counts(**{section: Amount(*amount) for section, amount in sums.items()})

    def _amount(self, characters: int) -> tuple[int, int]:
        """What has come of the open section: characters and chunks."""
        before, chunks = self._sums.get(self.section, (0, 0))
        return before + characters - self._characters, chunks + self.chunks - self._chunks
