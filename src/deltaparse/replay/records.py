"""A record of a log: what a model wrote, what it was asked, and what a server made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from deltaparse.partial import UsageError
from deltaparse.stream.finish_reasons import reason_text

from .choices import choices_of

__all__ = ["BadRecord", "Record", "plain_id", "read_record"]

LONGEST_SHOWN = 160
MOST_SHOWN = 8


class BadRecord(UsageError):
    """A record cannot be read; the text says what of it and why."""


class Record:
    """What of a record is read; each attribute is None where the record has nothing.

    `text` is the whole output, `chunks` the same as it came, `token_ids` the same in ids; one of
    them is there. `choice` is which of several outputs it is. `finish_reason` is the engine's;
    where the record names none, that of its chunks, or of what is expected. `expected` is what a
    server made of the output, as it stands in the record. `stop_reason` is the stop string or the
    stop token's id that the engine reports. `request` has those arguments of a
    parser that the record names, `extra_calls` the policy of the server of that name.
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
            words = f"it has no text, no chunks and no token_ids, but {names}"
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
        if isinstance(get("calls"), str):  # a list of calls is something else
            self.request["calls"] = get("calls")
        self.extra_calls = _text("extra_calls", get("extra_calls"))
        for name in JSON_FIELDS & self.request.keys():
            self.request[name] = _json_object(name, self.request[name])


REQUEST = ("tool_choice", "parallel_tool_calls", "response_schema")
"""Arguments of a parser that a record may have, beside `calls`."""

JSON_FIELDS = {"tool_choice", "response_schema"}


def read_record(record: object) -> Record:
    """Read a record.

    Raises:
        BadRecord: it is none.
    """
    if not isinstance(record, Mapping):
        raise BadRecord(f"a record is an object, not {_shown(record)}")
    return Record(record)


def plain_id(id: Any) -> Any:
    """Return the id of a record as JSON has it: one with an infinite number becomes a text."""
    try:
        json.dumps(id, allow_nan=False, default=repr)
    except ValueError:
        return json.dumps(id, default=repr)
    return id


def _output(record: Mapping[str, Any]) -> tuple[str | None, list[str] | None]:
    """The text of the output, and the chunks that it came in."""
    text, chunks = _text("text", record.get("text")), record.get("chunks")
    if chunks is None:
        return text, None
    came = [_chunk(one, at) for at, one in enumerate(_list("chunks", chunks) or ())]
    return ("".join(came) if text is None else text), came


def _chunk(chunk: object, at: int) -> str:
    """The text of a chunk: a string, or raw text as engines and OpenAI's API stream it."""
    if isinstance(chunk, str):
        return chunk
    if isinstance(chunk, Mapping):
        text = chunk.get("text")
        if isinstance(text, str):
            return text
        choices = chunk.get("choices")
        if isinstance(choices, Sequence) and not isinstance(choices, str):
            return "".join(_choice(one) for one in choices[:1])
    raise BadRecord(f"chunks[{at}] is {_shown(chunk)}: a chunk is text, or an OpenAI chunk")


def _choice(choice: object) -> str:
    if not isinstance(choice, Mapping):
        return ""
    delta = choice.get("delta")
    text = delta.get("content") if isinstance(delta, Mapping) else choice.get("text")
    return text if isinstance(text, str) else ""


def _text(name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise BadRecord(f"{name} is {_shown(value)}, not text")


def _context(value: object) -> Mapping[str, Any]:
    """What the template was told besides, such as whether to think."""
    value = _json("chat_template_kwargs", value)
    if value is None or (isinstance(value, Mapping) and all(type(key) is str for key in value)):
        return value or {}
    raise BadRecord(f"chat_template_kwargs is {_shown(value)}, not an object")


def _asked(prompt: object, messages: object) -> tuple[str | list[int] | None, list[Any] | None]:
    """The prompt, as text or ids, and the messages, which logs have in more than one shape."""
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str):
        # lm-evaluation-harness has a prompt so, or messages in JSON.
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
    raise BadRecord(f"{name} is {_shown(value)}, not a list of ids")


def _list(name: str, value: object) -> list[Any] | None:
    """A list, which may stand there as JSON text, as columns of tables have it."""
    value = _json(name, value)
    if value is None or isinstance(value, list):
        return value
    raise BadRecord(f"{name} is {_shown(value)}, not a list")


def _json(name: str, value: Any) -> Any:
    """A value that may stand there as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"{name} is text and no JSON: {error}") from None


def _json_object(name: str, value: Any) -> Any:
    """A value that is a name, or an object that may stand there as JSON text."""
    is_json = isinstance(value, str) and value.lstrip().startswith("{")
    return _json(name, value) if is_json else value


def _reason(reason: Any, *others: object) -> str | None:
    """Why the output ended, in the engine's words."""
    if reason is None:
        found = (_ended(chunk) for one in others if isinstance(one, list) for chunk in one[::-1])
        reason = next((one for one in found if one is not None), None)
    if reason is None:
        reason = next((one for one in map(_ended, others) if one is not None), None)
    try:
        return reason_text(reason)
    except UsageError:
        raise BadRecord(f"finish_reason is {_shown(reason)}, not a word") from None


def _ended(chunk: object) -> object:
    """The finish reason of a chunk or response of OpenAI's API."""
    return next((choice.get("finish_reason") for _, choice in choices_of(chunk)), None)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
