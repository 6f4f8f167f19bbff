"""Run an example of vLLM or SGLang with their own classes, but a script instead of a GPU engine.

    python tools/loops/stand_ins.py FILE

The example's calls are checked against the servers' own code: sampling parameters, signatures of
the engines, plugin managers and chat serving. `tools/servers/peers.py` downloads that code. The
model folder has a tokenizer, but no weights.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import io
import json
import runpy
import sys
import tempfile
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools" / "servers"), str(ROOT / "tools" / "loops")]

import shown  # noqa: E402

import peers  # noqa: E402

CALL = '<tool_call>{"name": "clock", "arguments": {"zone": "Asia/Tokyo"}}</tool_call><|im_end|>'
TOOLS = [{"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}]


def signature(server: str, path: str, name: str) -> inspect.Signature:
    """Return the signature of a method, read from a server's source without an import."""
    file = peers.fetch(server, peers.VERSIONS[server]) / server / path
    owner, method = name.split(".")
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == owner:
            for found in node.body:
                is_function = isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef)
                if is_function and found.name == method:
                    return _signature(found.args)
    raise SystemExit(f"{path} has no {name}")


def fields(server: str, path: str, name: str) -> set[str]:
    """Return the annotated fields of a class, read from a server's source."""
    file = peers.fetch(server, peers.VERSIONS[server]) / server / path
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return {ast.unparse(one.target) for one in node.body if isinstance(one, ast.AnnAssign)}
    raise SystemExit(f"{path} has no {name}")


def _signature(given: ast.arguments) -> inspect.Signature:
    kinds = inspect.Parameter
    names = [one.arg for one in given.args]
    optional = len(names) - len(given.defaults)
    found = [
        kinds(name, kinds.POSITIONAL_OR_KEYWORD, **({"default": None} if at >= optional else {}))
        for at, name in enumerate(names)
    ]
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        more = {} if default is None else {"default": None}
        found.append(kinds(one.arg, kinds.KEYWORD_ONLY, **more))
    if given.kwarg:
        found.append(kinds(given.kwarg.arg, kinds.VAR_KEYWORD))
    return inspect.Signature(found)


class Script:
    """A model that writes one call, as tokens, if the structural tag allows it."""

    def __init__(self, folder: str) -> None:
        from transformers import AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.folder = folder

    def write(self, limit: int, tag: str, *, keeps: bool) -> tuple[list[int], str]:
        """Return the token ids of a response, and its finish reason."""
        if not keeps or json.loads(tag)["type"] != "structural_tag":
            raise SystemExit("special tokens are dropped, or the grammar is missing")
        ids = self.tokenizer.encode(CALL, add_special_tokens=False)
        return ids[:limit], "stop" if len(ids) <= limit else "length"


def vllm_engines(script: Script) -> None:
    """Replace vLLM's two engines by the script."""
    import vllm
    import vllm.v1.engine.async_llm as asynchronous
    from vllm.sampling_params import SamplingParams

    llm = "entrypoints/llm.py", "LLM"
    streams = "v1/engine/async_llm.py", "AsyncLLM"

    def checked(place: tuple[str, str], method: str, *given: Any, **named: Any) -> None:
        signature("vllm", place[0], f"{place[1]}.{method}").bind(None, *given, **named)

    def written(sampling: Any) -> tuple[list[int], str]:
        if not isinstance(sampling, SamplingParams):
            raise SystemExit(f"not a SamplingParams: {sampling}")
        tag = sampling.structured_outputs.structural_tag
        return script.write(sampling.max_tokens, tag, keeps=not sampling.skip_special_tokens)

    class LLM:
        def __init__(self, *given: Any, **named: Any) -> None:
            checked(llm, "__init__", *given, **named)

        def get_tokenizer(self) -> Any:
            checked(llm, "get_tokenizer")
            return script.tokenizer

        def generate(self, prompts: Any, sampling: Any, **named: Any) -> Any:
            checked(llm, "generate", prompts, sampling, **named)
            ids, reason = written(sampling)
            answer = SimpleNamespace(token_ids=ids, finish_reason=reason)
            return [SimpleNamespace(outputs=[answer]) for _ in prompts]

    class AsyncLLM:
        @classmethod
        def from_engine_args(cls, *given: Any, **named: Any) -> AsyncLLM:
            checked(streams, "from_engine_args", *given, **named)
            return cls()

        def get_tokenizer(self) -> Any:
            checked(streams, "get_tokenizer")
            return script.tokenizer

        async def generate(self, *given: Any, **named: Any) -> Any:
            checked(streams, "generate", *given, **named)
            ids, reason = written(given[1])
            for at, id in enumerate(ids):
                last = reason if at == len(ids) - 1 else None
                answer = SimpleNamespace(token_ids=[id], finish_reason=last)
                yield SimpleNamespace(outputs=[answer])

        def shutdown(self) -> None:
            checked(streams, "shutdown")

    vllm.LLM, vllm.SamplingParams = LLM, SamplingParams
    vllm.AsyncEngineArgs = lambda *, model: model
    asynchronous.AsyncLLM = AsyncLLM


