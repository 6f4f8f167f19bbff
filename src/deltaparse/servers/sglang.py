"""SGLang's plugins: a detector of calls, and one of reasoning (`sglang_reasoning.py`).

    register_sglang_detector("mine", fmt)     # before the server starts

The methods are those of `python/sglang/srt/function_call/base_format_detector.py` and the results
those of `core_types.py`, as of SGLang 0.5.23 (older versions do not call `finish`: they never
say that an output has ended, and what is held back in that moment is lost). SGLang makes one
detector for a choice and feeds it what its reasoning parser has left, so a detector starts behind
reasoning; reasoning that it meets is text, between `<think>` and `</think>`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any, ClassVar

from deltaparse.partial import UsageError
from deltaparse.stream import ContentDelta, Delta, StreamParser, ToolCallDelta
from deltaparse.stream.wire.marker_tables import marker_tables

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
from .requests import tools_of
from .sglang_reasoning import ReasoningResult, SglangReasoningDetector
from .sglang_structure import PROBE, StructureInfo, around, sglang_tag

__all__ = [
    "SglangDetector",
    "SglangReasoningDetector",
    "StreamingParseResult",
    "ToolCallItem",
    "register_sglang_detector",
    "sglang_detector",
    "sglang_reasoning_detector",
]

logger = logging.getLogger(__name__)

BASE_MODULES = ("sglang.srt.function_call.base_format_detector",)
RESULT_MODULES = ("sglang.srt.function_call.core_types",)
PARSER_MODULES = ("sglang.srt.function_call.function_call_parser",)
REASONING_MODULES = ("sglang.srt.parser.reasoning_parser",)
NAMES = (
    ("sglang.srt.function_call.parser_names", "TOOL_CALL_PARSER_NAMES"),
    ("sglang.srt.parser.reasoning_parser_names", "REASONING_PARSER_NAMES"),
)
"""Where SGLang has the names that its command line takes."""


@dataclass
class ToolCallItem:
    """A call, or the next of one: the name comes first and alone, then its arguments as they come.

    `tool_index` counts the calls of the output from 0; `tool_call_id` is the id that the model
    wrote, if it writes any, beside the name.
    """

    tool_index: int
    name: str | None = None
    parameters: str = ""
    tool_call_id: str | None = None


@dataclass
class StreamingParseResult:
    """What one step has made certain: text, and the next of calls."""

    normal_text: str = ""
    calls: list[ToolCallItem] = field(default_factory=list)


class SglangDetector(CallsSoFar):
    """A detector; `sglang_detector` makes the class for a format.

    Args:
        tokenizer: the server's, which SGLang passes to detectors that have this argument.
    """

    source: ClassVar[Any]  # a FormatSource; a function among them is no method
    options: ClassVar[Options]
    results: ClassVar[tuple[type[Any], type[Any]]]

    def __init__(self, tokenizer: Any = None) -> None:
        # SGLang's own constructor is left out: what it sets is set here, or follows from the
        # parser.
        self.wire_format = format_of(self.source, tokenizer)
        tools = self.wire_format.tools
        self.bot_token = (tools.section_start or tools.per_call_start).strip()
        self.eot_token = (tools.section_end or tools.per_call_end).strip()
        self.tool_call_separator = tools.separator
        self._buffer = ""
        self._tokenizer = tokenizer
        self._strays = self.options.strays(self.wire_format, tokenizer)
        self._ids = self.wire_format.derived.writes_ids

    def has_tool_call(self, text: str) -> bool:
        """Return whether the text is to be parsed: for a call, or what is round content.

        SGLang emits a whole answer as it stands where this says no.
        """
        markers = marker_tables(self.wire_format, calls=True).call_starts
        start, end = markers.find(text, final=True)
        if end > start:
            return True
        # Calls without markers, and those in channels, are known by what they are.
        message = self._whole(self._kept(text), None).message
        return bool(message.tool_calls) or message.content != text

    def detect_and_parse(self, text: str, tools: Sequence[Any] | None = None) -> Any:
        """Return the text and the calls of a whole output, one item for each; keep nothing.

        A call that the output cuts off is left out, with a warning: SGLang's finish reason is
        "tool_calls" wherever there is one, and in a stream it is not, where one was cut off.
        """
        message = self._whole(self._kept(text), tools).message
        for call in message.tool_calls:
            if not call.complete:
                logger.warning("the call of %r was cut off: %s", call.name, call.arguments)
        items = [
            self._item(index, call.id, call.name, call.arguments)
            for index, call in enumerate(message.tool_calls)
            if call.complete
        ]
        return self.results[0](normal_text=message.content, calls=items)

    def parse_streaming_increment(self, new_text: str, tools: Sequence[Any] | None = None) -> Any:
        """Return what the next chunk makes certain; the `tools` of the first one hold for all."""
        if self._parser is None:
            self._parser = self._new(tools)
        return self._streamed(self._parser.feed(self._strays.feed(new_text)))

    def finish(self, tools: Sequence[Any] | None = None) -> Any:
        """End the output; return what was held back. A second call returns nothing."""
        del tools
        if self._parser is None:
            return self._streamed(())
        held = self._strays.finish()
        deltas = self._parser.feed(held) if held else []
        return self._streamed([*deltas, *self._parser.finish()])

    def supports_structural_tag(self) -> bool:
        """Return whether a structural tag can say the format; then forced calls are in it too."""
        return sglang_tag(self.wire_format, [PROBE], "required", parallel=True) is not None

    def parses_required_natively(self) -> bool:
        """Return False: a model that must call is always held to it."""
        return False

    def get_structural_tag(
        self,
        tools: Sequence[Any] | None = None,
        tool_choice: Any = "auto",
        thinking_mode: bool = False,
        parallel_tool_calls: bool = True,
    ) -> Any:
        """Return xgrammar's `StructuralTag` for a request, None where none can say the format.

        Tools that are not strict have their names held to, and their arguments to be an object.
        """
        return sglang_tag(
            self.wire_format,
            tools,
            tool_choice,
            parallel=parallel_tool_calls,
            reasons=thinking_mode,
        )

    def structure_info(self) -> Any:
        """Return a function that says what stands round the arguments of a function.

        Raises:
            NotImplementedError: arguments that are not one JSON object in their place;
                `get_structural_tag` has those.
        """
        info = imported(RESULT_MODULES, "StructureInfo") or [StructureInfo]
        return lambda name: info[0](*around(self.wire_format, name))

    def build_ebnf(self, tools: Sequence[Any]) -> str:
        """Refuse; SGLang called it before 0.5."""
        raise NotImplementedError("deltaparse detectors have no grammar")

    @property
    def incomplete_tool_call_indices(self) -> set[int]:
        """The calls that are not whole: SGLang's finish reason is then not "tool_calls"."""
        calls = self._parser.message.tool_calls if self._parser else []
        return {index for index, call in enumerate(calls) if not call.complete}

    def _new(self, tools: Iterable[Any] | None) -> StreamParser:
        return self.options.parser(
            self.wire_format,
            whole=self.options.whole,
            reasoning="inline",
            tools=tools_of(tools),
        )

    def _kept(self, text: str) -> str:
        """Return a whole text without the special tokens of no meaning."""
        strays = self.options.strays(self.wire_format, self._tokenizer)
        return strays.feed(text) + strays.finish()

    def _whole(self, text: str, tools: Iterable[Any] | None) -> StreamParser:
        parser = self._new(tools)
        parser.feed(text)
        parser.finish()
        return parser

    def _streamed(self, deltas: Sequence[Delta]) -> Any:
        # Most steps make nothing certain, or some content.
        if not deltas:
            return self.results[0]()
        if len(deltas) == 1 and isinstance(deltas[0], ContentDelta):
            return self.results[0](normal_text=deltas[0].text)
        texts: list[str] = []
        calls: list[ToolCallDelta] = []
        for delta in deltas:
            if isinstance(delta, ToolCallDelta):
                calls.append(delta)
            else:
                texts.append(delta.text)
        items: list[Any] = []
        for index, group in groupby(calls, key=attrgetter("index")):
            of_call = list(group)
            first, arguments = of_call[0], "".join(delta.arguments for delta in of_call)
            if first.name is not None:
                items.append(self._item(index, first.id, first.name, ""))
            if arguments:
                items.append(self.results[1](tool_index=index, parameters=arguments))
        return self.results[0](normal_text="".join(texts), calls=items)

    def _item(self, index: int, call_id: str | None, name: str, parameters: str) -> Any:
        item = self.results[1]
        made = {"tool_index": index, "name": name, "parameters": parameters}
        if self._ids and "tool_call_id" in getattr(item, "model_fields", {"tool_call_id"}):
            made["tool_call_id"] = call_id
        return item(**made)


