"""The exceptions of the library, by cause.

    DeltaParseError
        UsageError          the caller: a call out of order, an invalid argument
        FormatError         a WireFormat that contradicts itself or cannot be read
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


AFTER_FINISH = "feed() after finish(): create a new parser for the next text"


class DeltaParseError(Exception):
    """Base class of all exceptions of this library."""


class UsageError(DeltaParseError, ValueError):
    """Invalid use of the library by the caller. The message contains the remedy."""


class FormatError(DeltaParseError, ValueError):
    """A wire format that contradicts itself, or text that does not contain a wire format."""


class TemplateError(DeltaParseError, ValueError):
    """A chat template that does not compile, does not render, or does not stop in time."""


class MalformedOutput(DeltaParseError, ValueError):
    """Model output that breaks its format, while the policy in force is "error".

    Attributes:
        kind: the kind of the `Issue` that other policies would report.
        span: the range of the output, in characters, half-open.
    """

    def __init__(self, detail: str, *, kind: str = "malformed", span: tuple[int, int] = (0, 0)):
        super().__init__(detail)
        self.kind = kind
        self.span = span
