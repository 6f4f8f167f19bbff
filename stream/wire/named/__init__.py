"""Formats by name: one JSON document each, and which of them an output looks like."""

from .registry import get_format, list_formats, models_of, register_format
from .suggest import Suggestion, suggest_formats

__all__ = [
    "Suggestion",
    "get_format",
    "list_formats",
    "models_of",
    "register_format",
    "suggest_formats",
]
