"""vLLM's two plugins: `ToolParser` and `ReasoningParser`.

    register_vllm_parsers("mine", fmt)     # in the file that --tool-parser-plugin names

The methods are those of `vllm/tool_parsers/abstract_tool_parser.py` and
`vllm/reasoning/abs_reasoning_parsers.py` as of vLLM 0.33, and those of older versions that other
names had. vLLM makes one object of each for a request and choice, and calls the two in turn: the
reasoning parser until reasoning ends, then the tool parser with what follows. So both start anew
with each object, and the tool parser starts behind reasoning; what reasoning it meets is content,
between `<think>` and `</think>`, because the whole-output method has no field for it.

They set `engine_based_streaming`: then vLLM asks for what is held back at the end
(`finish_streaming`) and feeds no text twice. Versions before that flag never say that an output
has ended: there, what is held back in that moment (the beginning of a marker) is lost.

Forced calls come through the tool parser too (`supports_required_and_named` is False): vLLM's own
reader of them wants the whole text so far, which that flag says is not kept.
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
    """A `ToolParser`; `vllm_tool_parser` makes the class for a format.

    Args:
        tokenizer: the server's, as it comes.
        tools: the request's tools; older versions pass them with the request only.
    """

    source: ClassVar[Any]  # a FormatSource; a function among them is no method
    options: ClassVar[Options]
    results: ClassVar[VllmResults]

    engine_based_streaming = True
    supports_required_and_named = False
    structural_tag_model = "deltaparse"

    def __init__(self, tokenizer: Any = None, tools: Sequence[Any] | None = None) -> None:
        # vLLM's own constructor is left out: it takes one argument or two, as the version is,
        # and sets what is set here, or follows from the parser.
        self.model_tokenizer = tokenizer
        self.tools = list(tools or [])
        self.wire_format = format_of(self.source, tokenizer)
        self._strays = self.options.strays(self.wire_format, tokenizer)
        # Set by vLLM where no reasoning parser comes before this one.
        self.skip_reasoning_parsing = self.options.whole

    def adjust_request(self, request: Any) -> Any:
        """Ask for the special tokens too, if markers are among them; constrain forced calls.

        Not where nothing can be called, and another parser reads the reasoning. Returns the
        request.
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
        """Return xgrammar's `StructuralTag` for a request, None where none can say the format.

        It has no reasoning, which vLLM lets pass before a grammar begins.
        """
        del reasoning
        return tag_of(self.wire_format, request, strict_level)

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """Return the calls of a whole output, an `ExtractedToolCallInformation`; keep nothing.

        A call that the output cuts off is among them, its arguments cut off too.
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
        """Return what `delta_text` makes certain, as a `DeltaMessage`, or None.

        The other texts say nothing new. The tokens say which text is a special token.
        """
        del previous_text, current_text, previous_token_ids, current_token_ids
        if self._parser is None:
            self._parser = self._parser_of(request)
        text = self._strays.feed(delta_text, delta_token_ids)
        return self.results.delta(self._parser.feed(text))

    def finish_streaming(self) -> Any:
        """End the output; return the last `DeltaMessage`, or None."""
        if self._parser is None:
            return None
        held = self._strays.finish()
        deltas = self._parser.feed(held) if held else []
        return self.results.delta([*deltas, *self._parser.finish()])

    def get_remaining_unstreamed_args(self) -> str:
        """Return the arguments that were read and not emitted: there are none."""
        return ""

    def _parser_of(self, request: object) -> StreamParser:
        given = getattr(request, "tools", None)
        tools = tools_of(given if given is not None else self.tools or None)
        # Tools that are all no functions: the model cannot call.
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
    """Make a class for vLLM's `ToolParserManager`, a subclass of its `ToolParser` where it is.

    Args:
        source: the format, its name, or a function of the tokenizer that returns it:
            `deltaparse.analyze`, for one.
        options: `whole`, `policies` and `id_factory`, which `Options` describes.

    Raises:
        UsageError: no format, or an unknown name.
    """
    return _made(VllmToolParser, _bases(TOOL_MODULES, "ToolParser"), source, options)


def vllm_reasoning_parser(
    source: FormatSource, *, call_ends_reasoning: bool = False, **options: Any
) -> type[Any]:
    """Make a class for vLLM's `ReasoningParserManager`, with its `ReasoningParser` as a base.

    Args:
        source: as for `vllm_tool_parser`.
        call_ends_reasoning: a call in reasoning ends it, and is called; otherwise it is reasoning.
        options: `policies`, of which `unclosed_reasoning` and `stray_token` count.

    Raises:
        UsageError: no format, an unknown name, or a format with channels.
    """
    bases = _bases(REASONING_MODULES, "ReasoningParser")
    made = _made(VllmReasoningParser, bases, source, options)
    made.call_ends_reasoning = call_ends_reasoning
    return made


def register_vllm_parsers(
    name: str, source: FormatSource, *, call_ends_reasoning: bool = False, **options: Any
) -> None:
    """Register both parsers with vLLM under a name, for this process.

    Call it in the file that `--tool-parser-plugin` names; `--tool-call-parser` and
    `--reasoning-parser` then take the name.

    Raises:
        UsageError: vLLM is not there; what the two makers of classes raise.
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
    """Make a class of the mixin and the server's own base, for one source."""
    check_source(source)
    attributes = {
        "source": staticmethod(source) if callable(source) else source,
        "options": Options(**options),
        "results": VllmResults(),
        "__doc__": mixin.__doc__,
        "__module__": __name__,
    }
    # Of the mixin's metaclass: vLLM's own classes have none.
    metaclass: Any = type(mixin)
    made: type[Any] = metaclass(class_name(source, mixin.__name__), (mixin, *bases), attributes)
    return made
