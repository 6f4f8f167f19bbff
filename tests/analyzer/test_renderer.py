"""Rendering probes: refusals, turns and prompts, and the limit for all of it together."""

from __future__ import annotations

import time

import pytest

from deltaparse import ChatTemplate, TemplateError, analyze
from deltaparse.analyzer import renderer
from deltaparse.analyzer.probes import NEXT_USER, TOOLS, USER, assistant, call, user
from deltaparse.analyzer.renderer import Renderer

from ..strategies.templates import OWN

LESS = 0.3
"""Seconds that these have instead of `MAX_SECONDS`, so that nobody has to wait for them."""
SLOW = "{% for a in range(10**5) %}{% for b in range(10**5) %}{% endfor %}{% endfor %}"
BURNS = {
    "always": SLOW,
    "with tools": "{% if tools %}" + SLOW + "{% endif %}",
    "with calls": "{% for m in messages %}{% if m.tool_calls %}" + SLOW + "{% endif %}{% endfor %}",
    "with reasoning": "{% if messages[-1].reasoning_content %}" + SLOW + "{% endif %}",
    "with the prompt": "{% if add_generation_prompt %}" + SLOW + "{% endif %}",
    "with long texts": "{% if messages[-1].content | length > 20 %}" + SLOW + "{% endif %}",
    "a huge text": "{{ 'x' * 10**9 }}",
    "a huge number": "{{ 10 ** 10 ** 10 }}",
    "a long range": "{% for a in range(10**9) %}{% endfor %}",
    "recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "attributes": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "attributes with tools": "{% if tools %}{{ tools.__class__.__mro__ }}{% endif %}",
    "much text": "{% for a in range(10**4) %}{{ 'x' * 1000 }}{% endfor %}",
    "switches": "".join("{% if s" + str(n) + " %}x{% endif %}" for n in range(1500)),
    "slow switches": "{% set n = namespace(t='') %}"
    + "".join("{% if s" + str(n) + " %}x{% endif %}" for n in range(200))
    + "{% for a in range(2000) %}{% set n.t = n.t ~ 'ab' %}{% endfor %}",
    "words": "".join(
        "{% if 'w" + str(n) + "' in messages[0].content %}{% endif %}" for n in range(900)
    ),
}


@pytest.mark.costly
@pytest.mark.parametrize("name", BURNS)
def test_a_hostile_template_is_given_up(name, monkeypatch):
    monkeypatch.setattr(renderer, "MAX_SECONDS", LESS)
    source = BURNS[name] + OWN.reasoning_beside_calls_only
    start = time.thread_time()
    try:
        fmt = analyze(source)
    except TemplateError:
        pass
    else:
        assert fmt.verified or fmt.issues
    assert time.thread_time() - start < LESS + 1


def test_when_the_time_is_up_everything_is_refused(monkeypatch):
    monkeypatch.setattr(renderer, "MAX_SECONDS", 0.0)
    made = Renderer(ChatTemplate(OWN.reasoning_beside_calls_only))
    assert made.exhausted
    assert made([user()]) is None
    fmt = analyze(ChatTemplate(OWN.reasoning_beside_calls_only + " "))
    assert not fmt.verified


def test_a_refusal_is_remembered_in_the_templates_words():
    made = Renderer(ChatTemplate("{{ raise_exception('only prose') }}"))
    assert made([user()]) is None
    assert "only prose" in made.refusals[0]


def test_a_conversation_with_one_turn():
    made = Renderer(ChatTemplate(OWN.json_list_behind_words))
    assert made.turn() == made([user(), assistant()])
    assert made.turn(content="", calls=[call()]) == made(
        [user(), assistant("", calls=[call()])], tools=TOOLS
    )
    then = [user(NEXT_USER)]
    assert made.turn(then=then, prompt=True) == made([user(), assistant(), *then], prompt=True)


def test_the_end_of_a_prompt():
    made = Renderer(ChatTemplate(OWN.reasoning_forced_closed))
    assert made.prompt_tail().endswith("<a>[mind][/mind]")
    assert made.prompt_tail(context={"deep": True}).endswith("<a>[mind]")
    assert made.prompt_tail(f"{USER} and more").startswith(" and more")
    assert made.prompt_tail("nothing of the sort") is None
