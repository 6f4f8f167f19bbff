"""Values in messages for people, and parsed values for comparisons."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["quoted", "value_of"]


def quoted(value: object, most: int) -> str:
    """Return the repr of a value, with "..." in the middle if it exceeds `most` characters."""
    text, half = repr(value), most // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"


def value_of(arguments: str) -> Any:
    """Parse the arguments of a call as JSON, or return the text unchanged if it is not JSON."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
