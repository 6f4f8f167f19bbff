"""Where logs have what is read of a record: paths, and those of common engines and harnesses.

text=response.raw                    a member of a member
text=outputs.*.text                  the first of a list
prompt=arguments.0.0|context         the first of these that is there
text=outputs.*.text                  each of a list: a choice of its own
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from deltaparse.partial import UsageError

from .choices import Several

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
"""What is read of a record."""

LAYOUTS: Mapping[str, Mapping[str, str]] = {
    # Chunks of chat completions as they were streamed: raw text, where no parser was on.
    "openai-chunks": {
        "id": "id|chunks.0.id|response.0.id",
        "chunks": "chunks|response|events",
        "model": "model|chunks.0.model|request.model",
        "messages": "messages|request.messages",
        "tools": "tools|request.tools",
        "tool_choice": "tool_choice|request.tool_choice",
    },
    # A request and the chunks that a parsing server streamed, beside the raw text.
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
    # What SGLang's /generate returns.
    "sglang": {
        "id": "id|rid|meta_info.id",
        "text": "text",
        "token_ids": "output_ids|token_ids",
        "finish_reason": "meta_info.finish_reason",
    },
    # A sample of an inspect-ai log: its last output. Its message is what was made of it.
    "inspect-ai": {
        "id": "id|uuid",
        "text": "output.choices.*.message.metadata.raw|output.metadata.raw"
        "|output.choices.*.message.content",
        "expected": "output.choices.*.message",
        "messages": "input",
        "model": "output.model",
        "finish_reason": "output.choices.*.stop_reason",
    },
    # A line of the samples that lm-evaluation-harness logs.
    "lm-eval": {
        "id": "doc_id",
        "text": "resps.0.*",
        "prompt": "arguments.gen_args_0.arg_0|arguments.0.0",
    },
}
"""Known layouts; what they do not name stands under its own name."""

EITHER = "|"
EACH = "*"
INDEX = re.compile("-?[0-9]+")


class Mapped:
    """Reads a record under a mapping of fields to paths; those that it does not name stay.

    Raises:
        UsageError: a field that there is not, or no path.
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        for name, path in fields.items():
            if name not in FIELDS:
                raise UsageError(f"no field {name!r} is read of a record: {', '.join(FIELDS)}")
            if not path or not all(path.split(EITHER)):
                raise UsageError(f"no path says where {name!r} stands: {path!r}")
        self.fields = dict(fields)
        self._paths = [
            (name, [one.split(".") for one in path.split(EITHER)]) for name, path in fields.items()
        ]

    def __call__(self, record: object) -> object:
        """Return the record with its fields in their places; what is no object stays as it is."""
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
    """What stands at a path, None for nothing; `Several` of what stands behind a `*`."""
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
