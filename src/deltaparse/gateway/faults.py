"""Errors of requests, with their HTTP status and message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from deltaparse.partial import DeltaParseError

__all__ = ["Fault", "refusing"]


class Fault(Exception):
    """A request that cannot be completed.

    Args:
        message: the text for the client. It contains no data of a request or response, except names
            and values of invalid members.
        status: the HTTP status.
        code: the error code, in protocols that have one.
        param: the member of the request that caused the error.
        details: machine-readable members. Messages adds them to its error.
        retry_after: the upstream's `Retry-After` header.
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
    """Convert library errors inside the block to faults of the request.

    Too deep nesting is a fault of the request too: templates, schemas and messages are processed
    recursively.
    """
    try:
        yield
    except DeltaParseError as error:
        raise Fault(str(error), param=param) from error
    except RecursionError as error:
        raise Fault("the request is nested too deeply", param=param) from error
