"""Reasoning markers in turns and prompts."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, ContentMode, ReasoningMode, analyze, parse
from deltaparse.analyzer.assistant_turns import Turns
from deltaparse.analyzer.phases.find_frame import find_frame
from deltaparse.analyzer.phases.find_reasoning import around_content
from deltaparse.analyzer.renderer import Renderer
from deltaparse.analyzer.trace import Trace

from .small_templates import CALLS, THOUGHT, turns


def test_reasoning_end_before_calls_may_follow_whitespace():
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


def test_content_part_without_start_marker_is_not_reasoning():
    assert analyze(turns(PARTS)).reasoning.mode is ReasoningMode.NONE
    marked = analyze(turns(PARTS.replace("'\n'", "'<t>'")))
    assert (marked.reasoning.start, marked.reasoning.end) == ("<t>", "</t>")


@pytest.mark.parametrize("closed", ["<t></t>", "<t>"])
def test_reasoning_with_calls_only_uses_the_empty_pair_of_all_turns(closed):
    thought = "<t>{{ m.reasoning_content if m.tool_calls }}</t>{{ m.content or '' }}"
    fmt = analyze(turns(thought + CALLS, "{{ '<t></t>' if quick else '" + closed + "' }}"))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")


@pytest.mark.parametrize(("key", "verified"), [("metadata", True), ("reasoning", False)])
def test_unended_text_is_reasoning_only_under_usual_keys(key, verified):
    fmt = analyze(turns("{{ m." + key + " }}\n{{ m.content }}"))
    assert (fmt.verified, fmt.reasoning.mode) == (verified, ReasoningMode.NONE)
    unended = "the template shows reasoning, but no marker that ends it"
    assert (unended in fmt.issues) is not verified


def test_unended_reasoning_in_turns_is_not_closed_by_name():
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
def test_reasoning_end_before_content_is_found(answer, end):
    reasoning = analyze(turns(answer)).reasoning
    assert (reasoning.start, reasoning.end) == ("<t>", end)


@pytest.mark.parametrize("key", ["musing", "name", "id", "type", "function", "function_call"])
def test_unusual_message_key_may_hold_reasoning(key):
    fmt = analyze(turns(THOUGHT.replace("reasoning_content", key) + "{{ m.content }}"))
    assert fmt.verified
    assert fmt.reasoning.start == ("<t>" if key == "musing" else "")


def test_reasoning_in_place_of_content_is_not_understood():
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
def test_empty_pair_in_instructions_requests_reasoning(described, start, answer):
    fmt = analyze("{% if deep %}" + described + "{% endif %}" + turns("{{ m.content }}"))
    assert (fmt.reasoning.start, fmt.content.start) == (start, answer)


def test_instructions_may_precede_the_prompt_header():
    told = "{{ 'Begin with <t></t>.' if deep and add_generation_prompt }}"
    assert analyze(told + turns("{{ m.content }}")).reasoning.start == "<t>"
    refused = told.replace("'Begin with <t></t>.'", "raise_exception('never')")
    assert analyze(refused + turns("{{ m.content }}")).reasoning.start == ""


@pytest.mark.parametrize("otherwise", ["<part>", ""])
def test_other_prompt_end_does_not_hide_switched_reasoning(otherwise):
    prompt = "{{ '<t>' if deep else '" + otherwise + "' }}"
    fmt = analyze("Always write {{ '</t>' }}." + turns("{{ m.content }}", prompt))
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")
    assert not any("derived from its name" in issue for issue in fmt.issues)


def test_switched_reasoning_without_header_is_not_understood():
    thought = THOUGHT.replace("'<t>'", "('<u>' if bare else '<t>')")
    source = turns("HEADER" + thought + "{{ m.content }}")
    fmt = analyze(source.replace("<me>HEADER", "{{ '<me>' if not bare }}"))
    assert any("did not round-trip (with bare=true)" in issue for issue in fmt.issues)
    assert (fmt.reasoning.start, fmt.reasoning.alternatives) == ("<t>", ())


def test_switched_reasoning_that_hides_content_has_own_markers():
    thought = "<t>{{ m.reasoning_content }}</t>"
    hidden = thought.replace("t>", "u>").replace("</u>", "{{ '\\n' }}</u>")
    said = "{% if deep %}" + hidden + "{% else %}" + thought
    source = turns(said + "{{ m.content or '' }}{% endif %}" + CALLS)
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert (fmt.reasoning.start, fmt.reasoning.alternatives) == ("<t>", ("<u>", "\n</u>"))
    assert any("content did not round-trip (with deep=true)" in issue for issue in fmt.issues)


def test_whitespace_does_not_open_reasoning_before_calls():
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
def test_reasoning_end_excludes_the_content_start(thought, prompt, start):
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
def test_reasoning_markers_include_whitespace(said, prompt, start, end):
    fmt = analyze(turns(said, prompt))
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == (start, end)
    assert fmt.reasoning.alternatives == ()


def test_content_start_may_end_reasoning():
    thought = THOUGHT.replace(" ~ '</t>'", "")
    fmt = analyze(turns(thought + "{{ '\\n' }}<say>{{ m.content }}"))
    assert fmt.verified
    assert (fmt.reasoning.end, fmt.content.start) == ("\n<say>", "\n<say>")
    assert fmt.content.mode is ContentMode.ALWAYS_WRAPPED


def test_content_start_also_before_calls_ends_reasoning():
    thought = THOUGHT.replace(" ~ '</t>'", "") + "<so>{{ m.content or '' }}"
    fmt = analyze("{{ tools | tojson if tools }}" + turns(thought + CALLS))
    assert (fmt.verified, fmt.reasoning.end) == (True, "<so>")
    assert fmt.content.mode is ContentMode.PLAIN


def test_prompt_text_after_an_empty_pair_is_content():
    said = NEXT + "{{ m.content or '' }}" + CALLS
    fmt = analyze("{{ tools | tojson if tools }}" + turns(said, "{{ '<t></t>' if brief }}"))
    assert (fmt.verified, fmt.reasoning.end, fmt.content.start) == (True, "</t>", "<so>")


@pytest.mark.parametrize("said", ["{{ m.content }}" + THOUGHT, THOUGHT + "{{ m.content }}" * 2])
def test_reasoning_after_content_or_twice_is_not_verified(said):
    fmt = analyze(turns(said))
    assert (fmt.verified, fmt.proved.reasoning) == (False, ())


def test_content_start_does_not_open_unmarked_reasoning():
    thought = "{{ m.reasoning_content ~ '</t>' if m.reasoning_content }}"
    fmt = analyze(turns(thought + "<say>{{ m.content }}</say>"))
    assert (fmt.verified, fmt.reasoning.start, fmt.content.start) == (True, "", "<say>")
    next_to_calls = thought.replace("if m.", "if m.tool_calls and m.")
    source = turns(next_to_calls + "{{ '<say>' ~ m.content if m.content }}" + CALLS)
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert (fmt.verified, fmt.reasoning.mode) == (False, ReasoningMode.NONE)


def test_two_markers_before_the_content_start_end_reasoning():
    fmt = analyze(
        turns("<t>{{ m.reasoning_content or '' }}</t><x><say>{{ m.content }}</say>", "<t>")
    )
    assert fmt.reasoning.end == "</t><x>"


def test_reasoning_end_may_begin_all_content_without_a_start():
    said = "model:{{ '\\n' }}{{ m.reasoning_content }}[so]{{ m.content }}"
    for shown in (said, said.replace("{{ '\\n' }}", "")):
        fmt = analyze(turns(shown, "model:").replace("<me>", ""))
        assert fmt.verified
        assert fmt.reasoning.mode is ReasoningMode.DELIMITER
        assert fmt.content.mode is ContentMode.PLAIN


def test_unended_reasoning_before_calls_is_not_understood():
    thought = "{{ '<t>' ~ m.reasoning_content ~ ' so ' if loop.first and m.reasoning_content }}"
    call = thought + "{{ c.function.name }}<x>{{ c.function.arguments | tojson }}</x>"
    calls = "{% for c in m.tool_calls or [] %}" + call + "{% endfor %}"
    fmt = analyze(turns("{{ m.content or '' }}" + calls))
    assert fmt.reasoning.mode is ReasoningMode.NONE


@pytest.mark.parametrize("answer", ["", "{% if m.role == 'assistant' %}<me>so{% endif %}"])
def test_turn_without_header_or_content_has_empty_surroundings(answer):
    source = "{% for m in messages %}{{ m.content }}" + answer + "\n\n{% endfor %}"
    render = Renderer(ChatTemplate(source + "{% if add_generation_prompt %}<me>{% endif %}"))
    assert around_content(Turns(render, find_frame(render))) == ("", "")


@pytest.mark.parametrize("refused", ["m.tool_calls", "m.metadata is string"])
def test_template_may_reject_calls_or_an_unusual_key(refused):
    refuses = "{{ raise_exception('no') if " + refused + " }}{{ '!' if m.metadata == 'loud' }}"
    fmt = analyze(turns(refuses + "{{ m.content }}"))
    assert fmt.reasoning.mode is ReasoningMode.NONE
    assert all("does not render tool calls" in issue for issue in fmt.issues)


def test_reasoning_before_calls_closed_at_once_in_other_turns():
    thought = "{{ '<t>' ~ m.reasoning_content if m.tool_calls and m.reasoning_content }}</t>"
    fmt = analyze(
        turns(thought + "{{ m.content or '' }}" + CALLS, "{{ '</t>' if brief else '<t>' }}")
    )
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")


def test_reasoning_with_calls_only_may_share_whitespace_with_content():
    thought = "{{ m.reasoning_content if m.tool_calls }}</t>{{ '\\n' ~ m.content if m.content }}"
    fmt = analyze("{{ tools | tojson if tools }}" + turns(thought + CALLS))
    assert (fmt.verified, fmt.reasoning.start, fmt.reasoning.end) == (True, "<me>", "</t>")


@pytest.mark.parametrize("key", ["reasoning", "musing"])
def test_reasoning_with_calls_only_is_hidden_by_content(key):
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
def test_markers_of_reasoning_with_calls_only_include_whitespace(thought, prompt, start, end):
    said = thought.replace("WHEN", "m.reasoning_content and m.tool_calls")
    source = turns(said + "{{ m.content or '' }}" + CALLS, prompt)
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == (start, end)


def test_reasoning_before_calls_uses_the_key_with_markers():
    thought = "{% if m.tool_calls %}{{ m.reasoning }}{{ '<t>' ~ m.thought ~ '</t>' }}{% endif %}"
    fmt = analyze(turns(thought + "{{ m.content or '' }}" + CALLS))
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")


def test_unusual_keys_without_effect_are_tried_together():
    source = turns(THOUGHT + "{{ m.content }}")
    traces = Trace(), Trace()
    read = "{% for m in messages %}{% if " + " or ".join(f"m.k{at}" for at in range(9)) + " %}"
    analyze(source, trace=traces[0])
    analyze(read + "{% endif %}{% endfor %}" + source, trace=traces[1])
    usual, more = (sum(trace.rendered.values()) for trace in traces)
    assert more - usual < 9


@pytest.mark.parametrize("refused", ["add_generation_prompt", "messages[-1].reasoning"])
@pytest.mark.parametrize("switch", ["", "{{ 'Think.' if deep }}"])
def test_template_may_reject_prompts_or_a_reasoning_key(refused, switch):
    refuses = "{{ raise_exception('no') if " + refused + " }}" + switch
    fmt = analyze(refuses + turns("{{ m.reasoning }}{{ m.content }}"))
    assert (fmt.verified, fmt.reasoning.mode) == (False, ReasoningMode.NONE)


def test_header_resembling_a_marker_pair_requests_no_reasoning():
    source = "{{ 'Think.' if deep }}" + turns("{{ m.content }}").replace("<me>", "<i></i>")
    assert analyze(source).reasoning.mode is ReasoningMode.NONE


def test_prompt_with_whitespace_after_reasoning_end_is_closed():
    thought = THOUGHT.replace("</t>", "</t>\n")
    fmt = analyze(turns(thought + "{{ m.content }}", "{{ '<t></t>' if quick else '<t>' }}"))
    assert fmt.reasoning.mode is ReasoningMode.FORCED_CLOSED


@pytest.mark.parametrize(
    ("opened", "mode", "verified"),
    [("<t>", ReasoningMode.FORCED_CLOSED, True), ("<deep>", ReasoningMode.TAG_BASED, False)],
)
def test_user_words_are_tried_with_a_switched_empty_pair(opened, mode, verified):
    asked = "'" + opened + "' if '/deep' in messages[-1].content"
    fmt = analyze(turns("{{ m.content }}", "{{ '<t></t>' if quick else " + asked + " }}"))
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "</t>")
    assert (fmt.reasoning.mode, fmt.verified) == (mode, verified)


@pytest.mark.parametrize("space", ["", "\n"])
def test_reasoning_end_by_name_is_not_a_content_marker(space):
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
def test_reasoning_start_is_taken_from_prompts_if_turns_lack_it(said, prompt, start, end):
    fmt = analyze(turns(said, prompt))
    assert (fmt.verified, fmt.reasoning.start, fmt.reasoning.end) == (True, start, end)


def test_words_before_the_end_in_a_prompt_are_not_a_call():
    end = "so{{ '<x>' if m.content else '</t>' }}"
    thought = "{% if m.tool_calls %}<t>{{ m.reasoning }}" + end + "{% endif %}{{ m.content or '' }}"
    fmt = analyze(turns(thought + CALLS, "{{ '<t>so</t>' if brief }}"))
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<t>", "so</t>")


def test_switched_reasoning_before_calls_may_have_own_markers():
    pair = "('<u>' if deep and m.tool_calls else '<t>') ~ m.reasoning"
    thought = "{{ " + pair + " ~ ('</u>' if deep and m.tool_calls else '</t>') if m.reasoning }}"
    source = turns(thought + "{{ m.content or '' }}" + CALLS)
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert (fmt.verified, fmt.reasoning.alternatives) == (True, ("<u>", "</u>"))


def test_unended_switched_reasoning_has_no_own_markers():
    deep = (
        "{% if deep %}<u>{{ m.reasoning }}{{ '\n' }}{% else %}<t>{{ m.reasoning }}</t>{% endif %}"
    )
    fmt = analyze(turns(deep + "{{ m.content }}"))
    assert (fmt.verified, fmt.reasoning.alternatives) == (False, ())


@pytest.mark.parametrize("header", ["<me>", ""])
@pytest.mark.parametrize("space", ["", "\n"])
def test_switched_reasoning_ends_as_before_content(header, space):
    deep = "<u>{{ '" + repr(space)[1:-1] + "' ~ m.reasoning }}{{ '\n' if m.content }}</u>"
    thought = "{% if deep %}" + deep + "{% else %}<t>{{ m.reasoning }}</t>{% endif %}"
    source = turns(thought + "{{ m.content or '' }}" + CALLS).replace("<me>", header)
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert fmt.reasoning.alternatives == ("<u>" + space, "\n</u>")


def test_header_of_turns_with_reasoning_only_is_found():
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
def test_reasoning_start_is_the_prompt_text_after_the_header(header, prompt, start):
    source = turns(ENDED, prompt).replace("<me>", header)
    fmt = analyze(source)
    assert fmt.verified
    assert (fmt.reasoning.start, fmt.reasoning.end) == (start, "</t>")
    assert [text.strip() for text in fmt.turn.headers] == [header.strip()]


@pytest.mark.parametrize("space", ["", "{{ '\\n' }}"])
def test_header_end_may_open_reasoning(space):
    said = ENDED.replace("</t>", "</t>" + space)
    fmt = analyze(turns(said, "{% if brief %}</t>" + space + "{% endif %}"))
    assert (fmt.verified, fmt.reasoning.start, fmt.turn.headers) == (True, "<me>", ("</you>",))


def test_reasoning_end_may_be_longer_in_turns_with_reasoning():
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
def test_text_with_a_switch_value_opens_no_reasoning(prompt, mode):
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
def test_text_chosen_by_a_switch_may_open_a_part(marker):
    fmt = analyze(turns(THOUGHT + "{{ m.content }}", EFFORT.replace("MARKER", marker)))
    (issue,) = fmt.issues
    assert "the prompt opens a part of the turn with" in issue


@pytest.mark.parametrize("space", ["", "\n"])
def test_start_marker_may_contain_a_switch_value(space):
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


def test_words_after_a_start_with_switch_value_open_no_part():
    opened = EFFORT.replace("MARKER", "<t effort={{ effort }}>{{ '\\n' }}Well, ")
    assert analyze(turns(THOUGHT + "{{ m.content }}", opened)).verified


@pytest.mark.parametrize("opened", ["<t>", "<t:{{ effort | default('mid') }}>"])
@pytest.mark.parametrize("mark", [":", " effort="])
def test_start_marker_with_an_arbitrary_value_is_reported(opened, mark):
    prompt = "<t" + mark + "{{ effort | default('mid') }}>{{ '\\n' }}"
    said = THOUGHT.replace(
        "<t>", opened.replace(":", mark).replace("{{", "' ~ (").replace("}}", ") ~ '")
    )
    source = turns(said + "{{ m.content }}", prompt)
    fmt = analyze(source)
    assert (
        f"the start marker of reasoning, '<t{mark}mid>', contains the value of effort"
        in fmt.issues[0]
    )
    assert "analyze(template, effort=...)" in fmt.issues[0]
    fmt = analyze(source, effort="high")
    assert fmt.verified
    asked = [{"role": "user", "content": "Hi"}]
    behind = ChatTemplate(source).render(asked, add_generation_prompt=True, effort="high")
    assert parse("hm</t>Dry.</me>", fmt, prompt=behind).reasoning_content == "hm"


def test_start_marker_with_more_space_is_not_an_alternative():
    value = "{{ effort | default('mid') }}"
    said = THOUGHT.replace("<t>", "<t:' ~ (effort | default('mid')) ~ '>") + "{{ m.content }}"
    fmt = analyze(turns(said, f"<t:{value}>{{{{ '\\n' }}}}"))
    assert (fmt.reasoning.start, fmt.reasoning.alternatives) == ("<t:mid>", ())


def test_prompt_that_begins_a_call_opens_no_reasoning():
    thought = "{{ '<t>' ~ m.reasoning ~ '</t>' if m.reasoning and m.tool_calls and not m.content }}"
    source = turns(thought + "{{ m.content or '' }}" + CALLS, "{{ '<t></t><c>' if act }}")
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert (fmt.reasoning.mode, fmt.reasoning.start) == (ReasoningMode.TOOLS_ONLY, "<t>")


@pytest.mark.parametrize("empty", ["", "{% else %}<t></t>\n"])
def test_call_start_after_an_empty_pair_is_not_in_the_end(empty):
    thought = "{% if m.tool_calls %}{% if m.reasoning_content %}<t>{{ m.reasoning_content }}</t>\n"
    thought += empty + "{% endif %}{% endif %}"
    fmt = analyze(turns(thought + "{{ m.content or '' }}" + CALLS, "{{ '<t></t>\n<c>' if act }}"))
    assert (fmt.verified, fmt.reasoning.start, fmt.reasoning.end) == (True, "<t>", "</t>\n")
    read = parse('<t>hm</t>\n<c>{"name": "f", "arguments": {}}</c></me>', fmt)
    assert (read.reasoning_content, [call.name for call in read.tool_calls]) == ("hm", ["f"])
