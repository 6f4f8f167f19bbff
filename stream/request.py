"""The options of a parser, and the rules and marker tables of the turn derived from them."""

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
    "Options",
    "Request",
    "ToolChoice",
    "after_reasoning",
    "check_flag",
    "check_policies",
    "check_prompt",
    "check_response_schema",
    "request_for",
]

NO_HEADER = "the format defines no header of the assistant's turn"
NEED_THE_MESSAGE = (("unclosed_reasoning", "copy"), ("duplicate_keys", "error"))
"""Policies that read earlier text of the message."""

Options = tuple[
    Sequence[Mapping[str, Any]] | None,
    ToolChoice,
    bool,
    Literal["separate", "inline", "raw"],
    Policies,
    Mapping[str, Any] | None,
    Literal["format", "json"],
    bool,
]
"""The arguments of `Request` after the format, in the same order."""


# Not frozen, because that would triple its cost, but no instance is ever changed.
@dataclass(slots=True)
class Request:
    """The arguments of a `StreamParser` except the prompt, and the values derived from them.

    `StreamParser` describes the arguments. Parsers with the same arguments share a request (see
    `request_for`).

    Raises:
        UsageError: an argument is invalid.
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
    """False if tool syntax is plain text."""
    required: bool = field(init=False)
    """True if the turn must have a call."""
    unwraps: bool = field(init=False)
    """True if the content is requested JSON, from which a code block is removed."""
    rules: Rules = field(init=False)
    """The rules of the sink."""
    tables: MarkerTables = field(init=False)
    """The markers that the readers search for."""

    def __post_init__(self) -> None:
        if self.reasoning not in ("separate", "inline", "raw"):
            message = f'reasoning must be "separate", "inline" or "raw", not {self.reasoning!r}'
            raise UsageError(message)
        check_flag("parallel_tool_calls", self.parallel_tool_calls)
        check_flag("collect", self.collect)
        check_policies(self.policies)
        if self.response_schema is not None:
            check_response_schema(self.response_schema)
        schemas = None
        if self.tools is not None:
            # A copy, so that later changes to the caller's list have no effect.
            self.tools = tools = read_tools(self.tools)
            schemas = tools.schemas
        choice = AUTO
        # The default is tested first, because reading a choice costs more.
        if self.tool_choice != "auto":
            choice = read_choice(self.tool_choice, schemas)
        # None accepts any name, but an empty list has no function to call.
        self.has_calls = choice.mode != "none" and (schemas is None or len(schemas) > 0)
        self.required = choice.mode == "required"
        # "raw" must emit the response unchanged, code blocks too.
        self.unwraps = self.response_schema is not None and self.reasoning != "raw"
        if self.calls != "format":
            self._check_calls(choice)
        if not self.collect:
            # Refused here, because the policy could not be applied when it is needed.
            for name, policy in NEED_THE_MESSAGE:
                if getattr(self.policies, name) == policy:
                    raise UsageError(
                        f'{name}="{policy}" needs the message, so it requires collect=True'
                    )
        self.rules = Rules(
            self.policies,
            schemas,
            choice.allowed,
            # Only JSON calls may omit the name of the function.
            (choice.function or "") if self.calls == "json" else "",
            self.parallel_tool_calls,
            self.reasoning,
            self.collect,
        )
        # Last, because the tables depend on the values above.
        self.tables = self._marker_tables()

    def _check_calls(self, choice: Choice) -> None:
        if self.calls != "json":
            raise UsageError(f'calls must be "format" or "json", not {self.calls!r}')
        # Refused, because the turn would otherwise have no calls without any issue.
        if not self.has_calls:
            why = 'tool_choice="none"' if choice.mode == "none" else "tools=[]"
            raise UsageError(
                f'calls="json" requires the model to call a tool, but {why} forbids it'
            )

    def _marker_tables(self) -> MarkerTables:
        # The server's JSON replaces the format's own calls.
        if self.calls == "json":
            return marker_tables(self.fmt, calls=True, constrained=True)
        tables = marker_tables(self.fmt, calls=self.has_calls)
        if self.response_schema is not None and tables.unmarked and not self.required:
            # The requested JSON cannot be distinguished from an unmarked call.
            tables = marker_tables(self.fmt, calls=False)
        return tables

    def report_prompt(self, sink: Sink) -> None:
        """Report that the start of the assistant's turn was not found in the prompt."""
        known = "the prompt has no header of the turn" if self.fmt.turn.headers else NO_HEADER
        sink.issue("no_header", (0, 0), f"{known}; the prompt was ignored")


