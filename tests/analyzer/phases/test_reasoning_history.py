"""Reasoning markers found by the truncation of earlier turns."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, ReasoningMode, analyze
from deltaparse.analyzer.phases.reasoning_history import cut_markers
from deltaparse.analyzer.renderer import Renderer

from .small_templates import THOUGHT, turns


@pytest.mark.parametrize("word", ["[so]", "\\n[so]\\n\\n", "[so]\\n"])
def test_truncation_text_ends_reasoning_opened_by_a_prompt(word):
    fmt = analyze(turns("{{ m.content.split('" + word + "')[-1] }}", "<muse>\n"))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<muse>\n", "[so]")
    assert fmt.reasoning.mode is ReasoningMode.FORCED_OPEN


@pytest.mark.parametrize(
    ("said", "start", "end"),
    [
        ("{{ m.content.split('</t>')[-1] }}", "<t>", "</t>"),
        ("{{ m.content.split('\\n</t>\\n\\n')[-1] }}", "<t>", "</t>"),
        ("{{ m.content.split('</t/u>')[-1] }}", "<t/u>", "</t/u>"),
        (
            "{{ m.content.split('</t>')[-1] if add_generation_prompt else m.content }}",
            "<t>",
            "</t>",
        ),
        ("{{ '' if 'now' in m.content }}{{ m.content.split('</t>')[-1] }}", "<t>", "</t>"),
        ("{{ m.content.split('[so]')[-1] }}", "", ""),
        ("{{ m.content.split('</t>\\n</u>')[-1] }}", "", ""),
        ("{{ m.content.split('</" + 40 * "t" + ">')[-1] }}", "", ""),
        ("{{ m.content if '</t>' not in m.content }}", "", ""),
        ("{{ '!' if '</t>' in m.content }}{{ m.content }}", "", ""),
        ("{{ raise_exception('no') if '</t>' in m.content }}{{ m.content }}", "", ""),
    ],
)
def test_truncated_reasoning_shows_markers_paired_by_name(said, start, end):
    fmt = analyze(turns(said))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == (start, end)


@pytest.mark.parametrize(
    "said",
    [
        "{{ m.content.split('[so]\\n')[-1].split('[so]')[-1] }}",
        "{{ '!' if '[hurry]' in m.content }}{{ m.content.split('[so]')[-1] }}",
    ],
)
def test_sought_text_that_truncates_turns_is_the_end(said):
    fmt = analyze(turns(said, "<muse>\n"))
    assert fmt.verified
    assert fmt.reasoning.end == "[so]"


def test_truncation_at_whitespace_is_not_a_reasoning_end():
    said = "{{ m.content.split('\\n\\n')[-1] }}"
    fmt = analyze("Write {{ '<|/muse|>' }}." + turns(said, "<|muse|>"))
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<|muse|>", "<|/muse|>")


def test_truncation_at_two_texts_is_reported():
    fmt = analyze(turns("{{ m.content.split('[so]')[-1].split('[then]')[-1] }}", "<muse>\n"))
    assert fmt.reasoning.end == "[then]"
    (issue,) = fmt.issues
    assert issue.startswith("earlier turns are truncated at '[so]' as well as at '[then]'")


@pytest.mark.parametrize(("thought", "prompt"), [(THOUGHT, ""), ("", "{{ '<t></t>' if brief }}")])
def test_reasoning_end_is_taken_from_turns_or_prompts(thought, prompt):
    said = "{{ m.content.split('[so]')[-1]" + (".split('</t>')[-1]" if thought else "") + " }}"
    fmt = analyze(turns(thought + said, prompt))
    assert (fmt.reasoning.end, fmt.issues) == ("</t>", ())


@pytest.mark.parametrize("dropped", ["", "raise_exception('no')"])
def test_word_that_drops_a_complete_message_is_not_an_end(dropped):
    said = "{{ m.content if '[no]' not in m.content else " + (dropped or "''") + " }}"
    fmt = analyze(turns(said, "<|muse|>"))
    assert fmt.reasoning.mode is ReasoningMode.NONE


def test_words_without_truncation_are_tried_together():
    words = "".join("{{ '!' if 'word" + str(at) + "' in m.content }}" for at in range(20))
    render = Renderer(ChatTemplate(turns(words + "{{ m.content }}")))
    before = render.trace.rendered.total()
    assert cut_markers(render) == []
    assert render.trace.rendered.total() == before + 1
