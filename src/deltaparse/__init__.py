"""Streaming output parsing for language models, derived from the chat template.

    template = ChatTemplate(source)
    fmt = analyze(template)
    parser = StreamParser(fmt, tools=tools, prompt=prompt)
    for text in tokens:
        for delta in parser.feed(text):
            ...
    for delta in parser.finish("stop"):
        ...

Here are the names that programs type; the packages have the rest:

    deltaparse.partial       primitives over text that is not all there yet
    deltaparse.stream        the wire format, the parser, deltas and messages
    deltaparse.analyzer      from a chat template to a wire format, and the trace of how
    deltaparse.grammar       what a sampler may be held to
    deltaparse.gate          which calls may be executed
    deltaparse.protocols     deltas as events of OpenAI's and Anthropic's APIs, and back
    deltaparse.tool_parsers  parsers of whole responses, by name
    deltaparse.servers       plugins for vLLM and SGLang
    deltaparse.replay        recorded outputs, parsed again
    deltaparse.inspector     what became of each character of an output, as a page
    deltaparse.gateway       a server in front of an engine's raw endpoint
    deltaparse.testing       hypothesis strategies and checks for formats of your own

Each name is imported when it is first used.
"""

from typing import TYPE_CHECKING

from .lazy import lazy_names
from .version import __version__ as __version__

if TYPE_CHECKING:
    from . import partial
    from .analyzer import (
        ChatTemplate,
        ResponseTemplateCheck,
        analyze,
        check_response_template,
    )
    from .gate import Candidate, Candidates, Decision, ExecutableCall, Telemetry, ToolGate
    from .grammar import Grammar, gbnf, structural_tag
    from .partial import DeltaParseError, FormatError, MalformedOutput, TemplateError, UsageError
    from .protocols import achat_completion_chunks, chat_completion_chunks
    from .stream import (
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
        StreamParser,
        Suggestion,
        TokenParser,
        ToolCall,
        ToolCallDelta,
        ToolFormat,
        Tools,
        ToolsFormat,
        TurnFormat,
        Vocabulary,
        WireFormat,
        aiter_deltas,
        call_id,
        check_tokenizer,
        from_response_template,
        get_format,
        iter_deltas,
        list_formats,
        nine_character_id,
        parse,
        random_call_id,
        register_format,
        response_template_limits,
        suggest_formats,
        to_response_template,
    )
    from .tool_parsers import BaseToolParser, ParseResult, ToolCallItem, create_tool_parser
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".analyzer": "ChatTemplate ResponseTemplateCheck analyze check_response_template",
            ".gate": "Candidate Candidates Decision ExecutableCall Telemetry ToolGate",
            ".grammar": "Grammar gbnf structural_tag",
            ".partial": "DeltaParseError FormatError MalformedOutput TemplateError UsageError",
            ".protocols": "achat_completion_chunks chat_completion_chunks",
            ".stream": "ArgumentsFormat CallIdFormat CallIdPosition ChannelsFormat CodeFormat "
            "Content ContentDelta ContentFormat ContentMode Delta FunctionFormat Issue Message "
            "Policies Reasoning ReasoningDelta ReasoningFormat ReasoningMode StreamParser "
            "Suggestion TokenParser ToolCall ToolCallDelta ToolFormat Tools ToolsFormat TurnFormat "
            "Vocabulary WireFormat aiter_deltas call_id check_tokenizer from_response_template "
            "get_format iter_deltas list_formats nine_character_id parse random_call_id "
            "register_format response_template_limits suggest_formats to_response_template",
            ".tool_parsers": "BaseToolParser ParseResult ToolCallItem create_tool_parser",
        },
        modules="analyzer command gate gateway grammar inspector partial protocols replay servers "
        "stream testing tool_parsers",
    )

__all__ = [
    "ArgumentsFormat",
    "BaseToolParser",
    "CallIdFormat",
    "CallIdPosition",
    "Candidate",
    "Candidates",
    "ChannelsFormat",
    "ChatTemplate",
    "CodeFormat",
    "Content",
    "ContentDelta",
    "ContentFormat",
    "ContentMode",
    "Decision",
    "Delta",
    "DeltaParseError",
    "ExecutableCall",
    "FormatError",
    "FunctionFormat",
    "Grammar",
    "Issue",
    "MalformedOutput",
    "Message",
    "ParseResult",
    "Policies",
    "Reasoning",
    "ReasoningDelta",
    "ReasoningFormat",
    "ReasoningMode",
    "ResponseTemplateCheck",
    "StreamParser",
    "Suggestion",
    "Telemetry",
    "TemplateError",
    "TokenParser",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallItem",
    "ToolFormat",
    "ToolGate",
    "Tools",
    "ToolsFormat",
    "TurnFormat",
    "UsageError",
    "Vocabulary",
    "WireFormat",
    "achat_completion_chunks",
    "aiter_deltas",
    "analyze",
    "call_id",
    "chat_completion_chunks",
    "check_response_template",
    "check_tokenizer",
    "create_tool_parser",
    "from_response_template",
    "gbnf",
    "get_format",
    "iter_deltas",
    "list_formats",
    "nine_character_id",
    "parse",
    "partial",
    "random_call_id",
    "register_format",
    "response_template_limits",
    "structural_tag",
    "suggest_formats",
    "to_response_template",
]
