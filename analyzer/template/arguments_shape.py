"""Detection of the form of call arguments for a template: an object or JSON text.

OpenAI messages have JSON text, but most templates are written for objects. The form is found by
rendering a call both ways.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Literal

from deltaparse.partial import TemplateError

from .budget import LimitExceeded, Limits

__all__ = ["PROBE_LIMITS", "SHAPES", "Shape", "wanted_shape", "with_shape"]

Shape = Literal["object", "string"]
SHAPES: tuple[Shape, ...] = ("object", "string")
Message = dict[str, Any]

# A probe with one argument, and its text in each shape.
PROBE = {"qzk_key": "qzv value"}
PROBE_JSON, PROBE_REPR, PROBE_TEXTS = json.dumps(PROBE), repr(PROBE), (*PROBE, *PROBE.values())
PROBE_LIMITS = Limits(seconds=0.5)


def wanted_shape(
    render: Callable[[list[Message], list[Message] | None, Shape], str],
) -> Shape | None:
    """Return the shape that a template expects, or None if no probe shows a difference.

    `render` renders a conversation with tools and with its arguments in a shape. It may raise
    `TemplateError`.
    """
    for chat, tools in _probes():
        rendered: list[str | None] = []
        for shape in SHAPES:
            try:
                rendered.append(render(chat, tools, shape))
            except TemplateError as error:
                if isinstance(error.__cause__, LimitExceeded):
                    return None  # the other probes would also exceed the limits
                rendered.append(None)
        if wanted := _shape_shown(*rendered):
            return wanted
    return None


def with_shape(chat: list[Message], shape: Shape | None) -> list[Message]:
    """Return the conversation with all call arguments in one shape. None leaves them unchanged."""
    return [_call_with_shape(message, shape) for message in chat]


def _call_with_shape(part: Any, shape: Shape | None) -> Any:
    """Return the message, call or function with its arguments in this shape."""
    if not isinstance(part, dict):
        return part
    part = dict(part)
    for key in ("function", "function_call"):
        if key in part:
            part[key] = _call_with_shape(part[key], shape)
    if isinstance(part.get("tool_calls"), list | tuple):
        part["tool_calls"] = [_call_with_shape(call, shape) for call in part["tool_calls"]]
    arguments = part.get("arguments")
    if shape == "object" and isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            part["arguments"] = json.loads(arguments)
    if shape == "string" and isinstance(arguments, dict | list):
        part["arguments"] = json.dumps(arguments, ensure_ascii=False)
    return part


def _probes() -> Iterator[tuple[list[Message], list[Message] | None]]:
    """Yield conversations with a call, because some templates need a tool result or tools."""
    function = {"name": "qzf", "arguments": PROBE}
    call = {"id": "qzi000001", "type": "function", "function": function}
    question = {"role": "user", "content": "qzu"}
    answer = {"role": "tool", "name": "qzf", "tool_call_id": "qzi000001", "content": "qza"}
    schema = {"type": "object", "properties": {"qzk_key": {"type": "string", "description": "qzp"}}}
    tool = {"name": "qzf", "description": "qzd", "parameters": schema}
    for tools in (None, [{"type": "function", "function": tool}]):
        for content in (None, ""):
            turn = {"role": "assistant", "content": content, "tool_calls": [call]}
            yield [question, turn], tools
            yield [question, turn, answer], tools


def _shape_shown(as_object: str | None, as_string: str | None) -> Shape | None:
    """Return the expected shape from two renderings of a call. None is a failed rendering."""
    if as_object is None:
        return None if as_string is None else "string"
    if as_string is None:
        return "object"
    if PROBE_REPR in as_object:
        return "string"
    if all(text in as_object for text in PROBE_TEXTS):
        return "object"
    return "string" if PROBE_JSON in as_string else None