def sglang_detector(source: FormatSource, **options: Any) -> type[Any]:
    """Make a class of detectors, a subclass of SGLang's `BaseFormatDetector` where there is one.

    Args:
        source: the format, its name, or a function of the tokenizer that returns it:
            `deltaparse.analyze`, for one.
        options: `whole`, `policies` and `id_factory`, which `Options` describes.

    Raises:
        UsageError: no format, or an unknown name.
    """
    check_source(source)
    own: list[Any] = [StreamingParseResult, ToolCallItem]
    names = [one.__name__ for one in own]
    attributes = {
        "source": staticmethod(source) if callable(source) else source,
        "options": Options(**options),
        "results": tuple(imported(RESULT_MODULES, *names) or own),
        "__doc__": SglangDetector.__doc__,
        "__module__": __name__,
    }
    bases = imported(BASE_MODULES, "BaseFormatDetector") or []
    return type(class_name(source, "SglangDetector"), (SglangDetector, *bases), attributes)


def sglang_reasoning_detector(
    source: FormatSource, *, call_ends_reasoning: bool = False, **options: Any
) -> type[Any]:
    """Make a class of reasoning detectors, a subclass of SGLang's where there is one.

    Args:
        source: as for `sglang_detector`.
        call_ends_reasoning: a call in reasoning ends it, and is called; otherwise it is reasoning.
        options: `policies`, of which `stray_token` counts.

    Raises:
        UsageError: no format, or an unknown name.
    """
    check_source(source)
    attributes = {
        "source": staticmethod(source) if callable(source) else source,
        "options": Options(**options),
        "results": (imported(REASONING_MODULES, "StreamingParseResult") or [ReasoningResult])[0],
        "call_ends_reasoning": call_ends_reasoning,
        "__doc__": SglangReasoningDetector.__doc__,
        "__module__": __name__,
    }
    bases = imported(REASONING_MODULES, "BaseReasoningFormatDetector") or []
    name = class_name(source, SglangReasoningDetector.__name__)
    return type(name, (SglangReasoningDetector, *bases), attributes)


def register_sglang_detector(
    name: str, source: FormatSource, *, call_ends_reasoning: bool = False, **options: Any
) -> None:
    """Register both detectors with SGLang under a name.

    `--tool-call-parser` and `--reasoning-parser` then take it. Call it in the process that starts
    the server, before it does.

    Raises:
        UsageError: SGLang is not there; what the two makers of classes raise.
    """
    found = imported(PARSER_MODULES, "FunctionCallParser")
    if found is None:
        raise UsageError(not_there("register_sglang_detector()", "sglang"))
    found[0].ToolCallParserEnum[name] = sglang_detector(source, **options)
    reasoning = imported(REASONING_MODULES, "ReasoningParser")
    if reasoning is not None:
        # SGLang looks names of reasoning up in lower case.
        reasoning[0].DetectorMap[name.lower()] = sglang_reasoning_detector(
            source, call_ends_reasoning=call_ends_reasoning, **options
        )
    for module, listed in NAMES:
        names = imported([module], listed)
        if names is not None and name not in names[0]:
            names[0].append(name)
