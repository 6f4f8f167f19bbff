"""A value that a model wrote as text, for parsers that users write themselves."""

from __future__ import annotations

import json
from typing import Any

from deltaparse.stream.reading.tool_calls.schema import ANY
from deltaparse.stream.reading.tool_calls.values import Value

__all__ = ["safe_value"]


def safe_value(text: str) -> Any:
    """Return the value of a text: as JSON, else as a Python literal, else the text itself.

    Nothing is evaluated, and what nests deeper than any sane value is the text itself.

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
    """Take what would be an issue in a stream."""
