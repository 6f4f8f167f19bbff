"""Compare other parsers with deltaparse on recorded outputs, as a table of difference classes.

The outputs are a turn of each built-in format with content and calls, complete and truncated at
each tenth. If the environment variable DELTAPARSE_CORPUS is set, the recorded outputs of its
templates are added. Parsers that cannot be imported are listed, but have no column. Servers
downloaded by `tools/servers/peers.py` are imported with stubs.

A class describes the difference between a parser's message and deltaparse's message. `raised`
counts exceptions. Outputs in formats unknown to a parser are not counted as differences.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import runpy
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import deltaparse as dp
from deltaparse.command.format_sample import sample
from deltaparse.replay import CLASSES, difference, made_of, read_expected

__all__ = ["Output", "main", "outputs", "table"]

RAISED, MISSING = "raised", "no such format"
LOOKED_UP = ("<|python_tag|>", "[TOOL_CALLS]", "<tool_call>", "</tool_call>")
"""Tokens that vLLM's parsers look up in every tokenizer."""


@dataclass(frozen=True)
class Output:
    """A response of a model, in a built-in format or a format derived from a template."""

    fmt: dp.WireFormat
    names: tuple[str, ...]
    text: str
    finish: str
    prompt: str = ""
    tools: tuple[dict[str, Any], ...] = ()


Peer = Callable[[Output], Any]
"""Returns the OpenAI message of an output, None if its format is unknown."""


def outputs(folder: Path | None) -> Iterator[Output]:
    """Yield the outputs. The recorded ones are last."""
    for name, aliases in dp.list_formats().items():
        fmt = dp.get_format(name)
        text = sample(_spoken(fmt))
        calls = dp.parse(text, fmt, finish_reason="stop").tool_calls
        tools = tuple(_declared(call) for call in {call.name: call for call in calls}.values())
        for tenth in range(1, 11):
            finish = "stop" if tenth == 10 else "length"
            cut = text[: len(text) * tenth // 10]
            yield Output(fmt, (name, *aliases), cut, finish, tools=tools)
    for rows in sorted(folder.glob("vectors*.jsonl")) if folder else ():
        for line in rows.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            fmt = _analyzed(folder, row["template"])
            if fmt is not None:
                finish = "length" if row["options"]["is_partial"] else "stop"
                prompt = row["generation_prompt"]
                yield Output(fmt, (), row["input"], finish, prompt, tuple(row["tools"]))


def _declared(call: dp.ToolCall) -> dict[str, Any]:
    """Return the tool of a call, with string arguments. Some parsers drop undeclared arguments."""
    properties = {name: {"type": "string"} for name in json.loads(call.arguments)}
    schema = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": call.name, "parameters": schema}}


def _spoken(fmt: dp.WireFormat) -> dp.WireFormat:
    """Return the format without reasoning and end-of-turn markers, unsupported by some parsers."""
    return fmt.replace(reasoning=dp.ReasoningFormat(), turn=dp.TurnFormat(headers=fmt.turn.headers))


@cache
def _analyzed(folder: Path, name: str) -> dp.WireFormat | None:
    path = next((path for path in folder.glob(f"templates*/{name}")), None)
    if path is None:
        return None
    try:
        return dp.analyze(path.read_text(encoding="utf-8"))
    except dp.DeltaParseError:
        return None


def transformers(output: Output) -> Any:
    """Parse with transformers, by a response template built from the format."""
    library = importlib.import_module("transformers.utils.chat_parsing")
    try:
        template = dp.to_response_template(output.fmt)
    except dp.DeltaParseError:
        return None
    parser = library.ResponseParser(template, output.prompt, tools=list(output.tools) or None)
    parser.feed(output.text)
    message, _ = parser.finalize()
    return message


def sglang(output: Output) -> Any:
    """Parse with SGLang's detector for one of the format's names."""
    module = importlib.import_module("sglang.srt.function_call.function_call_parser")
    known = module.FunctionCallParser.ToolCallParserEnum
    name = next((name for name in output.names if name in known), None)
    if name is None:
        return None
    protocol = importlib.import_module("sglang.srt.entrypoints.openai.protocol")
    tools = [protocol.Tool(**tool) for tool in output.tools]
    text, calls = module.FunctionCallParser(tools, name).parse_non_stream(output.text)
    made = [{"function": {"name": one.name, "arguments": one.parameters}} for one in calls]
    return {"content": text, "tool_calls": made}


def vllm(output: Output) -> Any:
    """Parse with vLLM's tool parser for one of the format's names."""
    manager = importlib.import_module("vllm.tool_parsers").ToolParserManager
    known = manager.tool_parsers.keys() | manager.lazy_parsers.keys()
    name = next((name for name in output.names if name in known), None)
    if name is None:
        return None
    texts = [text.strip() for text in _texts(json.loads(output.fmt.to_json()))]
    vocabulary = {text: at for at, text in enumerate(dict.fromkeys((*texts, *LOOKED_UP)))}
    tokenizer = SimpleNamespace(
        get_vocab=lambda: vocabulary, encode=lambda text, **_: [vocabulary.get(text, 0)]
    )
    protocol = importlib.import_module("vllm.entrypoints.openai.chat_completion.protocol")
    tools = [protocol.ChatCompletionToolsParam(**tool) for tool in output.tools]
    request = SimpleNamespace(tools=tools, tool_choice="auto", skip_special_tokens=False)
    parser = manager.get_tool_parser(name)(tokenizer, tools)
    made = parser.extract_tool_calls(output.text, request)
    calls = [one.model_dump() for one in made.tool_calls]
    return {"content": made.content, "tool_calls": calls}


PEERS: dict[str, tuple[str, Peer]] = {
    "transformers": ("transformers.utils.chat_parsing", transformers),
    "vLLM": ("vllm.tool_parsers", vllm),
    "SGLang": ("sglang.srt.function_call.function_call_parser", sglang),
}


def table(given: list[Output], peers: dict[str, Peer]) -> dict[str, Counter[str]]:
    """Return the counts of difference classes for each parser."""
    found: dict[str, Counter[str]] = {name: Counter() for name in peers}
    for output in given:
        ours = made_of(
            dp.parse(
                output.text,
                output.fmt,
                tools=list(output.tools) or None,
                prompt=output.prompt,
                finish_reason=output.finish,  # type: ignore[arg-type]
            )
        )
        for name, peer in peers.items():
            found[name][_class(ours, peer, output)] += 1
    return found


def _class(ours: Any, peer: Peer, output: Output) -> str:
    try:
        message = peer(output)
    except NotImplementedError:
        return MISSING
    except Exception:  # noqa: BLE001 - exceptions are counted
        return RAISED
    return MISSING if message is None else difference(ours, read_expected(message)).kind


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, str):
        yield value


