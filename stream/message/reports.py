"""Issues and attempts of a turn, with a limit for each kind.

Malicious output can have an issue every few characters. Beyond the limit, only the count and the
span of further issues are kept, so that memory is bounded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Generic, TypeVar

from .message import Attempt, Issue, Status

__all__ = ["MOST_OF_A_KIND", "Attempts", "Issues"]

MOST_OF_A_KIND = 100
"""Number of kept reports of a kind. One more report has the count and the span of the rest."""

Report = TypeVar("Report", Issue, Attempt)
Kind = TypeVar("Kind", bound=str)


class Reports(ABC, Generic[Report, Kind]):
    """Reports in order of arrival, at most 100 of each kind.

    A subclass defines the kind of a report and the summary of further reports. The summary is
    created only when the reports are read, because every call may have a report.
    """

    __slots__ = ("_counts", "_kept", "_kept_last", "_more")

    def __init__(self) -> None:
        self._kept: list[Report] = []
        # `repair_last` can change only a kept attempt.
        self._kept_last = False
        # Includes the kept reports, so that `__len__` is their sum.
        self._counts: dict[Kind, int] = {}
        # For each kind beyond the limit: index and span of its summary.
        self._more: dict[Kind, tuple[int, int, int]] = {}

    @staticmethod
    @abstractmethod
    def _kind(report: Report) -> Kind:
        """Return the kind by which a report is counted."""

    @staticmethod
    @abstractmethod
    def _summed(kind: Kind, count: int, span: tuple[int, int]) -> Report:
        """Return a summary of `count` further reports of a kind."""

    def append(self, report: Report) -> None:
        """Add one report."""
        kind = self._kind(report)
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        self._kept_last = count <= MOST_OF_A_KIND
        if self._kept_last:
            self._kept.append(report)
            return
        start, end = report.span
        # This report reserves the place of the summary, so that reports stay in order.
        if kind not in self._more:
            self._more[kind] = len(self._kept), start, end
            self._kept.append(report)
        place, first, last = self._more[kind]
        self._more[kind] = place, min(first, start), max(last, end)

    def extend(self, reports: Iterable[Report]) -> None:
        """Add several reports."""
        for report in reports:
            self.append(report)

    def clear(self) -> None:
        """Remove all reports and counts."""
        self._kept.clear()
        self._counts.clear()
        self._more.clear()

    @property
    def kept(self) -> int:
        """Return the number of kept reports."""
        return len(self._kept)

    def __iter__(self) -> Iterator[Report]:
        # Created here and not in `append`, which runs for every call.
        for kind, (place, first, last) in self._more.items():
            count = self._counts[kind] - MOST_OF_A_KIND
            # Replaces the reserved report, also again when the count has grown.
            self._kept[place] = self._summed(kind, count, (first, last))
        return iter(self._kept)

    def __len__(self) -> int:
        """Return the number of all reports, including reports that were only counted."""
        # The number of all attempts must not depend on the limit.
        return sum(self._counts.values())

    def __bool__(self) -> bool:
        # Cheaper than `__len__`, which adds all counts.
        return bool(self._kept)


class Issues(Reports[Issue, str]):
    """The issues of a turn, counted by kind.

    Attributes:
        reach: the furthest end of the spans of each kind, to find the issues of a call.
    """

    __slots__ = ("reach",)

    def __init__(self) -> None:
        super().__init__()
        self.reach: dict[str, int] = {}

    def clear(self) -> None:
        """Remove all issues."""
        super().clear()
        self.reach.clear()

    def behind(self, offset: int) -> frozenset[str]:
        """Return the kinds of issues with text after an offset."""
        # The furthest end suffices, because a call asks for its issues at its own end.
        return frozenset(kind for kind, end in self.reach.items() if end > offset)

    @staticmethod
    def _kind(report: Issue) -> str:
        return report.kind

    @staticmethod
    def _summed(kind: str, count: int, span: tuple[int, int]) -> Issue:
        return Issue(kind, span, f"{count} more of this kind")


class Attempts(Reports[Attempt, Status]):
    """The attempted calls of a turn, counted by status."""

    __slots__ = ()

    def repair_last(self) -> None:
        """Record a repair directly after the last attempt.

        An attempt that was only counted keeps its status.
        """
        # An attempt with a worse status keeps it.
        if self._kept_last and self._kept[-1].status == "complete":
            # `append` counts the attempt again, with its new status.
            self._counts["complete"] -= 1
            self.append(replace(self._kept.pop(), status="repaired"))

    @staticmethod
    def _kind(report: Attempt) -> Status:
        return report.status

    @staticmethod
    def _summed(kind: Status, count: int, span: tuple[int, int]) -> Attempt:
        return Attempt("", span, kind, f"{count} more of this status")
