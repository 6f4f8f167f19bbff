"""The grammar of a turn as a structural tag, in which vLLM and SGLang take xgrammar's grammars.

It is one grammar of the whole turn, so that all engines are held to the same: free text in it is
said in xgrammar's own words, which cost no more than its tags around free text do.
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
    """Make the structural tag that keeps a model to a format and its tools: `Grammar.as_tag`.

    Takes the arguments of `gbnf`, and raises the same errors. Returns what xgrammar accepts as
    JSON: `GrammarCompiler.compile_structural_tag(...)`.
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
