"""The grammar of a turn as a structural tag, xgrammar's notation in vLLM and SGLang.

One grammar covers the whole turn, so all engines enforce the same rules. Free text in it uses
xgrammar's own constructs, at the same cost as its tags around free text.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Items
from typing import Any, Literal

from deltaparse.stream import Vocabulary, WireFormat
from deltaparse.stream.tools import ToolChoice

from .wire_grammar import JsonSpacing, gbnf

__all__ = ["structural_tag"]


def structural_tag(
    fmt: WireFormat | str,
    tools: Items[Mapping[str, Any]] | None,
    *,
    tool_choice: ToolChoice = "auto",
    parallel_tool_calls: bool = True,
    response_schema: Mapping[str, Any] | None = None,
    prompt: str = "",
    reasoning: Literal["include", "exclude"] = "include",
    spacing: JsonSpacing = "flexible",
    vocabulary: Vocabulary | None = None,
    reasoning_budget: int | None = None,
) -> dict[str, Any]:
    """Return the structural tag for a format and its tools: `Grammar.as_tag`.

    The arguments and errors are those of `gbnf`.

    Returns:
        A JSON object for xgrammar: `GrammarCompiler.compile_structural_tag(...)`.

    Raises:
        UsageError: as in `gbnf`.
    """
    return gbnf(
        fmt,
        tools,
        tool_choice=tool_choice,
        parallel_tool_calls=parallel_tool_calls,
        response_schema=response_schema,
        prompt=prompt,
        reasoning=reasoning,
        spacing=spacing,
        vocabulary=vocabulary,
        lazy=False,
        reasoning_budget=reasoning_budget,
    ).as_tag()
