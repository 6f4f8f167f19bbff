"""Content: what is left of a turn without its reasoning."""

from __future__ import annotations

import pytest

from deltaparse import ContentMode, ReasoningFormat, analyze
from deltaparse.analyzer.phases.content import without_reasoning

from ...strategies.templates import OWN


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>\nwhy</think>\n<say>", "<say>"),
        ("<think>\nwhy</think> <say>", " <say>"),
        ("<think>\n<say>", "<say>"),
        ("\n<think> <say> ", "<say> "),
        (" <say> ", " <say> "),
        (" <say><think>", " <say><think>"),
        ("", ""),
    ],
)
def test_a_section_of_reasoning_is_taken_out(text, left):
    reasoning = ReasoningFormat(start="<think>\n", end="</think>\n")
    assert without_reasoning(text, reasoning) == left


@pytest.mark.parametrize(
    ("wraps", "mode", "start"),
    [
        ("", ContentMode.WRAPPED_WITH_REASONING, "<reply>"),
        ("say", ContentMode.ALWAYS_WRAPPED, "<say>"),
    ],
)
def test_markers_of_content_that_are_described_count_where_none_are_shown(wraps, mode, start):
    said = "'<a><say>' ~ message.content ~ '</say>'" if wraps else "'<a>' ~ message.content"
    fmt = analyze(OWN.reasoning_asked_for.replace("'<a>' ~ message.content", said))
    assert (fmt.content.mode, fmt.content.start) == (mode, start)
    assert fmt.content.end == start.replace("<", "</")


def test_content_may_be_left_out_beside_reasoning():
    said, thought = "{{ m.content or '' }}", "<think>{{ m.reasoning_content }}</think>"
    fmt = analyze(
        "{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content and m.tool_calls %}"
        f"{thought}{said}{{% elif m.reasoning_content %}}{thought}{{% else %}}{said}{{% endif %}}"
        "{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}<end>"
        "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    assert (fmt.content.mode, fmt.reasoning.end) == (ContentMode.PLAIN, "</think>")


@pytest.mark.parametrize(
    ("said", "mode"),
    [
        ("<s>{{ m.content }}</s>", ContentMode.WRAPPED_WITH_CALLS),
        ("{% if m.content %}<s>{{ m.content }}</s>{% endif %}", ContentMode.PLAIN),
        ("<s>{{ m.content }}", ContentMode.PLAIN),
        ("<s>{{ '\\n' ~ m.content if m.content }}</s>", ContentMode.WRAPPED_WITH_CALLS),
        (" {{ m.content }}</s>", ContentMode.PLAIN),
        ("{{ m.content }}</s>", ContentMode.PLAIN),
        ("{{ ' ' ~ m.content if m.content }}</s>", ContentMode.PLAIN),
        ("<s>{{ m.content or raise_exception('no') }}</s>", ContentMode.PLAIN),
        ("", ContentMode.PLAIN),
    ],
)
def test_markers_of_content_beside_calls_are_known_by_turns_of_calls_alone(said, mode):
    fmt = analyze(
        f"{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.tool_calls %}}{said}"
        "{% for c in m.tool_calls %}{{ {'name': c.function.name, 'arguments': c.function.arguments}"
        " | tojson }}{% endfor %}{% else %}{{ m.content }}{% endif %}<end>{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    assert fmt.content.mode is mode


def test_what_stands_round_content_behind_calls_begins_none():
    calls = "{% for c in m.tool_calls %}<c>{{ c.function | tojson }}</c>{% endfor %}"
    said = "{% if m.tool_calls %}" + calls + "<s>{{ m.content or '' }}</s>{% else %}"
    fmt = analyze(turns("<me>" + said + "{{ m.content }}{% endif %}</me>"))
    assert (fmt.verified, fmt.content.mode) == (False, ContentMode.PLAIN)


def test_content_may_be_wrapped_beside_reasoning_alone():
    thought = "<t>{{ m.reasoning }}</t><say>{{ m.content }}</say>"
    said = "{% if m.reasoning %}" + thought + "{% else %}{{ m.content }}{% endif %}"
    fmt = analyze(turns("<me>" + said + "</me>"))
    assert fmt.content.mode is ContentMode.WRAPPED_WITH_REASONING
    assert (fmt.content.start, fmt.content.end) == ("<say>", "</say>")


def test_a_template_that_refuses_an_empty_content_beside_calls_needs_no_text():
    refuses = "{{ raise_exception('no') if m.tool_calls and m.content == '' }}{{ m.content or '' }}"
    calls = "{% for c in m.tool_calls or [] %}<c>{{ c.function | tojson }}</c>{% endfor %}"
    fmt = analyze(turns("<me>" + refuses + calls + "</me>"))
    assert (fmt.verified, fmt.content.requires_nonnull) == (True, False)


def test_a_start_that_nothing_ends_is_taken_out():
    assert without_reasoning("<think> <say>", ReasoningFormat(start="<think>")) == "<say>"


def turns(said, prompt="{% if add_generation_prompt %}<me>{% endif %}"):
    return (
        "{{ tools | tojson if tools }}{% for m in messages %}{% if m.role == 'assistant' %}"
        + said
        + "{% else %}<you>{{ m.content }}{% endif %}{% endfor %}"
        + prompt
    )


@pytest.mark.parametrize(
    "said", ["<me>{{ m.content }}, {{ m.content }}!</me>", "{{ m.content }}", "<me>ok</me>"]
)
def test_content_that_is_not_shown_once_in_a_turn_is_not_proved(said):
    fmt = analyze(turns(said))
    assert fmt.content.mode is ContentMode.PLAIN
    assert not fmt.verified


def test_content_ends_in_its_marker_with_the_space_before_it():
    calls = "{% for c in m.tool_calls or [] %}<c>{{ c.function | tojson }}</c>{% endfor %}"
    said = "<me><say>{{ m.content ~ '\\n' if m.content }}" + calls + "</say></me>"
    always = "{% if messages[-1].role == 'assistant' or add_generation_prompt %}<me>{% endif %}"
    fmt = analyze(turns(said, always))
    assert fmt.verified
    assert (fmt.content.start, fmt.content.end) == ("<say>", "\n</say>")
    assert fmt.turn.ends == ("</me>",)


@pytest.mark.parametrize(
    ("source", "last"),
    [
        (OWN.content_begun_in_the_prompt, "<|/answer|>"),
        (OWN.wrapped_content, "<|END_TURN|>"),
    ],
)
def test_only_what_ends_content_that_nothing_begins_ends_the_turn(source, last):
    assert analyze(source).turn.ends[-1] == last


@pytest.mark.parametrize(
    ("source", "space"),
    [
        (OWN.space_behind_the_header, " "),
        (OWN.reasoning_opened_or_ended, ""),
    ],
)
def test_the_space_between_the_header_and_content(source, space):
    assert analyze(source).content.start == space


@pytest.mark.parametrize(
    ("source", "needs"), [(OWN.content_in_parts, True), (OWN.wrapped_content, False)]
)
def test_whether_a_content_of_null_comes_out_as_none(source, needs):
    assert analyze(source).content.requires_nonnull is needs


def test_where_content_has_an_end_marker_all_that_ends_the_users_message_ends_the_turn():
    said = "{{ '<say>' ~ m.content ~ '</say>' if m.role == 'assistant' else m.content }}"
    fmt = analyze(
        "{% for m in messages %}<{{ m.role }}>" + said + "<x></end>{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    assert fmt.verified
    assert (fmt.content.start, fmt.content.end, fmt.turn.ends[0]) == (
        "<say>",
        "</say>",
        "<x></end>",
    )