def request_for(fmt: WireFormat, options: Options) -> Request:
    """Return the `Request` of these options, the last one of the format if they are the same.

    A server makes a parser for each request, nearly always with the same objects. Objects that the
    caller may change, e.g. a list of tools or a mapping, are read again each time.
    """
    derived = fmt.derived
    last: Request | None = derived.last_request
    tools, choice, parallel, reasoning, policies, schema, calls, collect = options
    # One request per format is enough, because consecutive requests nearly always agree.
    # Compared by identity, because comparing schemas by value would cost more than to read them.
    if (
        last is not None
        and last.tools is tools
        and last.tool_choice is choice
        and last.parallel_tool_calls is parallel
        and last.reasoning is reasoning
        and last.policies is policies
        and schema is None
        and last.calls is calls
        and last.collect is collect
    ):
        return last
    made = Request(fmt, *options)
    # A mapping may be changed by its owner, so only immutable choices are kept.
    if schema is None and (choice is None or isinstance(choice, str)):
        derived.last_request = made
    return made


def after_reasoning(fmt: WireFormat) -> tuple[WireFormat, str]:
    """Return a format and a prompt for parsing text after the end of reasoning.

    Use this for text from which another parser has removed the reasoning. The result does not
    depend on the original prompt.
    """
    reasoning = fmt.reasoning
    # Without reasoning markers a section cannot be open, and channels have headers instead.
    if not fmt.derived.has_reasoning or fmt.derived.has_channels:
        return fmt, ""
    header, both = next(iter(fmt.turn.headers), ""), f"{reasoning.start}{reasoning.end}"
    # The shortest prompt that opens and closes the reasoning section.
    if header:
        return fmt, header + both
    if not reasoning.start.strip():
        # Without a header and an opening marker, no prompt can close the section.
        return fmt.replace(reasoning=ReasoningFormat()), ""
    # Without a header, only the format's own generation prompt sets the state.
    return fmt.replace(turn={"generation_prompt": both}), both


def check_response_schema(schema: object) -> None:
    """Check that the response schema is a mapping.

    Raises:
        UsageError: it is not.
    """
    # `dict` first, because `isinstance` with `Mapping` alone takes ten times as long.
    if not isinstance(schema, (dict, Mapping)):
        advice = "a JSON Schema as a mapping"
        # Passing a pydantic class instead of its schema is an easy mistake, so name the method.
        if hasattr(schema, "model_json_schema"):
            advice += ", e.g. the result of model_json_schema()"
        raise UsageError(f"response_schema must be {advice}, not {schema!r:.200}")


def check_flag(name: str, value: object) -> None:
    """Check that an option is True or False.

    Raises:
        UsageError: it is neither.
    """
    # By identity, because 1 and 0 equal True and False.
    if value is not True and value is not False:
        raise UsageError(f"{name} must be True or False, not {value!r}")


def check_policies(policies: object) -> None:
    """Check that the policies are a `Policies`.

    Raises:
        UsageError: they are not.
    """
    if not isinstance(policies, Policies):
        message = (
            'policies must be a Policies instance, e.g. Policies(unknown_tool="text"), '
            f"not {policies!r:.200}"
        )
        raise UsageError(message)


def check_prompt(prompt: object) -> None:
    """Check that the prompt is a string.

    Raises:
        UsageError: it is not.
    """
    if not isinstance(prompt, str):
        kind = type(prompt).__name__
        raise UsageError(f"prompt must be the rendered prompt as a str, not {kind}")
