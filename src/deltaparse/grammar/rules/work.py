"""The work of making one grammar: counted, and limited.

A schema of a few hundred characters can ask for any amount of work: by combinations of `allOf` and
`anyOf`, by patterns, by enums that are compared. Each operation whose cost depends on more than
the size of its own input calls `spend`. A step takes about as long as one rule takes to make.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from deltaparse.partial import UsageError

__all__ = ["MAX_WORK", "Work", "counted_work", "spend"]

MAX_WORK = 200_000
"""Steps for one grammar; each takes some microseconds."""


class Work:
    """The steps that one grammar has taken so far."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps = 0


_WORK: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def counted_work() -> Iterator[Work]:
    """Count the work that is done within. Nested blocks add to the outermost one."""
    outer = _WORK.get()
    if outer is not None:
        yield outer
        return
    work = Work()
    token = _WORK.set(work)
    try:
        yield work
    finally:
        _WORK.reset(token)


def spend(steps: int, path: str = "") -> None:
    """Count some steps; outside of `counted_work`, nothing is counted.

    Raises:
        UsageError: the grammar has taken more than `MAX_WORK` steps; `path` is named if given.
    """
    work = _WORK.get()
    if work is None:
        return
    work.steps += steps
    if work.steps > MAX_WORK:
        where = f"{path}: " if path else ""
        raise UsageError(
            f"{where}the schema takes too much work; use fewer or smaller combinations of allOf,"
            " anyOf, oneOf, enum and pattern"
        )
