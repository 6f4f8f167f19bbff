"""The exceptions of the library, by cause.

    DeltaParseError
        UsageError          the caller: a call out of order, an invalid argument
        FormatError         a contradictory or unreadable WireFormat
        TemplateError       a chat template that does not compile, render, or stop
        MalformedOutput     the model, only if a policy is "error"

The replay adds `BadRecord`, a `UsageError`, and `Interrupted`. An exception from a function of the
caller passes through unchanged.
"""

from __future__ import annotations

__all__ = [
    "DeltaParseError",
    "FormatError",
    "MalformedOutput",
    "TemplateError",
    "UsageError",
]


# Several parsers raise the same error, so its text is defined once.
AFTER_FINISH = "feed() after finish(): create a new parser for the next text"


class DeltaParseError(Exception):
    """Base class of all exceptions of this library."""


# ValueError as a base lets callers catch the errors without importing this package.
class UsageError(DeltaParseError, ValueError):
    """Invalid use of the library by the caller. The message contains the remedy."""


class FormatError(DeltaParseError, ValueError):
    """A contradictory wire format, or text without a valid wire format."""


class TemplateError(DeltaParseError, ValueError):
    """A chat template that does not compile, does not render, or does not stop in time."""


class MalformedOutput(DeltaParseError, ValueError):
    """Invalid model output, while the policy in force is "error".

    Attributes:
        kind: the kind of the `Issue` reported under other policies.
        span: the range of the output, in characters, half-open.
    """

    def __init__(self, detail: str, *, kind: str = "malformed", span: tuple[int, int] = (0, 0)):
        super().__init__(detail)
        self.kind = kind
        self.span = span
