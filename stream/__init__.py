"""From the text of a model to deltas: the wire format, the parser, the protocol."""

from .deltas import ContentDelta, Delta, ReasoningDelta, ToolCallDelta
from .format import (
    ArgumentsFormat,
    CallIdFormat,
    CallIdPosition,
    ChannelsFormat,
    CodeFormat,
    ContentFormat,
    ContentMode,
    FunctionFormat,
    ReasoningFormat,
    ReasoningMode,
    ToolFormat,
    ToolsFormat,
    TurnFormat,
    WireFormat,
)
from .formats import (
    Suggestion,
    get_format,
    list_formats,
    register_format,
    suggest_formats,
)
from .loops import astream, parse, stream
from .message import Content, Issue, Message, Part, Reasoning, ToolCall
from .openai import chat_completion_chunks
from .parser import StreamParser
from .policies import Policies
from .tally import Amount, Seen

__all__ = [
    "Amount",
    "ArgumentsFormat",
    "CallIdFormat",
    "CallIdPosition",
    "ChannelsFormat",
    "CodeFormat",
    "Content",
    "ContentDelta",
    "ContentFormat",
    "ContentMode",
    "Delta",
    "FunctionFormat",
    "Issue",
    "Message",
    "Part",
    "Policies",
    "Reasoning",
    "ReasoningDelta",
    "ReasoningFormat",
    "ReasoningMode",
    "Seen",
    "StreamParser",
    "Suggestion",
    "ToolCall",
    "ToolCallDelta",
    "ToolFormat",
    "ToolsFormat",
    "TurnFormat",
    "WireFormat",
    "astream",
    "chat_completion_chunks",
    "get_format",
    "list_formats",
    "parse",
    "register_format",
    "stream",
    "suggest_formats",
]