def sglang_engine(script: Script) -> None:
    """Replace SGLang's engine by the script."""
    import sglang

    known = fields("sglang", "srt/sampling/sampling_params.py", "SamplingParams")
    place = "srt/entrypoints/engine.py"

    class Engine:
        tokenizer_manager = SimpleNamespace(tokenizer=script.tokenizer)

        def __init__(self, **named: Any) -> None:
            signature("sglang", place, "Engine.__init__").bind(None, **named)

        def generate(self, **named: Any) -> Any:
            signature("sglang", place, "Engine.generate").bind(None, **named)
            asked = named["sampling_params"]
            if not known.issuperset(asked):
                raise SystemExit(f"unknown SamplingParams: {asked}")
            limit, tag = asked["max_new_tokens"], asked["structural_tag"]
            ids, reason = script.write(limit, tag, keeps=not asked["skip_special_tokens"])
            for count in range(1, len(ids) + 1):
                last = {"type": reason} if count == len(ids) else None
                yield {"output_ids": ids[:count], "meta_info": {"finish_reason": last}}

        def shutdown(self) -> None:
            signature("sglang", place, "Engine.shutdown").bind(None)

    sglang.Engine = Engine


def run_engine(path: Path, script: Script) -> None:
    """Run an example of an engine: a complete turn, and a truncated one."""
    for limit in ((), (12,)):
        printed = io.StringIO()
        with redirect_stdout(printed):
            made = runpy.run_path(str(path))["main"](script.folder, *limit)
            if inspect.iscoroutine(made):
                asyncio.run(made)
        answers = 2 if path.stem == "vllm_offline" else 1
        wrong = shown.engine(printed.getvalue(), cut=bool(limit), answers=answers)
        if wrong:
            raise SystemExit(f"{wrong}:\n{printed.getvalue()}")


def vllm_plugin(path: Path, script: Script) -> None:
    """Load the plugin as vLLM does, and run vLLM's chat serving with it."""
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.entrypoints.openai.chat_completion.stream_processor import ChatStreamProcessor
    from vllm.parser.parser_manager import ParserManager
    from vllm.reasoning.abs_reasoning_parsers import ReasoningParserManager
    from vllm.tool_parsers.abstract_tool_parser import ToolParserManager

    ToolParserManager.import_tool_parser(str(path))
    ReasoningParserManager.import_reasoning_parser(str(path))
    made = ParserManager.get_parser("mine", "mine", enable_auto_tools=True)
    tokenizer, messages = script.tokenizer, [{"role": "user", "content": "Hi"}]
    asked = ChatCompletionRequest(model="m", messages=messages, tools=TOOLS, stream=True)
    asked = made(tokenizer, TOOLS, chat_template_kwargs={}).adjust_request(asked)
    if asked.skip_special_tokens is not False:
        raise SystemExit("special tokens are dropped")
    serving = ChatStreamProcessor(
        asked,
        made(tokenizer, TOOLS, chat_template_kwargs={}),
        enable_auto_tools=True,
        parser_cls=made,
    )
    ids, found = tokenizer.encode(CALL, add_special_tokens=False), []
    for at, id in enumerate(ids):
        last = "stop" if at == len(ids) - 1 else None
        delta = serving.step(tokenizer.decode([id]), [id], last, tokenizer.encode("Hi")).delta
        found += (delta and delta.tool_calls) or []
    check(found[0].function.name, "".join(call.function.arguments or "" for call in found))


def sglang_plugin(path: Path, script: Script) -> None:
    """Load the plugin, and parse as SGLang does."""
    from sglang.srt.entrypoints.openai.protocol import Tool
    from sglang.srt.function_call.function_call_parser import FunctionCallParser
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    started: list[Any] = []
    sys.modules["sglang.launch_server"] = SimpleNamespace(run_server=started.append)  # type: ignore[assignment]
    arguments = SimpleNamespace(prepare_server_args=lambda given: given)
    sys.modules["sglang.srt.server_args"] = arguments  # type: ignore[assignment]
    sys.argv = [str(path), script.folder, "--port", "1"]
    runpy.run_path(str(path), run_name="__main__")
    names = ["--tool-call-parser", "mine", "--reasoning-parser", "mine"]
    if started != [["--model-path", script.folder, *names, "--port", "1"]]:
        raise SystemExit(f"started with {started}")
    thinking = ReasoningParser("mine", True, False, tokenizer=script.tokenizer)
    calling = FunctionCallParser([Tool(**TOOLS[0])], "mine", tokenizer=script.tokenizer)
    text = CALL.removesuffix("<|im_end|>")
    items = []
    for character in text:
        _, rest = thinking.parse_stream_chunk(character)
        items += calling.parse_stream_chunk(rest)[1]
    items += calling.parse_stream_end()[1]
    check(items[0].name, "".join(item.parameters for item in items))


def check(name: str, arguments: str) -> None:
    """Exit if the call differs from the script's call."""
    if (name, json.loads(arguments)) != ("clock", {"zone": "Asia/Tokyo"}):
        raise SystemExit(f"called {name} with {arguments}")


def main(path: Path) -> None:
    warnings.simplefilter("ignore")
    server = path.stem.partition("_")[0]
    with tempfile.TemporaryDirectory() as folder:
        tiny = runpy.run_path(str(path.with_name("tiny_model.py")))
        tiny["tokenizer"]().save_pretrained(folder)
        script = Script(folder)
        peers.install((server,))
        if path.stem.endswith("_plugin"):
            {"vllm": vllm_plugin, "sglang": sglang_plugin}[server](path, script)
        else:
            {"vllm": vllm_engines, "sglang": sglang_engine}[server](script)
            run_engine(path, script)
    print(f"{path.name} does with {server} {peers.VERSIONS[server]} as it should")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
