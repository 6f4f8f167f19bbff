"""All renderings of an analysis together have a limit."""

from __future__ import annotations

import time

import pytest

from deltaparse import ChatTemplate, TemplateError, analyze
from deltaparse.analyzer import turns as render
from deltaparse.analyzer.probes import user
from deltaparse.analyzer.turns import Renderer

from ..strategies import templates

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


@pytest.mark.parametrize("name", BURNS)
def test_a_hostile_template_is_done_with_in_two_seconds(name):
    source = BURNS[name] + templates.TOOLS_ONLY
    start = time.thread_time()
    try:
        fmt = analyze(source)
    except TemplateError:
        pass
    else:
        assert fmt.verified or fmt.issues
    assert time.thread_time() - start < 2


def test_when_the_time_is_up_everything_is_refused(monkeypatch):
    monkeypatch.setattr(render, "MAX_SECONDS", 0.0)
    made = Renderer(ChatTemplate(templates.TOOLS_ONLY))
    assert made.exhausted
    assert made([user()]) is None
    fmt = analyze(ChatTemplate(templates.TOOLS_ONLY + " "))
    assert not fmt.verified
