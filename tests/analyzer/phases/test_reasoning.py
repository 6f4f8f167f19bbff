"""Reasoning, read off prompts."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, ReasoningMode, analyze
from deltaparse.analyzer.phases.reasoning import _closed_pair, _counts
from deltaparse.analyzer.renderer import Renderer


@pytest.mark.parametrize(
    ("prompts", "pair"),
    [
        (["<me>", "<me><t></t>"], ("<t>", "</t>")),
        (["<me><t></t>\n", "<me>"], ("<t>", "</t>")),
        (["<me><t>", "<me><t>\n</t>\n"], ("<t>", "</t>")),
        (["<me>", "<me><t>a</t>"], None),
        (["<me>", "<me><t></t><u>"], None),
        (["<me>", "<me><t>a b"], None),
        (["<me>", "<you><t></t>"], None),
        (["<me>", "<me>a b"], None),
        (["<me>", "<me>\n"], None),
        (["<m>", "<y><t></t>"], None),
        ([], None),
    ],
)
def test_a_pair_that_one_prompt_has_and_another_has_not(prompts, pair):
    assert _closed_pair(prompts) == pair


def test_words_count_where_the_prompt_ends_otherwise():
    source = "{{ messages[0].content }}<me>{% if 'yes' in messages[0].content %}<t>{% endif %}"
    render = Renderer(ChatTemplate(source))
    assert _counts(render, ["no", "yes"], "<me>")
    assert not _counts(render, ["no"], "<me>")
    assert not _counts(render, [], "<me>")


def turns(answer, prompt=""):
    return (
        "{% for m in messages %}{% if m.role == 'assistant' %}<me>" + answer + "</me>{% else %}"
        "<you>{{ m.content }}</you>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<me>" + prompt + "{% endif %}"
    )


CALLS = "{% for c in m.tool_calls or [] %}<c>{{ c.function | tojson }}</c>{% endfor %}"


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


def test_space_before_the_end_of_reasoning_beside_calls_does_not_hide_it():
    thought = "{% if m.reasoning_content %}<t>{{ m.reasoning_content }}{{ '\n' if not m.content }}"
    said = thought + "</t>{{ '<say>' if m.content }}{% endif %}{{ m.content or '' }}"
    fmt = analyze("{{ tools | tojson if tools }}" + turns(said + CALLS))
    assert fmt.verified
    assert (fmt.reasoning.end, fmt.content.start) == ("</t>", "<say>")


PARTS = (
    "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
    "{{ '\n' + p.thinking + '</t>' if p.thinking else p.text }}{% endfor %}{% endif %}"
)


def test_a_part_of_the_content_that_no_marker_begins_is_no_reasoning():
    assert analyze(turns(PARTS)).reasoning.mode is ReasoningMode.NONE
    marked = analyze(turns(PARTS.replace("'\n'", "'<t>'")))
    assert (marked.reasoning.start, marked.reasoning.end) == ("<t>", "</t>")


@pytest.mark.parametrize(
    ("prompt", "start", "end"),
    [
        ("<muse>\n\n</muse>\n\n", "<muse>\n\n", "</muse>"),
        ("[MUSE][/MUSE]", "[MUSE]", "[/MUSE]"),
        ("<|part>muse\n<part|>", "<|part>muse\n", "<part|>"),
        ("<|muse_begin|><|muse_end|>", "<|muse_begin|>", "<|muse_end|>"),
        # What does not close the other is no end; and a closer alone opens nothing.
        ("<|part|>final<|text|>", "", ""),
        ("hm <muse></muse>", "", ""),
        ("</muse>", "", ""),
    ],
)
def test_a_prompt_may_open_and_close_reasoning_at_once(prompt, start, end):
    fmt = analyze(turns("{{ m.content }}", prompt))
    assert (fmt.reasoning.start, fmt.reasoning.end) == (start, end)
    assert fmt.verified is (bool(end) or prompt == "</muse>")


@pytest.mark.parametrize("closed", ["<t></t>", "<t>"])
def test_reasoning_beside_calls_alone_where_every_turn_opens_and_closes_it(closed):
    thought = "<t>{{ m.reasoning_content if m.tool_calls }}</t>{{ m.content or '' }}"
    fmt = analyze(turns(thought + CALLS, "{{ '<t></t>' if quick else '" + closed + "' }}"))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")


@pytest.mark.parametrize(("key", "verified"), [("metadata", True), ("reasoning", False)])
def test_what_nothing_ends_is_no_reasoning_but_under_its_usual_keys(key, verified):
    fmt = analyze(turns("{{ m." + key + " }}\n{{ m.content }}"))
    assert (fmt.verified, fmt.reasoning.mode) == (verified, ReasoningMode.NONE)
