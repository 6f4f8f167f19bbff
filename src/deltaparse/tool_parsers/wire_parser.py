"""Tool parser of a wire format, which feeds complete responses to a `StreamParser`.

By default, calls inside reasoning are drafts and not returned. A response counts as a finished
turn, so a truncated call makes the result invalid. Call ids written by the model are kept. Other
ids are random, or derived from the prompt and the response if there is a prompt. If recipients
have namespaces (`functions.f`, `tools.f`) and the tools are unknown, names lose their namespace.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar
from uuid import uuid4

from deltaparse.partial import UsageError
from deltaparse.stream import (
    Delta,
    Policies,
    StreamParser,
    ToolCall,
    ToolCallDelta,
    WireFormat,
    get_format,
)
from deltaparse.stream.request import after_reasoning
from deltaparse.stream.wire.marker_tables import marker_tables
from deltaparse.stream.wire.section_markers import Role

from .base import BaseToolParser, ParseResult, ToolCallItem

__all__ = ["WireToolParser"]


class WireToolParser(BaseToolParser):
    """Parser of the calls in a wire format. It has no mutable state and can be shared.

    Args:
        fmt: the format, or its name. A subclass may set its attribute `format` instead.
        tools: the OpenAI tools of the request, for names and argument types.
        prompt: the rendered prompt, or its end.
        policies: the handling of malformed output.

    Raises:
        UsageError: the format is missing or unknown, or an argument is invalid.
    """

    format: ClassVar[WireFormat | str | None] = None

    def __init__(
        self,
        fmt: WireFormat | str | None = None,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        prompt: str = "",
        policies: Policies = Policies(),  # noqa: B008 - frozen
    ) -> None:
        given = self.format if fmt is None else fmt
        if not isinstance(given, WireFormat | str):
            raise UsageError(f"fmt must be a WireFormat or the name of a format, not {given!r}")
        self.wire_format = given if isinstance(given, WireFormat) else get_format(given)
        self._tools = tools
        self._prompt = prompt
        self._policies = policies
        self._any_namespace = self.wire_format.derived.has_channels and tools is None
        self._read_as = self.wire_format
        if self._any_namespace:
            self._read_as = self.wire_format.replace(function={"namespace": ""})
        self._parser(self._read_as, prompt)

    def stream(self, texts: Iterable[str | bytes]) -> Iterator[Delta]:
        """Yield the deltas of a response, each as soon as it is certain."""
        parser = self._parser(self._read_as, self._prompt)
        for text in texts:
            yield from map(self._named, parser.feed(text))
        yield from map(self._named, parser.finish())

    def detect_tool_call(self, text: str) -> bool:
        """Return True if the response has a call, even a truncated one. A marker is not enough."""
        return bool(self._calls(text, self._read_as, self._prompt))

    def extract_tool_string(self, text: str) -> str | None:
        """Return the part of a response from the first to the last marker of its calls.

        If the last call is incomplete, the part extends to the end of the response.
        """
        calls = self._calls(text, self._read_as, self._prompt)
        if not calls:
            return None
        start, last = calls[0].span[0], calls[-1]
        derived = self.wire_format.derived
        in_messages = derived.has_channels and bool(derived.openers)
        if in_messages:
            start = self._message(text, start)[0]
        end = len(text)
        if last.complete:
            pos = last.span[1]
            end = self._message(text, pos)[1] if in_messages else self._behind(text, pos)
        return text[start:end].strip()

    def parse_tool_string(self, tool_string: str) -> ParseResult:
        """Return the calls of a part that starts with a call, after any reasoning."""
        return self._result(self._calls(tool_string, *after_reasoning(self._read_as)))

    def _parser(self, fmt: WireFormat, prompt: str) -> StreamParser:
        return StreamParser(fmt, tools=self._tools, prompt=prompt, policies=self._policies)

    def _calls(self, text: str, fmt: WireFormat, prompt: str) -> list[ToolCall]:
        if not isinstance(text, str):
            raise UsageError(f"the response must be a str, not {type(text).__name__}")
        parser = self._parser(fmt, prompt)
        parser.feed(text)
        parser.finish()
        return parser.message.tool_calls

    def _behind(self, text: str, pos: int) -> int:
        """Return the end of the closing markers of the last call. Its arguments end at `pos`."""
        tables = marker_tables(self.wire_format, calls=True)
        end, brackets = pos, "]})`"
        while True:
            after = max(
                tables.after_call.match(text, pos, final=True),
                tables.after_bad_call.match(text, pos, final=True),
            )
            if after > pos and tables.role(text[pos:after]) is Role.TOOL_END:
                pos = end = after
                brackets = ""
            elif pos < len(text) and (text[pos].isspace() or text[pos] in brackets):
                pos += 1
                end = end if text[pos - 1].isspace() else pos
            else:
                return end

    def _message(self, text: str, pos: int) -> tuple[int, int]:
        """Return the start and end of the message around a call, including its header."""
        ends = self.wire_format.channels.ends
        before = [text.rfind(end, 0, pos) + len(end) for end in ends if end in text[:pos]]
        behind = [text.find(end, pos) for end in ends if end in text[pos:]]
        return max(before, default=0), min(behind, default=len(text))

    def _result(self, calls: list[ToolCall]) -> ParseResult:
        whole = [call for call in calls if call.complete and _is_object(call.arguments)]
        items = [self._item(call) for call in whole]
        return ParseResult(items or None, is_valid=bool(calls) and len(whole) == len(calls))

    def _item(self, call: ToolCall) -> ToolCallItem:
        has_id = self.wire_format.derived.writes_ids or self._prompt
        return ToolCallItem(
            id=call.id if has_id else f"call_{uuid4().hex}",
            type="function",
            function={"name": self._name(call.name), "arguments": call.arguments},
        )

    def _named(self, delta: Delta) -> Delta:
        if not self._any_namespace or not isinstance(delta, ToolCallDelta) or delta.name is None:
            return delta
        return ToolCallDelta(delta.index, delta.id, self._name(delta.name), delta.arguments)

    def _name(self, name: str) -> str:
        """Return a name without its namespace, either the format's own or another."""
        if not self._any_namespace:
            return name
        namespace = self.wire_format.function.namespace
        if namespace and name.startswith(namespace):
            return name.removeprefix(namespace) or name
        return name.rpartition(".")[2] or name


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
