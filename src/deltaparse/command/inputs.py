"""Inputs of the command: chat templates, tools, prompts and model outputs.

Any fault raises `BadInput` with one line that names the input and the reason.
"""

from __future__ import annotations

import argparse
import codecs
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import deltaparse as dp

__all__ = [
    "BadInput",
    "add_source",
    "add_switches",
    "chat_template",
    "chunks",
    "messages_list",
    "model_output",
    "named_format",
    "read_format",
    "read_source",
    "records",
    "switches_of",
    "text_file",
    "tools_list",
]

BLOCK = 1 << 16
NO_SWITCHES: Mapping[str, Any] = {}
NO_SWITCH = (
    *("messages", "tools", "add_generation_prompt", "template", "cache", "trace"),
    *("accept_suggestion", "response_template"),
)
"""Reserved names: other arguments of the functions that take switches."""


class BadInput(Exception):
    """Unusable user input. The message names the input and the reason."""


def chat_template(name: str) -> dp.ChatTemplate:
    """Read a chat template from any source that `ChatTemplate.load` accepts.

    Raises:
        BadInput: the source cannot be read, or it is not a chat template.
    """
    try:
        template = dp.ChatTemplate.load(name)
    except dp.DeltaParseError as error:
        why = str(error).removeprefix(f"{name}: ")
        if not Path(name).exists() and named_format(name):
            why = (
                "this is the name of a format, but a template is expected: give a model's folder "
                f"or its file (`deltaparse formats {name}` shows the format)"
            )
        raise BadInput(f"{name}: {why}") from error
    if "messages" not in template.variables:
        raise BadInput(f"{name}: not a chat template: it never reads `messages`")
    return template


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the options for the format: --template, --format and --cache."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--template", metavar="FILE", help="use the format of this chat template")
    source.add_argument(
        "--format",
        metavar="NAME|FILE",
        help="use a built-in format (see `deltaparse formats`), or a format from a JSON file",
    )
    parser.add_argument(
        "--cache", metavar="DIR", help="cache analysis results in DIR (default: no cache)"
    )


def add_switches(parser: argparse.ArgumentParser) -> None:
    """Add the option for template variables: --switch."""
    parser.add_argument(
        "--switch",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a template variable, e.g. enable_thinking=true (repeatable)",
    )


def read_source(
    options: argparse.Namespace, switches: Mapping[str, Any] = NO_SWITCHES
) -> tuple[dp.ChatTemplate | None, dp.WireFormat]:
    """Read the template (None with --format) and the format under these switches.

    Raises:
        BadInput: the template or file cannot be used, or switches were given with --format.
        UsageError: the format name is unknown, or the template does not read a switch.
    """
    if options.template is not None:
        template = chat_template(options.template)
        return template, dp.analyze(template, cache=options.cache, **switches)
    if switches:
        raise BadInput("--switch requires --template: a built-in format has no switches")
    return None, read_format(options.format)


def read_format(name: str) -> dp.WireFormat:
    """Read a built-in format by name, or a format from a JSON file.

    Raises:
        BadInput: the file is not a format.
        UsageError: the format name is unknown.
    """
    try:
        return dp.get_format(name)
    except dp.UsageError:
        if not (name.lower().endswith(".json") or Path(name).is_file()):
            raise
    try:
        return dp.WireFormat.from_json(_text(name, "utf-8-sig"))
    except dp.FormatError as error:
        raise BadInput(f"{name}: {error}") from error


def named_format(name: str) -> dp.WireFormat | None:
    """Return the built-in format with this name or the format in a .json file, else None."""
    if Path(name).exists() and not name.lower().endswith(".json"):
        return None
    try:
        return read_format(name)
    except (BadInput, dp.DeltaParseError):
        return None


def messages_list(name: str) -> list[Any]:
    """Read OpenAI messages from a JSON file: a list, or an object with `messages`."""
    found = _json_file(name)
    messages = found.get("messages") if isinstance(found, dict) else found
    if not isinstance(messages, list):
        raise BadInput(f'{name}: not a list of messages, expected [{{"role": "user", ...}}, ...]')
    return messages


def switches_of(given: Sequence[str]) -> dict[str, Any]:
    """Parse switches of the form `name=value`. A value that is not JSON is a string."""
    found: dict[str, Any] = {}
    for text in given:
        name, is_one, value = text.partition("=")
        if not is_one or not name:
            raise BadInput(f"--switch {text}: expected NAME=VALUE")
        if name in NO_SWITCH:
            raise BadInput(f"--switch {text}: {name} is a reserved name, not a template variable")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def records(output: io.BufferedReader, name: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a JSON Lines file as they arrive.

    Raises:
        BadInput: a line is not a JSON object with a `text`.
    """
    for at, line in enumerate(output, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{name}, line {at}: not JSON: {error}") from error
        if not isinstance(record, dict) or not isinstance(record.get("text"), str):
            raise BadInput(f'{name}, line {at}: not a record, expected {{"text": "...", ...}}')
        yield record


def tools_list(name: str) -> list[Any]:
    """Read OpenAI tools from a JSON file. The items of the list are not checked here."""
    tools = _json_file(name)
    if not isinstance(tools, list):
        raise BadInput(f'{name}: not a list of tools, expected [{{"type": "function", ...}}, ...]')
    return tools


def text_file(name: str) -> str:
    """Read a text file without changing its whitespace."""
    return _text(name, "utf-8")


@contextmanager
def model_output(name: str) -> Iterator[io.BufferedReader]:
    """Open a model output: a file, or "-" for standard input, which is not closed."""
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
    # `read1` returns the available bytes, while `read` would wait for a full block.
    arriving = iter(lambda: output.read1(BLOCK), b"")
    if size is None:
        yield from arriving
        return
    held = ""
    # Invalid UTF-8 is passed on unchanged, because the parser replaces and reports it.
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
