"""Adaptation of a conversation, from OpenAI's API or this library, to one template.

Only parts that the template would refuse, omit or misread are changed. All other parts render as in
transformers. The adaptation is idempotent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from deltaparse.stream.message.healed_arguments import healed_arguments
from deltaparse.stream.message.ids import nine_characters
from deltaparse.stream.message.message import Message as Parsed

from .plain_values import plain_dicts
from .template_capabilities import (
    PARTS,
    REASONING_NAMES,
    CallCapabilities,
    Ids,
    NoContent,
    in_parts,
)

__all__ = ["Reads", "as_read"]

Message = dict[str, Any]
EXAMPLE = "{'role': 'user', 'content': 'Hi'}"
FITS: dict[Ids, str] = {"nine": "[0-9A-Za-z]{9}", "numbered": r"call_\d+_.+"}


class Reads(Protocol):
    """Facts about a template, each computed at its first use."""

    @property
    def call_capabilities(self) -> CallCapabilities:
        """Return the required form of a message with calls."""

    @property
    def reasoning_key(self) -> str:
        """Return the key of reasoning, or "" if the template does not show reasoning."""

    @property
    def reads_result_names(self) -> bool:
        """Return True if a tool result must have the name of the tool."""

    @property
    def reasoning_excludes_content(self) -> bool:
        """Return True if content and reasoning are refused in one message with calls."""

    @property
    def roles_with_content_parts(self) -> frozenset[str]:
        """Return the roles whose messages need a list of parts as content."""

    def joins_content_parts(self, role: str) -> bool:
        """Return True if a list of parts must be joined to one text for this role."""


def as_read(reads: Reads, messages: Sequence[Any]) -> list[Message]:
    """Return the messages in the form that the template reads.

    Raises:
        UsageError: `messages` is not a list of messages.
    """
    if isinstance(messages, list | tuple):
        messages = [_opened(one) if isinstance(one, Parsed) else one for one in messages]
    chat = [_without_nulls(message) for message in plain_dicts("messages", messages, EXAMPLE)]
    for message in chat:
        if "function_call" in message:
            message["function_call"] = _with_object(message["function_call"])
        _join_parts(reads, message)
        if message.get("role") == "assistant":
            _move_reasoning(reads, message)
    if any(_calls_of(message) or message.get("role") == "tool" for message in chat):
        for message in chat:
            if calls := _calls_of(message):
                message["tool_calls"] = [_with_object(call) for call in calls]
                _choose_reasoning(reads, message)
        _fit_calls(reads.call_capabilities, chat)
        _name_results(reads, chat)
    return in_parts(chat, reads.roles_with_content_parts)


def _calls_of(message: Message) -> Sequence[Any]:
    calls = message.get("tool_calls")
    return calls if isinstance(calls, list | tuple) else ()


def _opened(message: Parsed) -> Message:
    """Convert a parsed message to a message of OpenAI's API."""
    made = message.to_openai()
    made["content"] = made["content"] or ""
    return made


def _with_object(call: Any) -> Any:
    """Return a call, or its function, with its arguments as an object or as JSON text."""
    if not isinstance(call, dict):
        return call
    if isinstance(function := call.get("function"), dict):
        return {**call, "function": _with_object(function)}
    given = call.get("arguments")
    if isinstance(given, dict) or "name" not in call:
        return call
    return {**call, "arguments": healed_arguments(given)}


def _choose_reasoning(reads: Reads, message: Message) -> None:
    """Remove content from a message with reasoning and calls, if the template refuses all three.

    The model needs its reasoning to continue. The content was for the user, who has read it.
    """
    said = message.get("content")
    if (
        said
        and any(message.get(key) for key in REASONING_NAMES)
        and reads.reasoning_excludes_content
    ):
        message["content"] = ""


def _without_nulls(message: Message) -> Message:
    """Return the message without null members, which clients dump, except for its content."""
    kept = {key: value for key, value in message.items() if value is not None or key == "content"}
    calls = kept.get("tool_calls")
    if isinstance(calls, list | tuple):
        kept["tool_calls"] = [
            {key: value for key, value in call.items() if value is not None}
            if isinstance(call, dict)
            else call
            for call in calls
        ]
    if not calls:
        kept.pop("tool_calls", None)
        if kept.get("role") == "assistant" and kept.get("content", "") is None:
            kept["content"] = ""
    return kept


def _join_parts(reads: Reads, message: Message) -> None:
    """Join a list of texts as content to one text, if the template requires it."""
    parts = message.get("content")
    if not isinstance(parts, list) or not parts:
        return
    texts = [_text_of(part) for part in parts]
    known = [text for text in texts if text is not None]
    if len(known) == len(parts) and reads.joins_content_parts(str(message.get("role"))):
        message["content"] = "\n".join(known)


