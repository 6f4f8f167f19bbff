"""A request: what is asked of a parser, and what follows from it for the turn to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from deltaparse.partial import UsageError

from .message.policies import Policies
from .message.policy_sink import Sink
from .message.request_rules import Rules
from .tools import AUTO, Choice, ToolChoice, read_choice, read_tools
from .wire.format import ReasoningFormat, WireFormat
from .wire.marker_tables import MarkerTables, marker_tables

__all__ = [
    "Request",
    "ToolChoice",
    "behind_reasoning",
    "check_flag",
    "check_policies",
    "check_prompt",
    "check_response_schema",
    "request_for",
]

NO_HEADER = "the format names no header of the turn, which would stand in the prompt"
NEED_THE_MESSAGE = (("unclosed_reasoning", "copy"), ("duplicate_keys", "error"))
"""Policies that look at what was emitted before."""


@dataclass(slots=True)  # Never changed; `frozen` would triple its cost.
class Request:
    """The arguments of a `StreamParser` but for the prompt, and what follows from them.

    `StreamParser` describes them. Parsers that are made alike share one: see `request_for`.

    Raises:
        UsageError: an argument that makes no sense.
    """

    fmt: WireFormat
    tools: Sequence[Mapping[str, Any]] | None
    tool_choice: ToolChoice
    parallel_tool_calls: bool
    reasoning: Literal["separate", "inline", "raw"]
    policies: Policies
    response_schema: Mapping[str, Any] | None
    calls: Literal["format", "json"] = "format"
    collect: bool = True
    has_calls: bool = field(init=False)
    """Whether tool syntax means something."""
    required: bool = field(init=False)
    """Whether the turn is to have a call."""
    unwraps: bool = field(init=False)
    """Whether content is JSON that was asked for, and loses the code block round it."""
    rules: Rules = field(init=False)
    """What the sink of a turn goes by."""
    tables: MarkerTables = field(init=False)
    """What readers look for in the turn."""

    def __post_init__(self) -> None:
        if self.reasoning not in ("separate", "inline", "raw"):
            message = f'reasoning={self.reasoning!r}: choose "separate", "inline" or "raw"'
            raise UsageError(message)
        check_flag("parallel_tool_calls", self.parallel_tool_calls)
        check_flag("collect", self.collect)
        check_policies(self.policies)
        if self.response_schema is not None:
            check_response_schema(self.response_schema)
        schemas = None
        if self.tools is not None:
            # What the caller does with the list later changes nothing.
            self.tools = tools = read_tools(self.tools)
            schemas = tools.schemas
        choice = AUTO
        if self.tool_choice != "auto":
            choice = read_choice(self.tool_choice, schemas)
        self.has_calls = choice.mode != "none" and (schemas is None or len(schemas) > 0)
        self.required = choice.mode == "required"
        self.unwraps = self.response_schema is not None and self.reasoning != "raw"
        if self.calls != "format":
            self._check_calls(choice)
        if not self.collect:
            for name, policy in NEED_THE_MESSAGE:
                if getattr(self.policies, name) == policy:
                    raise UsageError(f'{name}="{policy}" needs the message: leave collect=True')
        self.rules = Rules(
            self.policies,
            schemas,
            choice.allowed,
            (choice.function or "") if self.calls == "json" else "",
            self.parallel_tool_calls,
            self.reasoning,
            self.collect,
        )
        self.tables = self._marker_tables()

    def _check_calls(self, choice: Choice) -> None:
        if self.calls != "json":
            raise UsageError(f'calls={self.calls!r}: choose "format" or "json"')
        if not self.has_calls:
            why = 'tool_choice="none"' if choice.mode == "none" else "tools=[]"
            raise UsageError(
                f'calls="json" says that the model must call, and {why} that it cannot'
            )

    def _marker_tables(self) -> MarkerTables:
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


def request_for(
    fmt: WireFormat,
    tools: Sequence[Mapping[str, Any]] | None,
    tool_choice: ToolChoice,
    parallel_tool_calls: bool,
    reasoning: Literal["separate", "inline", "raw"],
    policies: Policies,
    response_schema: Mapping[str, Any] | None,
    calls: Literal["format", "json"],
    collect: bool,
) -> Request:
    """The `Request` of these arguments: the last one of the format, if that had the same.

    A server makes a parser for each request, and nearly always with the same objects. What
    their owner may change in between, a list of tools or a mapping, is read anew each time.
    """
    derived = fmt.derived
    last: Request | None = derived.last_request
    if (
        last is not None
        and last.tools is tools
        and last.tool_choice is tool_choice
        and last.parallel_tool_calls is parallel_tool_calls
        and last.reasoning is reasoning
        and last.policies is policies
        and response_schema is None
        and last.calls is calls
        and last.collect is collect
    ):
        return last
    made = Request(
        fmt,
        tools,
        tool_choice,
        parallel_tool_calls,
        reasoning,
        policies,
        response_schema,
        calls,
        collect,
    )
    if response_schema is None and (tool_choice is None or isinstance(tool_choice, str)):
        derived.last_request = made
    return made


def behind_reasoning(fmt: WireFormat) -> tuple[WireFormat, str]:
    """A format and a prompt with which a parser starts where reasoning has just ended.

    For text whose reasoning another parser has taken off, whatever the real prompt opened.
    """
    reasoning = fmt.reasoning
    if not fmt.derived.has_reasoning or fmt.derived.has_channels:
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


def check_prompt(prompt: object) -> None:
    """Raise `UsageError` for what is no text."""
    if not isinstance(prompt, str):
        kind = type(prompt).__name__
        raise UsageError(f"prompt is the rendered prompt as text, not {kind}")
