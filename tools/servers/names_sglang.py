"""SGLang's own parsers by name, called as its chat serving calls them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from cases import Case, Expected, Reader
from drive_sglang import Serving, opens, request
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser

__all__ = ["readers"]


OFF = {"thinking": False, "enable_thinking": False}
SWITCHES: tuple[tuple[bool, dict[str, Any]], ...] = (
    (True, {"reasoning_effort": "high"}),
    (False, {"chat_template_kwargs": OFF}),
)
"""The reasoning options of a template and a request."""


def readers(tokenizer: Any) -> Iterator[tuple[str, Reader]]:
    """Yield each name with its reader."""
    tools, reasoning = FunctionCallParser.ToolCallParserEnum, ReasoningParser.DetectorMap
    for name in dict.fromkeys((*tools, *reasoning)):
        calls, thinks = name in tools, name in reasoning
        yield name, Reader(calls, thinks, partial(read, tokenizer, name, calls, thinks))


def read(tokenizer: Any, name: str, calls: bool, thinks: bool, case: Case) -> Iterator[Expected]:
    """Yield the results of SGLang's detectors for a name, with each option."""
    for opened, switches in ((opens(case), {}), *SWITCHES):
        serving = Serving(
            tokenizer, name if calls else None, name if thinks else None, opened=opened
        )
        yield serving.whole(case.text, request(**switches))
