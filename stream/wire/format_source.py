"""The format argument of public functions: a format or a name."""

from __future__ import annotations

from typing import Any

from deltaparse.partial import UsageError

from .format import WireFormat

__all__ = ["FormatGiven", "as_format"]

FormatGiven = WireFormat | str
"""A format, or the name of a built-in format."""


def as_format(given: Any) -> WireFormat:
    """Return a given format, or the built-in format with a given name.

    Args:
        given: a `WireFormat` or a name.

    Raises:
        UsageError: the argument has another type, or the name is unknown.
    """
    if isinstance(given, WireFormat):
        return given
    if isinstance(given, str):
        # Templates and responses are frequent mistakes here, so they have their own messages.
        if "{%" in given or "{{" in given:
            raise UsageError("the format is a chat template (pass analyze(template) instead)")
        # Names of formats have no spaces.
        if len(given.split()) > 1:
            words = f"{given!r:.80} is not the name of a format (the order is parse(text, fmt))"
            raise UsageError(words)
        # Imported lazily: few parsers need the built-in formats.
        from .named import get_format

        return get_format(given)
    kind = type(given).__name__
    raise UsageError(f"the format must be a name or a WireFormat (see analyze), not {kind}")
