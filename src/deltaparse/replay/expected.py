"""Common shape of a server's result: a message, a response or its chunks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deltaparse.stream import Content, Message, Reasoning
from deltaparse.stream.message.fields import REASONING_KEYS

from .records import BadRecord

__all__ = ["Call", "Made", "made_of", "read_expected"]


@dataclass(slots=True)
class Call:
    """Tool call. The arguments are text, or a value if the log has a value."""

    name: str
    arguments: Any = ""


@dataclass(slots=True)
class Made:
    """Message in the shape for comparison.

    Attributes:
        content: the content.
        reasoning: the reasoning.
        calls: the tool calls.
        kinds: the kinds of the parts in their order, or None if the order is unknown.
    """

    content: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    kinds: list[str] | None = None


def made_of(message: Message) -> Made:
    """Return a parsed message in the shape for comparison."""
    kinds = {Content: "content", Reasoning: "reasoning"}
    parts: list[str] = []
    texts: dict[str, list[str]] = {"content": [], "reasoning": []}
    calls: list[Call] = []
    for part in message.parts:
        kind = kinds.get(type(part), "call")
        if isinstance(part, (Content, Reasoning)):
            texts[kind].append(part.text)
            if not part.text.strip():
                continue
        else:
            calls.append(Call(part.name, part.arguments))
        if kind == "call" or parts[-1:] != [kind]:
            parts.append(kind)
    return Made("".join(texts["content"]), "".join(texts["reasoning"]), calls, parts)


def read_expected(expected: object) -> Made:
    """Read an OpenAI message, a response or a list of its chunks.

    Raises:
        BadRecord: the value has another shape.
    """
    if isinstance(expected, list):
        return _folded(expected)
    if isinstance(expected, Mapping):
        choices = expected.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
            return read_expected(choices[0].get("message"))
        calls = [_call(call) for call in _calls(expected)]
        return Made(_plain(expected.get("content")), _reasoning(expected), calls)
    raise BadRecord("expected must be an OpenAI message or a list of its chunks")


def _calls(message: Mapping[str, Any]) -> list[Any]:
    calls = message.get("tool_calls")
    if calls is None:
        before = message.get("function_call")
        return [] if before is None else [before]
    if isinstance(calls, list):
        return calls
    raise BadRecord("tool_calls of expected must be a list")


def _call(call: object) -> Call:
    if not isinstance(call, Mapping):
        raise BadRecord("a tool call of expected must be an object")
    function = call.get("function")
    if isinstance(function, str):
        inner: Mapping[str, Any] = {"name": function, "arguments": call.get("arguments")}
    else:
        inner = function if isinstance(function, Mapping) else call
    name, arguments = inner.get("name"), inner.get("arguments")
    return Call(name if isinstance(name, str) else "", "" if arguments is None else arguments)


def _reasoning(message: Mapping[str, Any]) -> str:
    found = next((_plain(message[key]) for key in REASONING_KEYS if message.get(key)), "")
    if found or not isinstance(message.get("content"), list):
        return found
    parts = [one for one in message["content"] if isinstance(one, Mapping)]
    texts = [one.get(key) for one in parts for key in REASONING_KEYS if one.get("type") == key]
    return "".join(text for text in texts if isinstance(text, str))


def _plain(value: object) -> str:
    """Return the text of content, which may be a list of parts."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = [one.get("text") if isinstance(one, Mapping) else one for one in value]
        return "".join(text for text in texts if isinstance(text, str))
    shown = json.dumps(value, default=str)[:80]
    raise BadRecord(f"the content of expected must be text, not {shown}")


def _folded(chunks: Iterable[object]) -> Made:
    """Return the message of OpenAI chunks, with calls assembled by index as clients do."""
    made = Made(kinds=[])
    texts: dict[str, list[str]] = {"reasoning": [], "content": []}
    calls: dict[Any, Call] = {}
    kinds: list[str] = []
    for chunk in chunks:
        for delta in _deltas(chunk):
            for kind, came in texts.items():
                text = _reasoning(delta) if kind == "reasoning" else _plain(delta.get("content"))
                if text:
                    came.append(text)
                    if text.strip() and kinds[-1:] != [kind]:
                        kinds.append(kind)
            for entry in delta.get("tool_calls") or ():
                _add(entry, calls, kinds)
    made.content, made.reasoning = "".join(texts["content"]), "".join(texts["reasoning"])
    made.calls, made.kinds = list(calls.values()), kinds
    return made


def _deltas(chunk: object) -> list[Mapping[str, Any]]:
    """Return the delta of a chunk, if any. An object without choices is itself a delta."""
    if not isinstance(chunk, Mapping):
        raise BadRecord("a chunk of expected must be an object")
    choices = chunk.get("choices")
    if choices is None:
        return [chunk]
    if not isinstance(choices, list):
        raise BadRecord("the choices of a chunk of expected must be a list")
    deltas = [one.get("delta") for one in choices[:1] if isinstance(one, Mapping)]
    return [delta for delta in deltas if isinstance(delta, Mapping)]


def _add(entry: object, calls: dict[Any, Call], kinds: list[str]) -> None:
    """Add a fragment of a call from a chunk."""
    if not isinstance(entry, Mapping):
        raise BadRecord("a tool call in a chunk of expected must be an object")
    index = entry.get("index", 0)
    if not isinstance(index, int):
        raise BadRecord("the index of a tool call in a chunk of expected must be a number")
    if index not in calls:
        calls[index] = Call("")
        kinds.append("call")
    part = _call(entry)
    calls[index].name += part.name
    if isinstance(part.arguments, str):
        calls[index].arguments += part.arguments
