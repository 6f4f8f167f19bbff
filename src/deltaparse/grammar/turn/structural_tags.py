"""The grammar of a turn as a structural tag of xgrammar, which has free text beside grammars.

    {"type": "structural_tag", "format": FORMAT}

FORMAT is one `grammar` where the whole turn is constrained. Otherwise it is the reasoning, if there
may be any, as a tag that holds any text, then `triggered_tags`: free text, and from a full marker
on the grammar of what follows it. So markers inside reasoning begin nothing. Where calls stand in
no markers, the first character of the text decides. (xgrammar's documentation, "Structural Tag".)
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Items
from typing import Any, Literal

from deltaparse.partial import UsageError
from deltaparse.stream import ToolFormat, WireFormat
from deltaparse.stream.tools import ToolChoice

from ..notation.write_gbnf import to_gbnf
from ..rules.leading import without
from ..rules.rulebook import ROOT, GrammarRules, reachable
from ..rules.rules import NOTHING, Expr
from .channel_calls import free_turn
from .request import Tool, offered
from .triggers import words
from .turn_start import Thought, TurnStart, turn_start
from .wire_grammar import JsonSpacing, gbnf

__all__ = ["structural_tag"]

Format = dict[str, Any]


def structural_tag(
    fmt: WireFormat,
    tools: Items[Mapping[str, Any]] | None,
    *,
    tool_choice: ToolChoice = "auto",
    parallel_tool_calls: bool = True,
    response_schema: Mapping[str, Any] | None = None,
    prompt: str = "",
    reasoning: Literal["include", "exclude"] = "include",
    spacing: JsonSpacing = "flexible",
) -> dict[str, Any]:
    """Make the structural tag that keeps a model to a format and its tools; see `gbnf`.

    Returns what xgrammar takes as JSON, `GrammarCompiler.compile_structural_tag(...)`.

    Raises:
        UsageError: as for `gbnf`; and where calls may begin like text: Python without brackets or
            markers.
    """
    grammar = gbnf(
        fmt,
        tools,
        tool_choice=tool_choice,
        parallel_tool_calls=parallel_tool_calls,
        response_schema=response_schema,
        prompt=prompt,
        reasoning=reasoning,
        spacing=spacing,
    )
    made: Format = {"type": "any_text"}
    if grammar.rules and grammar.lazy:
        start = turn_start(fmt, prompt, reasons=reasoning == "include")
        called, _ = offered(tools, tool_choice)
        made = _free(fmt, called, grammar.rules, start, parallel_tool_calls)
    elif grammar.rules:
        made = _grammar(grammar.rules.rules[ROOT], grammar.rules.rules)
    return {"type": "structural_tag", "format": made}


def _free(
    fmt: WireFormat, tools: list[Tool], grammar: GrammarRules, start: TurnStart, parallel: bool
) -> Format:
    """Make a turn of free text with calls in it."""
    rules = dict(grammar.rules)
    calls = rules[ROOT]
    if fmt.facts.has_channels:
        return _grammar(free_turn(fmt, calls), rules)
    tags = [
        {"type": "tag", "begin": word, "content": _grammar(rest, rules), "end": ""}
        for word in words(fmt, tools)
        if (rest := without(word, calls, rules)) != NOTHING
    ]
    body: Format = {
        "type": "triggered_tags",
        "triggers": [tag["begin"] for tag in tags],
        "tags": tags,
        "stop_after_first": not parallel,
    }
    if fmt.facts.unmarked_calls:
        body = _or(_grammar(calls, rules), _other_text(fmt)) if not tags else body
    written = start.written.strip()
    first = without(written, calls, rules) if written else NOTHING
    if first != NOTHING:
        # The prompt has the beginning of a call, which content has too.
        said = fmt.content.start.strip().removeprefix(written)
        text = {"type": "sequence", "elements": [{"type": "const_string", "value": said}, body]}
        body = _or(_grammar(first, rules), text if said else body)
    return _after_reasoning(fmt, start, body)


def _other_text(fmt: WireFormat) -> Format:
    """Make text that begins otherwise than calls in no markers do."""
    tools = fmt.tools
    if tools.format is ToolFormat.PYTHONIC and not tools.array_wrapped:
        raise UsageError("calls begin like text in this format, so no tag can set them apart")
    bracket = "[" if tools.array_wrapped else "{"
    return {"type": "regex", "pattern": rf"([^\{bracket}\s][\s\S]*)?"}


def _after_reasoning(fmt: WireFormat, start: TurnStart, body: Format) -> Format:
    if start.thought is Thought.NONE:
        return body
    begin = "" if start.thought is Thought.OPEN else fmt.reasoning.start.strip()
    section: Format = {
        "type": "tag",
        "begin": begin,
        "content": {"type": "any_text"},
        "end": fmt.reasoning.end.strip(),
    }
    if begin:
        section = {"type": "optional", "content": section}
    return {"type": "sequence", "elements": [section, body]}


def _or(*formats: Format) -> Format:
    return {"type": "or", "elements": list(formats)}


def _grammar(root: Expr, rules: Mapping[str, Expr]) -> Format:
    needed = reachable({**rules, ROOT: root})
    return {"type": "grammar", "grammar": to_gbnf(GrammarRules(needed))}
