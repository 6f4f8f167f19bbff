"""Other parsers, each used as intended for streaming.

transformers parses a stream by a `response_template`. The two templates here are typical of
checkpoints. It emits a call as raw text, and its arguments only after the end, so it does less than
deltaparse. Readers of JSON are of two kinds: incremental ones, and ones that read all previous text
again for each chunk.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import ijson

from sampling import sampled
from settings import Settings
from timing import Cost, Feed, Make, Reader
from workloads import FORMAT, TAGGED, Workload

__all__ = ["AGAIN", "PUSHED", "again", "missing", "push", "transformers"]

TRAILING = "trailing-strings"

JSON_TEMPLATE = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|model|>",
    "fields": {
        "reasoning_content": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open_pattern": r"\s*<call>",
            "close": "</call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"\s*<\|end\|>"},
    },
}
TAGGED_TEMPLATE = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "tool_calls": {
            "open_pattern": r"\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>",
            "close_pattern": r"</function>\s*</tool_call>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {
                "tag_pattern": r"<parameter=(?P<key>[^>\n]+)>\n(?P<value>.*?)\n</parameter>"
            },
            "transform": {
                "type": "function",
                "function": {"name": "{name}", "arguments": "{content}"},
            },
        },
        "content": {"close_pattern": r"\s*<\|im_end\|>"},
    },
}
TEMPLATES = ((FORMAT, JSON_TEMPLATE), (TAGGED, TAGGED_TEMPLATE))
CHAT_PARSING = "transformers.utils.chat_parsing"


def transformers(workload: Workload, size: int, how: Settings) -> Cost | None:
    """Measure transformers on a workload, None if it is not installed or does not support it."""
    library = installed(CHAT_PARSING)
    template = next((given for fmt, given in TEMPLATES if fmt == workload.fmt), None)
    if library is None or template is None:
        return None

    def make() -> Feed:
        parser = library.ResponseParser(template, "", tools=workload.tools)
        parser.feed(workload.start)
        feed: Feed = parser.feed
        return feed

    return sampled(Reader(make), workload.text(size), how)


class Pushed:
    """One of ijson's push parsers, fed with text."""

    def __init__(self, backend: Any) -> None:
        self.events = ijson.sendable_list()
        self.parser = backend.basic_parse_coro(self.events)

    def feed(self, text: str) -> None:
        """Feed the next chunk, and drop its events."""
        self.parser.send(text.encode())
        self.events.clear()

    def __del__(self) -> None:
        # An unfinished parser prints an error when it is deleted.
        with suppress(ijson.JSONError):
            self.parser.close()


def pushed(backend: Any) -> Feed:
    return Pushed(backend).feed


AGAIN: dict[str, Callable[[Any], Feed]] = {
    "jiter": lambda lib: lambda text: lib.from_json(text.encode(), partial_mode=TRAILING),
    "pydantic_core": lambda lib: lambda text: lib.from_json(text, allow_partial=TRAILING),
    "partial_json_parser": lambda lib: lib.loads,
    "json_repair": lambda lib: lib.loads,
}
PUSHED = ("ijson.backends.yajl2_c", "ijson.backends.python")


def push() -> dict[str, Make]:
    """Return the incremental readers by name."""
    return {name: partial(pushed, lib) for name in PUSHED if (lib := installed(name))}


def again() -> dict[str, Feed]:
    """Return the readers that start over for each chunk, by name."""
    return {name: make(lib) for name, make in AGAIN.items() if (lib := installed(name))}


def installed(module: str) -> Any:
    """Return the module, None if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def missing() -> list[str]:
    """Return the names of missing libraries."""
    return [name for name in (*AGAIN, *PUSHED, CHAT_PARSING) if installed(name) is None]
