"""What a server made of an output: a message, a response or its chunks, in one shape."""

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
    """A call: the arguments are text, or a value where a log has one."""

    name: str
    arguments: Any = ""


@dataclass(slots=True)
class Made:
    """A message, as its differences from another are sought.

    `kinds`: the kinds of its parts in the order in which they came, None where that is not known.
    """

    content: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    kinds: list[str] | None = None


def made_of(message: Message) -> Made:
    """Return a message of ours in that shape."""
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
    """Read an OpenAI message, a response that has one, or the list of its chunks.

    Raises:
        BadRecord: it is none of these.
    """
    if isinstance(expected, list):
        return _folded(expected)
    if isinstance(expected, Mapping):
        choices = expected.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
            return read_expected(choices[0].get("message"))
        calls = [_call(call) for call in _calls(expected)]
        return Made(_plain(expected.get("content")), _reasoning(expected), calls)
    raise BadRecord("expected is neither an OpenAI message nor its chunks")


def _calls(message: Mapping[str, Any]) -> list[Any]:
    calls = message.get("tool_calls")
    if calls is None:
        before = message.get("function_call")
        return [] if before is None else [before]
    if isinstance(calls, list):
        return calls
    raise BadRecord("tool_calls of expected are no list")


def _call(call: object) -> Call:
    if not isinstance(call, Mapping):
        raise BadRecord("a tool call of expected is no object")
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
    """The text of content, which may be a list of parts."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = [one.get("text") if isinstance(one, Mapping) else one for one in value]
        return "".join(text for text in texts if isinstance(text, str))
    raise BadRecord(f"the content of expected is {json.dumps(value, default=str)[:80]}, not text")


def _folded(chunks: Iterable[object]) -> Made:
    """The message that OpenAI chunks add up to, for a client that adds them up by index."""
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
    """The delta of a chunk, if it has one; a delta that stands alone is one."""
    if not isinstance(chunk, Mapping):
        raise BadRecord("a chunk of expected is no object")
    choices = chunk.get("choices")
    if choices is None:
        return [chunk]
    if not isinstance(choices, list):
        raise BadRecord("the choices of a chunk of expected are no list")
    deltas = [one.get("delta") for one in choices[:1] if isinstance(one, Mapping)]
    return [delta for delta in deltas if isinstance(delta, Mapping)]


def _add(entry: object, calls: dict[Any, Call], kinds: list[str]) -> None:
    """Add what a chunk has of a call."""
    if not isinstance(entry, Mapping):
        raise BadRecord("a tool call in a chunk of expected is no object")
    index = entry.get("index", 0)
    if not isinstance(index, int):
        raise BadRecord("the index of a tool call in a chunk of expected is no number")
    if index not in calls:
        calls[index] = Call("")
        kinds.append("call")
    part = _call(entry)
    calls[index].name += part.name
    if isinstance(part.arguments, str):
        calls[index].arguments += part.arguments
