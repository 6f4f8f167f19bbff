"""Turns for the proof of a bridge: the output, and substitutes with the same parts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from deltaparse.stream import Content, Message, Part, Reasoning, ToolCall

from .template.template_capabilities import REASONING_NAMES

__all__ = [
    "KEY",
    "WORDS",
    "NoBridge",
    "answered",
    "end_of_texts",
    "saying",
    "squeezed",
    "thoughts_in",
]

Chat = list[Any]
KEY = "zqwhatzq"
"""Argument name of the calls in a substitute turn."""


class NoBridge(Exception):
    """Raised if there is no bridge. The message is the reason."""


WORDS: Mapping[type[Part], str] = {
    Reasoning: "reasoning",
    Content: "content",
    ToolCall: "tool calls",
}


def squeezed(text: str) -> str:
    """Return a text without whitespace, because templates and models differ in it at markers."""
    return "".join(text.split())


def _texts_of(said: Message) -> Iterator[tuple[str, str]]:
    """Yield the required texts of a substitute turn, each with the subject of its error."""
    for part in said.parts:
        if isinstance(part, ToolCall):
            yield part.name, f"{WORDS[ToolCall]} are"
            yield json.loads(part.arguments)[KEY], "the arguments of calls are"
        else:
            yield part.text, f"{WORDS[type(part)]} is"


def end_of_texts(turn: str, said: Message, word: str) -> int:
    """Return the end of the last text that begins with `word` in a turn made by `saying`."""
    at = 0
    for text, what in _texts_of(said):
        if text not in turn:
            raise NoBridge(f"{what} dropped from history")
        if text.startswith(word):
            at = max(at, turn.index(text) + len(text))
    return at


def saying(said: Message, word: str) -> tuple[Message, str]:
    """Return a turn with the same parts but other texts, and the word these texts begin with."""
    parts: list[Part] = []
    for at, part in enumerate(said.parts):
        text = f"{word}{at}zq"
        if isinstance(part, ToolCall):
            parts.append(replace(part, arguments=json.dumps({KEY: text})))
        else:
            parts.append(replace(part, text=text))
    return Message(parts), word


def thoughts_in(chat: Chat) -> Iterator[str]:
    """Yield the reasoning in a conversation."""
    for message in chat:
        if isinstance(message, Message):
            yield message.reasoning_content
        elif isinstance(message, Mapping):
            given = (message.get(name) for name in REASONING_NAMES)
            yield from (text for text in given if isinstance(text, str))


def answered(said: Message, new: Chat) -> Message:
    """Return the message, with the call ids of the tool results.

    If the model wrote no ids, a parser derived them from a prompt that is not known here.
    """
    results = [one for one in new if isinstance(one, Mapping) and one.get("role") == "tool"]
    ids = {call.id for call in said.tool_calls}
    waiting = [one for one in results if one.get("tool_call_id") not in ids]
    answered = {one.get("tool_call_id") for one in results}
    parts: list[Part] = []
    for part in said.parts:
        if isinstance(part, ToolCall) and part.id not in answered and waiting:
            named = [one for one in waiting if one.get("name") == part.name]
            result = (named or waiting)[0]
            waiting.remove(result)
            parts.append(replace(part, id=str(result.get("tool_call_id") or part.id)))
        else:
            parts.append(part)
    return Message(parts)
