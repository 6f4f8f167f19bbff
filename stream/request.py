"""A request: what is asked of a parser, and what follows from it for the turn to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from deltaparse.partial import UsageError, Window

from .message.policies import Policies
from .message.sink import Builds, Sink
from .tools import AUTO, Choice, ToolChoice, read_choice, read_tools
from .wire.format import ReasoningFormat, WireFormat
from .wire.marker_tables import MarkerTables, marker_tables

__all__ = [
    "Request",
    "ToolChoice",
    "behind_reasoning",
    "check_flag",
    "check_policies",
    "check_response_schema",
]

NO_HEADER = "the format names no header of the turn, which would stand in the prompt"
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
    calls: Literal["format", "json"] = "format"
    collect: bool = True
    choice: Choice = field(init=False)
    """What `tool_choice` says."""
    schemas: Mapping[str, Any] | None = field(init=False)
    """The schemas of the tools' arguments, by name; see `Tools.schemas`."""

    def __post_init__(self) -> None:
        prompt: object = self.prompt
        if not isinstance(prompt, str):
            raise UsageError(f"prompt is the rendered prompt as text, not {_kind(prompt)}")
        if self.reasoning not in ("separate", "inline", "raw"):
            message = f'reasoning={self.reasoning!r}: choose "separate", "inline" or "raw"'
            raise UsageError(message)
        # Asked before a function is called: a parser is made for each request.
        flags: tuple[object, object] = self.parallel_tool_calls, self.collect
        if type(flags[0]) is not bool or type(flags[1]) is not bool:
            check_flag("parallel_tool_calls", flags[0])
            check_flag("collect", flags[1])
        policies: object = self.policies
        if type(policies) is not Policies:
            check_policies(policies)
        if self.response_schema is not None:
            check_response_schema(self.response_schema)
        self.schemas = None
        if self.tools is not None:
            # What the caller does with the list later changes nothing.
            self.tools = tools = read_tools(self.tools)
            self.schemas = tools.schemas
        self.choice = AUTO
        if self.tool_choice != "auto":
            self.choice = read_choice(self.tool_choice, self.schemas)
        if self.calls != "format":
            self._check_calls()
        if not self.collect:
            for name, choice in NEED_THE_MESSAGE:
                if getattr(self.policies, name) == choice:
                    raise UsageError(f'{name}="{choice}" needs the message: leave collect=True')

    def _check_calls(self) -> None:
        if self.calls != "json":
            raise UsageError(f'calls={self.calls!r}: choose "format" or "json"')
        if not self.has_calls:
            why = 'tool_choice="none"' if self.choice.mode == "none" else "tools=[]"
            raise UsageError(
                f'calls="json" says that the model must call, and {why} that it cannot'
            )

    @property
    def has_calls(self) -> bool:
        """Whether tool syntax means something."""
        return self.choice.mode != "none" and (self.tools is None or len(self.tools) > 0)

    @property
    def required(self) -> bool:
        """Whether the turn is to have a call."""
        return self.choice.mode == "required"

    def sink(self, window: Window, builds: Builds | None = None) -> Sink:
        """What takes the turn that is read from `window`."""
        unwraps = self.response_schema is not None and self.reasoning != "raw"
        return Sink(
            tools=self.schemas,
            allowed=self.choice.allowed,
            named=(self.choice.function or "") if self.calls == "json" else "",
            parallel=self.parallel_tool_calls,
            policies=self.policies,
            reasoning_output=self.reasoning,
            collect=self.collect,
            offset=(lambda: window.offset) if unwraps else None,
            builds=builds,
        )

    def marker_tables(self) -> MarkerTables:
        """What readers look for in the turn."""
        if self.calls == "json":
            return marker_tables(self.fmt, calls=True, constrained=True)
        tables = marker_tables(self.fmt, calls=self.has_calls)
        if self.response_schema is not None and tables.unmarked and not self.required:
            # JSON was asked for as content, and nothing tells it from a call.
            tables = marker_tables(self.fmt, calls=False)
        return tables

    def report_prompt(self, sink: Sink) -> None:
        """Report a prompt in which nothing shows where the assistant's turn begins."""
        known = "the prompt has no header of the turn" if self.fmt.turn.headers else NO_HEADER
        sink.issue("no_header", (0, 0), f"{known}: nothing of it was read")


def behind_reasoning(fmt: WireFormat) -> tuple[WireFormat, str]:
    """A format and a prompt with which a parser starts where reasoning has just ended.

    For text whose reasoning another parser has taken off, whatever the real prompt opened.
    """
    reasoning = fmt.reasoning
    if not fmt.facts.has_reasoning or fmt.facts.has_channels:
        return fmt, ""
    header, both = next(iter(fmt.turn.headers), ""), f"{reasoning.start}{reasoning.end}"
    if header:
        return fmt, header + both
    if not reasoning.start.strip():
        # No prompt shows where such a turn begins; a second delimiter would mean nothing.
        return fmt.replace(reasoning=ReasoningFormat()), ""
    return fmt.replace(turn={"generation_prompt": both}), both


def check_response_schema(schema: object) -> None:
    """Raise `UsageError` for what is no JSON Schema of an answer."""
    if not isinstance(schema, (dict, Mapping)):
        advice = "a JSON Schema as a mapping"
        if hasattr(schema, "model_json_schema"):
            advice += ", such as model_json_schema() returns"
        raise UsageError(f"response_schema is {advice}, not {schema!r:.200}")


def check_flag(name: str, value: object) -> None:
    """Raise `UsageError` for what is neither True nor False."""
    if value is not True and value is not False:
        raise UsageError(f"{name}={value!r}: choose True or False")


def check_policies(policies: object) -> None:
    """Raise `UsageError` for what is no `Policies`."""
    if not isinstance(policies, Policies):
        message = f'policies are made so: Policies(unknown_tool="text"), not {policies!r:.200}'
        raise UsageError(message)


def _kind(value: object) -> str:
    return type(value).__name__
