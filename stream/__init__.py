"""The streaming parser: wire formats, parsers, deltas and messages.

    parser.py, iterate.py   the push parser, and iterators of deltas
    wire/                   wire formats, built-in formats, tables of markers
    reading/                sub-parsers: the assistant's turn, reasoning, channels, calls
    message/                deltas, messages, policies, issues, ids
    tokens/                 responses as token ids: vocabularies and token parsers

The names in `__all__` are public.
"""

from typing import TYPE_CHECKING

from deltaparse.lazy import lazy_names

from .iterate import AsyncDeltaIterator, DeltaIterator, aiter_deltas, iter_deltas, parse
from .message.counts import Amount, Counts
from .message.deltas import ContentDelta, Delta, ReasoningDelta, ToolCallDelta
from .message.ids import CallPlace, IdFactory, call_id, mistral_call_id, random_call_id
from .message.message import Attempt, Content, Issue, Message, Part, Reasoning, ToolCall
from .message.policies import Policies
from .parser import StreamParser
from .tools import Tools
from .wire.format import (
    ArgumentsFormat,
    CallIdFormat,
    CallIdPosition,
    ChannelsFormat,
    CodeFormat,
    ContentFormat,
    ContentMode,
    FunctionFormat,
    Proved,
    ReasoningFormat,
    ReasoningMode,
    Switches,
    ToolFormat,
    ToolsFormat,
    TurnFormat,
    WireFormat,
)

# Imported lazily, because a `StreamParser` does not need these modules.
if TYPE_CHECKING:
    from .repetition import Repetition, RepetitionGuard
    from .suggest import Suggestion, suggest_formats
    from .tokens import (
        Spelling,
        Stretch,
        TokenizerFinding,
        TokenParser,
        Vocabulary,
        check_tokenizer,
    )
    from .wire.named import get_format, list_formats, models_of, register_format
    from .wire.response_template import (
        from_response_template,
        response_template_limits,
        to_response_template,
    )
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".repetition": "Repetition RepetitionGuard",
            ".suggest": "Suggestion suggest_formats",
            ".tokens": "Spelling Stretch TokenizerFinding TokenParser Vocabulary check_tokenizer",
            ".wire.named": "get_format list_formats models_of register_format",
            ".wire.response_template": "from_response_template response_template_limits "
            "to_response_template",
        },
    )

# Also the lazy names, so that `from deltaparse.stream import *` and type checkers find them.
__all__ = [
    "Amount",
    "ArgumentsFormat",
    "AsyncDeltaIterator",
    "Attempt",
    "CallIdFormat",
    "CallIdPosition",
    "CallPlace",
    "ChannelsFormat",
    "CodeFormat",
    "Content",
    "ContentDelta",
    "ContentFormat",
    "ContentMode",
    "Counts",
    "Delta",
    "DeltaIterator",
    "FunctionFormat",
    "IdFactory",
    "Issue",
    "Message",
    "Part",
    "Policies",
    "Proved",
    "Reasoning",
    "ReasoningDelta",
    "ReasoningFormat",
    "ReasoningMode",
    "Repetition",
    "RepetitionGuard",
    "Spelling",
    "StreamParser",
    "Stretch",
    "Suggestion",
    "Switches",
    "TokenParser",
    "TokenizerFinding",
    "ToolCall",
    "ToolCallDelta",
    "ToolFormat",
    "Tools",
    "ToolsFormat",
    "TurnFormat",
    "Vocabulary",
    "WireFormat",
    "aiter_deltas",
    "call_id",
    "check_tokenizer",
    "from_response_template",
    "get_format",
    "iter_deltas",
    "list_formats",
    "mistral_call_id",
    "models_of",
    "parse",
    "random_call_id",
    "register_format",
    "response_template_limits",
    "suggest_formats",
    "to_response_template",
]
