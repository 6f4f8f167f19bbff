"""SGLang plugins: a detector of tool calls, and one of reasoning (`sglang_reasoning.py`).

    register_sglang_detector("mine", fmt)     # before the server starts

The interface is SGLang 0.5.23: the methods in
`python/sglang/srt/function_call/base_format_detector.py`, and the results in `core_types.py`. Older
versions do not call `finish`, so the text buffered at the end of a response is lost.

SGLang creates one detector per choice. Its reasoning parser removes the reasoning first, so a
detector starts after it. Any remaining reasoning is emitted as text between `<think>` and
`</think>`.
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
"""The lists of names accepted by SGLang's command line."""


@dataclass
class ToolCallItem:
    """A tool call or a part of one. The first part is the name, then parts of arguments follow.

    Attributes:
        tool_index: the index of the call in the response, from 0.
        name: the name of the function, in the first item of a call.
        parameters: the next part of the arguments.
        tool_call_id: the id written by the model, if any, together with the name.
    """

    tool_index: int
    name: str | None = None
    parameters: str = ""
    tool_call_id: str | None = None


@dataclass
class StreamingParseResult:
    """New text and new parts of calls in one step."""

    normal_text: str = ""
    calls: list[ToolCallItem] = field(default_factory=list)


class SglangDetector(CallsSoFar):
    """A tool-call detector for SGLang. `sglang_detector` creates a subclass for a format.

    Args:
        tokenizer: the server's tokenizer. SGLang passes it to detectors with this argument.
    """

    source: ClassVar[Any]  # a FormatSource, as a staticmethod if it is a function
    options: ClassVar[Options]
    results: ClassVar[tuple[type[Any], type[Any]]]

    def __init__(self, tokenizer: Any = None) -> None:
        # SGLang's constructor is not called, because its attributes are set here or are computed
        # from the parser.
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
        """Return True if a text needs parsing, for a call or for markers around content.

        Otherwise SGLang emits the complete response unchanged.

        Args:
            text: the complete response.
        """
        markers = marker_tables(self.wire_format, calls=True).call_starts
        start, end = markers.find(text, final=True)
        if end > start:
            return True
        # Unmarked calls and calls in channels can be recognized only by parsing.
        message = self._whole(self._kept(text), None).message
        return bool(message.tool_calls) or message.content != text

    def detect_and_parse(self, text: str, tools: Sequence[Any] | None = None) -> Any:
        """Return the text and the calls of a complete response, one item per call.

        The state is unchanged. A truncated call is omitted with a warning. Otherwise SGLang would
        report the finish reason "tool_calls", but in a stream it does not for a truncated call.

        Args:
            text: the complete response.
            tools: the request's tools.

        Returns:
            A `StreamingParseResult`.
        """
        message = self._whole(self._kept(text), tools).message
        for call in message.tool_calls:
            if not call.complete:
                logger.warning("the call of %r was truncated: %s", call.name, call.arguments)
        items = [
            self._item(index, call.id, call.name, call.arguments)
            for index, call in enumerate(message.tool_calls)
            if call.complete
        ]
        return self.results[0](normal_text=message.content, calls=items)

    def parse_streaming_increment(self, new_text: str, tools: Sequence[Any] | None = None) -> Any:
        """Return the new text and calls in the next chunk.

        Args:
            new_text: the chunk.
            tools: the request's tools. Only those of the first chunk are used.

        Returns:
            A `StreamingParseResult`.
        """
        if self._parser is None:
            self._parser = self._new(tools)
        return self._streamed(self._parser.feed(self._strays.feed(new_text)))

    def finish(self, tools: Sequence[Any] | None = None) -> Any:
        """End the response and return the buffered text and calls.

        A second call returns an empty result.
        """
        del tools
        if self._parser is None:
            return self._streamed(())
        held = self._strays.finish()
        deltas = self._parser.feed(held) if held else []
        return self._streamed([*deltas, *self._parser.finish()])

    def supports_structural_tag(self) -> bool:
        """Return True if a structural tag can express the format, also for forced calls."""
        return sglang_tag(self.wire_format, [PROBE], "required", parallel=True) is not None

    def parses_required_natively(self) -> bool:
        """Return False, because forced calls always need constrained decoding."""
        return False

    def get_structural_tag(
        self,
        tools: Sequence[Any] | None = None,
        tool_choice: Any = "auto",
        thinking_mode: bool = False,
        parallel_tool_calls: bool = True,
    ) -> Any:
        """Return xgrammar's `StructuralTag` for a request, or None if it cannot express the format.

        For tools that are not strict, the tag constrains only the name, and the arguments to any
        object.

        Args:
            tools: the request's tools.
            tool_choice: the request's tool choice.
            thinking_mode: include reasoning before the calls in the tag.
            parallel_tool_calls: allow several calls.
        """
        return sglang_tag(
            self.wire_format,
            tools,
            tool_choice,
            parallel=parallel_tool_calls,
            reasons=thinking_mode,
        )

    def structure_info(self) -> Any:
        """Return a function from a tool's name to a `StructureInfo`.

        Raises:
            NotImplementedError: the arguments are not one JSON object between two fixed texts. Use
                `get_structural_tag` for these formats.
        """
        info = imported(RESULT_MODULES, "StructureInfo") or [StructureInfo]
        return lambda name: info[0](*around(self.wire_format, name))

    def build_ebnf(self, tools: Sequence[Any]) -> str:
        """Raise `NotImplementedError`. Only SGLang before 0.5 called this method."""
        raise NotImplementedError("deltaparse detectors do not support build_ebnf()")

    @property
    def incomplete_tool_call_indices(self) -> set[int]:
        """Indices of incomplete calls. With any, SGLang's finish reason is not "tool_calls"."""
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
        """Return a complete text without stray special tokens."""
        strays = self.options.strays(self.wire_format, self._tokenizer)
        return strays.feed(text) + strays.finish()

    def _whole(self, text: str, tools: Iterable[Any] | None) -> StreamParser:
        parser = self._new(tools)
        parser.feed(text)
        parser.finish()
        return parser

    def _streamed(self, deltas: Sequence[Delta]) -> Any:
        # Fast path, because most steps emit no delta or only content.
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
    """Return a detector class for a format. Its base is SGLang's `BaseFormatDetector` if available.

    Args:
        source: the format, its name, or a function from the tokenizer to a format, e.g.
            `deltaparse.analyze`.
        options: `whole`, `policies` and `id_factory` of `Options`.

    Raises:
        UsageError: the source is not a format or a known name.
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
    """Return a reasoning detector class for a format. Its base is SGLang's class if available.

    Args:
        source: as for `sglang_detector`.
        call_ends_reasoning: a call in reasoning ends it and is a tool call. By default it is
            reasoning.
        options: `policies`, from which `stray_token` is used.

    Raises:
        UsageError: the source is not a format or a known name.
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

    Call this function before starting the server, in the same process. The name is then valid for
    `--tool-call-parser` and `--reasoning-parser`.

    Args:
        name: the name to register.
        source: as for `sglang_detector`.
        call_ends_reasoning: as for `sglang_reasoning_detector`.
        options: as for `sglang_detector`.

    Raises:
        UsageError: SGLang is not installed, or the source is invalid.
    """
    found = imported(PARSER_MODULES, "FunctionCallParser")
    if found is None:
        raise UsageError(not_there("register_sglang_detector()", "sglang"))
    found[0].ToolCallParserEnum[name] = sglang_detector(source, **options)
    reasoning = imported(REASONING_MODULES, "ReasoningParser")
    if reasoning is not None:
        # SGLang converts names of reasoning parsers to lower case.
        reasoning[0].DetectorMap[name.lower()] = sglang_reasoning_detector(
            source, call_ends_reasoning=call_ends_reasoning, **options
        )
    for module, listed in NAMES:
        names = imported([module], listed)
        if names is not None and name not in names[0]:
            names[0].append(name)
