"""Paths of record fields in logs, and the layouts of common engines and harnesses.

text=response.raw                    a nested member
text=outputs.0.text                  the first item of a list
prompt=arguments.0.0|context         the first path that exists
text=outputs.*.text                  every item of a list, each as a choice
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from deltaparse.partial import UsageError

from .record_choices import Several

__all__ = ["FIELDS", "LAYOUTS", "Mapped"]

FIELDS = (
    "id",
    "choice",
    "text",
    "chunks",
    "token_ids",
    "prompt",
    "messages",
    "tools",
    "chat_template_kwargs",
    "tool_choice",
    "parallel_tool_calls",
    "extra_calls",
    "calls",
    "response_schema",
    "finish_reason",
    "stop_reason",
    "expected",
    "model",
    "format",
    "template",
)
"""Fields of a record."""

LAYOUTS: Mapping[str, Mapping[str, str]] = {
    # Chunks of chat completions as streamed by a server without a parser, so with raw text.
    "openai-chunks": {
        "id": "id|chunks.0.id|response.0.id",
        "chunks": "chunks|response|events",
        "model": "model|chunks.0.model|request.model",
        "messages": "messages|request.messages",
        "tools": "tools|request.tools",
        "tool_choice": "tool_choice|request.tool_choice",
    },
    # A request, the raw text, and the chunks of a server with a parser.
    "openai-parsed": {
        "text": "text|raw.*|raw|raw_text|response.raw",
        "expected": "expected|chunks|response|response.choices.0.message",
        "model": "model|request.model",
        "messages": "messages|request.messages",
        "tools": "tools|request.tools",
        "finish_reason": "finish_reason|response.choices.*.finish_reason",
    },
    # RequestOutput of vLLM's offline engine.
    "vllm": {
        "id": "id|request_id",
        "text": "outputs.*.text",
        "token_ids": "outputs.*.token_ids",
        "finish_reason": "outputs.*.finish_reason",
    },
    # Response of SGLang's /generate.
    "sglang": {
        "id": "id|rid|meta_info.id",
        "text": "text",
        "token_ids": "output_ids|token_ids",
        "finish_reason": "meta_info.finish_reason",
    },
    # Last output of a sample in an inspect-ai log; its message is the expected one.
    "inspect-ai": {
        "id": "id|uuid",
        "text": "output.choices.*.message.metadata.raw|output.metadata.raw"
        "|output.choices.*.message.content",
        "expected": "output.choices.*.message",
        "messages": "input",
        "model": "output.model",
        "finish_reason": "output.choices.*.stop_reason",
    },
    # Line of a sample log of lm-evaluation-harness.
    "lm-eval": {
        "id": "doc_id",
        "text": "resps.0.*",
        "prompt": "arguments.gen_args_0.arg_0|arguments.0.0",
    },
}
"""Known layouts. Other fields keep their own names."""

EITHER = "|"
EACH = "*"
INDEX = re.compile("-?[0-9]+")


class Mapped:
    """Callable that moves record fields from paths to their standard places.

    Args:
        fields: the path of each field. Other fields are unchanged.

    Raises:
        UsageError: a field is unknown, or a path is empty.
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        for name, path in fields.items():
            if name not in FIELDS:
                raise UsageError(f"unknown field {name!r}, expected one of: {', '.join(FIELDS)}")
            if not path or not all(path.split(EITHER)):
                raise UsageError(
                    f"field {name!r}: empty path in {path!r}, expected e.g. 'response.raw'"
                )
        self.fields = dict(fields)
        self._paths = [
            (name, [one.split(".") for one in path.split(EITHER)]) for name, path in fields.items()
        ]

    def __call__(self, record: object) -> object:
        """Return the record with its fields moved. A value that is not an object is unchanged."""
        if not self._paths or not isinstance(record, Mapping):
            return record
        mapped = {name: value for name, value in record.items() if name not in self.fields}
        for name, paths in self._paths:
            found = (_at(record, path) for path in paths)
            value = next((one for one in found if one is not None), None)
            if value is not None:
                mapped[name] = value
        return mapped


def _at(value: Any, path: list[str]) -> Any:
    """Return the value at a path, or None. A path with `*` yields `Several` values."""
    for at, key in enumerate(path):
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, (list, tuple)) and key == EACH:
            found = Several(_at(one, path[at + 1 :]) for one in value)
            return found if any(one is not None for one in found) else None
        elif isinstance(value, (list, tuple)) and INDEX.fullmatch(key):
            index = int(key)
            value = value[index] if -len(value) <= index < len(value) else None
        else:
            return None
    return value
