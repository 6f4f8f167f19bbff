"""Tests of the additional settings for the proof."""

from __future__ import annotations

from deltaparse import ChatTemplate
from deltaparse.analyzer.phases.find_switches import SwitchSetting
from deltaparse.analyzer.proof.switch_combinations import MOST_SWITCHES, MOST_VALUES, other_settings
from deltaparse.analyzer.renderer import Renderer

TURNS = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
A, B, C = (("a", True),), (("b", True),), (("c", True),)


def others(source, *known, **context):
    render = Renderer(ChatTemplate(source), context=context)
    return [one.switches for one in other_settings(render, known)]


def test_every_value_that_changes_something():
    assert others(TURNS + "{% if a %}x{% endif %}") == [A]
    assert others(TURNS + "{% if a is defined and not a %}x{% endif %}") == [(("a", False),)]
    found = others(TURNS + "{% if a == 'low' or a == 'high' %}{{ a }}{% endif %}")
    assert sorted(found) == [(("a", "high"),), (("a", "low"),)]


def test_known_or_given_settings_are_skipped():
    source = TURNS + "{% if a %}{{ a }}{% endif %}"
    assert others(source, SwitchSetting(A)) == []
    assert others(source, a="on") == []


def test_switches_that_change_something_only_together():
    source = TURNS + "{% if a and b %}x{% endif %}"
    assert others(source) == [A + B]
    source = TURNS + "{% if a is false and b is false %}x{% endif %}"
    assert others(source) == [(("a", False), ("b", False))]


def test_pairs_of_known_settings_that_do_not_contradict_each_other():
    source = TURNS + "{% if a and b %}x{% elif a or b %}y{% endif %}{{ c }}"
    assert A + B in others(source, SwitchSetting(A), SwitchSetting(B))
    pair, against = SwitchSetting((*A, *B)), SwitchSetting((("a", False), *C))
    assert not [one for one in others(source, pair, against) if len(dict(one)) < len(one)]


def test_the_prompt_is_looked_at_as_well_as_the_turns():
    prompt = TURNS + "{% if add_generation_prompt %}<assistant>{% if a %}x{% endif %}{% endif %}"
    assert others(prompt) == [A]
    calls = TURNS.replace("{{ m.content", "{% if a and m.tool_calls %}x{% endif %}{{ m.content")
    assert others(calls) == [A]


def test_a_template_that_refuses_calls_is_tried_without():
    source = (
        "{% for m in messages %}{% if m.tool_calls or m.role == 'tool' %}"
        "{{ raise_exception('no') }}{% endif %}{{ m.content }}"
        "{% if a %}{{ m.reasoning_content }}{% endif %}{% endfor %}"
    )
    assert others(source) == [A]


def test_a_template_that_takes_one_call_is_tried_with_one():
    source = (
        "{% for m in messages %}{% if m.tool_calls and m.tool_calls[1] %}"
        "{{ raise_exception('no') }}{% endif %}{{ m.content }}"
        "{% if a and m.tool_calls %}!{% endif %}{% endfor %}"
    )
    assert others(source) == [A]


def test_setting_with_only_refusals_is_yielded():
    assert others(TURNS + "{% if a %}{{ raise_exception('no') }}{% endif %}") == [A]


def test_there_is_a_limit_to_switches_and_to_values():
    names = [f"s{at:02}" for at in range(2 * MOST_SWITCHES)]
    found = others(
        TURNS + "".join("{% if " + name + " %}x{{ '" + name + "' }}{% endif %}" for name in names)
    )
    assert {one[0][0] for one in found if len(one) == 1} == set(names[:MOST_SWITCHES])
    values = " or ".join(f"a == 'v{at}'" for at in range(2 * MOST_VALUES))
    found = others(TURNS + "{% if " + values + " %}{{ a }}{% endif %}")
    assert len([one for one in found if isinstance(one[0][1], str)]) == MOST_VALUES


def test_effective_switch_is_not_combined_with_idle_ones():
    source = TURNS + "{% if a %}y{% endif %}{% if a is false and b is false %}x{% endif %}"
    assert not [one for one in others(source, SwitchSetting(A)) if len(one) > 1]
