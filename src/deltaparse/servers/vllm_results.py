"""Results of vLLM's parsers: instances of vLLM's own classes if available, else of these.

The fields are those of vLLM's `DeltaMessage`, `ExtractedToolCallInformation` and their members, in
`vllm.entrypoints.generate.base.protocol`. Older versions have them in
`vllm.entrypoints.openai.engine.protocol` and `vllm.entrypoints.openai.protocol`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from deltaparse.stream import ContentDelta, Delta, Message, ReasoningDelta, ToolCallDelta

from .plugin import imported

__all__ = [
    "DeltaFunctionCall",
    "DeltaMessage",
    "DeltaToolCall",
    "ExtractedToolCallInformation",
    "FunctionCall",
    "ToolCall",
    "VllmResults",
]

MODULES = (
    "vllm.entrypoints.generate.base.protocol",
    "vllm.entrypoints.openai.engine.protocol",
    "vllm.entrypoints.openai.protocol",
)


@dataclass
class DeltaFunctionCall:
    """The function of a call in one step. Only the first step has the name."""

    name: str | None = None
    arguments: str | None = None


@dataclass
class DeltaToolCall:
    """A call in one step. Only the first step has `id` and `type`."""

    id: str | None = None
    type: str | None = None
    index: int = 0
    function: DeltaFunctionCall | None = None


@dataclass
class DeltaMessage:
    """New content, reasoning and calls in one step."""

    role: str | None = None
    content: str | None = None
    reasoning: str | None = None
    tool_calls: list[DeltaToolCall] = field(default_factory=list)


@dataclass
class FunctionCall:
    """The function of a call. The arguments are JSON text."""

    name: str
    arguments: str


@dataclass
class ToolCall:
    """A tool call."""

    id: str
    type: str
    function: FunctionCall


@dataclass
class ExtractedToolCallInformation:
    """The calls and the content of a complete response."""

    tools_called: bool
    tool_calls: list[ToolCall]
    content: str | None = None


OWN = (
    DeltaMessage,
    DeltaToolCall,
    DeltaFunctionCall,
    ExtractedToolCallInformation,
    ToolCall,
    FunctionCall,
)


class VllmResults:
    """Factory for results, with the classes available at construction."""

    __slots__ = ("_call", "_delta", "_delta_call", "_delta_function", "_function", "_info", "_key")

    def __init__(self) -> None:
        found: list[Any] = imported(MODULES, *(own.__name__ for own in OWN)) or list(OWN)
        self._delta, self._delta_call, self._delta_function = found[:3]
        self._info, self._call, self._function = found[3:]
        # Older versions of vLLM name this field `reasoning_content`.
        known = getattr(self._delta, "model_fields", {"reasoning"})
        self._key = "reasoning" if "reasoning" in known else "reasoning_content"

    def delta(self, deltas: Sequence[Delta]) -> Any:
        """Return the `DeltaMessage` for the deltas of one step, or None without deltas.

        Absent fields are left unset, because vLLM serializes all fields that are set. Each call has
        only one entry, because clients differ in merging several entries with the same index.
        """
        # Fast path, because most steps emit no delta or only content.
        if not deltas:
            return None
        if len(deltas) == 1 and isinstance(deltas[0], ContentDelta):
            return self._delta(content=deltas[0].text)
        texts: dict[str, list[str]] = {}
        calls: dict[int, list[ToolCallDelta]] = {}
        for delta in deltas:
            if isinstance(delta, ToolCallDelta):
                calls.setdefault(delta.index, []).append(delta)
            else:
                key = "content" if isinstance(delta, ContentDelta) else self._key
                texts.setdefault(key, []).append(delta.text)
        made: dict[str, Any] = {key: "".join(parts) for key, parts in texts.items()}
        if calls:
            made["tool_calls"] = [self._call_delta(of_call) for of_call in calls.values()]
        return self._delta(**made)

    def split(self, reasoning: str, content: str) -> Any:
        """Return the `DeltaMessage` for reasoning and content, or None if both are empty."""
        deltas: list[Delta] = [ReasoningDelta(reasoning)] if reasoning else []
        return self.delta(deltas + ([ContentDelta(content)] if content else []))

    def extracted(self, message: Message) -> Any:
        """Return the `ExtractedToolCallInformation` of a complete message."""
        calls = [
            self._call(
                id=call.id,
                type="function",
                function=self._function(name=call.name, arguments=call.arguments),
            )
            for call in message.tool_calls
        ]
        content = message.content or None
        return self._info(tools_called=bool(calls), tool_calls=calls, content=content)

    def _call_delta(self, deltas: list[ToolCallDelta]) -> Any:
        first = deltas[0]
        arguments = "".join(delta.arguments for delta in deltas)
        if first.name is None:
            function = self._delta_function(arguments=arguments)
            return self._delta_call(index=first.index, function=function)
        function = self._delta_function(name=first.name, arguments=arguments)
        return self._delta_call(index=first.index, id=first.id, type="function", function=function)
