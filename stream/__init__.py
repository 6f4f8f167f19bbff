"""From the text of a model to deltas: the wire format, the parser, the protocol."""

from .deltas import ContentDelta, Delta, ReasoningDelta, ToolCallDelta
from .format import (
    ArgumentsFormat,
    CallIdFormat,
    CallIdPosition,
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
from .loops import astream, parse, stream
from .message import Content, Issue, Message, Part, Reasoning, ToolCall
from .openai import chat_completion_chunks
from .parser import StreamParser
from .policies import Policies

__all__ = [
    "ArgumentsFormat",
    "CallIdFormat",
    "CallIdPosition",
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
    "StreamParser",
    "ToolCall",
    "ToolCallDelta",
    "ToolFormat",
    "ToolsFormat",
    "TurnFormat",
    "WireFormat",
    "astream",
    "chat_completion_chunks",
    "parse",
    "stream",
]
