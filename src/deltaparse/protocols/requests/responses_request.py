"""Requests of Responses: instructions, and items in place of messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaparse.partial import UsageError

from .chat_request import STATE, Request, chosen, read_request, read_role, read_tools
from .message_content import Content, Part, Template, joined, parts_of
from .message_list import Turns, call, tool_result

__all__ = ["RESPONSES_STATE", "read_responses_request", "responses_request"]

RESPONSES_STATE = (*STATE, "prompt")
ROLES = ("user", "assistant", "system", "developer")
TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}


def read_responses_request(body: Any, *, template: Template | None = None) -> Request:
    """Read the body of a Responses request.

    Reasoning is read if it has text. Items of one assistant turn become one message, which does not
    keep the order of text and calls.

    Args:
        body: the request, as JSON.
        template: the template that will render it. Images and documents get the shape that it
            accepts.

    Raises:
        UsageError: the request has an unsupported member, such as server state or an item of
            OpenAI's own tools. The message names it.
    """
    return read_request(body, _read, template, RESPONSES_STATE)


def _read(body: Mapping[str, Any]) -> Request:
    turns = Turns()
    if body.get("instructions"):
        turns.messages.append({"role": "system", "content": body["instructions"]})
    given = body.get("input") or ()
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    for item in items:
        _read_item(item, turns)
    wanted = (body.get("text") or {}).get("format") or {}
    return Request(
        messages=turns.messages,
        tools=read_tools(body),
        tool_choice=chosen(body.get("tool_choice")),
        parallel_tool_calls=body.get("parallel_tool_calls") is not False,
        response_schema=wanted.get("schema") if wanted.get("type") == "json_schema" else None,
    )


def responses_request(request: Request) -> dict[str, Any]:
    """Write a request for Responses, without the model and the sampling parameters."""
    items: list[dict[str, Any]] = []
    for at, message in enumerate(request.messages):
        items += _items(message, at)
    body: dict[str, Any] = {"input": items}
    if request.tools:
        body["tools"] = [{"type": "function", **tool["function"]} for tool in request.tools]
        body["tool_choice"] = _choice(request)
        body["parallel_tool_calls"] = request.parallel_tool_calls
    if request.response_schema is not None:
        form = {"type": "json_schema", "name": "response", "schema": request.response_schema}
        body["text"] = {"format": form}
    return body


def _choice(request: Request) -> str | dict[str, Any]:
    choice = request.choice
    if choice.function is not None:
        return {"type": "function", "name": choice.function}
    if choice.allowed:
        tools = [{"type": "function", "name": name} for name in sorted(choice.allowed)]
        return {"type": "allowed_tools", "mode": choice.mode, "tools": tools}
    return choice.mode


def _read_item(item: Mapping[str, Any], turns: Turns) -> None:
    """Add an item to the messages."""
    kind = item.get("type") or ("message" if "role" in item else None)
    if kind == "message":
        _read_message(item, turns)
    elif kind == "function_call":
        turns.add_call(call(item["call_id"], item["name"], item.get("arguments")))
    elif kind == "function_call_output":
        turns.messages.append(tool_result(item["call_id"], _content(item.get("output"), "\n")))
    elif kind == "reasoning":
        texts = item.get("content") or item.get("summary") or ()
        if text := "".join(part.get("text") or "" for part in texts):
            turns.add_reasoning(text)
    elif kind == "item_reference":
        raise UsageError(
            "an item_reference needs items stored on a server, which is not supported: send "
            'whole items ("store": false)'
        )
    else:
        raise UsageError(f"an item of type {kind!r} is not supported")


def _read_message(item: Mapping[str, Any], turns: Turns) -> None:
    role = read_role(item, ROLES)
    if role != "assistant":
        content = _content(item.get("content"), "\n")
        turns.messages.append(
            {"role": "system" if role == "developer" else role, "content": content}
        )
        return
    content = _content(item.get("content"), "")
    if not isinstance(content, str):
        raise UsageError("the assistant's content is text")
    turns.add_text(content)


def _content(content: Any, between: str) -> Content:
    parts: list[Part] = []
    for part in parts_of(content):
        kind = part.get("type")
        if kind in TEXTS:
            parts.append({"type": "text", "text": part[TEXTS[kind]]})
        elif kind == "input_image" and part.get("image_url"):
            parts.append({"type": "image_url", "image_url": {"url": part["image_url"]}})
        elif kind == "input_file" and (part.get("file_data") or part.get("file_url")):
            file = {"file_data": part.get("file_data") or part.get("file_url")}
            if part.get("filename"):
                file["filename"] = part["filename"]
            parts.append({"type": "file", "file": file})
        else:
            raise UsageError(f"content of type {kind!r} is not supported")
    return joined(parts, between)


def _items(message: Mapping[str, Any], at: int) -> list[dict[str, Any]]:
    """Return the items of a message."""
    role, content = message["role"], message.get("content")
    if role == "tool":
        output = content if isinstance(content, str) else _input_parts(content)
        result = {"type": "function_call_output", "call_id": message["tool_call_id"]}
        return [{**result, "output": output}]
    items: list[dict[str, Any]] = []
    if reasoning := message.get("reasoning_content"):
        text = [{"type": "reasoning_text", "text": reasoning}]
        items.append({"type": "reasoning", "id": f"rs_{at}", "summary": [], "content": text})
    calls = message.get("tool_calls") or ()
    if content or not (items or calls):
        written = content if isinstance(content, str) else _input_parts(content)
        items.append({"type": "message", "role": role, "content": written})
    for made in calls:
        named = {"call_id": made["id"], **made["function"]}
        items.append({"type": "function_call", **named})
    return items


def _input_parts(content: Any) -> list[dict[str, Any]]:
    """Return content as parts of an input."""
    made: list[dict[str, Any]] = []
    for part in parts_of(content):
        if part["type"] == "text":
            made.append({"type": "input_text", "text": part["text"]})
        elif part["type"] == "image_url":
            url = part["image_url"]["url"]
            made.append({"type": "input_image", "image_url": url, "detail": "auto"})
        else:
            made.append({"type": "input_file", **part["file"]})
    return made
