"""The tool-parser framework: parsers of whole responses, chosen by name in a configuration.

    parser = create_tool_parser("qwen25")
    result = parser.parse(response)

For those who have a whole response and want its tool calls. The rules are those of the seed
`tool-parser-framework.md`; `base`, `wire` and `factory` say at their top what was chosen where it
is silent. Each parser also streams.
"""

from .base import BaseToolParser, ParseResult, ToolCallItem
from .factory import create_tool_parser, register_tool_parser, tool_parser_from_config
from .safe_value import safe_value
from .wire import WireToolParser

__all__ = [
    "BaseToolParser",
    "ParseResult",
    "ToolCallItem",
    "WireToolParser",
    "create_tool_parser",
    "register_tool_parser",
    "safe_value",
    "tool_parser_from_config",
]
