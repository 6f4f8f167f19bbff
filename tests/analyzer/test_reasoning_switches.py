"""Switches that turn reasoning on, in templates of the tests and in real ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deltaparse import ChatTemplate, WireFormat, analyze
from deltaparse.analyzer.reasoning_switches import reasoning_switches

from .. import corpus
from ..corpus import needs_corpus, newer_templates, templates

TEMPLATES = sorted((Path(__file__).parents[1] / "templates").glob("*.jinja"))

PROMPT = "{% if add_generation_prompt %}<|a|>{{ prompt }}{% endif %}"
TURNS = """{% for m in messages %}<|{{ m.role[0] }}|>{{ before if m.role == 'user' }}\
{% if m.reasoning_content %}<ponder>{{ m.reasoning_content }}</ponder>{% endif %}{{ m.content }}\
{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}\
{{ after if m.role == 'user' }}<|end|>{% endfor %}"""
FMT = WireFormat().replace(
    reasoning={"mode": "TAG_BASED", "start": "<ponder>", "end": "</ponder>"},
    switches={"deep": ("prompt",)},
)
OPENED = "{% set prompt = '<ponder>' if deep else '' %}"
CLOSED = "{% set prompt = '<ponder></ponder>' if deep is defined and not deep else '' %}"


def switches(source, fmt=FMT):
    return reasoning_switches(ChatTemplate(source), fmt)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (OPENED + TURNS + PROMPT, {"deep": True}),
        (CLOSED + TURNS + PROMPT, {"deep": True}),
        (OPENED.replace("if deep", "if not deep") + TURNS + PROMPT, {"deep": False}),
        ("{% set after = '' if deep else '/no' %}" + OPENED + TURNS + PROMPT, {"deep": True}),
        (OPENED + "{{ 'Think well.' if deep }}" + TURNS + PROMPT, {"deep": True}),
        (OPENED + TURNS.replace("if m.rea", "if deep and m.rea") + PROMPT, {"deep": True}),
    ],
)
def test_a_switch_that_turns_reasoning_on_is_found(source, found):
    assert switches(source) == found


@pytest.mark.parametrize(
    "source",
    [
        TURNS + PROMPT,
        "{% set prompt = 'Hm ' if deep %}" + TURNS + PROMPT,
        OPENED
        + TURNS.replace("in m.tool_calls or []", "in (m.tool_calls or [])[deep|int:]")
        + PROMPT,
        OPENED + TURNS.replace("{{ m.content }}", "{{ m.content if not deep }}") + PROMPT,
        OPENED + TURNS.replace("<call>", "{{ '<c>' if deep else '<call>' }}") + PROMPT,
        OPENED + TURNS.replace("in messages", "in messages[deep|int:]") + PROMPT,
        OPENED + "{{ tools|tojson if tools and not deep }}" + TURNS + PROMPT,
        "{% if deep and tools %}{{ raise_exception('no') }}{% endif %}" + OPENED + TURNS + PROMPT,
        "{% if deep is true %}{{ raise_exception('no') }}{% endif %}" + OPENED + TURNS + PROMPT,
    ],
)
def test_a_switch_that_changes_more_than_reasoning_is_not_found(source):
    assert switches(source) == {}


def test_a_switch_that_shows_reasoning_of_the_history_only_is_not_found():
    source = TURNS.replace("if m.rea", "if deep and m.rea") + PROMPT
    fmt = analyze(source)
    assert fmt.switches["deep"] == ("reasoning",)
    assert switches(source, fmt) == {}


CONVERSATION = [
    {"role": "user", "content": "q1"},
    {"role": "assistant", "content": "a1", "reasoning_content": "t1"},
    {"role": "user", "content": "q2"},
    {
        "role": "assistant",
        "content": "",
        "reasoning_content": "t2",
        "tool_calls": [
            {
                "id": "abcdefghi",
                "type": "function",
                "function": {"name": "f1", "arguments": {"k1": "v1"}},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "abcdefghi", "name": "f1", "content": "r1"},
]
SAID = re.compile(r"\b(?:q1|a1|q2|f1|k1|v1|r1|abcdefghi)\b")


def check(path):
    """Check that the conversation is the same under all switches, whatever is asked for."""
    template = ChatTemplate.load(path)
    found = reasoning_switches(template, analyze(template))
    history = template.history(CONVERSATION)

    def said(**context):
        try:
            text = template.render(history, add_generation_prompt=True, **context)
        except Exception as error:  # noqa: BLE001 - a template refuses it under all or under none
            return type(error)
        return SAID.findall(text)

    plain = said()
    for on in (True, False):
        assert said(**{name: value is on for name, value in found.items()}) == plain
    return found


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_switches_of_own_templates_keep_the_conversation(path):
    check(path)


@needs_corpus
@pytest.mark.parametrize("path", [*templates(), *newer_templates()], ids=lambda path: path.stem)
def test_switches_of_real_templates_keep_the_conversation(path):
    check(path)


OTHER_SWITCHES = {
    "Cohere2MoE": {"reasoning": True},
    "Kimi-K3": {"thinking": True},
    "openbmb-MiniCPM5-1B": {"enable_thinking": True},
    "poolside-Laguna-XS.2": {"enable_thinking": True},
    "GLM-4.6": {"enable_thinking": True},
    "unsloth-Apriel-1.5": {},
    "tencent-Hy3": {},
}


@needs_corpus
@pytest.mark.parametrize("name", OTHER_SWITCHES)
def test_other_switches_of_real_templates_are_not_found(name):
    source = ChatTemplate(corpus.template(f"{name}.jinja"))
    assert reasoning_switches(source, analyze(source)) == OTHER_SWITCHES[name]
