"""Conversion of values in model text, for user-defined parsers."""

from __future__ import annotations

import json
from typing import Any

from deltaparse.stream.reading.tool_calls.typed_value import Value
from deltaparse.stream.wire.argument_types import ANY

__all__ = ["safe_value"]


def safe_value(text: str) -> Any:
    """Return the value of a JSON text or a Python literal, or else the text itself.

    The text is never evaluated. A value with excessive nesting is returned as text.

    >>> safe_value("[1, 2]"), safe_value("{'a': None}"), safe_value("ls -la")
    ([1, 2], {'a': None}, 'ls -la')
    """
    written: list[str] = []
    value = Value(written.append, _nothing, ANY)
    value.write(text)
    value.end()
    try:
        return json.loads("".join(written))
    except (ValueError, RecursionError):
        return text


def _nothing(how: str) -> None:
    """Ignore issues, which only a stream reports."""
