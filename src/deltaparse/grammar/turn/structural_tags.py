"""The grammar of a turn as a structural tag of xgrammar, which has free text beside grammars.

    {"type": "structural_tag", "format": FORMAT}

FORMAT is one `grammar` where the whole turn is constrained. Otherwise it is the reasoning, if there
may be any, as a tag that holds any text, then `triggered_tags`: free text, and from a full marker
on the grammar of what follows it. So markers inside reasoning begin nothing. Where calls stand in
no markers, the first character of the text decides. (xgrammar's documentation, "Structural Tag".)

With a vocabulary, a marker that is a special token is a token there too: `token_triggered_tags`,
and tags that begin or end with a token. Where tags cannot say it, since a marker is of tokens and
text, the whole turn is one grammar.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Items
from typing import Any, Literal

from deltaparse.partial import UsageError
from deltaparse.partial.surrogates import is_whole
from deltaparse.stream import ToolFormat, Vocabulary, WireFormat
from deltaparse.stream.tools import ToolChoice
from deltaparse.stream.wire.given import as_format

from ..notation.write_gbnf import XGRAMMAR, to_gbnf
from ..rules.leading import without
from ..rules.rulebook import ROOT, GrammarRules, reachable
from ..rules.rules import NOTHING, Expr, literal
from .channel_calls import free_turn
from .request import Tool, offered
from .special_tokens import with_tokens
from .triggers import words
from .turn_start import Thought, TurnStart, turn_start, with_opened_pair
from .wire_grammar import JsonSpacing, gbnf

__all__ = ["structural_tag"]

Format = dict[str, Any]


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
) -> dict[str, Any]:
    """Make the structural tag that keeps a model to a format and its tools; see `gbnf`.

    Returns what xgrammar takes as JSON, `GrammarCompiler.compile_structural_tag(...)`.

    Raises:
        UsageError: as for `gbnf`; and where calls may begin like text: Python without brackets or
            markers.
    """
    fmt = as_format(fmt)
    options: dict[str, Any] = {
        "tool_choice": tool_choice,
        "parallel_tool_calls": parallel_tool_calls,
        "response_schema": response_schema,
        "prompt": prompt,
        "reasoning": reasoning,
        "spacing": spacing,
        "vocabulary": vocabulary,
    }
    grammar = gbnf(fmt, tools, **options)
    made: Format | None = {"type": "any_text"}
    if grammar.rules and grammar.lazy:
        found, written, _ = with_tokens(fmt, prompt, vocabulary)
        found = with_opened_pair(found, written)
        start = turn_start(found, written, reasons=reasoning == "include")
        called, _ = offered(tools, tool_choice)
        made = _free(found, called, grammar.rules, start, parallel_tool_calls)
        if made is None:
            grammar = gbnf(fmt, tools, **options, lazy=False)
    if grammar.rules and not grammar.lazy:
        made = _grammar(grammar.rules.rules[ROOT], grammar.rules)
    return {"type": "structural_tag", "format": made}


def _free(
    fmt: WireFormat, tools: list[Tool], grammar: GrammarRules, start: TurnStart, parallel: bool
) -> Format | None:
    """Make a turn of free text with calls in it, None where tags cannot say it."""
    calls = grammar.rules[ROOT]
    if fmt.facts.has_channels:
        return _grammar(free_turn(fmt, calls), grammar)
    behind = {word: without(word, calls, grammar.rules) for word in words(fmt, tools)}
    behind = {word: rest for word, rest in behind.items() if rest != NOTHING}
    begins = [_mark(word, grammar) for word in behind]
    tags = [
        {"type": "tag", "begin": begin, "content": _grammar(rest, grammar), "end": ""}
        for begin, rest in zip(begins, behind.values(), strict=True)
    ]
    body: Format = {
        "type": "triggered_tags",
        "triggers": begins,
        "tags": tags,
        "stop_after_first": not parallel,
    }
    if not all(isinstance(begin, str) for begin in begins):
        ids = [begin["token"] for begin in begins if isinstance(begin, dict)]
        if fmt.facts.unmarked_calls or len(ids) < len(begins):
            return None
        del body["triggers"]
        body |= {"type": "token_triggered_tags", "trigger_tokens": ids}
    if fmt.facts.unmarked_calls:
        body = _or(_grammar(calls, grammar), _other_text(fmt)) if not tags else body
    written = start.written.strip()
    first = without(written, calls, grammar.rules) if written else NOTHING
    if first != NOTHING:
        # The prompt has the beginning of a call, which content has too.
        said = fmt.content.start.strip().removeprefix(written)
        text = {"type": "sequence", "elements": [_string(said, grammar), body]}
        body = _or(_grammar(first, grammar), text if said else body)
    return _after_reasoning(fmt, start, body, grammar)


def _mark(text: str, grammar: GrammarRules) -> str | Format | None:
    """Write a marker: a text, or one special token; None where it is of both."""
    if text in grammar.tokens:
        return {"type": "token", "token": grammar.tokens[text].id}
    return text if is_whole(text) else None


def _string(text: str, grammar: GrammarRules) -> Format:
    if is_whole(text):
        return {"type": "const_string", "value": text}
    return _grammar(literal(text), grammar)


def _other_text(fmt: WireFormat) -> Format:
    """Make text that begins otherwise than calls in no markers do."""
    tools = fmt.tools
    if tools.format is ToolFormat.PYTHONIC and not tools.array_wrapped:
        raise UsageError("calls begin like text in this format, so no tag can set them apart")
    bracket = "[" if tools.array_wrapped else "{"
    return {"type": "regex", "pattern": rf"([^\{bracket}\s][\s\S]*)?"}


def _after_reasoning(
    fmt: WireFormat, start: TurnStart, body: Format, grammar: GrammarRules
) -> Format | None:
    if start.thought is Thought.NONE:
        return body
    opened = start.thought is Thought.OPEN
    begin = _mark("" if opened else fmt.reasoning.start.strip(), grammar)
    end = _mark(fmt.reasoning.end.strip(), grammar)
    if begin is None or end is None:
        return None
    text: Format = {"type": "any_text"}
    if isinstance(end, dict):
        text = {"type": "any_tokens", "exclude_tokens": [end["token"]]}
    section: Format = {"type": "tag", "begin": begin, "content": text, "end": end}
    if begin:
        section = {"type": "optional", "content": section}
    return {"type": "sequence", "elements": [section, body]}


def _or(*formats: Format) -> Format:
    return {"type": "or", "elements": list(formats)}


def _grammar(root: Expr, grammar: GrammarRules) -> Format:
    needed = reachable({**grammar.rules, ROOT: root})
    return {"type": "grammar", "grammar": to_gbnf(GrammarRules(needed, grammar.tokens), XGRAMMAR)}
