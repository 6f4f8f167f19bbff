"""The time of day for templates, frozen while renderings are compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime

__all__ = ["one_moment", "time_of_day"]

MOMENT: ContextVar[datetime | None] = ContextVar("deltaparse.moment", default=None)


def time_of_day() -> datetime:
    """Return the local time, as transformers does."""
    return MOMENT.get() or datetime.now()  # noqa: DTZ005 - without a zone, as in transformers


@contextmanager
def one_moment() -> Iterator[None]:
    """Freeze the clock, so that two compared renderings never differ in the time."""
    set_before = MOMENT.set(time_of_day())
    try:
        yield
    finally:
        MOMENT.reset(set_before)
