"""Tests that a template's grammar accepts its renderings in llguidance.

The turns are those of the proof, after the template's own prompt. They are rendered under each
switch, with values of every type and several calls. The eager grammars of "auto" and "required" are
both tested. Turns the parser reads with an issue are excluded.
"""

from __future__ import annotations

import os
from copy import deepcopy
from functools import cache

import pytest

from deltaparse import ChatTemplate, UsageError, analyze, gbnf
from deltaparse.analyzer import Trace
from deltaparse.analyzer.proof.conversations import PROOF_TOOLS, TYPES

from .. import corpus
from ..strategies.templates import SOURCES
from .machines import Lark, llguidance
from .reading_back import read

EVERY = bool(os.environ.get("DELTAPARSE_EVERY_TEMPLATE"))
SAMPLE = ("deepseek-ai-DeepSeek-V4.jinja", "google-gemma-4-31B-it.jinja")


NO_GRAMMAR = {"values_that_nothing_ends"}
"""Templates whose values end at the next marker, so values could contain any end marker."""

BEHIND_CALLS = {"channels_without_a_system_message"}
"""Templates with content after calls, at which a turn of a grammar ends."""


def names():
    real = [path.name for path in (*corpus.templates(), *corpus.newer_templates())]
    chosen = real if EVERY else [name for name in real if name in SAMPLE]
    own = SOURCES if EVERY else list(SOURCES)[::12]
    own = [name for name in own if name not in NO_GRAMMAR]
    return [*own, *(pytest.param(name, marks=corpus.needs_corpus) for name in chosen)]


def without_end(fmt, text):
    """Return the turn without the marker with which an engine ends it."""
    text = text.rstrip()
    ends = [*fmt.channels.ends, *fmt.turn.ends]
    if not fmt.channels.message and not fmt.turn.several_messages and fmt.turn.headers:
        # Some templates write the end of a turn twice, followed by a header.
        for end in map(str.strip, fmt.turn.ends):
            at = text.find(end)
            if text[at + len(end) :].strip() in ("", fmt.turn.headers[0].strip()) and at >= 0:
                return text[:at]
    return next(
        (text.removesuffix(end.strip()) for end in ends if text.endswith(end.strip())), text
    )


def described(value):
    """Return the schema of a value with its members, because elements need known names."""
    if isinstance(value, dict):
        inner = {key: described(part) for key, part in value.items()}
        return {"type": "object", "properties": inner}
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array"}
    return {"type": kinds.get(type(value), "null")}


def tools_of(turns):
    """Return the tools of the proved turns, with the members of objects."""
    tools = deepcopy(PROOF_TOOLS)
    known = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
    for function in (call["function"] for turn in turns for call in turn.calls):
        for key, value in function["arguments"].items():
            known[function["name"]]["properties"].setdefault(key, {"type": TYPES[type(value)]})
            if isinstance(value, dict):
                known[function["name"]]["properties"][key] = described(value)
    return tools


def spellings(fmt, text):
    """Return a turn, and variants without optional whitespace or section ends."""
    end = fmt.tools.section_end
    ends = ["", "\n", *([end] if end.strip() and end.strip() not in text else [])]
    return [text.rstrip(), *(text + end for end in ends)]


@pytest.mark.costly
@pytest.mark.skipif(llguidance() is None, reason="llguidance is not installed")
@pytest.mark.parametrize("name", names())
def test_grammar_accepts_turns_of_its_template(name):
    trace = Trace()
    source = SOURCES[name] if name in SOURCES else corpus.template(name)
    fmt = analyze(ChatTemplate(source), trace=trace)
    shown = {one.turn.label: one for one in trace.shown if one.tools and fmt.derived.has_calls}
    assert shown or not fmt.derived.has_calls
    tools = tools_of([one.turn for one in shown.values()])

    @cache
    def engine(prompt, choice):
        return Lark(gbnf(fmt, tools, prompt=prompt, lazy=False, tool_choice=choice).rules)

    for label, one in shown.items():
        text = without_end(fmt, one.wire.text)
        if name in BEHIND_CALLS and one.wire.content and one.wire.calls:
            continue
        choices = ["auto", *(["required"] if one.wire.calls and not one.wire.content else [])]
        kinds = {issue.kind for issue in read(fmt, PROOF_TOOLS, text, prompt=one.wire.prompt)[1]}
        for choice in choices:
            takes = engine(one.wire.prompt, choice).accepts
            taken = any(map(takes, spellings(fmt, text)))
            assert taken is not bool(kinds), (label, choice, text, kinds)


@pytest.mark.parametrize("name", sorted(NO_GRAMMAR))
def test_values_without_closing_markers_are_refused(name):
    with pytest.raises(UsageError, match="argument values have no closing marker"):
        gbnf(analyze(ChatTemplate(SOURCES[name])), PROOF_TOOLS)
