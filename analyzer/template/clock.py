"""The time of day that a template is told, which stands still while renderings are compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime

__all__ = ["one_moment", "time_of_day"]

MOMENT: ContextVar[datetime | None] = ContextVar("deltaparse.moment", default=None)


def time_of_day() -> datetime:
    """The user's own time, as in transformers."""
    return MOMENT.get() or datetime.now()  # noqa: DTZ005 - without a zone, as there


@contextmanager
def one_moment() -> Iterator[None]:
    """Stop the clock: a second that ends between two renderings is no difference between them."""
    set_before = MOMENT.set(time_of_day())
    try:
        yield
    finally:
        MOMENT.reset(set_before)
