"""What others sent, and is not what their protocol says: one error for all of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deltaparse.partial import UsageError

__all__ = ["understood"]


@contextmanager
def understood(given: Any, what: str) -> Iterator[None]:
    """Read `given` within, and raise `UsageError` where a member is missing or is something else.

    Args:
        given: what is read, for the error to show.
        what: what it should be.
    """
    try:
        yield
    except UsageError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise UsageError(f"{given!r:.200} is no {what}: {reason}") from error
