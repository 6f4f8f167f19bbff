"""vLLM's and SGLang's own streaming parsers, if `tools/servers/peers.py` has downloaded them.

They parse calls in the formats of Qwen 2.5, Hermes and Qwen3-Coder. Each is fed as in its server,
and timed only if its result is correct. A marker is one chunk, like its token. vLLM's parsers get
all previous text with each chunk, so their cost is measured in a text of `small` characters.
"""

from __future__ import annotations

import importlib
import json
import runpy
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import deltaparse as dp
from families import FAMILIES
from sampling import sampled
from settings import Settings
from texts import OBJECTS, listed
from timing import Cost, Reader, chunks
from workloads import TOOLS, Workload

__all__ = ["SERVERS", "missing", "server"]

FETCH = Path(__file__).parents[1] / "tools" / "servers" / "peers.py"
MODULES = {"vLLM": "vllm.tool_parsers", "SGLang": "sglang.srt.function_call.function_call_parser"}
SERVERS = tuple(MODULES)
CELLS = {
    "content": ("qwen25", "content"),
    "string": ("qwen25", "string"),
    "tagged string": ("qwen3_coder", "string"),
    "nested": ("qwen25", "nested"),
    "calls": ("qwen25", "calls"),
}
"""The family and the column for a kind of workload."""
ENDS = {
    "string": '"}}\n</tool_call>',
    "tagged string": "\n</parameter>\n</function>\n</tool_call>",
    "nested": "]}}\n</tool_call>",
}
"""The text that closes the call for a kind of workload."""
VLLM = {"qwen25": "hermes"}
"""vLLM's name of a family, if it differs."""
VOCABULARY = {"<tool_call>": 0, "</tool_call>": 1}

Added = tuple[str, list[tuple[str, str]]]
"""Content, and the name (if present) and the arguments of each piece of a call."""
Read = Callable[[str], Added]


def server(name: str, workload: Workload, how: Settings) -> Cost | None:
    """Measure a server's parser on a workload, None if it is not available or incorrect.

    Errors are printed to standard error.
    """
    family, column = CELLS.get(workload.kind, ("", ""))
    if name not in there() or not family:
        return None
    cell = FAMILIES[family][column]
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            if not is_right(READERS[name](family), cell, workload.kind):
                raise ValueError("its result is incorrect")  # noqa: TRY301 - as others

            def begun() -> Read:
                read = READERS[name](family)
                for token in tokens(cell.start):
                    read(token)
                return read

            return sampled(Reader(begun), timed(workload, how), how)
    except Exception as error:  # noqa: BLE001 - they fail in many ways without a device
        print(f"{name} is not timed on {workload.name}: {error!r}", file=sys.stderr)
        return None


def timed(workload: Workload, how: Settings) -> str:
    """Return the timed text: as many calls as for our parser, else up to `small` characters."""
    family, column = CELLS[workload.kind]
    cell = replace(FAMILIES[family][column], times=workload.times)
    return cell.text(how.small)[: how.small]


def missing() -> list[str]:
    """Return the names of servers that are not downloaded or cannot be imported."""
    return [name for name in SERVERS if name not in there()]


@cache
def there() -> Mapping[str, str]:
    """Make the servers importable, and return the available ones with their versions."""
    given = runpy.run_path(str(FETCH))
    packages = {module.partition(".")[0]: name for name, module in MODULES.items()}
    kept = {
        one: number for one, number in given["VERSIONS"].items() if given["is_kept"](one, number)
    }
    if kept:
        given["install"](tuple(kept))
    found = {}
    for package, number in kept.items():
        try:
            importlib.import_module(MODULES[packages[package]])
            found[packages[package]] = number
        except Exception as error:  # noqa: BLE001 - as above
            print(f"{packages[package]} cannot be imported: {error}", file=sys.stderr)
    return found


class Vocabulary:
    """A replacement for a tokenizer: each chunk is a token with its own id."""

    def __init__(self) -> None:
        self.ids = dict(VOCABULARY)
        self.texts = list(VOCABULARY)

    def get_vocab(self) -> Mapping[str, int]:
        """Return the markers with tokens."""
        return VOCABULARY

    def encode(self, text: str, **_: object) -> list[int]:
        """Return the id of a chunk, a new one for a new chunk."""
        if text not in self.ids:
            self.ids[text] = len(self.texts)
            self.texts.append(text)
        return [self.ids[text]]

    def decode(self, ids: Iterable[int], **_: object) -> str:
        """Return the text of ids, in which markers are searched."""
        return "".join(self.texts[one] for one in ids)


def vllm(family: str) -> Read:
    """Return a function that feeds vLLM's parser of a family, as its server does."""
    manager = importlib.import_module(MODULES["vLLM"]).ToolParserManager
    protocol = importlib.import_module("vllm.entrypoints.openai.chat_completion.protocol")
    tools = [protocol.ChatCompletionToolsParam(**tool) for tool in TOOLS]
    request = SimpleNamespace(tools=tools, tool_choice="auto", skip_special_tokens=False)
    known = Vocabulary()
    parser = manager.get_tool_parser(VLLM.get(family, family))(known, tools)
    came = ""
    ids: list[int] = []

    def read(text: str) -> Added:
        nonlocal came
        before, came = came, came + text
        now = known.encode(text)
        ids.extend(now)
        made = parser.extract_tool_calls_streaming(before, came, text, ids[:-1], ids, now, request)
        if made is None:
            return "", []
        calls = [one.function for one in made.tool_calls or ()]
        return made.content or "", [(one.name or "", one.arguments or "") for one in calls]

    return read


def sglang(family: str) -> Read:
    """Return a function that feeds SGLang's parser of a family, as its server does."""
    module = importlib.import_module(MODULES["SGLang"])
    protocol = importlib.import_module("sglang.srt.entrypoints.openai.protocol")
    parser = module.FunctionCallParser([protocol.Tool(**tool) for tool in TOOLS], family)

    def read(text: str) -> Added:
        content, calls = parser.parse_stream_chunk(text)
        return content, [(one.name or "", one.parameters or "") for one in calls]

    return read


READERS: Mapping[str, Callable[[str], Read]] = {"vLLM": vllm, "SGLang": sglang}


def is_right(read: Read, cell: Workload, kind: str) -> bool:
    """Return True if a parser's result for a short text equals ours."""
    short = listed(OBJECTS[:4]).removesuffix(", ") if kind == "nested" else cell.unit
    text = cell.start + short + ENDS.get(kind, "")
    ours = dp.parse(text, cell.fmt, tools=TOOLS, finish_reason="stop")
    content, names, arguments = "", list[str](), ""
    for chunk in tokens(text):
        more, calls = read(chunk)
        content += more
        for name, piece in calls:
            names += [name] if name else []
            arguments += piece
    return (
        _values(arguments) == _values("".join(call.arguments for call in ours.tool_calls))
        and names == [call.name for call in ours.tool_calls]
        and content.strip() == (ours.content or "").strip()
    )


def tokens(text: str) -> Iterator[str]:
    """Split a text into chunks of four characters, and markers into one chunk each."""
    for marker in VOCABULARY:
        if marker in text:
            before, _, behind = text.partition(marker)
            yield from tokens(before)
            yield marker
            yield from tokens(behind)
            return
    yield from chunks(text)


def _values(arguments: str) -> list[object]:
    """Return the values of concatenated JSON texts."""
    found, pos, decoder = [], 0, json.JSONDecoder()
    while pos < len(arguments):
        value, pos = decoder.raw_decode(arguments, pos)
        found.append(value)
    return found
