"""Requests of Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaparse.partial import UsageError
from deltaparse.stream.message.fields import REASONING_KEYS

from .chat_request import Request, chosen, kept_elsewhere, read_request, read_role, read_tools
from .message_content import Content, Part, Template, joined, parts_of
from .message_list import call as made_call

__all__ = ["chat_completions_request", "read_chat_completions_request"]

ROLES = ("system", "developer", "user", "assistant", "tool")
PASSED = ("image_url", "file")
KEYS = ("role", "content", "reasoning_content", "tool_calls", "tool_call_id")


def read_chat_completions_request(body: Any, *, template: Template | None = None) -> Request:
    """Read the body of a Chat Completions request.

    Args:
        body: the request, as JSON.
        template: the template that will render it. Images and documents get the shape that it
            accepts.

    Raises:
        UsageError: the request has an unsupported member. The message names it.
    """
    return read_request(body, _read, template)


def _read(body: Mapping[str, Any]) -> Request:
    body = _with_tools(body)
    messages = [_message(message) for message in body.get("messages") or ()]
    schema = None
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        schema = wanted["json_schema"].get("schema")
    return Request(
        messages=messages,
        tools=read_tools(body),
        tool_choice=chosen(body.get("tool_choice")),
        parallel_tool_calls=body.get("parallel_tool_calls") is not False,
        response_schema=schema,
    )


def chat_completions_request(request: Request) -> dict[str, Any]:
    """Write a request for Chat Completions, without the model and the sampling parameters."""
    body: dict[str, Any] = {
        "messages": [
            {key: message[key] for key in KEYS if key in message} for message in request.messages
        ]
    }
    if request.tools:
        body["tools"] = list(request.tools)
        body["tool_choice"] = chosen(request.tool_choice)
        body["parallel_tool_calls"] = request.parallel_tool_calls
    if request.response_schema is not None:
        named = {"name": "response", "schema": request.response_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return body


def _with_tools(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the request with tools in place of the older functions.

    Their calls have no ids, so ids are added: a turn has one call, and its result follows.
    """
    made = dict(body)
    functions, choice = made.pop("functions", None), made.pop("function_call", None)
    if functions and not made.get("tools"):
        made["tools"] = [{"type": "function", "function": function} for function in functions]
    if choice and "tool_choice" not in made:
        named = {"type": "function", "function": choice}
        made["tool_choice"] = choice if isinstance(choice, str) else named
    made["messages"], calls = [], 0
    for message in body.get("messages") or ():
        calls += bool(message.get("function_call"))
        made["messages"].append({**message, **_of_call(message, f"call{calls:05}")})
    return made


def _of_call(message: Mapping[str, Any], call_id: str) -> dict[str, Any]:
    """Return a message with a function call, or its result, in the form of tools."""
    if message.get("role") == "function":
        return {"role": "tool", "tool_call_id": call_id}
    if not message.get("function_call"):
        return {}
    return {"tool_calls": [{"id": call_id, "function": message["function_call"]}]}


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    role = read_role(message, ROLES)
    if message.get("audio"):
        raise UsageError(kept_elsewhere("audio of a message"))
    made: dict[str, Any] = {"role": "system" if role == "developer" else role}
    made["content"] = _content(message.get("content"), "" if role == "assistant" else "\n")
    if not made["content"] and message.get("refusal"):
        made["content"] = message["refusal"]
    reasoning = next((message[name] for name in REASONING_KEYS if message.get(name)), None)
    if reasoning is not None:
        made["reasoning_content"] = reasoning
    if message.get("tool_calls"):
        made["tool_calls"] = [_call(call) for call in message["tool_calls"]]
    if "tool_call_id" in message:
        made["tool_call_id"] = message["tool_call_id"]
    return made


def _content(content: Any, between: str) -> Content:
    parts: list[Part] = []
    for part in parts_of(content):
        kind = part.get("type")
        if kind in ("text", "refusal"):
            parts.append({"type": "text", "text": part[kind]})
        elif kind in PASSED:
            parts.append(dict(part))
        else:
            raise UsageError(f"content of type {kind!r} is not supported")
    return joined(parts, between)


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    if not isinstance(function, Mapping):
        raise UsageError(f"a call of type {call.get('type')!r} is not a function call")
    return made_call(call.get("id"), function["name"], function.get("arguments"))
