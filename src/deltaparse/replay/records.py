"""Record of a log: a model's output, its request and the message of a server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from deltaparse.partial import UsageError
from deltaparse.stream.finish_reasons import reason_text

from .record_choices import choices_of

__all__ = ["BadRecord", "Record", "plain_id", "read_record"]

LONGEST_SHOWN = 160
MOST_SHOWN = 8


class BadRecord(UsageError):
    """Unreadable record. The message names the field and the reason."""


class Record:
    """Fields of a record. A missing field is None.

    Attributes:
        text: the complete output. At least one of `text` and `token_ids` is present.
        chunks: the output as it was streamed.
        token_ids: the output as token ids.
        choice: the index of the output among several choices.
        finish_reason: the engine's finish reason, else that of the chunks or of `expected`.
        expected: the server's message, unchanged.
        stop_reason: the stop string or stop token id reported by the engine.
        request: arguments for a parser.
        extra_calls: the server's policy for extra calls.
    """

    __slots__ = (
        "choice",
        "chunks",
        "context",
        "expected",
        "extra_calls",
        "finish_reason",
        "format",
        "id",
        "messages",
        "model",
        "prompt",
        "request",
        "stop_reason",
        "template",
        "text",
        "token_ids",
        "tools",
    )

    def __init__(self, record: Mapping[str, Any]) -> None:
        get = record.get
        self.id, self.choice = get("id"), get("choice")
        self.text, self.chunks = _output(record)
        self.token_ids = _ids("token_ids", get("token_ids"))
        if self.text is None and self.token_ids is None:
            names = ", ".join(map(str, islice(record, MOST_SHOWN))) or "no fields"
            words = f"the record lacks text, chunks and token_ids, but has {names}"
            raise BadRecord(words[:LONGEST_SHOWN])
        self.prompt, self.messages = _asked(get("prompt"), get("messages"))
        self.tools = _list("tools", get("tools"))
        self.context = _context(get("chat_template_kwargs"))
        self.expected = _json("expected", get("expected"))
        self.finish_reason = _reason(get("finish_reason"), get("chunks"), self.expected)
        stop = get("stop_reason")
        self.stop_reason = stop if type(stop) in (str, int) else None
        self.model = get("model")
        self.format = _json_object("format", get("format"))
        self.template = get("template")
        self.request = {name: get(name) for name in REQUEST if get(name) is not None}
        # The parser argument `calls` is a string; a list is another field of the log.
        if isinstance(get("calls"), str):
            self.request["calls"] = get("calls")
        self.extra_calls = _text("extra_calls", get("extra_calls"))
        for name in JSON_FIELDS & self.request.keys():
            self.request[name] = _json_object(name, self.request[name])


REQUEST = ("tool_choice", "parallel_tool_calls", "response_schema")
"""Arguments of a parser that a record may have, in addition to `calls`."""

JSON_FIELDS = {"tool_choice", "response_schema"}


def read_record(record: object) -> Record:
    """Read a record.

    Raises:
        BadRecord: the record is not an object, or has an invalid field.
    """
    if not isinstance(record, Mapping):
        raise BadRecord(f"a record must be an object, not {_shown(record)}")
    return Record(record)


def plain_id(id: Any) -> Any:
    """Return the id of a record, converted to a string if JSON cannot represent it."""
    try:
        json.dumps(id, allow_nan=False, default=repr)
    except ValueError:
        return json.dumps(id, default=repr)
    return id


def _output(record: Mapping[str, Any]) -> tuple[str | None, list[str] | None]:
    """Return the text of the output and its chunks."""
    text, chunks = _text("text", record.get("text")), record.get("chunks")
    if chunks is None:
        return text, None
    came = [_chunk(one, at) for at, one in enumerate(_list("chunks", chunks) or ())]
    return ("".join(came) if text is None else text), came


def _chunk(chunk: object, at: int) -> str:
    """Return the text of a chunk: a string, or a chunk of an engine or of OpenAI's API."""
    if isinstance(chunk, str):
        return chunk
    if isinstance(chunk, Mapping):
        text = chunk.get("text")
        if isinstance(text, str):
            return text
        choices = chunk.get("choices")
        if isinstance(choices, Sequence) and not isinstance(choices, str):
            return "".join(_choice(one) for one in choices[:1])
    raise BadRecord(f"chunks[{at}] must be text or an OpenAI chunk, not {_shown(chunk)}")


def _choice(choice: object) -> str:
    if not isinstance(choice, Mapping):
        return ""
    delta = choice.get("delta")
    text = delta.get("content") if isinstance(delta, Mapping) else choice.get("text")
    return text if isinstance(text, str) else ""


def _text(name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise BadRecord(f"{name} must be text, not {_shown(value)}")


def _context(value: object) -> Mapping[str, Any]:
    """Return additional template variables, such as `enable_thinking`."""
    value = _json("chat_template_kwargs", value)
    if value is None or (isinstance(value, Mapping) and all(type(key) is str for key in value)):
        return value or {}
    raise BadRecord(f"chat_template_kwargs must be an object, not {_shown(value)}")


def _asked(prompt: object, messages: object) -> tuple[str | list[int] | None, list[Any] | None]:
    """Return the prompt (text or ids) and the messages, from the shapes found in logs."""
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str):
        # lm-evaluation-harness logs a list with one prompt, or with messages in JSON.
        text: str = prompt[0]
        prompt = text
        if text.lstrip().startswith("[{"):
            with suppress(BadRecord):
                prompt = _json("prompt", text)
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], Mapping):
        prompt, messages = None, prompt if messages is None else messages
    if isinstance(messages, str) and not messages.lstrip().startswith("["):
        messages = [{"role": "user", "content": messages}]
    read = _ids("prompt", prompt) if isinstance(prompt, list) else _text("prompt", prompt)
    return read, _list("messages", messages)


def _ids(name: str, value: object) -> list[int] | None:
    if value is None:
        return None
    if isinstance(value, list) and all(type(id) is int for id in value):
        return value
    raise BadRecord(f"{name} must be a list of token ids, not {_shown(value)}")


def _list(name: str, value: object) -> list[Any] | None:
    """Return a list, decoded from JSON text if necessary, as in columns of tables."""
    value = _json(name, value)
    if value is None or isinstance(value, list):
        return value
    raise BadRecord(f"{name} must be a list, not {_shown(value)}")


def _json(name: str, value: Any) -> Any:
    """Return a value, decoded from JSON text if it is a string."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"{name} is text, but not JSON: {error}") from None


def _json_object(name: str, value: Any) -> Any:
    """Return a name or an object, decoded from JSON text if necessary."""
    is_json = isinstance(value, str) and value.lstrip().startswith("{")
    return _json(name, value) if is_json else value


def _reason(reason: Any, *others: object) -> str | None:
    """Return the engine's finish reason, from the record, its chunks or its expected message."""
    if reason is None:
        found = (_ended(chunk) for one in others if isinstance(one, list) for chunk in one[::-1])
        reason = next((one for one in found if one is not None), None)
    if reason is None:
        reason = next((one for one in map(_ended, others) if one is not None), None)
    try:
        return reason_text(reason)
    except UsageError:
        raise BadRecord(f"finish_reason must be a string, not {_shown(reason)}") from None


def _ended(chunk: object) -> object:
    """Return the finish reason of a chunk or response of OpenAI's API."""
    return next((choice.get("finish_reason") for _, choice in choices_of(chunk)), None)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
