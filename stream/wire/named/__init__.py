"""Built-in formats: one JSON document for each."""

from .registry import get_format, list_formats, models_of, register_format

__all__ = [
    "get_format",
    "list_formats",
    "models_of",
    "register_format",
]
