"""Issues and attempts of a turn: all of them, and beyond a limit how many more there were.

An output may be made to have one at every few characters. Whoever reads them learns nothing from
the thousandth of a kind, and a parser that keeps no message must not keep them either.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Generic, TypeVar

from .message import Attempt, Issue, Status

__all__ = ["MOST_OF_A_KIND", "Attempts", "Issues"]

MOST_OF_A_KIND = 100
"""How many of one kind are kept; one more says how many others there were, and where."""

Report = TypeVar("Report", Issue, Attempt)
Kind = TypeVar("Kind", bound=str)


class Reports(ABC, Generic[Report, Kind]):
    """Takes reports in order.

    A subclass says of which kind one is, and makes the one that stands for those beyond the limit:
    when somebody reads them, for there may be one in every call.
    """

    __slots__ = ("_counts", "_kept", "_kept_last", "_more")

    def __init__(self) -> None:
        self._kept: list[Report] = []
        # The last that came is kept, and not only counted.
        self._kept_last = False
        self._counts: dict[Kind, int] = {}
        # Of each kind beyond the limit: where its summary is kept, and what that spans.
        self._more: dict[Kind, tuple[int, int, int]] = {}

    @staticmethod
    @abstractmethod
    def _kind(report: Report) -> Kind:
        """The kind of a report, which is what is counted."""

    @staticmethod
    @abstractmethod
    def _summed(kind: Kind, count: int, span: tuple[int, int]) -> Report:
        """The report of so many others of a kind."""

    def append(self, report: Report) -> None:
        """Take one more."""
        kind = self._kind(report)
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        self._kept_last = count <= MOST_OF_A_KIND
        if self._kept_last:
            self._kept.append(report)
            return
        start, end = report.span
        if kind not in self._more:
            self._more[kind] = len(self._kept), start, end
            self._kept.append(report)
        place, first, last = self._more[kind]
        self._more[kind] = place, min(first, start), max(last, end)

    def extend(self, reports: Iterable[Report]) -> None:
        """Take some more."""
        for report in reports:
            self.append(report)

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()
        self._counts.clear()
        self._more.clear()

    @property
    def kept(self) -> int:
        """How many are kept."""
        return len(self._kept)

    def __iter__(self) -> Iterator[Report]:
        for kind, (place, first, last) in self._more.items():
            count = self._counts[kind] - MOST_OF_A_KIND
            self._kept[place] = self._summed(kind, count, (first, last))
        return iter(self._kept)

    def __len__(self) -> int:
        """How many came, also those that are only counted."""
        return sum(self._counts.values())

    def __bool__(self) -> bool:
        return bool(self._kept)


class Issues(Reports[Issue, str]):
    """Takes issues; those of a kind are counted.

    `reach` has for each kind up to where text is that one is about, for the calls that it is in.
    """

    __slots__ = ("reach",)

    def __init__(self) -> None:
        super().__init__()
        self.reach: dict[str, int] = {}

    def clear(self) -> None:
        """Forget all."""
        super().clear()
        self.reach.clear()

    def behind(self, offset: int) -> frozenset[str]:
        """The kinds of those that are about text behind an offset."""
        return frozenset(kind for kind, end in self.reach.items() if end > offset)

    @staticmethod
    def _kind(report: Issue) -> str:
        return report.kind

    @staticmethod
    def _summed(kind: str, count: int, span: tuple[int, int]) -> Issue:
        return Issue(kind, span, f"{count} more of this kind")


class Attempts(Reports[Attempt, Status]):
    """Takes attempts; those of a status are counted."""

    __slots__ = ()

    def repair_last(self) -> None:
        """Something right behind the call that was begun last was repaired.

        One that is only counted stays counted as it was.
        """
        if self._kept_last and self._kept[-1].status == "complete":
            self._counts["complete"] -= 1
            self.append(replace(self._kept.pop(), status="repaired"))

    @staticmethod
    def _kind(report: Attempt) -> Status:
        return report.status

    @staticmethod
    def _summed(kind: Status, count: int, span: tuple[int, int]) -> Attempt:
        return Attempt("", span, kind, f"{count} more of this status")
