"""From the text of a model to deltas: the wire format, the parser, the protocol."""

from .call_ids import CallPlace, IdFactory, call_id, nine_character_id
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
    models_of,
    register_format,
    suggest_formats,
)
from .framework import (
    BaseToolParser,
    ParseResult,
    ToolCallItem,
    WireToolParser,
    create_tool_parser,
    register_tool_parser,
    safe_value,
    tool_parser_from_config,
)
from .gate import (
    Candidate,
    Candidates,
    Decision,
    ExecutableCall,
    Telemetry,
    ToolGate,
)
from .loops import astream, parse, stream
from .message import Content, Issue, Message, Part, Reasoning, ToolCall
from .openai import chat_completion_chunks
from .parser import StreamParser
from .policies import Policies
from .response_template import from_response_template, to_response_template
from .tally import Amount, Seen

__all__ = [
    "Amount",
    "ArgumentsFormat",
    "BaseToolParser",
    "CallIdFormat",
    "CallIdPosition",
    "CallPlace",
    "Candidate",
    "Candidates",
    "ChannelsFormat",
    "CodeFormat",
    "Content",
    "ContentDelta",
    "ContentFormat",
    "ContentMode",
    "Decision",
    "Delta",
    "ExecutableCall",
    "FunctionFormat",
    "IdFactory",
    "Issue",
    "Message",
    "ParseResult",
    "Part",
    "Policies",
    "Reasoning",
    "ReasoningDelta",
    "ReasoningFormat",
    "ReasoningMode",
    "Seen",
    "StreamParser",
    "Suggestion",
    "Telemetry",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallItem",
    "ToolFormat",
    "ToolGate",
    "ToolsFormat",
    "TurnFormat",
    "WireFormat",
    "WireToolParser",
    "astream",
    "call_id",
    "chat_completion_chunks",
    "create_tool_parser",
    "from_response_template",
    "get_format",
    "list_formats",
    "models_of",
    "nine_character_id",
    "parse",
    "register_format",
    "register_tool_parser",
    "safe_value",
    "stream",
    "suggest_formats",
    "to_response_template",
    "tool_parser_from_config",
]
