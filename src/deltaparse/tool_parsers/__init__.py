"""Tool-call parsers for complete responses, selected by the name of a format.

    parser = create_tool_parser("qwen25")
    result = parser.parse(response)

Each parser can also stream. To add a parser, write a subclass of `BaseToolParser` and register it
with `register_tool_parser`. Import the public names from this package.
"""

from .base import BaseToolParser, ParseResult, ToolCallItem
from .factory import create_tool_parser, register_tool_parser, tool_parser_from_config
from .text_value import safe_value
from .wire_parser import WireToolParser

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
