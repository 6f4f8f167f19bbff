"""The work of building one grammar: counted, and limited.

A schema of a few hundred characters can require any amount of work: combinations of `allOf` and
`anyOf`, patterns, or comparisons of enums. Each operation calls `spend` if its cost exceeds the
size of its own input. One step takes about as long as making one rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from deltaparse.partial import UsageError

__all__ = ["MAX_WORK", "Work", "counted_work", "spend"]

MAX_WORK = 200_000
"""Most steps for one grammar. A step takes some microseconds."""


class Work:
    """The steps taken so far for one grammar."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps = 0


_WORK: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def counted_work() -> Iterator[Work]:
    """Count the work done within the block. Nested blocks add to the outermost one."""
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
    """Count some steps, but only within `counted_work`.

    Args:
        steps: the number of steps.
        path: JSON pointer of the current schema, for the error.

    Raises:
        UsageError: the grammar has taken more than `MAX_WORK` steps.
    """
    work = _WORK.get()
    if work is None:
        return
    work.steps += steps
    if work.steps > MAX_WORK:
        where = f"{path}: " if path else ""
        raise UsageError(
            f"{where}the schema takes too much work, use fewer or smaller combinations of allOf,"
            " anyOf, oneOf, enum and pattern"
        )
