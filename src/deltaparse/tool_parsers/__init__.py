"""Parsers of whole responses, chosen by the name of a format, as in a configuration.

    parser = create_tool_parser("qwen25")
    result = parser.parse(response)

For programs that have a whole response and want its tool calls; each parser also streams. Users
import what is here, and may write parsers of their own: a subclass of `BaseToolParser`, registered
by `register_tool_parser`.
"""

from .base import BaseToolParser, ParseResult, ToolCallItem
from .factory import create_tool_parser, register_tool_parser, tool_parser_from_config
from .values import safe_value
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
