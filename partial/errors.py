"""The exceptions of the library; the class says whose fault it is.

The replay adds two: `BadRecord`, a `UsageError`, and `Interrupted`. Functions that the caller
passed in raise what they raise.

    DeltaParseError
        UsageError          the caller: a call out of order, an argument that makes no sense
        FormatError         a WireFormat that contradicts itself or cannot be read
        TemplateError       a chat template that does not compile, render, or stop
        MalformedOutput     the model, only where a policy says "error"
"""

from __future__ import annotations

__all__ = [
    "DeltaParseError",
    "FormatError",
    "MalformedOutput",
    "TemplateError",
    "UsageError",
]


AFTER_FINISH = "feed() after finish(): make a new one for the next text"


class DeltaParseError(Exception):
    """Base of every exception that this library raises."""


class UsageError(DeltaParseError, ValueError):
    """The caller used the library in a way that cannot work; the text says what to do instead."""


class FormatError(DeltaParseError, ValueError):
    """A wire format that contradicts itself, or a text that does not hold one."""


class TemplateError(DeltaParseError, ValueError):
    """A chat template that does not compile, does not render, or does not stop in time."""


class MalformedOutput(DeltaParseError, ValueError):
    """Model output that breaks its format, where the policy in force says "error".

    `kind` is that of the `Issue` which says the same; `span` is the half-open range of characters
    of the output that it is about.
    """

    def __init__(self, detail: str, *, kind: str = "malformed", span: tuple[int, int] = (0, 0)):
        super().__init__(detail)
        self.kind = kind
        self.span = span
