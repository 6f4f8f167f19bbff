"""Reasoning, read off turns and prompts."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, ContentMode, ReasoningMode, analyze, parse
from deltaparse.analyzer.phases.frame import find_frame
from deltaparse.analyzer.phases.reasoning import round_content
from deltaparse.analyzer.renderer import Renderer
from deltaparse.analyzer.trace import Trace
from deltaparse.analyzer.turns import Turns

from .small_templates import CALLS, THOUGHT, turns


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
    always = said.replace(" if not m.content", "")
    fmt = analyze("{{ tools | tojson if tools }}" + turns(always + CALLS))
    assert fmt.verified
    assert (fmt.reasoning.end, fmt.content.start) == ("\n</t>", "<say>")


PARTS = (
    "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
    "{{ '\n' + p.thinking + '</t>' if p.thinking else p.text }}{% endfor %}{% endif %}"
)


def test_a_part_of_the_content_that_no_marker_begins_is_no_reasoning():
    assert analyze(turns(PARTS)).reasoning.mode is ReasoningMode.NONE
    marked = analyze(turns(PARTS.replace("'\n'", "'<t>'")))
    assert (marked.reasoning.start, marked.reasoning.end) == ("<t>", "</t>")


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


def test_what_nothing_ends_in_turns_is_not_closed_by_its_name_either():
    fmt = analyze(turns("{{ m.reasoning_content }}{{ m.content }}", "<think>"))
    assert fmt.reasoning.mode is ReasoningMode.NONE
    assert [issue.partition(",")[0] for issue in fmt.issues] == [
        "the template shows reasoning",
        "the prompt opens a part of the turn with '<think>'",
    ]


WRAPPED = (
    "{% if m.reasoning_content %}<t>{{ m.reasoning_content }}</t><answer>{{ m.content }}</answer>"
    "{% else %}<say>{{ m.content }}</say>{% endif %}"
)


NEXT = THOUGHT.replace("</t>", "</t><so>")


@pytest.mark.parametrize(
    ("answer", "end"),
    [
        (WRAPPED, "</t>"),
        (NEXT + "{{ m.content }}", "</t><so>"),
        (NEXT + "{{ m.content }}{{ '\n' if m.reasoning_content }}", "</t><so>"),
        (THOUGHT + "{{ '\n' }}{{ m.content }}", "</t>\n"),
        (NEXT + "<say>{{ m.content }}</say>{{ '<y>' if m.reasoning_content }}", "</t><so>"),
    ],
)
def test_what_ends_reasoning_before_content(answer, end):
    reasoning = analyze(turns(answer)).reasoning
    assert (reasoning.start, reasoning.end) == ("<t>", end)


@pytest.mark.parametrize("key", ["musing", "name", "id", "type", "function", "function_call"])
def test_any_key_may_hold_reasoning_that_holds_nothing_else(key):
    fmt = analyze(turns(THOUGHT.replace("reasoning_content", key) + "{{ m.content }}"))
    assert fmt.verified
    assert fmt.reasoning.start == ("<t>" if key == "musing" else "")


def test_reasoning_that_stands_in_the_place_of_content_is_not_understood():
    fmt = analyze(turns("{% if not m.reasoning_content %}{{ m.content }}{% endif %}" + THOUGHT))
    assert not fmt.verified
    assert fmt.reasoning.mode is ReasoningMode.NONE


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


def test_instructions_may_stand_before_the_header_of_a_prompt():
    told = "{{ 'Begin with <t></t>.' if deep and add_generation_prompt }}"
    assert analyze(told + turns("{{ m.content }}")).reasoning.start == "<t>"
    refused = told.replace("'Begin with <t></t>.'", "raise_exception('never')")
    assert analyze(refused + turns("{{ m.content }}")).reasoning.start == ""


@pytest.mark.parametrize("otherwise", ["<part>", ""])
def test_what_a_prompt_ends_in_otherwise_does_not_hide_reasoning_under_a_switch(otherwise):
    prompt = "{{ '<t>' if deep else '" + otherwise + "' }}"
    fmt = analyze("Always write {{ '</t>' }}." + turns("{{ m.content }}", prompt))
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")
    assert not any("closes it by its name" in issue for issue in fmt.issues)


def test_reasoning_of_turns_that_have_no_header_under_a_switch_is_not_understood():
    thought = THOUGHT.replace("'<t>'", "('<u>' if bare else '<t>')")
    source = turns("HEADER" + thought + "{{ m.content }}")
    fmt = analyze(source.replace("<me>HEADER", "{{ '<me>' if not bare }}"))
    assert any("did not come back (with bare=true)" in issue for issue in fmt.issues)
    assert (fmt.reasoning.start, fmt.reasoning.alternatives) == ("<t>", ())


def test_reasoning_that_hides_content_under_a_switch_has_markers_of_its_own():
    thought = "<t>{{ m.reasoning_content }}</t>"
    hidden = thought.replace("t>", "u>").replace("</u>", "{{ '\\n' }}</u>")
    said = "{% if deep %}" + hidden + "{% else %}" + thought
    source = turns(said + "{{ m.content or '' }}{% endif %}" + CALLS)
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert (fmt.reasoning.start, fmt.reasoning.alternatives) == ("<t>", ("<u>", "\n</u>"))
    assert any("content did not come back (with deep=true)" in issue for issue in fmt.issues)


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
        (THOUGHT.replace("</t>", "</t><x>") + "{{ m.content }}", "", "<t>", "</t><x>"),
        (
            NEXT.replace("'<t>'", "'<t>\\n'") + "{{ m.content }}",
            "{{ '<t></t>' if brief }}",
            "<t>\n",
            "</t>",
        ),
        (THOUGHT.replace("'<t>'", "'<x><t>\\n'") + "{{ m.content }}", "", "<x><t>\n", "</t>"),
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


def test_what_all_content_begins_with_is_none_of_contents_where_calls_follow_it_too():
    thought = THOUGHT.replace(" ~ '</t>'", "") + "<so>{{ m.content or '' }}"
    fmt = analyze("{{ tools | tojson if tools }}" + turns(thought + CALLS))
    assert (fmt.verified, fmt.reasoning.end) == (True, "<so>")
    assert fmt.content.mode is ContentMode.PLAIN


def test_what_a_prompt_has_behind_an_empty_pair_is_content_though_calls_follow_it_too():
    said = NEXT + "{{ m.content or '' }}" + CALLS
    fmt = analyze("{{ tools | tojson if tools }}" + turns(said, "{{ '<t></t>' if brief }}"))
    assert (fmt.verified, fmt.reasoning.end, fmt.content.start) == (True, "</t>", "<so>")


@pytest.mark.parametrize("said", ["{{ m.content }}" + THOUGHT, THOUGHT + "{{ m.content }}" * 2])
def test_reasoning_behind_content_and_content_that_stands_there_twice_are_not_proved(said):
    fmt = analyze(turns(said))
    assert (fmt.verified, fmt.proved.reasoning) == (False, ())


def test_what_content_always_begins_with_opens_no_reasoning_that_nothing_opens():
    thought = "{{ m.reasoning_content ~ '</t>' if m.reasoning_content }}"
    fmt = analyze(turns(thought + "<say>{{ m.content }}</say>"))
    assert (fmt.verified, fmt.reasoning.start, fmt.content.start) == (True, "", "<say>")
    beside_calls = thought.replace("if m.", "if m.tool_calls and m.")
    source = turns(beside_calls + "{{ '<say>' ~ m.content if m.content }}" + CALLS)
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert (fmt.verified, fmt.reasoning.mode) == (False, ReasoningMode.NONE)


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


@pytest.mark.parametrize("answer", ["", "{% if m.role == 'assistant' %}<me>so{% endif %}"])
def test_a_turn_without_the_header_or_its_content_has_nothing_round_that(answer):
    source = "{% for m in messages %}{{ m.content }}" + answer + "\n\n{% endfor %}"
    render = Renderer(ChatTemplate(source + "{% if add_generation_prompt %}<me>{% endif %}"))
    assert round_content(Turns(render, find_frame(render))) == ("", "")


@pytest.mark.parametrize("refused", ["m.tool_calls", "m.metadata is string"])
def test_a_template_that_refuses_calls_or_an_unusual_key_that_it_reads(refused):
    refuses = "{{ raise_exception('no') if " + refused + " }}{{ '!' if m.metadata == 'loud' }}"
    fmt = analyze(turns(refuses + "{{ m.content }}"))
    assert fmt.reasoning.mode is ReasoningMode.NONE
    assert all("does not render tool calls" in issue for issue in fmt.issues)


def test_reasoning_beside_calls_that_other_turns_end_at_once():
    thought = "{{ '<t>' ~ m.reasoning_content if m.tool_calls and m.reasoning_content }}</t>"
    fmt = analyze(
        turns(thought + "{{ m.content or '' }}" + CALLS, "{{ '</t>' if brief else '<t>' }}")
    )
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")


def test_reasoning_beside_calls_alone_though_white_space_behind_its_end_is_contents():
    thought = "{{ m.reasoning_content if m.tool_calls }}</t>{{ '\\n' ~ m.content if m.content }}"
    fmt = analyze("{{ tools | tojson if tools }}" + turns(thought + CALLS))
    assert (fmt.verified, fmt.reasoning.start, fmt.reasoning.end) == (True, "<me>", "</t>")


@pytest.mark.parametrize("key", ["reasoning", "musing"])
def test_reasoning_beside_calls_alone_that_content_hides(key):
    thought = "{{ '<t>' ~ m.KEY ~ '</t>' if m.KEY and m.tool_calls and not m.content }}"
    thought = thought.replace("KEY", key)
    fmt = analyze(
        "{{ tools | tojson if tools }}" + turns(thought + "{{ m.content or '' }}" + CALLS)
    )
    assert fmt.verified
    assert fmt.reasoning.mode is ReasoningMode.TOOLS_ONLY


@pytest.mark.parametrize(
    ("thought", "prompt", "start", "end"),
    [
        ("{{ '\n' ~ m.reasoning_content if WHEN }}</t>", "<t>", "<t>\n", "</t>"),
        (
            "{{ '<t>\n' ~ m.reasoning_content ~ '\n</t>\n\n' if WHEN }}",
            "{{ '<t></t>\n' if brief }}",
            "<t>\n",
            "\n</t>\n",
        ),
        ("{{ '<t>' ~ m.reasoning_content ~ '\n</t>' if WHEN }}", "", "<t>", "\n</t>"),
        ("{{ m.reasoning_content ~ '\n' if WHEN }}</t>", "<t>", "<t>", "\n</t>"),
        ("{{ '<t>' ~ m.reasoning_content ~ '?</t>' if WHEN }}", "", "<t>", "?</t>"),
        ("{{ '<t>' ~ m.reasoning_content if WHEN }}</t>", "", "<t>", "</t>"),
        (
            "{{ '<t>' ~ m.reasoning_content ~ '\n</t><x>' if WHEN }}",
            "{{ '<t>\n</t><x>' if brief }}",
            "<t>",
            "\n</t><x>",
        ),
        ("{{ '<t>' ~ m.reasoning_content ~ '</t>' if WHEN }}", "<t>Well, ", "<t>", "</t>"),
    ],
)
def test_white_space_in_the_markers_of_reasoning_beside_calls_alone(thought, prompt, start, end):
    said = thought.replace("WHEN", "m.reasoning_content and m.tool_calls")
    source = turns(said + "{{ m.content or '' }}" + CALLS, prompt)
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == (start, end)


def test_reasoning_beside_calls_that_only_one_key_has_in_markers():
    thought = "{% if m.tool_calls %}{{ m.reasoning }}{{ '<t>' ~ m.thought ~ '</t>' }}{% endif %}"
    fmt = analyze(turns(thought + "{{ m.content or '' }}" + CALLS))
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")


def test_unusual_keys_that_show_nothing_are_not_tried_one_by_one():
    source = turns(THOUGHT + "{{ m.content }}")
    traces = Trace(), Trace()
    read = "{% for m in messages %}{% if " + " or ".join(f"m.k{at}" for at in range(9)) + " %}"
    analyze(source, trace=traces[0])
    analyze(read + "{% endif %}{% endfor %}" + source, trace=traces[1])
    usual, more = (sum(trace.rendered.values()) for trace in traces)
    assert more - usual < 9


@pytest.mark.parametrize("refused", ["add_generation_prompt", "messages[-1].reasoning"])
@pytest.mark.parametrize("switch", ["", "{{ 'Think.' if deep }}"])
def test_a_template_that_refuses_prompts_or_a_key_of_reasoning(refused, switch):
    refuses = "{{ raise_exception('no') if " + refused + " }}" + switch
    fmt = analyze(refuses + turns("{{ m.reasoning }}{{ m.content }}"))
    assert (fmt.verified, fmt.reasoning.mode) == (False, ReasoningMode.NONE)


def test_a_header_that_is_a_pair_of_markers_asks_for_no_reasoning():
    source = "{{ 'Think.' if deep }}" + turns("{{ m.content }}").replace("<me>", "<i></i>")
    assert analyze(source).reasoning.mode is ReasoningMode.NONE


def test_white_space_behind_the_end_of_reasoning_does_not_hide_that_a_prompt_ends_it():
    thought = THOUGHT.replace("</t>", "</t>\n")
    fmt = analyze(turns(thought + "{{ m.content }}", "{{ '<t></t>' if quick else '<t>' }}"))
    assert fmt.reasoning.mode is ReasoningMode.FORCED_CLOSED


@pytest.mark.parametrize(
    ("opened", "mode", "verified"),
    [("<t>", ReasoningMode.FORCED_CLOSED, True), ("<deep>", ReasoningMode.TAG_BASED, False)],
)
def test_words_of_the_user_are_tried_where_a_switch_shows_an_empty_pair(opened, mode, verified):
    asked = "'" + opened + "' if '/deep' in messages[-1].content"
    fmt = analyze(turns("{{ m.content }}", "{{ '<t></t>' if quick else " + asked + " }}"))
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")
    assert (fmt.reasoning.mode, fmt.verified) == (mode, verified)


@pytest.mark.parametrize("space", ["", "\n"])
def test_what_closes_reasoning_by_its_name_is_no_marker_of_content(space):
    opened = "{{ '<t>" + repr(space)[1:-1] + "' ~ m.reasoning if m.reasoning }}"
    fmt = analyze(turns(opened + "</t>{{ m.content }}"))
    assert (fmt.verified, fmt.content.mode) == (True, ContentMode.PLAIN)
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>" + space, "</t>")


@pytest.mark.parametrize(
    ("said", "prompt", "start", "end"),
    [
        ("{{ m.reasoning }}{{ '\n' }}</t>{{ '\n' }}{{ m.content }}", "<t>", "<t>", "\n</t>\n"),
        ("{{ m.reasoning ~ '</t>' if m.reasoning }}{{ m.content }}", "", "", "</t>"),
        ("{{ m.reasoning }}</t>{{ m.content }}", "Well, ", "", "</t>"),
        ("{{ m.content.split('</t>')[-1] }}", "", "<t>", "</t>"),
    ],
)
def test_what_begins_reasoning_where_turns_do_not_say(said, prompt, start, end):
    fmt = analyze(turns(said, prompt))
    assert (fmt.verified, fmt.reasoning.start, fmt.reasoning.end) == (True, start, end)


def test_words_before_the_end_in_a_prompt_are_no_call():
    end = "so{{ '<x>' if m.content else '</t>' }}"
    thought = "{% if m.tool_calls %}<t>{{ m.reasoning }}" + end + "{% endif %}{{ m.content or '' }}"
    fmt = analyze(turns(thought + CALLS, "{{ '<t>so</t>' if brief }}"))
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "so</t>")


def test_reasoning_may_have_markers_of_its_own_beside_calls_under_a_switch():
    pair = "('<u>' if deep and m.tool_calls else '<t>') ~ m.reasoning"
    thought = "{{ " + pair + " ~ ('</u>' if deep and m.tool_calls else '</t>') if m.reasoning }}"
    source = turns(thought + "{{ m.content or '' }}" + CALLS)
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert (fmt.verified, fmt.reasoning.alternatives) == (True, ("<u>", "</u>"))


def test_reasoning_under_a_switch_that_no_marker_ends_has_none_of_its_own():
    deep = (
        "{% if deep %}<u>{{ m.reasoning }}{{ '\n' }}{% else %}<t>{{ m.reasoning }}</t>{% endif %}"
    )
    fmt = analyze(turns(deep + "{{ m.content }}"))
    assert (fmt.verified, fmt.reasoning.alternatives) == (False, ())


@pytest.mark.parametrize("header", ["<me>", ""])
@pytest.mark.parametrize("space", ["", "\n"])
def test_reasoning_under_a_switch_is_ended_as_before_content(header, space):
    deep = "<u>{{ '" + repr(space)[1:-1] + "' ~ m.reasoning }}{{ '\n' if m.content }}</u>"
    thought = "{% if deep %}" + deep + "{% else %}<t>{{ m.reasoning }}</t>{% endif %}"
    source = turns(thought + "{{ m.content or '' }}" + CALLS).replace("<me>", header)
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert fmt.reasoning.alternatives == ("<u>" + space, "\n</u>")


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
        ("<t>Well, ", ""),
    ],
)
@pytest.mark.parametrize("header", ["<|begin|>model<|said|>\n", "<|model|>", "MODEL: "])
def test_what_all_turns_end_begins_behind_the_header(header, prompt, start):
    source = turns(ENDED, prompt).replace("<me>", header)
    fmt = analyze(source)
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == (start, "</t>")
    assert [text.strip() for text in fmt.turn.headers] == [header.strip()]


@pytest.mark.parametrize("space", ["", "{{ '\\n' }}"])
def test_what_ends_the_header_may_be_what_all_turns_and_some_prompts_end(space):
    said = ENDED.replace("</t>", "</t>" + space)
    fmt = analyze(turns(said, "{% if brief %}</t>" + space + "{% endif %}"))
    assert (fmt.verified, fmt.reasoning.start, fmt.turn.headers) == (True, "<me>", ("</you>",))


def test_what_all_turns_end_may_have_more_behind_it_where_there_is_reasoning():
    said = "{{ m.reasoning_content }}</t>{{ '<x>' if m.reasoning_content }}{{ m.content }}"
    fmt = analyze(turns(said, "<t>"))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t><x>")


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


def test_words_behind_an_opener_with_the_value_of_a_switch_open_nothing():
    opened = EFFORT.replace("MARKER", "<t effort={{ effort }}>{{ '\\n' }}Well, ")
    assert analyze(turns(THOUGHT + "{{ m.content }}", opened)).verified


@pytest.mark.parametrize("opened", ["<t>", "<t:{{ effort | default('mid') }}>"])
@pytest.mark.parametrize("mark", [":", " effort="])
def test_it_is_reported_where_a_switch_of_any_value_changes_the_opener(opened, mark):
    prompt = "<t" + mark + "{{ effort | default('mid') }}>{{ '\\n' }}"
    said = THOUGHT.replace(
        "<t>", opened.replace(":", mark).replace("{{", "' ~ (").replace("}}", ") ~ '")
    )
    source = turns(said + "{{ m.content }}", prompt)
    fmt = analyze(source)
    assert f"the start marker of reasoning, '<t{mark}mid>', contains the value of effort" in fmt.issues[0]
    assert "analyze(template, effort=...)" in fmt.issues[0]
    fmt = analyze(source, effort="high")
    assert fmt.verified
    asked = [{"role": "user", "content": "Hi"}]
    behind = ChatTemplate(source).render(asked, add_generation_prompt=True, effort="high")
    assert parse("hm</t>Dry.</me>", fmt, prompt=behind).reasoning_content == "hm"


def test_an_opener_of_prompts_with_the_value_of_a_switch_and_more_space_is_no_other():
    value = "{{ effort | default('mid') }}"
    said = THOUGHT.replace("<t>", "<t:' ~ (effort | default('mid')) ~ '>") + "{{ m.content }}"
    fmt = analyze(turns(said, f"<t:{value}>{{{{ '\\n' }}}}"))
    assert (fmt.reasoning.start, fmt.reasoning.alternatives) == ("<t:mid>", ())


def test_a_prompt_that_begins_a_call_where_content_hides_reasoning():
    thought = "{{ '<t>' ~ m.reasoning ~ '</t>' if m.reasoning and m.tool_calls and not m.content }}"
    source = turns(thought + "{{ m.content or '' }}" + CALLS, "{{ '<t></t><c>' if act }}")
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert (fmt.reasoning.mode, fmt.reasoning.start) == (ReasoningMode.TOOLS_ONLY, "<t>")


@pytest.mark.parametrize("empty", ["", "{% else %}<t></t>\n"])
def test_a_call_that_a_prompt_begins_behind_an_empty_pair_is_no_part_of_the_end(empty):
    thought = "{% if m.tool_calls %}{% if m.reasoning_content %}<t>{{ m.reasoning_content }}</t>\n"
    thought += empty + "{% endif %}{% endif %}"
    fmt = analyze(turns(thought + "{{ m.content or '' }}" + CALLS, "{{ '<t></t>\n<c>' if act }}"))
    assert (fmt.verified, fmt.reasoning.start, fmt.reasoning.end) == (True, "<t>", "</t>\n")
    read = parse('<t>hm</t>\n<c>{"name": "f", "arguments": {}}</c></me>', fmt)
    assert (read.reasoning_content, [call.name for call in read.tool_calls]) == ("hm", ["f"])
