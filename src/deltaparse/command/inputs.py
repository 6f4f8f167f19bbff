"""What the command reads: chat templates, tools, prompts, and the output of a model.

Whatever is wrong with one of them is a `BadInput`, with one line that says which and why.
"""

from __future__ import annotations

import codecs
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import deltaparse as dp

__all__ = ["BadInput", "chat_template", "chunks", "model_output", "text_file", "tools_list"]

BLOCK = 1 << 16


class BadInput(Exception):
    """Something of the user's cannot be used; the text says what and why."""


def chat_template(name: str) -> dp.ChatTemplate:
    """Read a chat template from whatever `ChatTemplate.load` reads."""
    try:
        template = dp.ChatTemplate.load(name)
    except dp.DeltaParseError as error:
        raise BadInput(f"{name}: {str(error).removeprefix(f'{name}: ')}") from error
    if "messages" not in template.variables:
        raise BadInput(f"{name}: not a chat template: it never reads `messages`")
    return template


def tools_list(name: str) -> list[Any]:
    """Read the OpenAI tools of a request; what is in the list is not looked at."""
    tools = _json_file(name)
    if not isinstance(tools, list):
        raise BadInput(f'{name}: not a list of tools: [{{"type": "function", ...}}, ...]')
    return tools


def text_file(name: str) -> str:
    """Read a text as it is, to the last white space."""
    return _text(name, "utf-8")


@contextmanager
def model_output(name: str) -> Iterator[io.BufferedReader]:
    """Open the output of a model: a file, or standard input for "-", which stays open."""
    if name == "-":
        if sys.stdin is None:
            raise BadInput("standard input is closed")
        yield cast(io.BufferedReader, sys.stdin.buffer)
        return
    try:
        output = Path(name).open("rb")  # noqa: SIM115 - closed below
    except (OSError, ValueError) as error:
        raise BadInput(f"{name}: {_reason(error)}") from error
    with output:
        yield output


def chunks(output: io.BufferedReader, size: int | None) -> Iterator[bytes]:
    """Yield model output as it arrives, or cut into chunks of `size` characters."""
    # `read1` returns what is there; `read` would wait for a whole block.
    arriving = iter(lambda: output.read1(BLOCK), b"")
    if size is None:
        yield from arriving
        return
    held = ""
    # What is not UTF-8 goes through as it is: the parser replaces it, and says so.
    for text in codecs.iterdecode(arriving, "utf-8", errors="surrogateescape"):
        held += text
        whole = len(held) - len(held) % size
        for start in range(0, whole, size):
            yield held[start : start + size].encode(errors="surrogateescape")
        held = held[whole:]
    if held:
        yield held.encode(errors="surrogateescape")


def _json_file(name: str) -> Any:
    text = _text(name, "utf-8-sig")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{name}: not JSON: {error}") from error


def _text(name: str, encoding: str) -> str:
    try:
        return Path(name).read_bytes().decode(encoding)
    except (OSError, ValueError) as error:
        raise BadInput(f"{name}: {_reason(error)}") from error


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 text: byte 0x{error.object[error.start]:02x} at {error.start}"
    return (isinstance(error, OSError) and error.strerror) or str(error)
