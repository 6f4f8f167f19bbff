"""What the command reads: chat templates, tools, prompts, and the output of a model.

Whatever is wrong with one of them is a `BadInput`, with one line that says which and why.
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
"""The other arguments of the functions that take switches."""


class BadInput(Exception):
    """Something of the user's cannot be used; the text says what and why."""


def chat_template(name: str) -> dp.ChatTemplate:
    """Read a chat template from whatever `ChatTemplate.load` reads."""
    try:
        template = dp.ChatTemplate.load(name)
    except dp.DeltaParseError as error:
        why = str(error).removeprefix(f"{name}: ")
        if not Path(name).exists() and named_format(name):
            why = (
                "a format's name; here a template is read: give a model's folder or its file "
                f"(`deltaparse formats {name}` shows the format)"
            )
        raise BadInput(f"{name}: {why}") from error
    if "messages" not in template.variables:
        raise BadInput(f"{name}: not a chat template: it never reads `messages`")
    return template


def add_source(parser: argparse.ArgumentParser) -> None:
    """Describe how a format is given: by a template, or by its name or file."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--template", metavar="FILE", help="the model's chat template")
    source.add_argument(
        "--format",
        metavar="NAME|FILE",
        help="a format by name, `deltaparse formats`, or a file that has one as JSON",
    )
    parser.add_argument("--cache", metavar="DIR", help="keep what templates tell in this folder")


def add_switches(parser: argparse.ArgumentParser) -> None:
    """Describe how switches of a template are given."""
    parser.add_argument(
        "--switch",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a switch of the template, as analyze(template, NAME=VALUE) takes it; may be repeated",
    )


def read_source(
    options: argparse.Namespace, switches: Mapping[str, Any] = NO_SWITCHES
) -> tuple[dp.ChatTemplate | None, dp.WireFormat]:
    """Read the template, if one is named, and the format that it has under these switches.

    Raises:
        UsageError: there is no format of that name, or the template does not read a switch.
    """
    if options.template is not None:
        template = chat_template(options.template)
        return template, dp.analyze(template, cache=options.cache, **switches)
    if switches:
        raise BadInput("--switch is for --template: a named format has no switches")
    return None, read_format(options.format)


def read_format(name: str) -> dp.WireFormat:
    """Read a format by its name, or from a file that has one as JSON.

    Raises:
        UsageError: there is no format of that name.
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
    """The format that is called so, or that a .json file has; None where it is something else."""
    if Path(name).exists() and not name.lower().endswith(".json"):
        return None
    try:
        return read_format(name)
    except (BadInput, dp.DeltaParseError):
        return None


def messages_list(name: str) -> list[Any]:
    """Read a conversation: a list of OpenAI's messages, or an object that has one as `messages`."""
    found = _json_file(name)
    messages = found.get("messages") if isinstance(found, dict) else found
    if not isinstance(messages, list):
        raise BadInput(f'{name}: not a list of messages: [{{"role": "user", ...}}, ...]')
    return messages


def switches_of(given: Sequence[str]) -> dict[str, Any]:
    """Read switches, `name=value`; a value is JSON if it can be, and else a text."""
    found: dict[str, Any] = {}
    for text in given:
        name, is_one, value = text.partition("=")
        if not is_one or not name:
            raise BadInput(f"--switch {text}: write it as name=value")
        if name in NO_SWITCH:
            raise BadInput(f"--switch {text}: {name} is no switch")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def records(output: io.BufferedReader, name: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a file that has an object in JSON on each line, as they arrive."""
    for at, line in enumerate(output, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{name}, line {at}: not JSON: {error}") from error
        if not isinstance(record, dict) or not isinstance(record.get("text"), str):
            raise BadInput(f'{name}, line {at}: not a record: {{"text": "...", ...}}')
        yield record


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
