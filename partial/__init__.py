"""Primitives over text that is not all there yet; nothing here knows of chat or models."""

from .errors import (
    DeltaParseError,
    FormatError,
    MalformedJson,
    MalformedOutput,
    TemplateError,
    UsageError,
)
from .healing import HealedJson, heal_json
from .json_mend import Repairs, mended_json
from .json_scan import (
    CLOSERS,
    MAX_DEPTH,
    MAX_TOKEN,
    JsonScanner,
    JsonState,
    json_decoded,
    json_key,
    json_space,
    json_string,
    json_value,
)
from .markers import LONGEST_MARKER, Markers, markers
from .source import Source, Steps
from .text import at, peek, skip, until, whitespace

__all__ = [
    "CLOSERS",
    "LONGEST_MARKER",
    "MAX_DEPTH",
    "MAX_TOKEN",
    "DeltaParseError",
    "FormatError",
    "HealedJson",
    "JsonScanner",
    "JsonState",
    "MalformedJson",
    "MalformedOutput",
    "Markers",
    "Repairs",
    "Source",
    "Steps",
    "TemplateError",
    "UsageError",
    "at",
    "heal_json",
    "json_decoded",
    "json_key",
    "json_space",
    "json_string",
    "json_value",
    "markers",
    "mended_json",
    "peek",
    "skip",
    "until",
    "whitespace",
]
