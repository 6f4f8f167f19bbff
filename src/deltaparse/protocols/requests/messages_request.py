"""Requests of Anthropic's Messages: blocks in messages, tool results in user messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaparse.partial import UsageError

from .chat_request import Request, chosen, read_request, read_role, read_tools
from .message_content import Content, Part, Template, data_url, joined, parts_of
from .message_list import Turns, arguments_value, call, tool_result

__all__ = ["messages_request", "read_messages_request"]

ROLES = ("user", "assistant", "system")
MODES = {"auto": "auto", "none": "none", "required": "any"}


def read_messages_request(body: Any, *, template: Template | None = None) -> Request:
    """Read the body of a Messages request.

    Tool results become messages, before the rest of the user message. Redacted thinking and
    signatures are dropped.

    Args:
        body: the request, as JSON.
        template: the template that will render it. Images and documents get the shape that it
            accepts. A document of plain text is text.

    Raises:
        UsageError: the request has an unsupported member, such as server state or a block of
            Anthropic's own tools. The message names it.
    """
    return read_request(body, _read, template)


def _read(body: Mapping[str, Any]) -> Request:
    turns = Turns()
    if system := _content(body.get("system"), "\n"):
        turns.messages.append({"role": "system", "content": system})
    for message in body.get("messages") or ():
        if read_role(message, ROLES) == "assistant":
            _read_assistant(message, turns)
        else:
            _read_user(message, turns)
    choice = body.get("tool_choice") or {}
    form = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return Request(
        messages=turns.messages,
        tools=read_tools(body),
        tool_choice=chosen(choice or None),
        parallel_tool_calls=not choice.get("disable_parallel_tool_use"),
        response_schema=form.get("schema"),
    )


def messages_request(request: Request) -> dict[str, Any]:
    """Write a request for Messages, without the model, `max_tokens` and sampling parameters.

    If only some tools are allowed, only these are written. System messages are merged.
    """
    messages: list[dict[str, Any]] = []
    systems = []
    for message in request.messages:
        if message["role"] == "system":
            systems.append(message["content"])
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        if not messages or messages[-1]["role"] != role or not _has_results_only(messages[-1]):
            messages.append({"role": role, "content": []})
        messages[-1]["content"] += _blocks(message)
    body: dict[str, Any] = {"messages": messages}
    if systems:
        body = {"system": "\n".join(systems), **body}
    body |= _tools(request)
    if request.response_schema is not None:
        form = {"type": "json_schema", "schema": request.response_schema}
        body["output_config"] = {"format": form}
    return body


def _tools(request: Request) -> dict[str, Any]:
    """Return the tools and the tool choice."""
    choice, tools = request.choice, []
    for tool in request.tools or ():
        function = dict(tool["function"])
        schema = function.pop("parameters", None) or {"type": "object"}
        if choice.function is not None or not choice.allowed or function["name"] in choice.allowed:
            kept = {key: function[key] for key in ("name", "description") if key in function}
            tools.append({**kept, "input_schema": schema})
    if not tools:
        return {}
    chosen: dict[str, Any] = {"type": MODES[choice.mode]}
    if choice.function is not None:
        chosen = {"type": "tool", "name": choice.function}
    if not request.parallel_tool_calls and choice.mode != "none":
        chosen["disable_parallel_tool_use"] = True
    return {"tools": tools, "tool_choice": chosen}


def _read_assistant(message: Mapping[str, Any], turns: Turns) -> None:
    turns.assistant()
    for block in parts_of(message.get("content")):
        match block.get("type"):
            case "text":
                turns.add_text(block["text"])
            case "thinking":
                turns.add_reasoning(block["thinking"])
            case "redacted_thinking":
                pass
            case "tool_use":
                turns.add_call(call(block["id"], block["name"], block.get("input")))
            case kind:
                raise UsageError(f"a block of type {kind!r} is not supported")


def _read_user(message: Mapping[str, Any], turns: Turns) -> None:
    blocks = parts_of(message.get("content"))
    for block in blocks:
        if block.get("type") == "tool_result":
            content = _content(block.get("content"), "\n")
            turns.messages.append(tool_result(block["tool_use_id"], content))
    others = [block for block in blocks if block.get("type") != "tool_result"]
    if others or not blocks:
        turns.messages.append({"role": message["role"], "content": _content(others, "\n")})


def _content(content: Any, between: str) -> Content:
    parts: list[Part] = []
    for block in parts_of(content):
        kind, source = block.get("type"), block.get("source") or {}
        if kind == "text":
            parts.append({"type": "text", "text": block["text"]})
        elif kind == "image":
            parts.append({"type": "image_url", "image_url": {"url": data_url(source)}})
        elif kind == "document" and source.get("type") == "text":
            parts.append({"type": "text", "text": source["data"]})
        elif kind == "document":
            file = {"file_data": data_url(source)}
            if block.get("title"):
                file["filename"] = block["title"]
            parts.append({"type": "file", "file": file})
        else:
            raise UsageError(f"a block of type {kind!r} is not supported")
    return joined(parts, between)


def _has_results_only(before: Mapping[str, Any]) -> bool:
    """Return True if a message continues the previous one: tool results and text."""
    results = [block["type"] == "tool_result" for block in before["content"]]
    return bool(results) and all(results)


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of a message."""
    content = _content_blocks(message.get("content"))
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message["tool_call_id"]}
        return [{**result, "content": content}]
    blocks: list[dict[str, Any]] = []
    if reasoning := message.get("reasoning_content"):
        blocks.append({"type": "thinking", "thinking": reasoning, "signature": ""})
    blocks += content
    for made in message.get("tool_calls") or ():
        function = made["function"]
        value = arguments_value(function["arguments"])
        used = {"id": made["id"], "name": function["name"], "input": value}
        blocks.append({"type": "tool_use", **used})
    return blocks


def _content_blocks(content: Any) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in parts_of(content):
        if part["type"] == "text":
            blocks.append({"type": "text", "text": part["text"]})
        elif part["type"] == "image_url":
            blocks.append({"type": "image", "source": _source(part["image_url"]["url"])})
        else:
            blocks.append({"type": "document", "source": _source(part["file"]["file_data"])})
            if part["file"].get("filename"):
                blocks[-1]["title"] = part["file"]["filename"]
    return blocks


def _source(url: str) -> dict[str, Any]:
    """Return Anthropic's source object for a URL."""
    head, found, data = url.removeprefix("data:").partition(";base64,")
    if not found or not url.startswith("data:"):
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": head, "data": data}
