"""Issues and attempts of a turn: all of them, and beyond a limit how many more there were.

An output may be made to have one at every few characters. Whoever reads them learns nothing from
the thousandth of a kind, and a parser that keeps no message must not keep them either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from .message import Attempt, Issue

__all__ = ["MOST_OF_A_KIND", "Reports", "attempt_reports", "issue_reports"]

MOST_OF_A_KIND = 100
"""How many of one kind are kept; one more says how many others there were, and where."""

Report = TypeVar("Report", Issue, Attempt)


class Reports(Generic[Report]):
    """Takes reports in order. `kind` is what is counted; `summed` makes the one of those beyond."""

    __slots__ = ("_counts", "_kept", "_kind", "_more", "_summed")

    def __init__(
        self,
        kind: Callable[[Report], str],
        summed: Callable[[Report, int, tuple[int, int]], Report],
    ) -> None:
        self._kind: Callable[[Report], str] = kind
        self._summed: Callable[[Report, int, tuple[int, int]], Report] = summed
        self._kept: list[Report] = []
        self._counts: dict[str, int] = {}
        # Of each kind beyond the limit: where its summary is kept, and what that spans.
        self._more: dict[str, tuple[int, int, int]] = {}

    def append(self, report: Report) -> None:
        """Take one more."""
        kind = self._kind(report)
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        if count <= MOST_OF_A_KIND:
            self._kept.append(report)
            return
        start, end = report.span
        if kind not in self._more:
            self._more[kind] = len(self._kept), start, end
            self._kept.append(report)
        place, first, last = self._more[kind]
        first, last = min(first, start), max(last, end)
        self._more[kind] = place, first, last
        self._kept[place] = self._summed(report, count - MOST_OF_A_KIND, (first, last))

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
        return iter(self._kept)

    def __len__(self) -> int:
        """How many came, also those that are only counted."""
        return sum(self._counts.values())


def issue_reports() -> Reports[Issue]:
    """Takes issues; those of a kind are counted."""
    return Reports(_issue_kind, _summed_issues)


def attempt_reports() -> Reports[Attempt]:
    """Takes attempts; those of a status are counted."""
    return Reports(_attempt_kind, _summed_attempts)


def _issue_kind(issue: Issue) -> str:
    return issue.kind


def _summed_issues(issue: Issue, count: int, span: tuple[int, int]) -> Issue:
    return Issue(issue.kind, span, f"{count} more of this kind")


def _attempt_kind(attempt: Attempt) -> str:
    return attempt.status


def _summed_attempts(attempt: Attempt, count: int, span: tuple[int, int]) -> Attempt:
    return Attempt("", span, attempt.status, f"{count} more of this status")
