"""Base class of tool parsers, with three methods to implement.

    detect_tool_call      return True if a text has calls
    extract_tool_string   return the part of the text with the calls
    parse_tool_string     parse the calls in this part

The result for a text without calls is `ParseResult(None, False)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from deltaparse.stream import ContentDelta, Delta, ToolCallDelta

__all__ = ["BaseToolParser", "ParseResult", "ToolCallItem"]


@dataclass
class ToolCallItem:
    """Tool call. `function` is `{"name": str, "arguments": str}`, with arguments as JSON text."""

    id: str
    type: str
    function: dict[str, Any]

    def to_openai(self) -> dict[str, Any]:
        """Return the call in the format of OpenAI messages."""
        return {"id": self.id, "type": self.type, "function": self.function}


@dataclass
class ParseResult:
    """Calls of a text.

    Attributes:
        tool_calls: the complete calls with a JSON object as arguments, or None without calls.
        is_valid: True if the text has calls and all of them are in `tool_calls`. If it is False,
            do not execute any call.
    """

    tool_calls: list[ToolCallItem] | None
    is_valid: bool


class BaseToolParser(ABC):
    """Parser of the tool calls in responses. Subclasses implement three methods."""

    @abstractmethod
    def detect_tool_call(self, text: str) -> bool:
        """Return True if the text has tool calls in this parser's format."""

    @abstractmethod
    def extract_tool_string(self, text: str) -> str | None:
        """Return the part of a response that contains the tool calls, or None without calls."""

    @abstractmethod
    def parse_tool_string(self, tool_string: str) -> ParseResult:
        """Return the tool calls in a part from `extract_tool_string`."""

    def parse(self, text: str) -> ParseResult:
        """Return the tool calls of a response."""
        tool_string = self.extract_tool_string(text)
        if tool_string is None:
            return ParseResult(tool_calls=None, is_valid=False)
        return self.parse_tool_string(tool_string)

    def stream(self, texts: Iterable[str]) -> Iterator[Delta]:
        """Yield the deltas of a response in chunks.

        The default implementation reads the complete response first. `WireToolParser` yields each
        delta as soon as it is certain.
        """
        text = "".join(texts)
        tool_string = self.extract_tool_string(text)
        result = self.parse(text) if tool_string is not None else ParseResult(None, False)
        calls = result.tool_calls if result.is_valid else None
        if not calls or tool_string is None:
            if text:
                yield ContentDelta(text)
            return
        before, _, after = text.partition(tool_string)
        if before:
            yield ContentDelta(before)
        for index, call in enumerate(calls):
            function = call.function
            yield ToolCallDelta(index, call.id, function["name"], function["arguments"])
        if after:
            yield ContentDelta(after)
