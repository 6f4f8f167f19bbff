"""Chat templates of this project and real ones, with the results of the analysis."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import pytest

from deltaparse import ChatTemplate, TemplateError, WireFormat, parse
from deltaparse.analyzer import analysis
from deltaparse.analyzer.assistant_turns import Turns
from deltaparse.analyzer.phases.find_reasoning import ReasoningFinding
from deltaparse.analyzer.probes import USER
from deltaparse.analyzer.proof.conversations import Turn, turns_without
from deltaparse.analyzer.proof.expected_output import RenderedTurn, answer_in, wire_for

from .. import corpus
from .templates import SOURCES

REAL = {
    path.stem: path.read_text(encoding="utf-8")
    for path in (*corpus.templates(), *corpus.newer_templates())
}
NAMES = [
    *SOURCES,
    *(pytest.param(name, marks=corpus.needs_corpus) for name in REAL),
]
"""The names of all templates, for `pytest.mark.parametrize`."""


class Open(NamedTuple):
    """A template, its format, and the positions of its turns."""

    template: ChatTemplate
    fmt: WireFormat
    turns: Turns
    reasoning: ReasoningFinding
    lost: tuple

    @property
    def context(self):
        """Return the switches under which the template was read."""
        now = {"datetime": "now"} if "datetime" in self.template.variables else {}
        return {**now, **self.turns.render.settings.context}

    @property
    def first(self):
        """Return the messages at the start of each conversation."""
        return list(self.turns.render._first)

    @property
    def has_calls(self):
        """Return whether the format has calls."""
        return self.fmt.tools.format != "NONE" or self.fmt.derived.has_channels

    def messages(self):
        """Return awkward turns, limited to the parts that the template renders."""
        from deltaparse.analyzer.format_markers import confusing

        return turns_without(confusing(self.fmt), self.lost)


@cache
def opened(name):
    """Return the template of this name."""
    template = ChatTemplate({**SOURCES, **REAL}[name], "<s>", "</s>")
    seen = []

    def prove(turns, reasoning, fmt, chosen, others, lost=()):
        seen.append((turns, reasoning, tuple(lost)))
        return proved(turns, reasoning, fmt, chosen, others, lost)

    with pytest.MonkeyPatch.context() as patch:
        proved = analysis.prove
        patch.setattr(analysis, "prove", prove)
        fmt = analysis._found(template, {})
    return Open(template, fmt, *seen[-1])


def written(one, message, tools, **switches):
    """Return a prompt and the response of the model for a message, or None if unknown.

    The response is the part of the rendered history for the message.
    """
    asked = [*one.first, {"role": "user", "content": USER}]
    context = {**one.context, **switches}
    try:
        prompt = one.template.render(asked, tools, add_generation_prompt=True, **context)
        text = one.template.render([*asked, message], tools, **context)
    except TemplateError:
        return None
    parts = next(one.turns.frame.bodies_and_ends(text, USER), None)
    if parts is None:
        return None
    calls = tuple(call.to_openai() for call in message.tool_calls)
    turn = Turn("", message.content, message.reasoning_content, calls)
    answer = answer_in(text, USER)
    wire = wire_for(RenderedTurn(turn, *parts, answer, len(calls)), prompt, one.fmt)
    got = parse(wire.text, one.fmt, prompt=prompt, tools=tools, finish_reason="stop")
    said = (got.reasoning_content.strip(), got.content, [call.name for call in got.tool_calls])
    wanted = (message.reasoning_content, message.content, [c.name for c in message.tool_calls])
    if said == wanted and prompt == wire.prompt:
        return prompt, wire.text, wire.end
    return None
