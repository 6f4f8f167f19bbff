"""Fakes of vLLM and SGLang with the same signatures, to test the plugins.

`serve` calls vLLM's two parsers in the order of its `DelegatingParser`
(vllm/parser/abstract_parser.py, `parse_delta`, vLLM 0.33), and `fold` joins the results.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from types import ModuleType, SimpleNamespace

from deltaparse import ContentDelta, ReasoningDelta, ToolCallDelta

from ..support import joined


class Tokens:
    """A tokenizer with one token per character."""

    chat_template = "a template"

    def decode(self, ids):
        return "".join(map(chr, ids))

    def get_vocab(self):
        return {}


def ids(text):
    return list(map(ord, text))


def request(**fields):
    """Return a duck-typed request of a server."""
    return SimpleNamespace(**{"tools": None, "tool_choice": "auto"} | fields)


def as_deltas(message):
    """Yield the deltas of a `DeltaMessage`."""
    if message is None:
        return []
    found = [ReasoningDelta(message.reasoning)] if message.reasoning else []
    found += [ContentDelta(message.content)] if message.content else []
    indices = [call.index for call in message.tool_calls]
    assert len(set(indices)) == len(indices)
    for call in message.tool_calls:
        assert (call.id is None) == (call.type is None) == (call.function.name is None)
        arguments = call.function.arguments
        found.append(ToolCallDelta(call.index, call.id, call.function.name, arguments))
    assert found
    return found


def fold(messages):
    """Join `DeltaMessage`s, and check that names and ids occur only once."""
    return joined([delta for message in messages for delta in as_deltas(message)])


def streamed(parser, texts, given=None):
    """Return the joined results of a tool parser for a streamed response."""
    got = [
        parser.extract_tool_calls_streaming("", text, text, [], [], ids(text), given or request())
        for text in texts
    ]
    return fold([*got, parser.finish_streaming()])


def serve(reasoning, tool, texts, given):
    """Return the result of vLLM's server with both parsers, for a streamed response."""
    got, thinking = [], True
    for text in texts:
        if thinking:
            message = reasoning.extract_reasoning_streaming("", text, text, [], [], ids(text))
            if reasoning.has_engine_confirmed_reasoning_end():
                thinking = False
                flushed = reasoning.finish_streaming()
                rest = [getattr(part, "content", None) or "" for part in (message, flushed)]
                if message:
                    message.content = None
                    got.append(message if message.reasoning else None)
            else:
                got.append(message)
        else:
            rest = [text]
        if not thinking:
            chunk = "".join(rest)
            got.append(
                tool.extract_tool_calls_streaming("", chunk, chunk, [], [], ids(chunk), given)
            )
    return fold([*got, reasoning.finish_streaming() if thinking else tool.finish_streaming()])


def serve_whole(reasoning, tool, text, given):
    """Return the same for a complete response, as in `DelegatingParser.parse`."""
    thought, rest = reasoning.extract_reasoning(text, given)
    info = tool.extract_tool_calls(rest or "", given)
    calls = [(call.id, call.function.name, call.function.arguments) for call in info.tool_calls]
    assert info.tools_called == bool(calls)
    return info.content or "", thought or "", calls


class Manager:
    """The part of vLLM's `ToolParserManager` and `ReasoningParserManager` used by plugins."""

    def __init__(self, base):
        self.base = base
        self.registered = {}

    def register_module(self, name=None, force=True, module=None):
        assert issubclass(module, self.base)
        self.registered[name] = module


class ToolParser:
    """The base class, with the constructor of vLLM 0.33."""

    supports_required_and_named = True

    def __init__(self, tokenizer, tools=None):
        raise AssertionError("sets what the plugin answers")

    def adjust_request(self, request):
        request.adjusted_by_base = True
        return request


class ReasoningParser:
    """The base class."""

    def __init__(self, tokenizer, *args, **kwargs):
        raise AssertionError("sets what the plugin answers")


class Fields:
    """A simplified pydantic object with its fields and the set of fields given."""

    def __init__(self, **fields):
        unknown = fields.keys() - self.model_fields
        assert not unknown, unknown
        self.fields_set = set(fields)
        for name in self.model_fields:
            default = [] if name in ("tool_calls", "calls") else None
            setattr(self, name, fields.get(name, default))


def fields(name, *names):
    return type(name, (Fields,), {"model_fields": dict.fromkeys(names)})


def put(monkeypatch, name, **attributes):
    """Put a module and its parent packages into `sys.modules`."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        above = ".".join(parts[:count])
        if above not in sys.modules:
            monkeypatch.setitem(sys.modules, above, ModuleType(above))
    for key, value in attributes.items():
        setattr(sys.modules[name], key, value)


def install_vllm(monkeypatch, *, reasoning="reasoning", where="entrypoints.openai.engine.protocol"):
    """Install a fake vLLM, and return its two managers."""
    tools, thoughts = Manager(ToolParser), Manager(ReasoningParser)
    base = "vllm.tool_parsers.abstract_tool_parser"
    put(monkeypatch, base, ToolParser=ToolParser, ToolParserManager=tools)
    base = "vllm.reasoning.abs_reasoning_parsers"
    put(monkeypatch, base, ReasoningParser=ReasoningParser, ReasoningParserManager=thoughts)
    put(
        monkeypatch,
        f"vllm.{where}",
        DeltaMessage=fields("DeltaMessage", "role", "content", reasoning, "tool_calls"),
        DeltaToolCall=fields("DeltaToolCall", "id", "type", "index", "function"),
        DeltaFunctionCall=fields("DeltaFunctionCall", "name", "arguments"),
        ExtractedToolCallInformation=fields("Info", "tools_called", "tool_calls", "content"),
        ToolCall=fields("ToolCall", "id", "type", "function"),
        FunctionCall=fields("FunctionCall", "name", "arguments"),
    )
    return tools, thoughts


class BaseFormatDetector(ABC):
    """SGLang's base class."""

    def __init__(self):
        raise AssertionError("sets what the plugin answers")

    @abstractmethod
    def detect_and_parse(self, text, tools): ...

    @abstractmethod
    def has_tool_call(self, text): ...

    @abstractmethod
    def structure_info(self): ...

    @abstractmethod
    def build_ebnf(self, tools): ...

    @classmethod
    def parses_without_tools(cls):
        return False


def install_sglang(monkeypatch, *, item=("tool_index", "name", "parameters")):
    """Install a fake SGLang, and return its table of detectors."""
    top = "sglang.srt.function_call"
    table = {}
    put(monkeypatch, f"{top}.base_format_detector", BaseFormatDetector=BaseFormatDetector)
    parser = type("FunctionCallParser", (), {"ToolCallParserEnum": table})
    put(monkeypatch, f"{top}.function_call_parser", FunctionCallParser=parser)
    result = fields("StreamingParseResult", "normal_text", "calls")
    made = fields("ToolCallItem", *item)
    put(monkeypatch, f"{top}.core_types", StreamingParseResult=result, ToolCallItem=made)
    return table
