"""One error for input that does not follow its protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deltaparse.partial import UsageError

__all__ = ["understood"]


@contextmanager
def understood(given: Any, what: str) -> Iterator[None]:
    """Raise `UsageError` if reading `given` fails because a member is missing or has a wrong type.

    Args:
        given: the input, for the error message.
        what: the expected kind of input, for the error message.
    """
    try:
        yield
    except UsageError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise UsageError(f"{given!r:.200} is not a valid {what}: {reason}") from error
