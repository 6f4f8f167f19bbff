"""vLLM's own parsers by name, called as its chat serving calls them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from cases import Case, Expected, Reader
from drive_vllm import whole
from vllm.parser.parser_manager import ParserManager
from vllm.reasoning import ReasoningParserManager
from vllm.tool_parsers import ToolParserManager

__all__ = ["readers"]


SWITCHES: tuple[dict[str, Any], ...] = (
    {},
    {"thinking": True, "enable_thinking": True, "reasoning_effort": "high"},
    {"thinking": False, "enable_thinking": False},
)
"""The reasoning options of a request. vLLM's parsers use them and ignore the prompt."""


def readers(tokenizer: Any) -> Iterator[tuple[str, Reader]]:
    """Yield each name with its reader."""
    tools = ToolParserManager.list_registered()
    reasoning = ReasoningParserManager.list_registered()
    for name in dict.fromkeys((*tools, *reasoning)):
        calls, thinks = name in tools, name in reasoning
        yield name, Reader(calls, thinks, partial(read, tokenizer, name, calls, thinks))


def read(tokenizer: Any, name: str, calls: bool, thinks: bool, case: Case) -> Iterator[Expected]:
    """Yield the results of vLLM's parsers for a name, with each option."""
    parser_class = ParserManager.get_parser(
        name if calls else None, name if thinks else None, enable_auto_tools=True
    )
    prompt, ids = tokenizer.encode(case.prompt), tokenizer.encode(case.text)
    for switches in SWITCHES:
        yield whole(parser_class, tokenizer, prompt, ids, case, **switches)
