"""The grammar of a turn as a structural tag of xgrammar, which has free text beside grammars.

    {"type": "structural_tag", "format": FORMAT}

FORMAT is one `grammar` where the whole turn is constrained. Otherwise it is the reasoning, if there
may be any, as a tag that holds any text, then `triggered_tags`: free text, and from a full marker
on the grammar of what follows it. So markers inside reasoning begin nothing. Where calls stand in no
markers, the first character of the text decides. (xgrammar's documentation, "Structural Tag".)
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Items
from typing import Any, Literal

from deltaparse.partial import UsageError
from deltaparse.stream import ToolFormat, WireFormat

from .calls import without
from .channel_calls import free_turn
from .rulebook import ROOT, GrammarRules, RuleBook
from .rules import NOTHING, Expr
from .turn_start import Thought, TurnStart, turn_start
from .wire_grammar import Grammar, JsonSpacing, gbnf
from .write_gbnf import to_gbnf

__all__ = ["structural_tag"]

ANY_TEXT = {"type": "any_text"}

Format = dict[str, Any]


def structural_tag(
    fmt: WireFormat,
    tools: Items[Mapping[str, Any]] | None,
    *,
    tool_choice: Literal["auto", "none", "required"] | Mapping[str, Any] = "auto",
    parallel_tool_calls: bool = True,
    response_schema: Mapping[str, Any] | None = None,
    prompt: str = "",
    reasoning: Literal["include", "exclude"] = "include",
    spacing: JsonSpacing = "flexible",
) -> dict[str, Any]:
    """Make the structural tag that keeps a model to a format and its tools; see `gbnf`.

    Returns what xgrammar takes as JSON, `GrammarCompiler.compile_structural_tag(...)`.

    Raises:
        UsageError: as for `gbnf`; and where a turn may begin with a call that nothing tells from
            text: Python without brackets or markers.
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
    if not grammar.text:
        made: Format = ANY_TEXT
    elif not grammar.lazy:
        made = _grammar(grammar.text)
    else:
        start = turn_start(fmt, prompt, reasons=reasoning == "include")
        made = _free(fmt, grammar, start, parallel=parallel_tool_calls)
    return {"type": "structural_tag", "format": made}


def _free(fmt: WireFormat, grammar: Grammar, start: TurnStart, *, parallel: bool) -> Format:
    """Make a turn of free text with calls in it."""
    assert grammar.rules is not None  # noqa: S101 - a lazy grammar has rules
    rules = dict(grammar.rules.rules)
    if fmt.channels.message:
        return _grammar(_text(free_turn(fmt, rules[ROOT]), rules))
    words = _words(fmt, grammar)
    tags = []
    for word in words:
        rest = without(word, rules[ROOT], rules)
        if rest != NOTHING:
            content = _grammar(_text(rest, rules))
            tags.append({"type": "tag", "begin": word, "content": content, "end": ""})
    body: Format = {
        "type": "triggered_tags",
        "triggers": [tag["begin"] for tag in tags],
        "tags": tags,
        "stop_after_first": not parallel,
    }
    if not tags:
        body = _bare(fmt, grammar)
    written = start.written.strip()
    first = without(written, without(written, _copy(rules[ROOT]), rules), rules) if written else NOTHING
    del first
    return _after_reasoning(fmt, start, body)


def _words(fmt: WireFormat, grammar: Grammar) -> list[str]:
    raise NotImplementedError


def _copy(expr: Expr) -> Expr:
    return expr


def _bare(fmt: WireFormat, grammar: Grammar) -> Format:
    raise NotImplementedError


def _text(root: Expr, rules: Mapping[str, Expr]) -> str:
    return ""


def _after_reasoning(fmt: WireFormat, start: TurnStart, body: Format) -> Format:
    return body


def _grammar(text: str) -> Format:
    return {"type": "grammar", "grammar": text}
