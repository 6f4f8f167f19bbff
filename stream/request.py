"""A request: what is asked of a parser, and what follows from it for the turn to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from deltaparse.partial import UsageError, Window

from .message.policies import Policies
from .message.sink import Sink
from .tools import ToolChoice, chosen_function, read_tools
from .wire.format import ReasoningFormat, WireFormat
from .wire.marker_tables import MarkerTables, marker_tables

__all__ = ["Request", "ToolChoice", "behind_reasoning"]

NEED_THE_MESSAGE = (("unclosed_reasoning", "copy"), ("duplicate_keys", "error"))
"""Policies that look at what was emitted before."""


@dataclass(slots=True)  # Never changed; `frozen` would triple its cost.
class Request:
    """The arguments of a `StreamParser`, which describes them, and what follows from them.

    Raises:
        UsageError: an argument that makes no sense.
    """

    fmt: WireFormat
    tools: Sequence[Mapping[str, Any]] | None
    prompt: str
    tool_choice: ToolChoice
    parallel_tool_calls: bool
    reasoning: Literal["separate", "inline", "raw"]
    policies: Policies
    response_schema: Mapping[str, Any] | None
    collect: bool = True

    def __post_init__(self) -> None:
        fmt: object = self.fmt
        if not isinstance(fmt, WireFormat):
            message = f"the format is a WireFormat, from analyze(template), not {_kind(fmt)}"
            raise UsageError(message)
        prompt: object = self.prompt
        if not isinstance(prompt, str):
            raise UsageError(f"prompt is the rendered prompt as text, not {_kind(prompt)}")
        if self.reasoning not in ("separate", "inline", "raw"):
            message = f'reasoning={self.reasoning!r}: choose "separate", "inline" or "raw"'
            raise UsageError(message)
        if not self.collect:
            for name, choice in NEED_THE_MESSAGE:
                if getattr(self.policies, name) == choice:
                    raise UsageError(f'{name}="{choice}" needs the message: leave collect=True')

    @property
    def required(self) -> bool:
        """Whether the turn is to have a call."""
        return self.tool_choice not in ("auto", "none")

    def sink(self, window: Window) -> Sink:
        """What takes the turn that is read from `window`."""
        known = None if self.tools is None else dict(read_tools(self.tools))
        unwraps = self.response_schema is not None and self.reasoning != "raw"
        return Sink(
            tools=known,
            only=chosen_function(self.tool_choice, known),
            parallel=self.parallel_tool_calls,
            policies=self.policies,
            reasoning_output=self.reasoning,
            collect=self.collect,
            offset=(lambda: window.offset) if unwraps else None,
        )

    def marker_tables(self) -> MarkerTables:
        """What readers look for in the turn."""
        has_tools = self.tools is None or len(self.tools) > 0
        tables = marker_tables(self.fmt, calls=self.tool_choice != "none" and has_tools)
        if self.response_schema is not None and tables.unmarked:
            # JSON was asked for as content, and nothing tells it from a call.
            tables = marker_tables(self.fmt, calls=False)
        return tables

    def turn_so_far(self) -> str:
        """What the prompt holds of the assistant's turn; see `Facts.turn_so_far`."""
        return self.fmt.facts.turn_so_far(self.prompt)


def behind_reasoning(fmt: WireFormat) -> tuple[WireFormat, str]:
    """A format and a prompt with which a parser starts where reasoning has just ended.

    For text whose reasoning another parser has taken off, whatever the real prompt opened.
    """
    reasoning = fmt.reasoning
    if not fmt.facts.has_reasoning or fmt.facts.has_channels:
        return fmt, ""
    header = next(iter(fmt.turn.headers), "")
    if not header and not reasoning.start.strip():
        # No prompt shows where such a turn begins; a second delimiter would mean nothing.
        return fmt.replace(reasoning=ReasoningFormat()), ""
    return fmt, f"{header}{reasoning.start}{reasoning.end}"


def _kind(value: object) -> str:
    return type(value).__name__
