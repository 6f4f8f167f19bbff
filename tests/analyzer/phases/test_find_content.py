"""Content markers, and turns without their reasoning."""

from __future__ import annotations

import pytest

from deltaparse import ContentMode, ReasoningFormat, analyze
from deltaparse.analyzer.phases.find_content import without_reasoning

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
def test_without_reasoning_removes_the_section(text, left):
    reasoning = ReasoningFormat(start="<think>\n", end="</think>\n")
    assert without_reasoning(text, reasoning) == left


@pytest.mark.parametrize(
    ("wraps", "mode", "start"),
    [
        ("", ContentMode.WRAPPED_WITH_REASONING, "<reply>"),
        ("say", ContentMode.ALWAYS_WRAPPED, "<say>"),
    ],
)
def test_described_content_markers_are_used_if_not_rendered(wraps, mode, start):
    said = "'<a><say>' ~ message.content ~ '</say>'" if wraps else "'<a>' ~ message.content"
    fmt = analyze(OWN.reasoning_asked_for.replace("'<a>' ~ message.content", said))
    assert (fmt.content.mode, fmt.content.start) == (mode, start)
    assert fmt.content.end == start.replace("<", "</")


def test_content_omitted_next_to_reasoning_is_plain():
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
def test_content_markers_with_calls_are_found_in_turns_of_calls(said, mode):
    fmt = analyze(
        f"{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.tool_calls %}}{said}"
        "{% for c in m.tool_calls %}{{ {'name': c.function.name, 'arguments': c.function.arguments}"
        " | tojson }}{% endfor %}{% else %}{{ m.content }}{% endif %}<end>{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    assert fmt.content.mode is mode


def test_text_around_content_after_calls_is_not_a_marker():
    calls = "{% for c in m.tool_calls %}<c>{{ c.function | tojson }}</c>{% endfor %}"
    said = "{% if m.tool_calls %}" + calls + "<s>{{ m.content or '' }}</s>{% else %}"
    fmt = analyze(turns("<me>" + said + "{{ m.content }}{% endif %}</me>"))
    assert (fmt.verified, fmt.content.mode) == (False, ContentMode.PLAIN)


def test_content_may_be_wrapped_only_with_reasoning():
    thought = "<t>{{ m.reasoning }}</t><say>{{ m.content }}</say>"
    said = "{% if m.reasoning %}" + thought + "{% else %}{{ m.content }}{% endif %}"
    fmt = analyze(turns("<me>" + said + "</me>"))
    assert fmt.content.mode is ContentMode.WRAPPED_WITH_REASONING
    assert (fmt.content.start, fmt.content.end) == ("<say>", "</say>")


def test_template_rejecting_empty_content_does_not_require_text():
    refuses = "{{ raise_exception('no') if m.tool_calls and m.content == '' }}{{ m.content or '' }}"
    calls = "{% for c in m.tool_calls or [] %}<c>{{ c.function | tojson }}</c>{% endfor %}"
    fmt = analyze(turns("<me>" + refuses + calls + "</me>"))
    assert (fmt.verified, fmt.content.requires_nonnull) == (True, False)


def test_unclosed_reasoning_start_is_removed():
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
def test_content_rendered_twice_is_not_verified(said):
    fmt = analyze(turns(said))
    assert fmt.content.mode is ContentMode.PLAIN
    assert not fmt.verified


def test_content_end_includes_preceding_whitespace():
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
def test_end_of_unwrapped_content_ends_the_turn(source, last):
    assert analyze(source).turn.ends[-1] == last


@pytest.mark.parametrize(
    ("source", "space"),
    [
        (OWN.space_behind_the_header, " "),
        (OWN.reasoning_opened_or_ended, ""),
    ],
)
def test_content_start_is_the_space_after_the_header(source, space):
    assert analyze(source).content.start == space


@pytest.mark.parametrize(
    ("source", "needs"), [(OWN.content_in_parts, True), (OWN.wrapped_content, False)]
)
def test_null_content_rendered_as_text_requires_nonnull(source, needs):
    assert analyze(source).content.requires_nonnull is needs


def test_user_message_end_ends_turns_with_wrapped_content():
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
