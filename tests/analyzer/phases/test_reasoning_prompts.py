"""Reasoning markers found in prompts only."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deltaparse import ChatTemplate, ReasoningMode, analyze, parse
from deltaparse.analyzer.assistant_turns import Turns
from deltaparse.analyzer.phases.find_frame import find_frame
from deltaparse.analyzer.phases.reasoning_prompts import (
    OPENED_ONLY,
    _closed_pair,
    _counts,
    opened_only,
    prompts_after_words,
)
from deltaparse.analyzer.phases.switch_values import Holder
from deltaparse.analyzer.renderer import Renderer
from deltaparse.analyzer.trace import Trace

from .small_templates import CALLS, THOUGHT, turns


@pytest.mark.parametrize(
    ("prompts", "pair"),
    [
        (["<me>", "<me><t></t>"], ("<t>", "</t>")),
        (["<me><t></t>\n", "<me>"], ("<t>", "</t>")),
        (["<me>\n", "<me><t></t>"], ("<t>", "</t>")),
        (["<me>", "\n<me><t></t>"], ("<t>", "</t>")),
        (["<me><t>", "<me><t><so>"], ("<t>", "<so>")),
        (["<me><t>", "<me><t>\n</t>\n"], ("<t>", "</t>")),
        (["<me>", "<me><t>a</t>"], None),
        (["<me>", "<me><t></t><u>"], None),
        (["<me>", "<me><t>a b"], None),
        (["<me>", "<you><t></t>"], None),
        (["<me>", "<me>a b"], None),
        (["<me>", "<me>\n"], None),
        (["<m>", "<y><t></t>"], None),
        (["<me>", "<you>", "<me><t></t>"], ("<t>", "</t>")),
        ([], None),
    ],
)
def test_pair_is_the_difference_between_two_prompts(prompts, pair):
    assert _closed_pair(prompts) == pair


def test_prompt_may_omit_the_whitespace_of_the_header():
    prompts = ["<me>\nWell,", "<me>", "<me><t></t>"]
    assert _closed_pair(prompts, "<me>\n") == ("<t>", "</t>")
    assert _closed_pair(prompts, "<you>") is None


def test_words_count_if_they_change_the_prompt_end():
    source = "{{ messages[0].content }}<me>{% if 'yes' in messages[0].content %}<t>{% endif %}"
    render = Renderer(ChatTemplate(source))
    assert _counts(render, ["no", "yes"], "<me>")
    assert not _counts(render, ["no"], "<me>")
    assert not _counts(render, [], "<me>")
    refuses = "{{ raise_exception('no') if 'stop' in messages[0].content }}"
    assert _counts(Renderer(ChatTemplate(refuses + source)), ["no", "stop"], "<me>")


@pytest.mark.parametrize(
    ("behind", "known", "shown"),
    [
        ("", (), None),
        ("<go>", (), "<go>"),
        ("<say>", (), None),  # as all turns have it
        ("<t>", ("<t>",), None),
        ("</t>", (), None),
        ("<t low>", (), None),
        ("<t low>\n<go>", (), "<go>"),
        ("<t low>\n<go>", ("<t low>",), None),
        (f"<go {'a' * 80}>", (), "a" * 59 + ">"),
    ],
)
def test_unknown_opened_part_is_reported(behind, known, shown):
    render = Renderer(ChatTemplate(turns("<say>{{ m.content }}</say>")))
    found = Turns(render, replace(find_frame(render), header="<me>"))
    issues = opened_only(found, [f"</you><me>{behind}"], known, [Holder("x", "<t ", ">")])
    assert issues == (() if shown is None else (OPENED_ONLY.format(rest=shown),))


def test_prompts_after_words_keep_the_default_text_before_header():
    opened = "{{ '<t>' if 'yes' in messages[0].content }}"
    opened += "{{ raise_exception('no') if 'stop' in messages[0].content }}"
    render = Renderer(ChatTemplate(turns("{{ m.content }}", opened)))
    found = Turns(render, find_frame(render))
    assert prompts_after_words(found, "the default</you><me>") == ["the default</you><me><t>"]
    assert prompts_after_words(found, "another header") == []


@pytest.mark.parametrize(
    ("prompt", "start", "end"),
    [
        ("<muse>\n\n</muse>\n\n", "<muse>\n\n", "</muse>"),
        ("<muse>\n<so></muse>", "<muse>\n<so>", "</muse>"),
        ("[MUSE][/MUSE]", "[MUSE]", "[/MUSE]"),
        ("<|part>muse\n<part|>", "<|part>muse\n", "<part|>"),
        ("<|muse_begin|><|muse_end|>", "<|muse_begin|>", "<|muse_end|>"),
        # Text of the prompt about finished reasoning is not part of the marker.
        ("<muse>\nI have thought.\n</muse>\n\n", "<muse>\n", "</muse>"),
        ("<muse>So:</muse>", "<muse>So:", "</muse>"),
        # An end must close the start marker, and a lone closing marker opens no section.
        ("<|part|>final<|text|>", "", ""),
        ("hm <muse></muse>", "", ""),
        ("begin<|part|>end", "", ""),
        ("</muse>", "", ""),
    ],
)
def test_prompt_may_contain_an_empty_reasoning_pair(prompt, start, end):
    fmt = analyze(turns("{{ m.content }}", prompt))
    assert (fmt.reasoning.start, fmt.reasoning.end) == (start, end)
    assert fmt.reasoning.mode is (ReasoningMode.TAG_BASED if end else ReasoningMode.NONE)
    assert fmt.verified is (bool(end) or prompt == "</muse>")


@pytest.mark.parametrize("said", ["\nI have thought.\n", "I have thought.", " "])
def test_text_inside_an_empty_pair_is_not_part_of_the_markers(said):
    prompt = "<muse>{{ '" + said.replace("\n", "\\n") + "</muse>' if brief }}"
    fmt = analyze(turns("{{ m.content.split('</muse>')[-1] }}", prompt))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<muse>", "</muse>")
    assert fmt.reasoning.mode is ReasoningMode.FORCED_CLOSED


@pytest.mark.parametrize("space", ["", "{{ '\\n' }}"])
def test_text_added_by_a_switch_does_not_end_reasoning(space):
    fmt = analyze(turns(space + "{{ m.content }}", space + "{{ '<|t|>' if deep }}"))
    assert fmt.turn.headers[0].strip() == "<me>"
    assert fmt.reasoning.mode is ReasoningMode.NONE
    (issue,) = fmt.issues
    assert "opens a part of the turn with '<|t|>'" in issue
    assert parse("Dry.</me>", fmt, prompt="<you>Hi</you><me>\n").content == "Dry."


@pytest.mark.parametrize(("opened", "end"), [("<t>", "</t>"), ("[T-1]\n", "[/T-1]")])
def test_unclosed_tag_under_a_switch_is_closed_by_name(opened, end):
    fmt = analyze(turns("{{ m.content }}", f"{{{{ {opened!r} if deep }}}}"))
    (issue,) = fmt.issues
    assert issue.startswith(
        f"the prompt opens {opened.strip()!r}, but its end marker is never rendered"
    )
    assert (fmt.reasoning.start, fmt.reasoning.end) == (opened, end)
    written = f"hm{end}Dry.</me>"
    message = parse(written, fmt, prompt=f"<you>Hi</you><me>{opened}")
    assert (message.reasoning_content, message.content) == ("hm", "Dry.")
    assert parse(written, fmt, prompt="<you>Hi</you><me>").content == f"hm{end}Dry."
    assert parse("Dry.</me>", fmt).content == "Dry."


@pytest.mark.parametrize("opened", ["<t>so", "<t><u>", "<t/>", "<t a=1>", "<1>", "<>", "[]", "<t]"])
def test_text_other_than_one_tag_is_not_closed_by_name(opened):
    fmt = analyze(turns("{{ m.content }}", opened))
    assert fmt.reasoning.mode is ReasoningMode.NONE
    assert "opens a part of the turn" in fmt.issues[0]


def test_prompt_without_header_shows_no_reasoning():
    shown = turns("{{ m.content }}").replace("</you>", "<end>")
    fmt = analyze(
        shown.replace("{% if add_generation_prompt", "{% if not raw and add_generation_prompt")
    )
    assert fmt.verified
    assert (fmt.turn.headers, fmt.reasoning.mode) == (("<me>",), ReasoningMode.NONE)


@pytest.mark.parametrize(
    ("header", "prompt"), [("<me>", "'so' if deep else '</t>'"), ("ME: ", "'</t>' if brief")]
)
def test_end_marker_at_every_turn_start_is_not_a_start(header, prompt):
    source = turns("</t>{{ m.content }}", "{{ " + prompt + " }}").replace("<me>", header)
    assert analyze(source).reasoning.mode is ReasoningMode.NONE


@pytest.mark.parametrize(
    ("said", "prompt"),
    [("hm<t></t>", "<t>"), ("hm<t>", "{{ '<t>' if deep else '</t>' }}")],
)
def test_text_in_turns_without_reasoning_is_not_a_start(said, prompt):
    fmt = analyze(turns(said + "{{ m.content }}", prompt))
    assert fmt.reasoning.mode is ReasoningMode.NONE


def test_opened_part_is_reported_if_tools_are_rejected():
    fmt = analyze("{{ raise_exception('no') if tools }}" + turns("{{ m.content }}", "<|t|>"))
    assert any("opens a part of the turn with '<|t|>'" in issue for issue in fmt.issues)


@pytest.mark.parametrize("space", ["", "{{ '\\n' }}"])
@pytest.mark.parametrize("end", ["</t>", "<so>"])
def test_start_in_one_prompt_pairs_with_end_in_all_turns(space, end):
    prompt = "{{ '<t>\\n' if deep else '" + end + "' }}"
    fmt = analyze(turns(space + end + "{{ m.content }}", prompt))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>\n", end)


@pytest.mark.parametrize(("history", "end"), [("<t>", "</t>"), ("<t><so>", "<so>")])
def test_header_end_opens_reasoning_if_name_or_turns_confirm(history, end):
    prompt = "<t>{{ '" + end + "' if brief }}"
    fmt = analyze(turns(history + "{{ m.content }}", prompt))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", end)
    assert fmt.reasoning.mode is ReasoningMode.FORCED_CLOSED


def test_end_marker_may_be_in_concatenated_instructions():
    told = "{% set tag = 'muse' %}End with {{ '</' ~ tag ~ '>' }}."
    fmt = analyze(told + turns("{{ m.content }}", "<muse>\n"))
    assert fmt.verified
    assert fmt.reasoning.end == "</muse>"


def test_whitespace_before_the_header_may_depend_on_a_switch():
    source = turns("{{ m.content }}", "{{ '<t></t>' if brief }}")
    source = source.replace("<me>", "{{ '\\n' }}<me>", 1)
    fmt = analyze(source.replace("%}<me>", "%}{{ '\\n' if not brief }}<me>"))
    assert fmt.verified
    assert (fmt.turn.headers, fmt.turn.generation_prompt) == (("\n<me>",), "\n<me>")
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")


@pytest.mark.parametrize(
    ("refuses", "end"),
    [("", "\n\n"), ("{% if 'stop' in m.content %}{{ raise_exception('no') }}{% endif %}", "")],
)
def test_turns_without_header_show_no_reasoning(refuses, end):
    fmt = analyze("{% for m in messages %}" + refuses + "{{ m.content }}" + end + "{% endfor %}")
    assert fmt.reasoning.mode is ReasoningMode.NONE
    assert not fmt.verified


@pytest.mark.parametrize(
    ("opened", "words"),
    [
        ("so", "opens a part of the turn with 'so'"),
        ("?", "opens a part of the turn with '?'"),
        ("<|t|>", "opens a part of the turn with '<|t|>'"),
        ("<t>", "opens '<t>', but its end marker is never rendered"),
    ],
)
def test_prompt_text_missing_from_turns_is_reported(opened, words):
    prompt = "{% if add_generation_prompt %}<me>{{ '" + opened + "' if deep }}{% endif %}"
    fmt = analyze("{% for m in messages %}{{ m.content }}\n\n{% endfor %}" + prompt)
    assert any(words in issue for issue in fmt.issues)


def looking_for(words, deep, prompt=""):
    """Return a template that searches for words in a message; one of them sets `deep`."""
    looks = "".join(
        "{% if '" + word + "' in messages[-1].content %}"
        "{% set ns.deep = " + ("true" if word == deep else "ns.deep") + " %}{% endif %}"
        for word in words
    )
    return "{% set ns = namespace(deep=false) %}" + looks + turns("{{ m.content }}", prompt)


@pytest.mark.parametrize("deep", ["/slow", "/deep", "/long"])
def test_words_sought_by_the_template_are_tried(deep):
    prompt = "{{ '<t>' if ns.deep }}{{ '</t>' if never }}"
    fmt = analyze(looking_for(["/slow", "/deep", "/long"], deep, prompt))
    assert (fmt.verified, fmt.reasoning.start, fmt.reasoning.end) == (True, "<t>", "</t>")


def test_words_without_effect_are_tried_together():
    words, trace = [f"/{at}" for at in range(40)], Trace()
    analyze(looking_for(words, words[0], "<muse>"), trace=trace)
    assert trace.rendered["R2"] < len(words)


def test_whitespace_after_the_header_opens_no_reasoning():
    fmt = analyze(turns("{{ m.content }}", "{{ '\\n' }}"))
    assert fmt.verified
    assert fmt.reasoning.mode is ReasoningMode.NONE


@pytest.mark.parametrize(
    ("prompt", "verified"),
    [
        ("'<t>' if deep else '</t>'", True),
        ("'</t>' if brief else '<t>'", True),
        ("'<t>' if deep else '</' ~ tag ~ '>'", True),
        ("'<t>' if deep else '<part>' if odd else '</t>'", False),
    ],
)
def test_two_prompts_with_a_pair_by_name_show_reasoning(prompt, verified):
    source = turns("{{ m.content or '' }}" + CALLS, "{{ " + prompt + " }}")
    fmt = analyze("{% set tag = 't' %}" + source)
    assert fmt.verified is verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")


NAMED = (
    "{% for c in m.tool_calls or [] %}<cs>\n<c>{{ c.function.name }}<x>"
    "{{ c.function.arguments | tojson }}</c></cs>{% endfor %}"
)


@pytest.mark.parametrize(
    ("calls", "prompt", "output"),
    [
        (CALLS, "<c>", '{"name": "f", "arguments": {}}</c>'),
        (CALLS, '<c>{"name": "', 'f", "arguments": {}}</c>'),
        (NAMED, "<cs>", "<c>f<x>{}</c></cs>"),
        (NAMED, "<cs>\\n<c>", "f<x>{}</c></cs>"),
    ],
)
@pytest.mark.parametrize("thought", ["", THOUGHT])
def test_call_start_in_the_prompt_opens_no_reasoning(calls, prompt, output, thought):
    required = "{{ '" + prompt + "' if tool_choice == 'required' }}"
    source = "{{ tools | tojson if tools }}"
    source += turns(thought + "{{ m.content or '' }}" + calls, required)
    fmt = analyze(source)
    assert fmt.verified
    assert fmt.reasoning.start == ("<t>" if thought else "")
    asked = [{"role": "user", "content": "Hi"}]
    behind = ChatTemplate(source).render(asked, add_generation_prompt=True, tool_choice="required")
    (call,) = parse(output + "</me>", fmt, prompt=behind).tool_calls
    assert (call.name, call.complete) == ("f", True)


@pytest.mark.parametrize("space", ["", "\\n"])
@pytest.mark.parametrize("closed", ["<t></t>", "<t>\\n\\n</t>", "<t>\\n</t>", "<t>"])
def test_empty_pair_before_calls_does_not_belong_to_calls(closed, space):
    thought = "{{ '<t>" + space + "</t>' if m.tool_calls }}{{ m.content or '' }}"
    prompt = "{{ '" + closed + "' if tool_choice == 'required' }}"
    fmt = analyze("{{ tools | tojson if tools }}" + turns(thought + CALLS, prompt))
    assert (fmt.reasoning.start.strip(), fmt.reasoning.end) == ("<t>", "</t>")
