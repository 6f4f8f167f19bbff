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
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from deltaparse.partial import UsageError
from deltaparse.stream import StreamParser

from .plugin import (
    CallsSoFar,
    FormatSource,
    Options,
    check_source,
    class_name,
    format_of,
    imported,
    tool_choice_of,
    tools_of,
)
from .vllm_reasoning import VllmReasoningParser
from .vllm_results import VllmResults

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

    def __init__(self, tokenizer: Any = None, tools: Sequence[Any] | None = None) -> None:
        # vLLM's own constructor is left out: it takes one argument or two, as the version is,
        # and sets what is set here, or follows from the parser.
        self.model_tokenizer = tokenizer
        self.tools = list(tools or [])
        self.wire_format = format_of(self.source, tokenizer)
        # Set by vLLM where no reasoning parser comes before this one.
        self.skip_reasoning_parsing = self.options.whole

    def adjust_request(self, request: Any) -> Any:
        """Ask for the special tokens too, for markers are among them; return the request."""
        adjust = getattr(super(), "adjust_request", None)
        request = request if adjust is None else adjust(request)
        request.skip_special_tokens = False
        return request

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """Return the calls of a whole output, an `ExtractedToolCallInformation`; keep nothing.

        A call that the output cuts off is among them, its arguments cut off too.
        """
        parser = self._parser_of(request)
        parser.feed(model_output)
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

        The other texts and the tokens say nothing new, and are not looked at.
        """
        del previous_text, current_text, previous_token_ids, current_token_ids, delta_token_ids
        if self._parser is None:
            self._parser = self._parser_of(request)
        return self.results.delta(self._parser.feed(delta_text))

    def finish_streaming(self) -> Any:
        """End the output; return the last `DeltaMessage`, or None."""
        return None if self._parser is None else self.results.delta(self._parser.finish())

    def get_remaining_unstreamed_args(self) -> str:
        """Return the arguments that were read and not emitted: there are none."""
        return ""

    def _parser_of(self, request: object) -> StreamParser:
        tools = getattr(request, "tools", None)
        return self.options.parser(
            self.wire_format,
            whole=self.skip_reasoning_parsing,
            reasoning="inline",
            tools=tools_of(tools if tools is not None else self.tools or None),
            tool_choice=tool_choice_of(request),
            parallel_tool_calls=getattr(request, "parallel_tool_calls", None) is not False,
        )


def vllm_tool_parser(source: FormatSource, **options: Any) -> type[Any]:
    """Make a class for vLLM's `ToolParserManager`, a subclass of its `ToolParser` where it is.

    Args:
        source: the format, its name, or a function of the tokenizer that returns it, such as
            `lambda tokenizer: analyze(tokenizer.chat_template)`.
        options: `whole`, `policies` and `id_factory`, which `Options` describes.

    Raises:
        UsageError: no format, or an unknown name.
    """
    return _made(VllmToolParser, _bases(TOOL_MODULES, "ToolParser"), source, options)


def vllm_reasoning_parser(source: FormatSource, *, call_ends_reasoning: bool = False) -> type[Any]:
    """Make a class for vLLM's `ReasoningParserManager`, with its `ReasoningParser` as a base.

    Args:
        source: as for `vllm_tool_parser`.
        call_ends_reasoning: a call in reasoning ends it, and is called; otherwise it is reasoning.

    Raises:
        UsageError: no format, an unknown name, or a format with channels.
    """
    bases = _bases(REASONING_MODULES, "ReasoningParser")
    made = _made(VllmReasoningParser, bases, source, {})
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
        raise UsageError("register_vllm_parsers() is for a process in which vLLM is installed")
    tool_parser = vllm_tool_parser(source, **options)
    tools[0].register_module(name=name, force=True, module=tool_parser)
    fmt = source if callable(source) else format_of(source, None)
    if callable(fmt) or not fmt.facts.has_channels:
        made = vllm_reasoning_parser(source, call_ends_reasoning=call_ends_reasoning)
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
    return type(class_name(source, mixin.__name__), (mixin, *bases), attributes)
