"""What is shown of values in words to people, and what values are compared."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["quoted", "value_of"]


def quoted(value: object, most: int) -> str:
    """A value as Python writes it, its middle left out where it has more than `most` characters."""
    text, half = repr(value), most // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"


def value_of(arguments: str) -> Any:
    """The value of the arguments of a call; the text itself where it is no JSON."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
