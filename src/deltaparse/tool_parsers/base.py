"""The base of all tool parsers: three questions about a text, and an answer.

    detect_tool_call      are there calls in this text?
    extract_tool_string   the part of the text that they stand in
    parse_tool_string     the calls in that part

A text without calls is `ParseResult(None, False)`.
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
    """One tool call; `function` is `{"name": str, "arguments": str}`, the arguments JSON text."""

    id: str
    type: str
    function: dict[str, Any]

    def to_openai(self) -> dict[str, Any]:
        """Return the call as it stands in an OpenAI message."""
        return {"id": self.id, "type": self.type, "function": self.function}


@dataclass
class ParseResult:
    """The calls of a text, None if there are none.

    `is_valid` is False where there are none, and where one is not whole or its arguments are no
    JSON object: then `tool_calls` has those that are, and none should be run.
    """

    tool_calls: list[ToolCallItem] | None
    is_valid: bool


class BaseToolParser(ABC):
    """A parser of the tool calls in responses; a subclass answers three questions about a text."""

    @abstractmethod
    def detect_tool_call(self, text: str) -> bool:
        """Return whether the text has tool calls in this parser's format."""

    @abstractmethod
    def extract_tool_string(self, text: str) -> str | None:
        """Return the part of a response that its tool calls stand in, None if there are none."""

    @abstractmethod
    def parse_tool_string(self, tool_string: str) -> ParseResult:
        """Return the tool calls in such a part."""

    def parse(self, text: str) -> ParseResult:
        """Return the tool calls of a response."""
        tool_string = self.extract_tool_string(text)
        if tool_string is None:
            return ParseResult(tool_calls=None, is_valid=False)
        return self.parse_tool_string(tool_string)

    def stream(self, texts: Iterable[str]) -> Iterator[Delta]:
        """Yield the deltas of a response that comes in chunks.

        This default reads the whole response, then yields. Parsers made of a wire format yield each
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
