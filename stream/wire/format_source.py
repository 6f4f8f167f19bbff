"""The format that a caller gives: one, or the name of one."""

from __future__ import annotations

from typing import Any

from deltaparse.partial import UsageError

from .format import WireFormat

__all__ = ["FormatGiven", "as_format"]

FormatGiven = WireFormat | str
"""A format, or what `get_format` finds it by."""


def as_format(given: Any) -> WireFormat:
    """Return the format that is given, or has that name.

    Raises:
        UsageError: it is neither, or no format has that name.
    """
    if isinstance(given, WireFormat):
        return given
    if isinstance(given, str):
        if "{%" in given or "{{" in given:
            raise UsageError("that is a chat template: analyze(template) finds its format")
        if len(given.split()) > 1:
            words = f"{given!r:.80} is no name of a format: is it the output? parse(text, fmt)"
            raise UsageError(words)
        from .named import get_format  # which few parsers need

        return get_format(given)
    kind = type(given).__name__
    raise UsageError(f"the format is a WireFormat, from analyze(template), or a name, not {kind}")
