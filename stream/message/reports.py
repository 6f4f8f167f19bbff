"""Issues and attempts of a turn, with a limit for each kind.

Malicious output can have an issue every few characters. Beyond the limit, only the count and the
span of further issues are kept, so that memory is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Generic, TypeAlias, TypeVar, cast

from .message import Attempt, Issue, Status

__all__ = ["MOST_OF_A_KIND", "Attempts", "Issues", "Reports", "attempt_reports", "issue_reports"]

MOST_OF_A_KIND = 100
"""Number of kept reports of a kind. One more report has the count and the span of the rest."""

Report = TypeVar("Report", Issue, Attempt)


class Reports(Generic[Report]):
    """Reports in order of arrival, at most 100 of each kind."""

    __slots__ = ("_by_kind", "_counts", "_kind_of", "_number", "_rest", "_summary")

    def __init__(
        self,
        kind_of: Callable[[Report], str],
        summary: Callable[[str, int, tuple[int, int]], Report],
    ) -> None:
        """Create an empty collection.

        Args:
            kind_of: returns the kind of a report.
            summary: returns a report for the rest of a kind: its kind, number and span.
        """
        self._kind_of: Callable[[Report], str] = kind_of
        self._summary: Callable[[str, int, tuple[int, int]], Report] = summary
        # The kept reports of each kind, with their numbers in the order of arrival.
        self._by_kind: dict[str, list[tuple[int, Report]]] = {}
        # All reports of each kind.
        self._counts: dict[str, int] = {}
        # The rest of each kind beyond the limit: number of the first one, and span.
        self._rest: dict[str, tuple[int, int, int]] = {}
        self._number = 0

    def append(self, report: Report) -> None:
        """Add one report."""
        kind = self._kind_of(report)
        self._number += 1
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if self._counts[kind] <= MOST_OF_A_KIND:
            self._by_kind.setdefault(kind, []).append((self._number, report))
            return
        number, first, last = self._rest.get(kind, (self._number, *report.span))
        self._rest[kind] = number, min(first, report.span[0]), max(last, report.span[1])

    def extend(self, reports: Iterable[Report]) -> None:
        """Add several reports."""
        for report in reports:
            self.append(report)

    def pop_last(self, kind: str) -> Report | None:
        """Remove and return the last report, or None if it has another kind or is only counted."""
        reports = self._by_kind.get(kind)
        if not reports or reports[-1][0] != self._number:
            return None
        self._counts[kind] -= 1
        return reports.pop()[1]

    def clear(self) -> None:
        """Remove all reports."""
        self._by_kind.clear()
        self._counts.clear()
        self._rest.clear()

    @property
    def kept(self) -> int:
        """Return the number of kept reports, including summaries."""
        return sum(map(len, self._by_kind.values())) + len(self._rest)

    def __iter__(self) -> Iterator[Report]:
        found = list(chain.from_iterable(self._by_kind.values()))
        # A summary is created here only, because every call may have a report.
        for kind, (number, first, last) in self._rest.items():
            count = self._counts[kind] - MOST_OF_A_KIND
            found.append((number, self._summary(kind, count, (first, last))))
        # The reports of one kind are in order already.
        if len(self._by_kind) > 1:
            found.sort(key=itemgetter(0))
        return map(itemgetter(1), found)

    def __len__(self) -> int:
        """Return the number of all reports, kept or only counted."""
        return sum(self._counts.values())

    def __bool__(self) -> bool:
        return bool(self._by_kind)


Issues: TypeAlias = "Reports[Issue]"
Attempts: TypeAlias = "Reports[Attempt]"


def issue_reports() -> Issues:
    """Return an empty collection of issues by kind."""
    return Reports(attrgetter("kind"), _more_issues)


def attempt_reports() -> Attempts:
    """Return an empty collection of attempts by status."""
    return Reports(attrgetter("status"), _more_attempts)


def _more_issues(kind: str, count: int, span: tuple[int, int]) -> Issue:
    return Issue(kind, span, f"{count} more of this kind")


def _more_attempts(status: str, count: int, span: tuple[int, int]) -> Attempt:
    return Attempt("", span, cast("Status", status), f"{count} more of this status")
