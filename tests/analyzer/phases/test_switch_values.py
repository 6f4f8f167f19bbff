"""Prompt texts that contain the value of a switch."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate
from deltaparse.analyzer.assistant_turns import Turns
from deltaparse.analyzer.phases.find_frame import find_frame
from deltaparse.analyzer.phases.find_switches import find_settings
from deltaparse.analyzer.phases.switch_values import Holder, holders
from deltaparse.analyzer.renderer import Renderer

KNOWN = "{% if x in ['low', 'high'] %}PART{% endif %}"
ONE = "{% if x == 'low' %}PART{% endif %}"
ANY = "{% if true %}PART{% endif %}"


HEADER = "<assistant>"


def found(prompt: str, said: str = "", header: str = HEADER, **context: str) -> list[Holder]:
    source = (
        "{{ x }}{% for m in messages %}<{{ m.role }}>"
        + said
        + "{{ m.content }}</{{ m.role }}>{% endfor %}"
        "{% if add_generation_prompt %}" + header + prompt + "{% endif %}"
    )
    render = Renderer(ChatTemplate(source), None, context)
    return holders(Turns(render, find_frame(render)), find_settings(render))


@pytest.mark.parametrize(
    ("when", "part", "held"),
    [
        (KNOWN, "<a {{ x }}>", [Holder("x", "<a ", ">")]),
        (KNOWN, "<a {{ x }}>{{ '\n' }}<b>", [Holder("x", "<a ", ">")]),
        (KNOWN, "<b>Try {{ x }}.<c>", [Holder("x", "Try ", ".")]),
        (KNOWN, "<{{ x }}>", []),
        (KNOWN, "<b>", []),
        (ONE, "<a {{ x }}>", []),
        (ANY, "<a {{ x | default('low') }}>", [Holder("x", "<a ", ">", any_value=True)]),
        (ANY, "<a {{ x | default('low') | lower }}>", [Holder("x", "<a ", ">", any_value=True)]),
        (ANY, "<a {{ x | default('low') | length }}>", []),
        (
            ANY,
            "{{ '<a ' + x + '>' if x is string }}",
            [],
        ),  # no text is written for true, so it is not tried
        (ANY, "<b>", []),
    ],
)
def test_held_returns_the_texts_around_a_value(when, part, held):
    assert found(when.replace("PART", part)) == held


def test_value_tried_under_two_switches_counts_once():
    said = "{{ m.reasoning_content if x == 'low' }}"
    assert found(ONE.replace("PART", "<a {{ x }}>{{ '<b>' if y }}"), said) == []


@pytest.mark.parametrize(
    ("when", "header", "held"),
    [
        (KNOWN, "<assistant>{{ '\n' if not x }}", ["<a "]),
        (KNOWN, "{{ '<assistant>' if x != 'high' }}", []),  # only one value remains
        (ANY, "{{ raise_exception('no') if x is string }}<assistant>", []),
    ],
)
def test_values_are_found_after_the_prompt_header(when, header, held):
    holding = found(when.replace("PART", "<a {{ x | default('low') }}>"), "\n", header)
    assert [one.before for one in holding] == held


def test_preset_switch_has_one_value():
    (held,) = found("<a {{ x }}>", x="low")
    assert held == Holder("x", "<a ", ">")


@pytest.mark.parametrize(
    ("before", "behind", "start", "opens"),
    [
        ("<a ", ">", "<a>", True),
        ("<a:", ">", "<a>\n", True),
        ("<a ", ">", "\n<a>", True),
        ("<|a:", "|>", "<|a|>", True),
        ("<a:", ">", "<a:mid>", True),
        ("<", " a>", "<mid a>", True),
        ("<a", ">", "<a>", False),
        ("<a-", ">", "<a>", False),
        ("<ab ", ">", "<a>", False),
        ("<b ", ">", "<a>", False),
        ("<b><a ", ">", "<a>", False),
        ("<a ", ">", "[a]", False),
        ("<a ", ">", "*", False),
    ],
)
def test_opens_as_accepts_more_text_in_the_same_tag(before, behind, start, opens):
    assert Holder("x", before, behind).opens_as(start) is opens


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("<a low>\n", True), ("<a >", False), ("<b low>", False), ("<a low", False)],
)
def test_is_one_accepts_any_value(text, is_one):
    assert Holder("x", "<a ", ">").is_one(text) is is_one
