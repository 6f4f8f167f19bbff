"""Reasoning, read off prompts."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, ContentMode, ReasoningMode, analyze, parse
from deltaparse.analyzer.phases.frame import find_frame
from deltaparse.analyzer.phases.reasoning import (
    _closed_pair,
    _closings,
    _counts,
    round_content,
)
from deltaparse.analyzer.renderer import Renderer
from deltaparse.analyzer.trace import Trace
from deltaparse.analyzer.turns import Turns


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
    behind = said.replace("'<say>'", "'\\n<say>'")
    fmt = analyze("{{ tools | tojson if tools }}" + turns(behind + CALLS))
    assert fmt.verified
    assert (fmt.reasoning.end, fmt.content.start) == ("</t>\n", "<say>")


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
        # What a prompt says of having thought is no part of the marker.
        ("<muse>\nI have thought.\n</muse>\n\n", "<muse>\n", "</muse>"),
        # What does not close the other is no end; and a closer alone opens nothing.
        ("<|part|>final<|text|>", "", ""),
        ("hm <muse></muse>", "", ""),
        ("</muse>", "", ""),
    ],
)
def test_a_prompt_may_open_and_close_reasoning_at_once(prompt, start, end):
    fmt = analyze(turns("{{ m.content }}", prompt))
    assert (fmt.reasoning.start, fmt.reasoning.end) == (start, end)
    assert fmt.reasoning.mode is (ReasoningMode.TAG_BASED if end else ReasoningMode.NONE)
    assert fmt.verified is (bool(end) or prompt == "</muse>")


@pytest.mark.parametrize("said", ["\nI have thought.\n", "I have thought.", " "])
def test_what_one_prompt_says_between_the_markers_is_no_part_of_them(said):
    prompt = "<muse>{{ '" + said.replace("\n", "\\n") + "</muse>' if brief }}"
    fmt = analyze(turns("{{ m.content.split('</muse>')[-1] }}", prompt))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<muse>", "</muse>")
    assert fmt.reasoning.mode is ReasoningMode.FORCED_CLOSED


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
    unended = "the template shows reasoning, but no marker that ends it"
    assert (unended in fmt.issues) is not verified


@pytest.mark.parametrize("space", ["", "{{ '\\n' }}"])
def test_what_a_switch_adds_behind_the_header_does_not_end_reasoning(space):
    fmt = analyze(turns(space + "{{ m.content }}", space + "{{ '<t>' if deep }}"))
    assert fmt.turn.headers[0].strip() == "<me>"
    assert fmt.reasoning.mode is ReasoningMode.NONE
    (issue,) = fmt.issues
    assert "opens a part of the turn with '<t>'" in issue
    assert parse("Dry.</me>", fmt, prompt="<you>Hi</you><me>\n").content == "Dry."


def test_a_prompt_that_a_switch_leaves_the_header_out_of_shows_no_reasoning():
    shown = turns("{{ m.content }}").replace("</you>", "<end>")
    fmt = analyze(
        shown.replace("{% if add_generation_prompt", "{% if not raw and add_generation_prompt")
    )
    assert fmt.verified
    assert (fmt.turn.headers, fmt.reasoning.mode) == (("<me>",), ReasoningMode.NONE)


def test_an_end_that_every_turn_begins_with_opens_nothing():
    fmt = analyze(turns("</t>{{ m.content }}", "{{ 'so' if deep else '</t>' }}"))
    assert fmt.reasoning.mode is ReasoningMode.NONE


@pytest.mark.parametrize("space", ["", "{{ '\\n' }}"])
@pytest.mark.parametrize("end", ["</t>", "<so>"])
def test_what_one_prompt_opens_and_all_turns_begin_with_the_end_of(space, end):
    prompt = "{{ '<t>\\n' if deep else '" + end + "' }}"
    fmt = analyze(turns(space + end + "{{ m.content }}", prompt))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>\n", end)


@pytest.mark.parametrize(("history", "end"), [("<t>", "</t>"), ("<t><so>", "<so>")])
def test_what_every_turn_begins_with_opens_reasoning_if_its_name_or_the_turns_say_so(history, end):
    prompt = "<t>{{ '" + end + "' if brief }}"
    fmt = analyze(turns(history + "{{ m.content }}", prompt))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", end)
    assert fmt.reasoning.mode is ReasoningMode.FORCED_CLOSED


@pytest.mark.parametrize(
    ("marker", "closings"),
    [
        ("<muse>", ["</muse>", "<m/use>"]),
        ("<|muse|>", ["</|muse|>", "<|/muse|>"]),
        ("<|muse>", ["</|muse>", "<|/muse>", "<muse|>"]),
        ("[BEGIN_MUSE]", ["[/BEGIN_MUSE]", "[B/EGIN_MUSE]", "[END_MUSE]"]),
    ],
)
def test_what_may_close_a_marker_by_its_name(marker, closings):
    assert list(_closings(marker)) == closings


@pytest.mark.parametrize(
    ("described", "start", "answer"),
    [
        ("<t></t>", "<t>", ""),
        ("<t></t>{{ '\n' }}", "<t>", ""),
        ("<t> </t> and <r></r>", "<t>", "<r>"),
        ("< t></ t>", "", ""),
    ],
)
def test_an_empty_pair_of_markers_in_the_instructions_asks_for_reasoning(described, start, answer):
    fmt = analyze("{% if deep %}" + described + "{% endif %}" + turns("{{ m.content }}"))
    assert (fmt.reasoning.start, fmt.content.start) == (start, answer)


def test_a_part_that_nothing_ends_does_not_hide_reasoning_under_a_switch():
    prompt = "{{ '<t>' if deep else '<part>' }}"
    fmt = analyze("Always write {{ '</t>' }}." + turns("{{ m.content }}", prompt))
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")


def test_the_end_may_stand_in_instructions_that_are_put_together():
    told = "{% set tag = 'muse' %}End with {{ '</' ~ tag ~ '>' }}."
    fmt = analyze(told + turns("{{ m.content }}", "<muse>"))
    assert fmt.verified
    assert fmt.reasoning.end == "</muse>"


def test_white_space_before_the_header_of_a_prompt_may_depend_on_a_switch():
    source = turns("{{ m.content }}", "{{ '<t></t>' if brief }}")
    source = source.replace("<me>", "{{ '\\n' }}<me>", 1)
    fmt = analyze(source.replace("%}<me>", "%}{{ '\\n' if not brief }}<me>"))
    assert fmt.verified
    assert (fmt.turn.headers, fmt.turn.generation_prompt) == (("\n<me>",), "\n<me>")
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")


def test_reasoning_that_hides_content_under_a_switch_has_markers_of_its_own():
    thought = "<t>{{ m.reasoning_content }}</t>"
    hidden = thought.replace("t>", "u>").replace("</u>", "{{ '\\n' }}</u>")
    said = "{% if deep %}" + hidden + "{% else %}" + thought
    source = turns(said + "{{ m.content or '' }}{% endif %}" + CALLS)
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert (fmt.reasoning.start, fmt.reasoning.alternatives) == ("<t>", ("<u>", "\n</u>"))
    assert any("content did not come back (with deep=true)" in issue for issue in fmt.issues)


@pytest.mark.parametrize(
    ("refuses", "end"),
    [("", "\n\n"), ("{% if 'stop' in m.content %}{{ raise_exception('no') }}{% endif %}", "")],
)
def test_turns_that_nothing_begins_show_no_reasoning(refuses, end):
    fmt = analyze("{% for m in messages %}" + refuses + "{{ m.content }}" + end + "{% endfor %}")
    assert fmt.reasoning.mode is ReasoningMode.NONE
    assert not fmt.verified


@pytest.mark.parametrize("opened", ["so", "<t>"])
def test_what_a_prompt_adds_to_a_header_that_no_turn_has_is_reported(opened):
    prompt = "{% if add_generation_prompt %}<me>{{ '" + opened + "' if deep }}{% endif %}"
    fmt = analyze("{% for m in messages %}{{ m.content }}\n\n{% endfor %}" + prompt)
    assert any(f"a part of the turn with {opened!r}" in issue for issue in fmt.issues)


def test_white_space_begins_no_reasoning_beside_calls():
    thought = "{% if m.tool_calls %}{{ '\\n' }}{{ m.reasoning_content or '' }}</t>{% endif %}"
    source = turns(thought + "{{ m.content or '' }}" + CALLS)
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert fmt.reasoning.mode is ReasoningMode.NONE
    assert not fmt.verified


@pytest.mark.parametrize(
    ("thought", "prompt"),
    [
        ("{{ '<t>' ~ m.reasoning_content ~ '</t>' if m.reasoning_content }}", ""),
        ("<t>{{ m.reasoning_content or '' }}</t>", "<t>"),
    ],
)
@pytest.mark.parametrize("start", ["<say>", "<say>\n"])
def test_what_content_always_begins_with_is_no_part_of_the_end(thought, prompt, start):
    shown = start.replace("\n", "{{ '\\n' }}") + "{{ m.content }}</say>"
    fmt = analyze(turns(thought + shown, prompt))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end, fmt.content.start) == ("<t>", "</t>", start)


THOUGHT = "{{ '<t>' ~ m.reasoning_content ~ '</t>' if m.reasoning_content }}"


@pytest.mark.parametrize(
    ("said", "prompt", "start", "end"),
    [
        ("{{ '\\n' }}" + THOUGHT + "{{ '\\n' }}{{ m.content }}", "", "\n<t>", "</t>\n"),
        (THOUGHT.replace("'</t>'", "'</t>\\n'") + "{{ m.content }}", "", "<t>", "</t>\n"),
        (THOUGHT + "{{ m.content }}", "{{ '<t>' if deep }}", "<t>", "</t>"),
        (THOUGHT.replace("'<t>'", "'<t>\\n'") + "{{ m.content }}", "", "<t>\n", "</t>"),
        (
            THOUGHT.replace(" ~ '</t>'", "") + "</t>{{ m.content }}",
            "<t>{{ '</t>' if brief }}",
            "<t>",
            "</t>",
        ),
        (
            THOUGHT.replace(" ~ '</t>'", "") + "{{ '\\n<say>' ~ m.content }}",
            "",
            "<t>",
            "\n<say>",
        ),
    ],
)
def test_the_markers_of_reasoning_with_the_white_space_in_them(said, prompt, start, end):
    fmt = analyze(turns(said, prompt))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == (start, end)
    assert fmt.reasoning.alternatives == ()


def test_what_content_always_begins_with_may_end_reasoning():
    thought = THOUGHT.replace(" ~ '</t>'", "")
    fmt = analyze(turns(thought + "{{ '\\n' }}<say>{{ m.content }}"))
    assert fmt.verified
    assert (fmt.reasoning.end, fmt.content.start) == ("\n<say>", "\n<say>")
    assert fmt.content.mode is ContentMode.ALWAYS_WRAPPED


def test_two_markers_before_the_one_of_content_end_reasoning():
    fmt = analyze(
        turns("<t>{{ m.reasoning_content or '' }}</t><x><say>{{ m.content }}</say>", "<t>")
    )
    assert fmt.reasoning.end == "</t><x>"


def test_what_ends_reasoning_may_begin_all_content_where_nothing_opens_it():
    said = "model:{{ '\\n' }}{{ m.reasoning_content }}[so]{{ m.content }}"
    for shown in (said, said.replace("{{ '\\n' }}", "")):
        fmt = analyze(turns(shown, "model:").replace("<me>", ""))
        assert fmt.verified
        assert fmt.reasoning.mode is ReasoningMode.DELIMITER
        assert fmt.content.mode is ContentMode.PLAIN


def test_reasoning_beside_calls_that_no_marker_ends_before_them_is_not_understood():
    thought = "{{ '<t>' ~ m.reasoning_content ~ ' so ' if loop.first and m.reasoning_content }}"
    call = thought + "{{ c.function.name }}<x>{{ c.function.arguments | tojson }}</x>"
    calls = "{% for c in m.tool_calls or [] %}" + call + "{% endfor %}"
    fmt = analyze(turns("{{ m.content or '' }}" + calls))
    assert fmt.reasoning.mode is ReasoningMode.NONE


def test_a_word_that_drops_all_of_a_message_ends_no_reasoning():
    fmt = analyze(turns("{{ m.content if '[no]' not in m.content }}", "<|muse|>"))
    assert fmt.reasoning.mode is ReasoningMode.NONE


def test_a_turn_that_does_not_begin_with_the_header_has_nothing_round_its_content():
    source = "{% for m in messages %}{{ m.content }}\n\n{% endfor %}"
    render = Renderer(ChatTemplate(source + "{% if add_generation_prompt %}<me>{% endif %}"))
    assert round_content(Turns(render, find_frame(render))) == ("", "")


def looking_for(words, deep, prompt=""):
    """A template that looks for words in a message, of which one makes it deep."""
    looks = "".join(
        "{% if '" + word + "' in messages[-1].content %}"
        "{% set ns.deep = " + ("true" if word == deep else "ns.deep") + " %}{% endif %}"
        for word in words
    )
    return "{% set ns = namespace(deep=false) %}" + looks + turns("{{ m.content }}", prompt)


@pytest.mark.parametrize("deep", ["/slow", "/deep", "/long"])
def test_each_word_that_a_template_looks_for_is_tried(deep):
    prompt = "{{ '<t>' if ns.deep }}{{ '</t>' if never }}"
    fmt = analyze(looking_for(["/slow", "/deep", "/long"], deep, prompt))
    assert (fmt.verified, fmt.reasoning.start, fmt.reasoning.end) == (True, "<t>", "</t>")


def test_words_that_change_no_prompt_are_tried_together():
    words, trace = [f"/{at}" for at in range(40)], Trace()
    analyze(looking_for(words, words[0], "<muse>"), trace=trace)
    assert trace.rendered["R2"] < len(words)


def test_white_space_behind_the_header_of_a_prompt_opens_no_reasoning():
    fmt = analyze(turns("{{ m.content }}", "{{ '\\n' }}"))
    assert fmt.verified
    assert fmt.reasoning.mode is ReasoningMode.NONE


def test_a_template_that_refuses_calls_and_reads_an_unusual_key():
    refuses = "{{ raise_exception('no') if m.tool_calls }}{{ '!' if m.metadata == 'loud' }}"
    fmt = analyze(turns(refuses + "{{ m.content }}"))
    assert fmt.reasoning.mode is ReasoningMode.NONE
    assert all("does not render tool calls" in issue for issue in fmt.issues)


def test_reasoning_beside_calls_that_other_turns_end_at_once():
    thought = "{{ '<t>' ~ m.reasoning_content if m.tool_calls and m.reasoning_content }}</t>"
    fmt = analyze(
        turns(thought + "{{ m.content or '' }}" + CALLS, "{{ '</t>' if brief else '<t>' }}")
    )
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")


def test_a_header_that_turns_with_reasoning_alone_have():
    said = "{{ '<me><t>' ~ m.reasoning_content ~ '</t>' if m.reasoning_content }}{{ m.content }}"
    source = "{% for m in messages %}" + said + "\n\n{% endfor %}"
    fmt = analyze(source + "{% if add_generation_prompt %}<me>{% endif %}")
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")


ENDED = "{{ m.reasoning_content if m.reasoning_content }}</t>{{ m.content or '' }}" + CALLS


@pytest.mark.parametrize(
    ("prompt", "start"),
    [
        ("<t>", "<t>"),
        ("<t>\n", "<t>"),
        ("{{ '<t></t>' if brief }}", ""),
        ("{{ '</t>' if brief else '<t>' }}", ""),
        ("{{ '<t></t>' if brief else '<t>' }}", ""),
    ],
)
@pytest.mark.parametrize("header", ["<|begin|>model<|said|>\n", "<|model|>", "MODEL: "])
def test_what_all_turns_end_begins_behind_the_header(header, prompt, start):
    source = turns(ENDED, prompt).replace("<me>", header)
    fmt = analyze(source)
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == (start, "</t>")
    assert [text.strip() for text in fmt.turn.headers] == [header.strip()]


@pytest.mark.parametrize("prompt", ["'<t>' if deep else '</t>'", "'</t>' if brief else '<t>'"])
def test_two_prompts_that_open_and_close_by_name_what_no_turn_shows(prompt):
    fmt = analyze(turns("{{ m.content or '' }}" + CALLS, "{{ " + prompt + " }}"))
    assert fmt.verified
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
def test_what_opens_a_call_in_the_prompt_opens_no_reasoning(calls, prompt, output, thought):
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


@pytest.mark.parametrize("closed", ["<t></t>", "<t>\\n\\n</t>", "<t>"])
def test_an_empty_pair_beside_calls_alone_is_no_part_of_them(closed):
    thought = "{{ '<t></t>' if m.tool_calls }}{{ m.content or '' }}"
    prompt = "{{ '" + closed + "' if tool_choice == 'required' }}"
    fmt = analyze("{{ tools | tojson if tools }}" + turns(thought + CALLS, prompt))
    assert (fmt.reasoning.start.strip(), fmt.reasoning.end) == ("<t>", "</t>")


EFFORT = "{% if effort in ['low', 'high'] %}MARKER{% endif %}"


@pytest.mark.parametrize(
    ("prompt", "mode"),
    [
        ("<|effort:{{ effort | default('mid') }}|><t>", ReasoningMode.FORCED_OPEN),
        ("<|effort:{{ effort | default('mid') }}|>", ReasoningMode.TAG_BASED),
        ("<|level_{{ level | default(2) }}|><t>", ReasoningMode.FORCED_OPEN),
        ("[effort: {{ effort | default('mid') }}]\n<t>", ReasoningMode.FORCED_OPEN),
        ("Effort: {{ effort | default('mid') }}. ", ReasoningMode.TAG_BASED),
        (EFFORT.replace("MARKER", "<|effort:{{ effort }}|>"), ReasoningMode.TAG_BASED),
        (EFFORT.replace("MARKER", "<|effort:{{ effort }}|>") + "<t>", ReasoningMode.FORCED_OPEN),
    ],
)
def test_what_holds_the_value_of_a_switch_opens_nothing(prompt, mode):
    source = turns(THOUGHT + "{{ m.content }}", prompt)
    fmt = analyze(source)
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.mode) == ("<t>", mode)
    asked = [{"role": "user", "content": "Hi"}]
    behind = ChatTemplate(source).render(asked, add_generation_prompt=True, effort="high")
    opened = "" if behind.endswith("<t>") else "<t>"
    message = parse(opened + "hm</t>Dry.</me>", fmt, prompt=behind)
    assert (message.reasoning_content, message.content) == ("hm", "Dry.")


@pytest.mark.parametrize(
    "marker",
    [
        "<deep>{{ '' if effort == 'low' }}",
        "<{{ effort }}>",
        "<|{{ 'deep' if effort == 'high' else 'quick' }}|>",
    ],
)
def test_what_a_switch_chooses_may_open_something(marker):
    fmt = analyze(turns(THOUGHT + "{{ m.content }}", EFFORT.replace("MARKER", marker)))
    (issue,) = fmt.issues
    assert "the prompt opens a part of the turn with" in issue


@pytest.mark.parametrize("space", ["", "\n"])
def test_an_opener_may_have_the_value_of_a_switch_in_its_tag(space):
    prompt = EFFORT.replace("MARKER", "{{ '<t effort=' ~ effort ~ '>" + repr(space)[1:-1] + "' }}")
    source = turns(THOUGHT + "{{ m.content }}", prompt)
    fmt = analyze(source)
    assert fmt.verified
    starts = "<t effort=low>" + space, "<t effort=high>" + space
    assert fmt.reasoning.alternatives == (starts[0], "</t>", starts[1], "</t>")
    asked = [{"role": "user", "content": "Hi"}]
    behind = ChatTemplate(source).render(asked, add_generation_prompt=True, effort="high")
    message = parse("hm</t>Dry.</me>", fmt, prompt=behind)
    assert (message.reasoning_content, message.content) == ("hm", "Dry.")


@pytest.mark.parametrize("opened", ["<t>", "<t:{{ effort | default('mid') }}>"])
@pytest.mark.parametrize("mark", [":", " effort="])
def test_it_is_reported_where_a_switch_of_any_value_changes_the_opener(opened, mark):
    prompt = "<t" + mark + "{{ effort | default('mid') }}>"
    said = THOUGHT.replace(
        "<t>", opened.replace(":", mark).replace("{{", "' ~ (").replace("}}", ") ~ '")
    )
    source = turns(said + "{{ m.content }}", prompt)
    fmt = analyze(source)
    assert f"what opens reasoning, '<t{mark}mid>', holds the value of effort" in fmt.issues[0]
    assert "analyze(template, effort=...)" in fmt.issues[0]
    fmt = analyze(source, effort="high")
    assert fmt.verified
    asked = [{"role": "user", "content": "Hi"}]
    behind = ChatTemplate(source).render(asked, add_generation_prompt=True, effort="high")
    assert parse("hm</t>Dry.</me>", fmt, prompt=behind).reasoning_content == "hm"