def _text_of(part: object) -> str | None:
    """Return the text of a part of a content, or None if it is not a text."""
    if isinstance(part, Mapping) and part.get("type", "text") in ("text", "input_text"):
        part = part.get("text")
    return part if isinstance(part, str) else None


def _move_reasoning(reads: Reads, message: Message) -> None:
    """Move reasoning from any known key to the key used by the template."""
    given = [message[key] for key in REASONING_NAMES if isinstance(message.get(key), str)]
    thought = next(filter(None, given), "")
    if not thought or not (key := reads.reasoning_key):
        return
    kind = key.partition("content.")[2]
    if not kind:
        message.setdefault(key, thought)
        return
    content = message.get("content") or []
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    if not _has_part(parts):
        message["content"] = [{"type": kind, kind: thought}, *parts]
        for name in REASONING_NAMES:
            message.pop(name, None)


def _has_part(parts: list[Any]) -> bool:
    """Return True if a content has a part with reasoning."""
    return any(isinstance(part, Mapping) and part.get("type") in PARTS for part in parts)


def _fit_calls(read: CallCapabilities, chat: list[Message]) -> None:
    """Give calls and their results ids that the template accepts."""
    made = NewIds(read.ids)
    for message in chat:
        if calls := _calls_of(message):
            _fit_content(read, message)
            message["tool_calls"] = list(made.of_calls(calls))
        elif "tool_call_id" in message or message.get("role") == "tool":
            made.of_result(message)


def _fit_content(read: CallCapabilities, message: Message) -> None:
    """Write missing content of a message with calls in the form that the template accepts."""
    kind: NoContent = "absent"
    if "content" in message:
        if message["content"] not in ("", None):
            return
        kind = "null" if message["content"] is None else "empty"
    if kind in read.no_content:
        return
    message.pop("content", None)
    if read.no_content[0] != "absent":
        message["content"] = "" if read.no_content[0] == "empty" else None


class NewIds:
    """Ids of the calls in a conversation, in an accepted form."""

    def __init__(self, form: Ids) -> None:
        self._form = form
        self._count = 0
        self._known: dict[str, str] = {}
        self._unanswered: list[tuple[str, str]] = []

    def of_calls(self, calls: Sequence[Any]) -> Iterator[Any]:
        """Yield the calls of a message with their new ids."""
        self._unanswered = []
        for call in calls:
            if not isinstance(call, dict):
                yield call
                continue
            function = call.get("function")
            name = str(function.get("name", "")) if isinstance(function, dict) else ""
            given = call.get("id", "")
            fitted = given if self._form == "any" else self._fitted(str(given), name)
            self._count += 1
            if given:
                self._known[str(given)] = fitted
            self._unanswered.append((fitted, name))
            yield call if fitted == given else {**call, "id": fitted}

    def of_result(self, message: Message) -> None:
        """Give a result the new id of its call, or else the id of the next unanswered call."""
        given = str(message.get("tool_call_id") or "")
        waiting = [fitted for fitted, _ in self._unanswered]
        fitted = self._known.get(given) or given
        if self._form == "nine" and fitted and not re.fullmatch(FITS["nine"], fitted):
            fitted = nine_characters(fitted)
        if fitted not in waiting and waiting and (not given or self._form != "any"):
            fitted = self._next(message.get("name"))
        self._unanswered = [one for one in self._unanswered if one[0] != fitted]
        if fitted:
            message["tool_call_id"] = fitted

    def _next(self, name: object) -> str:
        """Return the id of the first unanswered call, preferably of this function."""
        named = [fitted for fitted, called in self._unanswered if called == name]
        return (named or [self._unanswered[0][0]])[0]

    def _fitted(self, given: str, name: str) -> str:
        """Return the new id for the given id of a call."""
        if self._form == "named":
            return given if name in given else f"functions.{name}:{self._count}"
        if re.fullmatch(FITS[self._form], given):
            return given
        if self._form == "numbered":
            return f"call_{self._count}_{given}"
        return nine_characters(given or f"{self._count}")


def _name_results(reads: Reads, chat: list[Message]) -> None:
    """Add missing tool names to results, if the template reads them."""
    names: dict[str, str] = {}
    for message in chat:
        for call in _calls_of(message):
            if isinstance(call, dict) and isinstance(call.get("function"), dict):
                names[str(call.get("id"))] = str(call["function"].get("name", ""))
        if message.get("role") != "tool" or message.get("name"):
            continue
        name = names.get(str(message.get("tool_call_id")))
        if name and reads.reads_result_names:
            message["name"] = name