def _stand_in() -> None:
    """Make downloaded servers importable."""
    servers = runpy.run_path(str(Path(__file__).parent / "servers" / "peers.py"))
    wanted = {module.partition(".")[0] for module, _ in PEERS.values()}
    known = servers["VERSIONS"].items()
    there = [name for name, one in known if name in wanted and servers["is_kept"](name, one)]
    if there:
        servers["install"](tuple(there))


def main(argv: list[str] | None = None) -> int:
    """Print the table of all importable parsers."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--corpus", default=os.environ.get("DELTAPARSE_CORPUS"))
    corpus = options.parse_args(argv).corpus
    there: dict[str, Peer] = {}
    _stand_in()
    for name, (module, peer) in PEERS.items():
        try:
            importlib.import_module(module)
            there[name] = peer
        except Exception as error:  # noqa: BLE001 - imports fail in many ways without a GPU
            print(f"{name} cannot be imported: {error}", file=sys.stderr)
    given = list(outputs(Path(corpus) if corpus else None))
    for what, reason in (("whole", "stop"), ("cut off", "length")):
        some = [output for output in given if output.finish == reason]
        found = table(some, there)
        print(f"{len(some)} outputs, {what}, each compared with deltaparse's message")
        print(" ".join((f"{'':16}", *(f"{name:>14}" for name in found))).rstrip())
        for kind in (*CLASSES, RAISED, MISSING):
            if any(counts[kind] for counts in found.values()):
                print(" ".join((f"{kind:16}", *(f"{one[kind]:>14}" for one in found.values()))))
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
