"""Formats by name: one JSON document each."""

from .registry import get_format, list_formats, models_of, register_format

__all__ = [
    "get_format",
    "list_formats",
    "models_of",
    "register_format",
]
