"""Streaming output parsing for language models, derived from the chat template.

template = ChatTemplate(source)
fmt = analyze(template)
parser = StreamParser(fmt, tools=tools, prompt=prompt)
for text in tokens:
    for delta in parser.feed(text):
        ...
for delta in parser.finish("stop"):
    ...
"""

from deltaparse import partial
from deltaparse.analyzer import ChatTemplate, analyze
from deltaparse.partial import (
    DeltaParseError,
    FormatError,
    MalformedOutput,
    TemplateError,
    UsageError,
)
from deltaparse.stream import (
    Amount,
    ArgumentsFormat,
    CallIdFormat,
    CallIdPosition,
    ChannelsFormat,
    CodeFormat,
    Content,
    ContentDelta,
    ContentFormat,
    ContentMode,
    Delta,
    FunctionFormat,
    Issue,
    Message,
    Policies,
    Reasoning,
    ReasoningDelta,
    ReasoningFormat,
    ReasoningMode,
    Seen,
    StreamParser,
    Suggestion,
    ToolCall,
    ToolCallDelta,
    ToolFormat,
    ToolsFormat,
    TurnFormat,
    WireFormat,
    astream,
    chat_completion_chunks,
    get_format,
    list_formats,
    parse,
    register_format,
    stream,
    suggest_formats,
)

__version__ = "0.1.0"

__all__ = [
    "Amount",
    "ArgumentsFormat",
    "CallIdFormat",
    "CallIdPosition",
    "ChannelsFormat",
    "ChatTemplate",
    "CodeFormat",
    "Content",
    "ContentDelta",
    "ContentFormat",
    "ContentMode",
    "Delta",
    "DeltaParseError",
    "FormatError",
    "FunctionFormat",
    "Issue",
    "MalformedOutput",
    "Message",
    "Policies",
    "Reasoning",
    "ReasoningDelta",
    "ReasoningFormat",
    "ReasoningMode",
    "Seen",
    "StreamParser",
    "Suggestion",
    "TemplateError",
    "ToolCall",
    "ToolCallDelta",
    "ToolFormat",
    "ToolsFormat",
    "TurnFormat",
    "UsageError",
    "WireFormat",
    "analyze",
    "astream",
    "chat_completion_chunks",
    "get_format",
    "list_formats",
    "parse",
    "partial",
    "register_format",
    "stream",
    "suggest_formats",
]
