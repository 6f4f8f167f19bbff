"""Sizes of a run: full, quick (some seconds), and tiny (for tests)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FULL", "QUICK", "TINY", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Sizes are in characters.

    Growth is the ratio of the cost in a text of `large` to one of `small`. Other costs are measured
    in
    a text of `medium`. A reader slower than `budget` seconds for a text is timed at `cuts`
    positions.
    `parsers` is the number of parsers that take turns.
    """

    name: str
    rounds: int
    small: int
    medium: int
    large: int
    memory: int
    budget: float
    cuts: int
    templates: int | None = None
    parsers: int = 1000

    @property
    def long_rounds(self) -> int:
        """Number of rounds for long measurements."""
        return max(self.rounds // 2, 2)


FULL = Settings("full", 11, 16_000, 64_000, 1_000_000, 10_000_000, budget=1.0, cuts=24)
QUICK = Settings(
    "quick", 4, 16_000, 32_000, 128_000, 500_000, budget=0.1, cuts=5, templates=2, parsers=200
)
TINY = Settings("tiny", 2, 300, 600, 1_200, 2_000, budget=0.0, cuts=2, templates=1, parsers=3)
