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
PREFERRED = ("tool_use", "default")
"""Which of several named templates is taken: the first that is there."""


class BadInput(Exception):
    """Something of the user's cannot be used; the text says what and why."""


def chat_template(name: str) -> dp.ChatTemplate:
    """Read a chat template: a file of Jinja, or a `tokenizer_config.json` that holds one."""
    if name.lower().endswith(".json"):
        config = _json_file(name)
        if not isinstance(config, dict):
            raise BadInput(f"{name}: not a tokenizer configuration: no JSON object")
        source, tokens = _source(name, config), [_token(config, "bos"), _token(config, "eos")]
    else:
        source, tokens = _text(name, "utf-8-sig"), ["", ""]
    try:
        template = dp.ChatTemplate(source, *tokens)
    except dp.DeltaParseError as error:
        raise BadInput(f"{name}: {error}") from error
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


def _source(name: str, config: dict[str, Any]) -> str:
    """Return the template in a tokenizer configuration, or in the file beside it."""
    found = config.get("chat_template")
    if found is None:
        beside = Path(name).with_name("chat_template.jinja")
        if not beside.is_file():
            raise BadInput(f"{name}: no chat_template in it, and no {beside.name} beside it")
        return _text(str(beside), "utf-8-sig")
    if isinstance(found, list):
        named = {entry.get("name"): entry for entry in found if isinstance(entry, dict)}
        entry = next((named[wanted] for wanted in PREFERRED if wanted in named), None)
        if entry is None:
            raise BadInput(f'{name}: no chat_template named "tool_use" or "default"')
        found = entry.get("template")
    if not isinstance(found, str):
        raise BadInput(f"{name}: its chat_template is not a text")
    return found


def _token(config: dict[str, Any], which: str) -> str:
    """Return the text of a special token, which may be written as an object."""
    token = config.get(f"{which}_token")
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else ""


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
