"""Incremental parsers for incomplete text (JSON, Python, markers), independent of chat formats.

    literals and patterns   Markers, Pattern, search, PatternSearch
    truncated JSON          heal_json
    streaming JSON          JsonScanner, JsonValues, argument_events, JsonLexer, Repairs
    Python literals         python_value, python_arguments
    bytes                   TextDecoder
    sub-parsers             Window, Steps, Lane, Waiter, and the readers in lower case

Users import these names. `docs/primitives.md` has examples.
"""

from typing import TYPE_CHECKING

from deltaparse.lazy import lazy_names

from .bypass import Emit, Lane, StringSink, Waiter, nowhere
from .errors import (
    DeltaParseError,
    FormatError,
    MalformedOutput,
    TemplateError,
    UsageError,
)
from .json_text.compact import CompactJson, compact_json, sound_json, spelled
from .json_text.lexer import (
    CLOSERS,
    MAX_DEPTH,
    MAX_TOKEN,
    SMALL_OBJECT,
    JsonLexer,
    JsonState,
    match_end,
)
from .json_text.readers import (
    JsonFault,
    json_decoded,
    json_key,
    json_space,
    json_string,
    json_value,
)
from .json_text.repair import repaired_json
from .json_text.repairs import Repairs
from .json_text.unclosed_string import UnclosedString
from .markers import LONGEST_MARKER, Markers, marker_set
from .python_text.python_numbers import is_python_name
from .python_text.to_json import PythonReading, python_arguments, python_value
from .surrogates import SURROGATES, escape_surrogates, is_whole, replace_surrogates
from .text_decoder import TextDecoder
from .text_readers import consume_marker, peek, peek_marker, skip_if_here, until, whitespace
from .window import Steps, Window

# No parser needs these, and patterns need regex, which is slow to import.
if TYPE_CHECKING:
    from .patterns.pattern import Absent, Found, Held, Pattern, search
    from .patterns.search import PatternSearch, until_pattern
    from .primitives.heal import HealedJson, JsonPath, heal_json
    from .primitives.json_values import JsonValue, JsonValues, argument_events
    from .primitives.reversed_pattern import reversed_partial_pattern
    from .primitives.scanner import JsonScanner
else:
    # Type checkers need real imports, and at run time a module is imported on first use.
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".primitives.heal": "HealedJson JsonPath heal_json",
            ".primitives.scanner": "JsonScanner",
            ".primitives.json_values": "JsonValue JsonValues argument_events",
            ".patterns.pattern": "Absent Found Held Pattern search",
            ".primitives.reversed_pattern": "reversed_partial_pattern",
            ".patterns.search": "PatternSearch until_pattern",
        },
    )

__all__ = [
    "CLOSERS",
    "LONGEST_MARKER",
    "MAX_DEPTH",
    "MAX_TOKEN",
    "SMALL_OBJECT",
    "SURROGATES",
    "Absent",
    "CompactJson",
    "DeltaParseError",
    "Emit",
    "FormatError",
    "Found",
    "HealedJson",
    "Held",
    "JsonFault",
    "JsonLexer",
    "JsonPath",
    "JsonScanner",
    "JsonState",
    "JsonValue",
    "JsonValues",
    "Lane",
    "MalformedOutput",
    "Markers",
    "Pattern",
    "PatternSearch",
    "PythonReading",
    "Repairs",
    "Steps",
    "StringSink",
    "TemplateError",
    "TextDecoder",
    "UnclosedString",
    "UsageError",
    "Waiter",
    "Window",
    "argument_events",
    "compact_json",
    "consume_marker",
    "escape_surrogates",
    "heal_json",
    "is_python_name",
    "is_whole",
    "json_decoded",
    "json_key",
    "json_space",
    "json_string",
    "json_value",
    "marker_set",
    "match_end",
    "nowhere",
    "peek",
    "peek_marker",
    "python_arguments",
    "python_value",
    "repaired_json",
    "replace_surrogates",
    "reversed_partial_pattern",
    "search",
    "skip_if_here",
    "sound_json",
    "spelled",
    "until",
    "until_pattern",
    "whitespace",
]
