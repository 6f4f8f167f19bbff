"""What a template renders, its grammar takes: llguidance judges the turns that prove the format.

Each turn stands behind the prompt that the template makes for it, under each switch, with values of
every type and several calls. The grammar is that of the whole turn, and that of required calls.
"""

from __future__ import annotations

import os
from functools import cache

import pytest

from deltaparse import ChatTemplate, analyze, gbnf
from deltaparse.analyzer import Trace
from deltaparse.analyzer.proof.conversations import PROOF_TOOLS

from .. import corpus
from ..strategies.templates import SOURCES
from .machines import Lark, llguidance

EVERY = bool(os.environ.get("DELTAPARSE_EVERY_TEMPLATE"))
SAMPLE = ("deepseek-ai-DeepSeek-V4.jinja", "google-gemma-4-31B-it.jinja")

ODD = {
    "NVIDIA-Nemotron-Nano-v2.jinja": "calls in reasoning that nothing ended",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B.jinja": "one call without the end of the section",
    "unsloth-Apriel-1.5.jinja": "reasoning behind content",
    "MiniMax-M3.jinja": "objects and lists as elements",
    "elements_in_elements": "objects and lists as elements",
    "content_and_calls_in_messages": "content in a message before that of the call",
    "sections_that_the_next_one_ends": "reasoning that only content or calls end",
    "calls_inside_content": "calls within content",
    "calls_without_a_header": "content in a message before that of the call",
    "Reka-Edge.jinja": "white space before the first call",
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use.jinja": "a header behind the end of the turn",
    "all_in_own_quotes": "values that hold what closes a call",
    "python_dictionaries": "Python, which comes back repaired",
}
"""What the grammars do not have of templates, which write it all the same."""

PYTHON = (":None", ": None")
"""How some templates write null in what is JSON else."""


def names():
    real = [path.name for path in (*corpus.templates(), *corpus.newer_templates())]
    chosen = real if EVERY else [name for name in real if name in SAMPLE]
    own = SOURCES if EVERY else list(SOURCES)[::12]
    every = [*own, *(pytest.param(name, marks=corpus.needs_corpus) for name in chosen)]
    return [name for name in every if getattr(name, "values", [name])[0] not in ODD]


def without_end(fmt, text):
    """The turn without the marker that an engine ends it with."""
    text = text.rstrip()
    ends = [*fmt.channels.ends, *fmt.turn.ends]
    if not fmt.channels.message and not fmt.turn.several_messages and fmt.turn.headers:
        # Some templates write the end of a turn twice, and a header behind it.
        for end in map(str.strip, fmt.turn.ends):
            at = text.find(end)
            if text[at + len(end) :].strip() in ("", fmt.turn.headers[0].strip()) and at >= 0:
                return text[:at]
    return next(
        (text.removesuffix(end.strip()) for end in ends if text.endswith(end.strip())), text
    )


@pytest.mark.skipif(llguidance() is None, reason="llguidance is not installed")
@pytest.mark.parametrize("name", names())
def test_a_grammar_takes_what_its_template_renders(name):
    trace = Trace()
    source = SOURCES[name] if name in SOURCES else corpus.template(name)
    fmt = analyze(ChatTemplate(source), trace=trace)

    @cache
    def engine(prompt, choice):
        return Lark(gbnf(fmt, PROOF_TOOLS, prompt=prompt, lazy=False, tool_choice=choice).rules)

    shown = {one.turn.label: one for one in trace.shown if one.tools and fmt.facts.has_calls}
    for label, one in shown.items():
        text = without_end(fmt, one.wire.text)
        if any(word in text for word in PYTHON) or text_behind_calls(one):
            continue
        choices = ["auto", *(["required"] if one.wire.calls and not one.wire.content else [])]
        for choice in choices:
            takes = engine(one.wire.prompt, choice).accepts
            assert any(map(takes, (text, text.rstrip(), text + "\n"))), (label, choice, text)


def text_behind_calls(one):
    """Whether content stands behind the calls: free text has them behind it."""
    last = one.turn.calls[-1]["function"]["name"] if one.turn.calls else ""
    content = one.wire.content
    return bool(last and content) and one.wire.text.rfind(last) < one.wire.text.find(content)
