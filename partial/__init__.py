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
from .patterns import (
    Absent,
    Found,
    Held,
    Pattern,
    PatternSearch,
    reversed_partial_pattern,
    search,
    until_pattern,
)
from .source import Source, Steps
from .text import at, peek, skip, until, whitespace

__all__ = [
    "CLOSERS",
    "LONGEST_MARKER",
    "MAX_DEPTH",
    "MAX_TOKEN",
    "Absent",
    "DeltaParseError",
    "FormatError",
    "Found",
    "HealedJson",
    "Held",
    "JsonScanner",
    "JsonState",
    "MalformedJson",
    "MalformedOutput",
    "Markers",
    "Pattern",
    "PatternSearch",
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
    "reversed_partial_pattern",
    "search",
    "skip",
    "until",
    "until_pattern",
    "whitespace",
]
