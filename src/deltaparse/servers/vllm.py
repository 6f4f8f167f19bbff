"""vLLM plugins: `ToolParser` and `ReasoningParser`.

    register_vllm_parsers("mine", fmt)     # in the file given as --tool-parser-plugin

The interfaces are `vllm/tool_parsers/abstract_tool_parser.py` and
`vllm/reasoning/abs_reasoning_parsers.py` of vLLM 0.33, and the method names of older versions. vLLM
creates one object of each class per request and choice. It feeds the reasoning parser until
reasoning ends, then the tool parser with the rest. The tool parser therefore starts after the
reasoning. Any remaining reasoning is content between `<think>` and `</think>`, because the method
for complete responses has no field for it.

Both classes set `engine_based_streaming`. vLLM then calls `finish_streaming` for the buffered text
at the end, and feeds no text twice. Versions without this flag never report the end of a response,
so the buffered text (e.g. a marker prefix) is lost.

Forced calls are also read by the tool parser (`supports_required_and_named` is False). vLLM's own
reader needs the complete text so far, but vLLM does not keep it with `engine_based_streaming`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from deltaparse.partial import UsageError
from deltaparse.stream import StreamParser
from deltaparse.stream.tools import read_tools

from .plugin import (
    CallsSoFar,
    FormatSource,
    Options,
    check_source,
    class_name,
    format_of,
    imported,
    not_there,
)
from .requests import tool_choice_of, tools_of
from .special_tokens import with_special_tokens
from .vllm_reasoning import VllmReasoningParser
from .vllm_results import VllmResults
from .vllm_structure import calls_of, constrain_to_json, tag_of

__all__ = [
    "VllmReasoningParser",
    "VllmToolParser",
    "register_vllm_parsers",
    "vllm_reasoning_parser",
    "vllm_tool_parser",
]

TOOL_MODULES = (
    "vllm.tool_parsers.abstract_tool_parser",
    "vllm.entrypoints.openai.tool_parsers.abstract_tool_parser",
)
REASONING_MODULES = ("vllm.reasoning.abs_reasoning_parsers",)


class VllmToolParser(CallsSoFar):
    """A `ToolParser` for vLLM. `vllm_tool_parser` creates the class for a format.

    Args:
        tokenizer: the server's tokenizer.
        tools: the request's tools. Older versions pass them only with the request.
    """

    source: ClassVar[Any]  # a FormatSource, as a staticmethod if it is a function
    options: ClassVar[Options]
    results: ClassVar[VllmResults]

    engine_based_streaming = True
    supports_required_and_named = False
    structural_tag_model = "deltaparse"

    def __init__(self, tokenizer: Any = None, tools: Sequence[Any] | None = None) -> None:
        # vLLM's constructor is not called, because its arguments depend on the version. Its
        # attributes are set here or are computed from the parser.
        self.model_tokenizer = tokenizer
        self.tools = list(tools or [])
        self.wire_format = format_of(self.source, tokenizer)
        self._strays = self.options.strays(self.wire_format, tokenizer)
        # vLLM sets this attribute if it has no reasoning parser.
        self.skip_reasoning_parsing = self.options.whole

    def adjust_request(self, request: Any) -> Any:
        """Set a request to keep special tokens if markers need them, and constrain forced calls.

        Special tokens are not requested if no tool can be called and another parser reads the
        reasoning.

        Args:
            request: the request, modified in place.

        Returns:
            The same request.
        """
        adjust = getattr(super(), "adjust_request", None)
        request = request if adjust is None else adjust(request)
        constrain_to_json(request)
        calls = getattr(request, "tools", None) and getattr(request, "tool_choice", "") != "none"
        if not calls and not self.skip_reasoning_parsing:
            return request
        return with_special_tokens(request, self.wire_format, self.model_tokenizer)

    def get_structural_tag(
        self, request: Any, *, reasoning: bool = False, strict_level: int = 0
    ) -> Any:
        """Return xgrammar's `StructuralTag` for a request, or None if it cannot express the format.

        The tag excludes reasoning, because vLLM applies grammars only after it.

        Args:
            request: the request, with its tools and tool choice.
            reasoning: ignored.
            strict_level: vLLM's `ToolStrictLevel`.
        """
        del reasoning
        return tag_of(self.wire_format, request, strict_level)

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """Return the calls of a complete response. The state is unchanged.

        A truncated call is included, with truncated arguments.

        Args:
            model_output: the complete response.
            request: the request.

        Returns:
            An `ExtractedToolCallInformation`.
        """
        parser = self._parser_of(request)
        strays = self.options.strays(self.wire_format, self.model_tokenizer)
        parser.feed(strays.feed(model_output) + strays.finish())
        parser.finish()
        return self.results.extracted(parser.message)

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> Any:
        """Return the new content and calls in `delta_text`.

        The previous and current texts are ignored, because the parser keeps its own state.

        Args:
            delta_text: the next chunk.
            delta_token_ids: its token ids, to identify special tokens.
            request: the request. Only that of the first chunk is used.

        Returns:
            A `DeltaMessage`, or None.
        """
        del previous_text, current_text, previous_token_ids, current_token_ids
        if self._parser is None:
            self._parser = self._parser_of(request)
        text = self._strays.feed(delta_text, delta_token_ids)
        return self.results.delta(self._parser.feed(text))

    def finish_streaming(self) -> Any:
        """End the response and return the last `DeltaMessage`, or None."""
        if self._parser is None:
            return None
        held = self._strays.finish()
        deltas = self._parser.feed(held) if held else []
        return self.results.delta([*deltas, *self._parser.finish()])

    def get_remaining_unstreamed_args(self) -> str:
        """Return "", because the parser has no pending arguments."""
        return ""

    def _parser_of(self, request: object) -> StreamParser:
        given = getattr(request, "tools", None)
        tools = tools_of(given if given is not None else self.tools or None)
        # Without any function among the tools, the model cannot call.
        can_call = tools is None or len(read_tools(tools)) > 0
        return self.options.parser(
            self.wire_format,
            whole=self.skip_reasoning_parsing,
            reasoning="inline",
            tools=tools,
            tool_choice=tool_choice_of(request, tools) if can_call else "none",
            parallel_tool_calls=getattr(request, "parallel_tool_calls", None) is not False,
            calls=calls_of(request) if can_call else "format",
        )


def vllm_tool_parser(source: FormatSource, **options: Any) -> type[Any]:
    """Return a class for vLLM's `ToolParserManager`. Its base is vLLM's `ToolParser` if available.

    Args:
        source: the format, its name, or a function from the tokenizer to a format, e.g.
            `deltaparse.analyze`.
        options: `whole`, `policies` and `id_factory` of `Options`.

    Raises:
        UsageError: the source is not a format or a known name.
    """
    return _made(VllmToolParser, _bases(TOOL_MODULES, "ToolParser"), source, options)


def vllm_reasoning_parser(
    source: FormatSource, *, call_ends_reasoning: bool = False, **options: Any
) -> type[Any]:
    """Return a class for vLLM's `ReasoningParserManager`. Its base is vLLM's class if available.

    Args:
        source: as for `vllm_tool_parser`.
        call_ends_reasoning: a call in reasoning ends it and is a tool call. By default it is
            reasoning.
        options: `policies`, from which `unclosed_reasoning` and `stray_token` are used.

    Raises:
        UsageError: the source is not a format or a known name, or the format has channels.
    """
    bases = _bases(REASONING_MODULES, "ReasoningParser")
    made = _made(VllmReasoningParser, bases, source, options)
    made.call_ends_reasoning = call_ends_reasoning
    return made


def register_vllm_parsers(
    name: str, source: FormatSource, *, call_ends_reasoning: bool = False, **options: Any
) -> None:
    """Register both parsers with vLLM under a name, for this process.

    Call this function in the file given as `--tool-parser-plugin`. The name is then valid for
    `--tool-call-parser` and `--reasoning-parser`.

    Args:
        name: the name to register.
        source: as for `vllm_tool_parser`.
        call_ends_reasoning: as for `vllm_reasoning_parser`.
        options: as for `vllm_tool_parser`.

    Raises:
        UsageError: vLLM is not installed, or the source is invalid.
    """
    tools = imported(TOOL_MODULES, "ToolParserManager")
    reasoning = imported(REASONING_MODULES, "ReasoningParserManager")
    if tools is None or reasoning is None:
        raise UsageError(not_there("register_vllm_parsers()", "vllm"))
    tool_parser = vllm_tool_parser(source, **options)
    tools[0].register_module(name=name, force=True, module=tool_parser)
    fmt = source if callable(source) else format_of(source, None)
    if callable(fmt) or not fmt.derived.has_channels:
        made = vllm_reasoning_parser(source, call_ends_reasoning=call_ends_reasoning, **options)
        reasoning[0].register_module(name=name, force=True, module=made)


def _bases(modules: Iterable[str], name: str) -> tuple[type[Any], ...]:
    return tuple(imported(modules, name) or ())


def _made(
    mixin: type[Any], bases: tuple[type[Any], ...], source: FormatSource, options: dict[str, Any]
) -> type[Any]:
    """Return a class for one source, from the mixin and the server's base class."""
    check_source(source)
    attributes = {
        "source": staticmethod(source) if callable(source) else source,
        "options": Options(**options),
        "results": VllmResults(),
        "__doc__": mixin.__doc__,
        "__module__": __name__,
    }
    # The mixin may have a metaclass. vLLM's classes use the default one, so both are compatible.
    metaclass: Any = type(mixin)
    made: type[Any] = metaclass(class_name(source, mixin.__name__), (mixin, *bases), attributes)
    return made
