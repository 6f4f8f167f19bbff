"""A request in the terms of a template and a parser.

    request = read_messages_request(body, template=template)
    prompt = template.render(request.messages, tools=request.tools, add_generation_prompt=True)
    parser = StreamParser(fmt, prompt=prompt, **request.parser_options())

Messages have the form of Chat Completions, which templates are written for, in its most common
variant: the role "system" for "developer", text as one string, the arguments of a call as JSON
text, reasoning as `reasoning_content`, and tool results as messages of the role "tool" with the
name of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deltaparse.partial import UsageError
from deltaparse.stream import Tools
from deltaparse.stream.tools import Choice, read_choice

from ..request_errors import understood
from .message_content import Template, as_template_takes

__all__ = [
    "STATE",
    "Request",
    "chosen",
    "kept_elsewhere",
    "read_request",
    "read_role",
    "read_tools",
    "state_member",
]

STATE = ("container", "conversation", "previous_response_id", "thread")
"""Members that refer to a conversation stored on a server, so the request has only new messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A parsed request.

    `tools` have OpenAI's form, or are None. `response_schema` is the JSON Schema for content.
    Sampling parameters, the model and similar members stay in the body.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    tools: Tools | None = None
    tool_choice: str | dict[str, Any] = "auto"
    parallel_tool_calls: bool = True
    response_schema: Mapping[str, Any] | None = None

    def parser_options(self) -> dict[str, Any]:
        """Return the options for a `StreamParser`.

        Without tools, no text is read as a call.
        """
        return {
            "tools": self.tools or [],
            "tool_choice": self.tool_choice if self.tools else "auto",
            "parallel_tool_calls": self.parallel_tool_calls,
            "response_schema": self.response_schema,
        }

    @property
    def choice(self) -> Choice:
        """The value of `tool_choice`."""
        return read_choice(self.tool_choice, None)


def read_request(
    body: Any,
    read: Callable[[Mapping[str, Any]], Request],
    template: Template | None,
    state: Sequence[str] = STATE,
) -> Request:
    """Read the body of a request. Images and documents get the template's shape.

    Raises:
        UsageError: the request does not follow its protocol, or has an unsupported member.
    """
    with understood(body, "request"):
        if not isinstance(body, Mapping):
            raise UsageError(f"a request must be a JSON object, not {type(body).__name__}")
        if name := state_member(body, state):
            raise UsageError(kept_elsewhere(name))
        request = read(body)
        messages = as_template_takes(name_results(request.messages), template)
    return replace(request, messages=messages)


def state_member(body: Mapping[str, Any], names: Sequence[str] = STATE) -> str | None:
    """Return the first of these members in a request, or None."""
    return next((name for name in names if body.get(name) is not None), None)


def kept_elsewhere(name: str) -> str:
    """Return the error message for a member that refers to state on a server."""
    return f"{name} is not supported: no state is kept here, send the whole conversation"


def read_role(message: Mapping[str, Any], roles: Sequence[str]) -> str:
    """Return the role of a message. Most templates drop messages of unknown roles.

    Raises:
        UsageError: the role is not one of the protocol's roles.
    """
    role = message.get("role")
    if not isinstance(role, str) or role not in roles:
        raise UsageError(f"a message needs a role, one of {', '.join(roles)}, not {role!r:.200}")
    return role


def read_tools(body: Mapping[str, Any]) -> Tools | None:
    """Return the tools of a request, or None if a response cannot call any."""
    return Tools(body.get("tools") or []) or None


def chosen(choice: Any) -> str | dict[str, Any]:
    """Return a tool choice of any protocol in the form of Chat Completions."""
    read = read_choice(choice, None)
    if read.function is not None:
        return {"type": "function", "function": {"name": read.function}}
    if read.allowed:
        tools = [{"type": "function", "function": {"name": name}} for name in sorted(read.allowed)]
        return {"type": "allowed_tools", "allowed_tools": {"mode": read.mode, "tools": tools}}
    return read.mode


def name_results(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the function's name to tool results, which some templates need."""
    names: dict[Any, str] = {}
    named = []
    for message in messages:
        for call in message.get("tool_calls") or ():
            names[call["id"]] = call["function"]["name"]
        name = names.get(message.get("tool_call_id"))
        named.append({"name": name, **message} if name and message["role"] == "tool" else message)
    return named
