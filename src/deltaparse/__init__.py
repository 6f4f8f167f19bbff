"""Streaming output parsing for language models, derived from the chat template.

    template = ChatTemplate(source)
    fmt = analyze(template)
    parser = StreamParser(fmt, tools=tools, prompt=prompt)
    for text in tokens:
        for delta in parser.feed(text):
            ...
    for delta in parser.finish("stop"):
        ...

This package has the most common names. The other names are in its subpackages:

    deltaparse.partial       incremental parsers for incomplete text
    deltaparse.stream        the wire format, the parser, deltas and messages
    deltaparse.analyzer      derivation of a wire format from a chat template
    deltaparse.grammar       grammars for constrained decoding
    deltaparse.gate          validation of calls before execution
    deltaparse.protocols     deltas to events of OpenAI's and Anthropic's APIs, and back
    deltaparse.tool_parsers  tool-call parsers for complete responses, by name
    deltaparse.servers       plugins for vLLM and SGLang
    deltaparse.replay        replay of recorded outputs
    deltaparse.inspector     HTML page that shows how each character is parsed
    deltaparse.gateway       proxy with OpenAI- and Anthropic-compatible endpoints
    deltaparse.testing       Hypothesis strategies and checks for formats

Names are imported on first use.
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
        RepetitionGuard,
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
        mistral_call_id,
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
            "Policies Reasoning ReasoningDelta ReasoningFormat ReasoningMode "
            "RepetitionGuard StreamParser "
            "Suggestion TokenParser ToolCall ToolCallDelta ToolFormat Tools ToolsFormat TurnFormat "
            "Vocabulary WireFormat aiter_deltas call_id check_tokenizer from_response_template "
            "get_format iter_deltas list_formats mistral_call_id parse random_call_id "
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
    "RepetitionGuard",
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
    "mistral_call_id",
    "parse",
    "partial",
    "random_call_id",
    "register_format",
    "response_template_limits",
    "structural_tag",
    "suggest_formats",
    "to_response_template",
]
