"""Reasoning, read off where a template cuts earlier turns."""

from __future__ import annotations

from deltaparse import ReasoningMode, analyze

from .small_templates import turns


def test_what_the_template_cuts_earlier_turns_at_ends_the_reasoning_that_a_prompt_opens():
    fmt = analyze(turns("{{ m.content.split('[so]')[-1] }}", "<muse>\n"))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<muse>\n", "[so]")
    assert fmt.reasoning.mode is ReasoningMode.FORCED_OPEN


def test_it_is_reported_where_the_template_cuts_earlier_turns_at_two_texts():
    fmt = analyze(turns("{{ m.content.split('[so]')[-1].split('[then]')[-1] }}", "<muse>\n"))
    assert fmt.reasoning.end == "[then]"
    (issue,) = fmt.issues
    assert issue.startswith("earlier turns are cut at '[so]' as they are at '[then]'")


def test_a_word_that_drops_all_of_a_message_ends_no_reasoning():
    fmt = analyze(turns("{{ m.content if '[no]' not in m.content }}", "<|muse|>"))
    assert fmt.reasoning.mode is ReasoningMode.NONE
