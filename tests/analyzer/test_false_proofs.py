"""Tests that verified formats are correct: all renderings are parsed back, under all switches.

The templates are written for these tests, real if available, or mutants of both.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse import ChatTemplate, WireFormat, analyze, parse

from .. import corpus
from ..hangs import no_hang
from ..strategies.judge_of_proofs import false_proofs
from ..strategies.mutants import mutant
from ..strategies.mutated_templates import mutated
from ..strategies.templates import SOURCES, compiles

REAL = {path.name: path.read_text(encoding="utf-8") for path in corpus.templates()}
NEWER = {path.name: path.read_text(encoding="utf-8") for path in corpus.newer_templates()}
REAL |= NEWER
MUTANTS = mutated(st.sampled_from(sorted(REAL.values())) if REAL else st.nothing())


def judged(source, seed=0, more=0):
    """Return the false proofs of a template, [] if its format is not verified."""
    with no_hang():
        template = ChatTemplate(source)
        fmt = analyze(template)
        assert fmt.verified or fmt.issues or fmt == WireFormat()
        return false_proofs(template, fmt, random.Random(seed), more) if fmt.verified else []


@pytest.mark.parametrize("name", SOURCES)
def test_no_false_proof_of_our_own(name):
    assert judged(SOURCES[name]) == []


@settings(max_examples=60)
@given(source=mutated(st.sampled_from(list(SOURCES.values()))).filter(compiles))
def test_no_false_proof_of_mutants(source):
    assert judged(source) == []


DOTS = """\
{%- for m in messages -%}
    {{- '<' + m.role + '>.<' + m.role + '>.' + (m.content or '') -}}
    {%- for c in m.tool_calls or [] -%}
        {{- '<call id="' + c.id + '" name="' + c.function.name + '">' -}}
        {{- (c.function.arguments | tojson) + '</call>.</call>.' -}}
    {%- endfor -%}
    {{- '</a>.</a>.' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<assistant>.<assistant>.' -}}{%- endif -%}
"""
"""Each call ends in what may stand in an id."""


def test_id_that_contains_a_marker_is_not_a_proof():
    fmt = analyze(ChatTemplate(DOTS))
    assert fmt.tools.per_call_end == "."
    for id in ("functions.f:0", "a"):
        output = f'<call id="{id}" name="f">{{"a": 1}}</call>.</call>.</a>.</a>.'
        read = [(call.id, call.name) for call in parse(output, fmt).tool_calls]
        assert (read == [(id, "f")]) is (id == "a")
    assert not fmt.verified
    assert "'.'" in fmt.issues[0]


SAMPLE = range(1, 1_000, 60)
"""Mutants that CI always tries; `fuzz/false_proofs.py` tries others."""


@pytest.mark.parametrize("seed", SAMPLE)
@corpus.needs_corpus
def test_no_false_proof_in_a_sample_of_mutants(seed):
    assert judged(mutant(REAL, seed)[0], seed, more=6) == []


@settings(max_examples=15)
@given(seed=st.integers(0, 2**40))
def test_no_false_proof_of_mutants_by_number(seed):
    assert judged(mutant(SOURCES | REAL, seed)[0], seed, more=12) == []


TURNS = "{% for m in messages %}{% if m.role != 'assistant' %}<u>{{ m.content }}</u>{% else %}"
END = "{% endif %}{% endfor %}{% if add_generation_prompt %}<a>"
CALL = """{{ '<c>{"name": "' + c.function.name + '", "arguments": ' }}"""
CALL += "{{ c.function.arguments | tojson }}"
CALLS = "{% for c in m.tool_calls or [] %}" + CALL + "}</c>{% endfor %}"
WRONG = {
    "what opens reasoning ends in what begins content": """\
{% for m in messages %}{% if m.role != 'assistant' %}<u>{{ m.content }}{% else %}<a><x>
{{- '<t><x>' ~ (m.reasoning_content or '') if on }}</t><x>{{ m.content or '' }}</a><x>{% endif %}
{%- endfor %}{% if add_generation_prompt %}<a><x>{{ '<t><x>' if on else '</t><x>' }}{% endif %}""",
    "content without its emphasis": TURNS
    + "<a>{{ m.content | replace('*', '') }}</a>"
    + END
    + "{% endif %}",
    "texts in capitals, and parts as they are": """\
{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' and m.content is string %}
{{- m.content | upper }}{% elif m.content is string %}{{ m.content }}{% else %}
{{- m.content[0].text }}{% endif %}</s>{% endfor %}
{%- if add_generation_prompt %}<assistant>{% endif %}""",
    "a header that ends the user's message too": """\
{% for m in messages %}{% if m.role != 'assistant' %}<x><u>{{ m.content }}<x></u>{% else %}
{{- '<x><a>' + m.content + '<x></a>' }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}<x><a>{% endif %}""",
    "reasoning that any sentence ends": TURNS
    + "<a>{% if m.reasoning_content %}<t>{{ m.reasoning_content }}.{% endif %}"
    + "<v>{{ m.content }}</a>"
    + END
    + "{% endif %}",
    "another end of the last turn, behind the same text": """\
{% for m in messages %}{{ '<' + m.role + '>' + m.content + '.' }}
{{- '<over>' if m.role == 'assistant' and loop.last else '<next>' }}{% endfor %}
{%- if add_generation_prompt %}<assistant>{% endif %}""",
    "content behind the end of the turn": TURNS
    + "<a>{% if m.tool_calls %}"
    + CALLS
    + "</a><r>{{ m.content | tojson }}</r>"
    + "{% else %}{{ m.content }}</a>{% endif %}"
    + END
    + "{% endif %}",
    "reasoning that the template makes up": TURNS
    + "<a>{% if m.reasoning_content %}<t>{m.reasoning_content}</t>{% endif %}{{ m.content }}</a>"
    + END
    + "<t>{% endif %}",
    "a prompt that opens what nothing ends": TURNS
    + "<a>{% if m.reasoning_content %}{{ '<t>' + m.reasoning_content + '</t>' }}{% endif %}"
    + "{{ m.content }}</a>"
    + END
    + "{{ '<deep>' if deep else '<t>' }}{% endif %}",
    "a turn that nothing ends": TURNS
    + "<a>{{ m.content }}<a>{% endif %}''{% endfor %}{% if add_generation_prompt %}<a>{% endif %}",
    "a number of the probe in a marker": TURNS
    + "<a>{{ m.content }}{% for c in m.tool_calls or [] %}"
    + "{{ '<c id=' + c.id.split('_')[1] + '>' + c.function.name + '<j>' }}"
    + "{{ c.function.arguments | tojson }}</c>{% endfor %}</a>"
    + END
    + "{% endif %}",
    "another end in the middle, without a marker": TURNS
    + "<a>{{ m.content }}{% if not loop.last %}. Over{% endif %}</a>"
    + END
    + "{% endif %}",
    "another header in the middle": TURNS
    + "<a>{% if not loop.last %}<mid>{% endif %}{{ m.content }}</a>"
    + END
    + "{% endif %}",
    "a part under two switches": TURNS
    + "<a>{% if one and two %}<both>{% endif %}{{ m.content }}</a>"
    + END
    + "{% endif %}",
    "another form in a later turn": TURNS
    + "<a>{{ '<later>' if loop.index > 2 and loop.index0 % 2 }}{{ m.content }}</a>"
    + END
    + "{% endif %}",
    "text under a switch that changes the end of a conversation": TURNS
    + "<a>{{ m.content }}</a>{% if trained and loop.last %}<x>{% endif %}"
    + END
    + "{% endif %}",
    "a marker that any text may hold": TURNS
    + "<a>{% if m.reasoning_content %}{{ '((' + m.reasoning_content + '))' }}{% endif %}"
    + "{{ m.content }}</a>"
    + END
    + "{% endif %}",
}
"""Templates that were called verified, and were wrong."""


@pytest.mark.parametrize("name", WRONG)
def test_known_false_proofs_are_not_verified(name):
    assert judged(WRONG[name]) == []
    fmt = analyze(WRONG[name])
    assert not fmt.verified or name == "a number of the probe in a marker"
    assert "<c id=0" not in fmt.to_json()


def test_ends_that_differ_in_the_middle_are_both_found():
    last = "{% if loop.last and not trained %}<x>{% else %}<end><x>{% endif %}"
    source = TURNS + "<a>{{ m.content }}" + last + END + "{% endif %}"
    fmt = analyze(source)
    assert (fmt.verified, set(fmt.turn.ends)) == (True, {"<end><x>", "<end>", "<x>"})
    assert "trained=true" in fmt.proved.content
    assert judged(source) == []


def test_end_of_calls_under_a_list_switch_is_found():
    named = "{% if more %}{{ more | join }}{% endif %}"
    end = "{{ '</b>' if more is defined and m.tool_calls else '</a>' }}"
    source = named + TURNS + "<a>{{ m.content }}" + CALLS + end + END + "{% endif %}"
    fmt = analyze(source)
    assert (fmt.verified, fmt.turn.ends) == (True, ("</a>", "</b>"))
    assert fmt.switches == {"more": ("calls", "instructions")}
    assert "more=[...], tools" in fmt.proved.calls
    assert judged(source) == []


def test_calls_under_a_switch_are_proved_with_one_call_per_turn():
    one = "{% for c in m.tool_calls or [] %}" + CALL + "}{{ '~' if on == false }}</c>"
    refused = "{% if m.tool_calls and m.tool_calls[1] %}{{ raise_exception('one') }}{% endif %}"
    source = TURNS + refused + "<a>{{ m.content }}" + one + "{% endfor %}</a>" + END + "{% endif %}"
    fmt = analyze(source)
    assert not fmt.tools.supports_parallel_calls
    assert not fmt.verified
    assert "with on=false" in fmt.issues[0]


def test_reasoning_that_no_rendering_shows_is_not_proved():
    fmt = analyze(SOURCES["reasoning_asked_for"])
    assert fmt.derived.has_reasoning
    assert (fmt.proved.reasoning, bool(fmt.proved.content)) == ((), True)


@pytest.mark.parametrize("ids", ["{{ c.id }}", "{{ c.id[-4:] }}"])
def test_ids_round_trip(ids):
    call = "<c>" + ids + "<n>{{ c.function.name }}<j>{{ c.function.arguments | tojson }}</c>"
    calls = "{% for c in m.tool_calls or [] %}" + call + "{% endfor %}</a>"
    fmt = analyze(TURNS + "<a>{{ m.content }}" + calls + END + "{% endif %}")
    assert not fmt.verified or fmt.derived.writes_ids
    assert judged(TURNS + "<a>{{ m.content }}" + calls + END + "{% endif %}") == []


@pytest.mark.costly
@corpus.needs_corpus
@pytest.mark.parametrize("name", sorted(REAL))
def test_no_false_proof_of_a_real_template(name):
    assert judged(REAL[name]) == []


@corpus.needs_corpus
@settings(max_examples=25)
@given(source=MUTANTS.filter(compiles))
def test_no_false_proof_of_mutants_of_real_templates(source):
    assert judged(source) == []
