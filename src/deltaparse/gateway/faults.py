"""What goes wrong with a request, with the status and the words that a client is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from deltaparse.partial import DeltaParseError

__all__ = ["Fault", "refusing"]


class Fault(Exception):
    """A request that cannot be answered, or no longer.

    Args:
        message: what a client is told. Nothing of a request or of an answer is in it, but for the
            names and values of members that were not understood.
        status: the status of HTTP.
        code: a word for programs, in protocols that have one.
        param: the member of the request that it is about.
        details: members for programs, which Messages adds to its error.
        retry_after: what the upstream said of when to try again.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        code: str = "",
        param: str | None = None,
        details: Mapping[str, Any] | None = None,
        retry_after: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.param = param
        self.details = details
        self.retry_after = retry_after


@contextmanager
def refusing(param: str | None = None) -> Iterator[None]:
    """Make the errors of the library, raised within, the fault of the request.

    What is nested deeper than Python goes is the request's fault too: templates, schemas and
    messages are walked by functions that call themselves.
    """
    try:
        yield
    except DeltaParseError as error:
        raise Fault(str(error), param=param) from error
    except RecursionError as error:
        raise Fault("the request is nested too deep", param=param) from error
