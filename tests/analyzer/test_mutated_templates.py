"""Tests of templates with parts removed, repeated, moved, replaced or truncated.

The templates are real, generated or written for these tests. The report of the analysis must be
true: if a mutant is verified, its rendered messages are parsed back.
"""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse import (
    ChatTemplate,
    ReasoningMode,
    TemplateError,
    ToolFormat,
    WireFormat,
    analyze,
    parse,
)

from .. import corpus
from ..hangs import no_hang
from ..strategies.mutated_templates import mutated
from ..strategies.templates import SOURCES, compiles, template_of
from ..strategies.wire_json_and_tags import formats

MADE = st.sampled_from(list(SOURCES.values()))
REAL = [path.read_text(encoding="utf-8") for path in corpus.templates()]

SAID = {"role": "assistant", "content": "It stays dry in the city"}
THOUGHT = {"reasoning_content": "They ask for the weather", "thinking": "They ask for the weather"}
WANTED = {"city": "Ghent", "days": 3}
ASKED = {"role": "user", "content": "Will it rain this week"}
NEXT = {"role": "user", "content": "Well, thank you"}
CALL = {"id": "k3Qz81abc", "type": "function"}
CALL["function"] = {"name": "look_up_weather", "arguments": WANTED}
SCHEMA = {"city": {"type": "string"}, "days": {"type": "integer"}}
TOOL = {"name": "look_up_weather", "description": "Says what comes"}
TOOL["parameters"] = {"type": "object", "properties": SCHEMA, "required": ["city"]}
TOOLS = [{"type": "function", "function": TOOL}]
ONCE = (ASKED["content"], SAID["content"], THOUGHT["thinking"], "Ghent", NEXT["content"])
TURNS = {
    "content": (SAID, None),
    "reasoning": (SAID | THOUGHT, None),
    "a call": (SAID | {"content": "", "tool_calls": [CALL]}, TOOLS),
}
"""Messages that are rendered, and the tools of the conversation."""


def written(template, fmt, message, tools):
    """Return possible model outputs for a rendered turn, each with the header before it.

    The turn is rendered at the end and before another turn. It may contain its end marker several
    times, so each cut is returned, and one of them must be parsed back. Return [] if the template
    shows the turn twice, or in one place only.
    """
    turns = []
    for after in ([], [NEXT]):
        try:
            text = template.render([ASKED, message, *after], tools=tools)
        except TemplateError:
            return []
        header = next((header for header in fmt.turn.headers if header and header in text), None)
        # A call rendered with its arguments only cannot be assigned to a function.
        unnamed = "Ghent" in text and TOOL["name"] not in text.partition(ASKED["content"])[2]
        if unnamed or header is None or any(text.count(once) > 1 for once in ONCE):
            return []
        text = text.partition(ASKED["content"])[2].partition(NEXT["content"])[0]
        turn = text.partition(header)[2]
        shown = max(turn.find(once) for once in ONCE)
        ends = [at + len(end) for end in fmt.turn.ends for at in places(end, turn) if at > shown]
        found = [turn[:end] for end in ends]
        if not found:
            return []
        turns += [(header, turn) for turn in found]
    return turns


def places(part, text):
    """Return the positions of a part in a text."""
    return [found.start() for found in re.finditer(re.escape(part), text)]


def comes_back(fmt, message, tools, header, turn):
    """Return True if the rendered message is parsed to the same message."""
    if fmt.reasoning.mode is ReasoningMode.DELIMITER and THOUGHT["thinking"] not in turn:
        turn = fmt.reasoning.end + turn  # without it, all is reasoning
    got = parse(turn, fmt, prompt=header, tools=tools)
    calls = [(call.name, call.arguments and json.loads(call.arguments)) for call in got.tool_calls]
    texts = [message.get(key, "") for key in ("content", "thinking")]
    called = [(TOOL["name"], WANTED)] * ("tool_calls" in message and TOOL["name"] in turn)
    shown = [text if text in turn else "" for text in texts]
    return [got.content, got.reasoning_content, calls] == [*shown, called]


def check(fmt, template):
    """Check that the renderings of all parts known to the format are parsed back."""
    kinds = ["content"]
    if fmt.tools.format is not ToolFormat.NONE:
        kinds.append("a call")
    if fmt.reasoning.mode is not ReasoningMode.NONE or fmt.channels.reasoning:
        kinds.append("reasoning")
    for kind in kinds:
        turns = written(template, fmt, *TURNS[kind])
        assert not turns or any(comes_back(fmt, *TURNS[kind], *turn) for turn in turns), turns


def analysis_is_true(source):
    """Analyze a template, and check a verified format."""
    template = ChatTemplate(source)
    fmt = analyze(template)
    assert fmt.verified or fmt.issues
    assert WireFormat.from_json(fmt.to_json()) == fmt
    if fmt.verified:
        check(fmt, template)


@settings(max_examples=100)
@given(
    source=mutated(st.sampled_from(list(SOURCES.values())) | formats().map(template_of)).filter(
        compiles
    )
)
def test_templates_made_for_tests(source):
    with no_hang():
        analysis_is_true(source)


@corpus.needs_corpus
@settings(max_examples=40)
@given(source=mutated(st.sampled_from(REAL) if REAL else st.nothing()).filter(compiles))
def test_real_templates(source):
    with no_hang():
        analysis_is_true(source)


NOT_WRITTEN = {"json_unmarked", "keys_and_values_in_tags", "system_message_wanted"}
"""Templates whose turns nothing ends, or that refuse these conversations."""


@pytest.mark.parametrize("name", sorted(SOURCES.keys() - NOT_WRITTEN))
def test_the_turns_of_most_templates_are_written(name):
    template = ChatTemplate(SOURCES[name])
    assert written(template, analyze(template), *TURNS["content"])


MESSAGES = "{% for m in messages %}{% if m.role != 'assistant' %}<u>{{ m.content }}</e>{% else %}"
CALLS_AFTER_SPACE = (
    "<a>{{ m.content }}{% if m.tool_calls %}<x>{% for c in m.tool_calls %}{{ ' ' }}"
    "{{ c.function.name }}<p>{{ c.function.arguments | tojson }}{% if not loop.last %} {% endif %}"
    "{% endfor %}</x>{% endif %}</a>"
)
REASONING_UP_TO_A_MARKER = (
    "<h>{% if m.reasoning_content %}{{ m.reasoning_content }}<final>{% endif %}{{ m.content }}</e>"
)


@pytest.mark.parametrize("turn", [CALLS_AFTER_SPACE, REASONING_UP_TO_A_MARKER])
def test_templates_that_were_taken_wrong(turn):
    analysis_is_true(MESSAGES + turn + "{% endif %}{% endfor %}")


def test_reasoning_without_end_marker_is_reported():
    turn = "<a>{% if m.thinking %}<mind>{{ m.thinking }}{% endif %}{{ m.content }}</e>"
    fmt = analyze(MESSAGES + turn + "{% endif %}{% endfor %}")
    assert not fmt.verified
    assert fmt.issues == ("the template shows reasoning, but no marker that ends it",)
