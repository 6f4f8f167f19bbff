"""The texts before and after a function name."""

from __future__ import annotations

import json

import pytest

from deltaparse import analyze, parse

TURNS = (
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{% if m.role == 'user' %}"
)
TURNS += "<u>{{ m.content }}</u>{% elif m.role == 'tool' %}<r>{{ m.content }}</r>{% else %}<a>"
TURNS += "{{ m.content or '' }}{% if m.tool_calls %}CALLS{% endif %}</a>{% endif %}{% endfor %}"
TURNS += "{% if add_generation_prompt %}<a>{% endif %}"
EACH = "{% for c in m.tool_calls %}ONE{{ '\n' if not loop.last }}{% endfor %}"
TAGS = """{{ '<c f="' + c.function.name + '" id="' + c.id + '">' }}{% for k, v in ARGS %}"""
TAGS += """{{ '<p n="' + k + '">' + (v if v is string else v | tojson) + '</p>' }}"""
TAGS += "{% endfor %}</c>"
SPACED = "api.{{ c.function.name }}({% for k, v in ARGS %}{{ k }}={{ v | tojson }}"
SPACED += "{{ ', ' if not loop.last }}{% endfor %})"
FORMS = [
    (EACH.replace("ONE", TAGS), '<c f="f" id="7"><p n="a">x</p></c>', "7"),
    ("<py>" + EACH.replace("ONE", SPACED) + "</py>", '<py>api.f(a="x")\napi.f(a="y")</py>', ""),
]


@pytest.mark.parametrize(("calls", "output", "id"), FORMS)
def test_name_markers_exclude_id_and_namespace(calls, output, id):
    calls = calls.replace("ARGS", "c.function.arguments.items()")
    fmt = analyze(TURNS.replace("CALLS", calls))
    assert fmt.issues == ()
    made = parse(output, fmt, finish_reason="stop").tool_calls
    assert {call.name for call in made} == {"f"}
    assert json.loads(made[0].arguments) == {"a": "x"}
    assert not id or made[0].id == id
