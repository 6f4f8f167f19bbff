"""Settings: labels, effects and relevance."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, analyze
from deltaparse.analyzer.phases.find_switches import (
    LIST,
    SwitchSetting,
    _may_be_off,
    find_settings,
    names_of_switches,
    situation,
    switches_of,
    views_with_reasoning,
)
from deltaparse.analyzer.probes import USER
from deltaparse.analyzer.renderer import Renderer

from .small_templates import CALLS, THOUGHT
from .small_templates import turns as small_turns

P = ("prompt",)
CALL = "{{ m.tool_calls[0].function.name }}{% if deep %}!{% endif %}"
PLAIN = (f"{USER}<me>", f"{USER}<me>said", f"{USER}<me>called")


def test_setting_label_lists_switches():
    assert SwitchSetting().label == "default"
    listed = SwitchSetting((("a", LIST), ("b", "low"), ("c", False)))
    assert listed.label == "a=[...], b=low, c=false"
    assert listed.given == "a=[...], b='low', c=False"
    assert SwitchSetting((("a", True), ("b", "Low"))).label == "a=true, b=Low"


@pytest.mark.parametrize(
    ("changes", "matters"),
    [
        ((), False),
        (("instructions",), False),
        (("prompt",), True),
        (("instructions", "calls"), True),
    ],
)
def test_setting_with_other_instructions_only_does_not_matter(changes, matters):
    assert SwitchSetting((("a", True),), changes).matters is matters
    assert SwitchSetting().matters


def test_setting_with_another_prompt_is_prompted():
    assert SwitchSetting().prompted
    assert SwitchSetting((("a", True),), ("reasoning", "prompt")).prompted
    assert not SwitchSetting((("a", True),), ("reasoning",)).prompted


def test_switches_of_merges_the_changes_of_all_values():
    one, other = (("a", True),), (("a", "low"),)
    settings = [SwitchSetting(), SwitchSetting(one, P), SwitchSetting(other, ("calls",))]
    settings += [SwitchSetting((*one, ("b", True)), ("reasoning", "prompt"))]
    found = switches_of(["a", "b", "c"], settings)
    assert found == {"a": ("prompt", "calls"), "b": ("reasoning", "prompt"), "c": ()}


def test_false_is_not_tried_for_rejected_or_minor_switches():
    assert not _may_be_off(PLAIN, None)
    assert _may_be_off(PLAIN, PLAIN)
    assert not _may_be_off(PLAIN, ("told" + PLAIN[0], *PLAIN[1:]))
    assert _may_be_off(PLAIN, (PLAIN[0] + "<in>", *PLAIN[1:]))


def test_conversation_variables_are_not_switches():
    names = ("messages", "tools", "functions", "documents", "available_tools", "custom_tools")
    names += ("continue_final_message", "add_generation_prompt", "bos_token", "eos_token")
    source = "".join("{% if " + name + " %}x{% endif %}" for name in (*names, "deep"))
    assert names_of_switches(ChatTemplate(source)) == ["deep"]


def turns(more: str = "") -> str:
    turn = "<{{ m.role }}>{{ m.content }}" + more + "</{{ m.role }}>"
    return "{% for m in messages %}" + turn + "{% endfor %}"


def settings_of(source: str) -> list[SwitchSetting]:
    return find_settings(Renderer(ChatTemplate(source)))[1:]


def test_switch_with_several_texts_is_not_set_to_true():
    ways = "{% if deep == 'a' %}A{% elif deep == 'b' %}B{% elif deep %}C{% endif %}"
    prompt = "{% if add_generation_prompt %}<assistant>" + ways + "{% endif %}"
    found = settings_of(turns() + prompt)
    assert [one.switches for one in found] == [(("deep", "a"),), (("deep", "b"),)]


def test_switch_may_show_reasoning_with_content_only():
    shown = "{% if deep and not m.tool_calls %}{{ m.reasoning_content }}{% endif %}"
    prompt = "{% if add_generation_prompt %}<assistant>{% if deep %}!{% endif %}{% endif %}"
    (found,) = settings_of(turns(shown) + prompt)
    assert found.changes == ("prompt", "reasoning")


PROMPT = "{% if add_generation_prompt %}<assistant>PROMPT{% endif %}"

ENDED = "{% if m.role == 'assistant' and not m.tool_calls %}{{ m.reasoning_content }}="
ENDED += "{{ m.content }}{% if deep %}<end>{% endif %}{% endif %}"


@pytest.mark.parametrize(
    ("before", "in_turn", "in_prompt", "found"),
    [
        # Reasoning only with content: no other changes, or only in the instructions.
        (
            "",
            "{% if deep and not m.tool_calls %}{{ m.reasoning_content }}{% endif %}",
            "",
            [("deep", True, ("reasoning",))],
        ),
        (
            "{% if deep %}Think.{% endif %}",
            "{% if deep and not m.tool_calls %}{{ m.reasoning_content }}{% endif %}",
            "",
            [("deep", True, ("reasoning", "instructions"))],
        ),
        # Reasoning only with a call and without content.
        (
            "",
            "{% if deep and m.tool_calls and not m.content %}{{ m.reasoning_content }}{% endif %}",
            "",
            [("deep", True, ("reasoning",))],
        ),
        # Text after the content is neither prompt nor reasoning.
        ("", "{{ m.reasoning_content }}", "{% if deep %}!{% endif %}", [("deep", True, P)]),
        (
            "",
            ENDED,
            "",
            [],
        ),
        # False is tried if more than the instructions change, without comparison texts.
        ("", "", "{% if deep is defined and not deep %}<no>{% endif %}", [("deep", False, P)]),
        (
            "",
            "",
            "{% if deep == 'no' or (deep is defined and not deep) %}<no>{% endif %}",
            [("deep", "no", P)],
        ),
        # Rejected values, the notation of calls, and effects that depend on another switch.
        ("{% if deep %}{{ raise_exception('no') }}{% endif %}", "", "", []),
        ("", "{% if m.tool_calls %}" + CALL + "{% endif %}", "", [("deep", True, ("calls",))]),
        (
            "",
            "{% if m.tool_calls %}" + CALL.partition("{%")[0] + "!{% endif %}",
            "{% if deep %}!{% endif %}",
            [("deep", True, P)],
        ),
        (
            "",
            "{{ raise_exception('no') if m.reasoning_content and m.content }}",
            "{% if deep %}!{% endif %}",
            [("deep", True, P)],
        ),
        ("{% if day is defined %}{{ day }}{% endif %}", "", "", [("day", True, ("instructions",))]),
        # A value written into the prompt is text.
        ("", "", "{{ answer }}{% if answer %}<user>{% endif %}", []),
        ("", "", "{% if answer is defined and not answer %}{{ answer }}{% endif %}", []),
        ("", "", "True{% if deep %}!{% endif %}", [("deep", True, P)]),
    ],
)
def test_switch_changes_are_detected(before, in_turn, in_prompt, found):
    source = before + turns(in_turn) + PROMPT.replace("PROMPT", in_prompt)
    seen = [(*one.switches[0], one.changes) for one in settings_of(source)]
    assert seen == found


def test_switch_may_depend_on_another_switch():
    shown = "{% if deep %}{{ m.reasoning_content }}{% if wide %}!{% endif %}{% endif %}"
    found = settings_of(turns(shown) + PROMPT.replace("PROMPT", ""))
    assert [one.switches for one in found] == [
        (("deep", True),),
        (("deep", True), ("wide", True)),
    ]


def test_switch_with_effect_by_default_is_not_tried_again():
    shown = "{% if deep %}{{ m.reasoning_content }}{% endif %}"
    found = settings_of(turns(shown) + PROMPT.replace("PROMPT", "{% if loud %}!{% endif %}"))
    assert [one.switches for one in found] == [(("deep", True),), (("loud", True),)]


def test_false_is_tried_only_under_the_default():
    off = "{% if wide is defined and not wide %}!{% endif %}"
    shown = "{% if deep %}{{ m.reasoning_content }}" + off + "{% endif %}"
    found = settings_of(turns(shown) + PROMPT.replace("PROMPT", ""))
    assert [one.switches for one in found] == [(("deep", True),)]


def test_preset_switch_is_not_tried():
    render = Renderer(
        ChatTemplate(turns() + PROMPT.replace("PROMPT", "{% if deep %}!{% endif %}")),
        context={"deep": True},
    )
    assert find_settings(render) == [SwitchSetting()]


def test_situation_shows_reasoning_before_calls_only():
    shown = "{% if deep and m.tool_calls and not m.content %}{{ m.reasoning_content }}{% endif %}"
    render = Renderer(ChatTemplate(turns(shown) + PROMPT.replace("PROMPT", "")))
    settings = [SwitchSetting(), SwitchSetting((("deep", True),), ("reasoning",))]
    assert situation(render, settings) == settings[1]


def test_values_with_equal_effects_yield_one_setting():
    source = turns() + PROMPT.replace("PROMPT", "{{ '!' if x in ['low', 'mid'] else x }}")
    assert [one.context for one in settings_of(source)] == [{"x": "low"}]


CALLED_ONLY = "{{ raise_exception('no') if deep and m.role == 'assistant' and not m.tool_calls }}"


@pytest.mark.parametrize(
    "shown",
    [
        "{{ m.reasoning_content if deep and not tools }}",
        "{{ m.reasoning_content if deep and tools and m.tool_calls }}",
        "{{ m.reasoning_content if deep and m.content }}",
        CALLED_ONLY + "{{ m.reasoning_content if deep }}",
        "{{ '!' if a and m.role == 'user' }}{{ m.reasoning_content if deep }}",
    ],
)
def test_situation_shows_reasoning_with_or_without_tools(shown):
    render = Renderer(ChatTemplate(turns(shown) + PROMPT.replace("PROMPT", "")))
    settings = find_settings(render)
    assert situation(render, settings).context == {"deep": True}


def test_situation_is_the_default_if_it_shows_reasoning():
    shown = "{{ m.reasoning_content }}{{ '</t>' if deep else '</u>' }}"
    render = Renderer(ChatTemplate(turns(shown) + PROMPT.replace("PROMPT", "")))
    default, deep = find_settings(render)
    assert "reasoning" in deep.changes
    assert situation(render, [default, deep]) == default


def test_template_that_rejects_prompts_has_no_switches():
    refuses = "{{ raise_exception('no') if add_generation_prompt and not deep }}"
    assert settings_of(refuses + turns()) == []


def test_changed_reasoning_end_counts_as_reasoning():
    shown = "{{ m.reasoning_content ~ ('</t>' if deep else '</u>') if m.reasoning_content }}"
    source = turns().replace("{{ m.content }}", shown + "{{ m.content }}")
    (deep,) = settings_of(source + PROMPT.replace("PROMPT", ""))
    assert deep.changes == ("reasoning",)


def test_rejected_call_shows_no_changes():
    refused = "{% if m.tool_calls %}{{ raise_exception('no') }}{% endif %}"
    said, called = views_with_reasoning(Renderer(ChatTemplate(turns(refused))))
    assert said
    assert called == ""
    refused = refused.replace("m.tool_calls", "m.content and m.reasoning_content")
    said, called = views_with_reasoning(Renderer(ChatTemplate(turns(refused))))
    assert said == ""
    assert called


@pytest.mark.parametrize(
    ("old", "new", "ends"),
    [
        ("</me>", "{{ '<|act|>' if deep and m.tool_calls else '</me>' }}", ("</me>", "<|act|>")),
        ("</me>", "{{ '<|act|>' if deep else '</me>\n' }}", ("</me>\n", "<|act|>")),
        ("</me>", "{{ '<|act|>' if deep and not m.tool_calls else '</me>' }}", ("</me>",)),
        ("</me>", "{{ '<|act|><x>' if deep and m.tool_calls else '</me>' }}", ("</me>",)),
        ("</me>", "{{ 'act' if deep and m.tool_calls else '</me>' }}", ("</me>",)),
        ("</me>", "</me>{{ '<x>' if deep and m.tool_calls }}", ("</me>",)),
        ("</c>", "{{ '</d>' if deep else '</c>' }}", ("</me>",)),
        ("<me>", "{{ raise_exception('no') if deep and m.tool_calls else '<me>' }}", ("</me>",)),
        ("<c>", "{{ raise_exception('no') }}<c>", ("</me>",)),
        ("<c>", "{{ raise_exception('no') if deep }}<c>", ("</me>",)),
        ("<c>", "{{ raise_exception('no') if not deep }}<c>", ("</me>",)),
    ],
)
def test_switch_may_change_the_end_of_calls(old, new, ends):
    source = small_turns(THOUGHT + "{{ m.content or '' }}" + CALLS).replace(old, new)
    assert analyze("{{ tools | tojson if tools }}" + source).turn.ends == ends


def test_false_is_not_tried_alone_if_all_false_has_no_effect():
    shown = "{{ '!' if (deep is false) != (wide is false) }}"
    assert settings_of(turns(shown) + PROMPT.replace("PROMPT", shown)) == []


def test_iterated_switch_is_set_to_a_list():
    shown = "{% for one in deep or [] %}!{% endfor %}"
    (deep,) = settings_of(turns(shown) + PROMPT.replace("PROMPT", shown))
    assert deep.switches == (("deep", LIST),)
