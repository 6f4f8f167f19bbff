"""The analysis as a whole: from a template to a format that parses what the template renders."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse import ChatTemplate, TemplateError, UsageError, WireFormat, analyze, parse
from deltaparse.analyzer.probes import PROBE_TEXTS

from ..strategies import templates
from ..strategies.wire_json_and_tags import TOOLS as WIRE_TOOLS
from ..strategies.wire_json_and_tags import formats, turns, write

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


@settings(max_examples=30)
@given(fmt=formats(), data=st.data())
def test_a_model_that_nobody_has_seen(fmt, data):
    """A template made of random markers: what its model writes is understood."""
    found = analyze(templates.template_of(fmt))
    assert found.issues == ()
    assert found.verified
    turn = data.draw(turns(fmt))
    wire = write(fmt, turn, ["abc123abc", "bcd234bcd", "cde345cde"])
    message = parse(wire + fmt.turn.ends[0], found, tools=WIRE_TOOLS)
    assert message.content == turn.content
    assert message.reasoning_content == turn.reasoning
    assert [(call.name, json.loads(call.arguments)) for call in message.tool_calls] == list(
        turn.calls
    )
    if fmt.tools.id_field or fmt.call_id.position != "NONE":
        assert [call.id for call in message.tool_calls] == ["abc123abc", "bcd234bcd", "cde345cde"][
            : len(turn.calls)
        ]


@pytest.mark.parametrize(
    ("source", "mode", "start", "end"),
    [
        (templates.FORCED, "FORCED_OPEN", "[mind]\n", "[/mind]"),
        (templates.SWITCHED, "FORCED_CLOSED", "[mind]", "[/mind]"),
        (templates.TOLD, "FORCED_CLOSED", "[mind]", "[/mind]"),
        (templates.TOOLS_ONLY, "TOOLS_ONLY", "<plan>", "</plan>"),
        (templates.DELIMITED, "DELIMITER", "", "\n=== ANSWER ===\n"),
        (templates.WORDY, "NONE", "", ""),
    ],
)
def test_reasoning_modes(source, mode, start, end):
    fmt = analyze(source)
    assert (fmt.reasoning.mode, fmt.reasoning.start, fmt.reasoning.end) == (mode, start, end)
    assert [header.strip() for header in fmt.turn.headers] == ["<a>"]
    assert fmt.turn.ends == ("</a>",)
    assert fmt.verified, fmt.issues


def test_forced_reasoning_is_read_after_the_prompt():
    fmt, template = analyze(templates.SWITCHED), ChatTemplate(templates.SWITCHED)
    messages = [{"role": "user", "content": "What is [mind]?"}]
    deep = template.render(messages, add_generation_prompt=True, deep=True)
    quick = template.render(messages, add_generation_prompt=True)
    assert parse("hm[/mind]4", fmt, prompt=deep).reasoning_content == "hm"
    assert parse("hm", fmt, prompt=quick).content == "hm"


def test_content_markers_and_numbered_calls():
    fmt = analyze(templates.TOOLS_ONLY)
    assert (fmt.content.mode, fmt.content.start, fmt.content.end) == (
        "ALWAYS_WRAPPED",
        "<say>",
        "</say>",
    )
    assert (fmt.tools.section_start, fmt.tools.section_end) == ("<act>", "</act>\n")
    assert (fmt.tools.name_field, fmt.tools.arguments_field) == ("tool", "input")
    assert fmt.tools.generated_id_field == "number"
    assert fmt.tools.array_wrapped


def test_markers_need_not_look_like_tags():
    fmt = analyze(templates.WORDY)
    assert fmt.tools.section_start.strip() == "CALL>>>"
    assert fmt.tools.section_end == ""
    assert fmt.tools.separator == ", "
    call = '{"name": "f", "arguments": {}}'
    assert parse(f"Sure. CALL>>> [{call}]</a>", fmt).content == "Sure."
    assert fmt.verified


def test_one_call_at_most_without_markers():
    fmt = analyze(templates.STRICT)
    assert fmt.verified, fmt.issues
    assert not fmt.tools.supports_parallel_calls
    assert fmt.tools.section_start == fmt.tools.per_call_start == ""
    assert fmt.tools.arguments_field == "parameters"


def test_arguments_that_the_template_wants_as_text():
    fmt = analyze(templates.TEXTUAL)
    assert fmt.verified, fmt.issues
    assert not fmt.tools.arguments_as_text
    assert fmt.content.requires_nonnull
    assert (fmt.tools.per_call_start, fmt.tools.per_call_end) == ("<do>", "</do>\n")


def test_what_it_cannot_derive_it_says():
    fmt = analyze(templates.OTHER_SYNTAX)
    assert fmt.tools.format == "NONE"
    assert fmt.tools.supports_tools
    assert not fmt.verified
    assert "syntax was not understood" in fmt.issues[0]
    assert parse("hi</a>", fmt).content == "hi"


def test_calls_in_tags():
    fmt = analyze(templates.IN_TAGS)
    assert fmt.verified, fmt.issues
    assert fmt.tools.format == "TAG_WITH_JSON"
    assert (fmt.function.name_prefix, fmt.function.name_suffix) == ("<do=", ">")
    assert fmt.function.close.strip() == "</do>"


def test_messages_that_say_whom_they_are_for():
    fmt = analyze(templates.MESSAGES)
    assert fmt.verified, fmt.issues
    assert (fmt.content.start, fmt.content.end) == ("@@all\n", "")
    assert fmt.function.name_prefix == "@@"
    prompt = ChatTemplate(templates.MESSAGES).render(
        [{"role": "user", "content": "x"}], add_generation_prompt=True
    )
    message = parse('all\nHi.@@allow\n{"a": 1}', fmt, prompt=prompt)
    assert (message.content, message.tool_calls[0].name) == ("Hi.", "allow")


def test_messages_in_channels():
    fmt = analyze(templates.HEADED)
    assert fmt.verified, fmt.issues
    channels = fmt.channels
    assert (channels.start, channels.channel, channels.message) == ("<go>", "<part>", "<text>")
    assert (channels.recipient.strip(), fmt.function.namespace) == ("to", "fn.")
    assert channels.reasoning == ("mull",)
    assert set(channels.ends) == {"<stop>", "<done>", "<act>"}


def test_reasoning_that_is_a_part_of_the_content():
    fmt = analyze(templates.IN_PARTS)
    assert fmt.verified, fmt.issues
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("[MULL]", "[/MULL]")


def test_reasoning_that_is_asked_for_and_never_shown():
    fmt = analyze(templates.ASKED)
    assert not fmt.verified
    assert "never shown" in fmt.issues[0]
    assert (fmt.reasoning.start, fmt.content.start) == ("<muse>", "<reply>")
    message = parse("<muse>hm</muse><reply>Hi.</reply></a>", fmt)
    assert (message.reasoning_content, message.content) == ("hm", "Hi.")


def test_a_template_that_shows_no_calls():
    fmt = analyze(templates.SILENT)
    assert fmt.issues == ("the template does not render tool calls",)


@pytest.mark.parametrize(
    "source",
    [
        "{{ raise_exception('no') }}",
        "the same for all",
        "{% for m in messages %}{{ m.x.y }}{% endfor %}",
    ],
)
def test_a_template_that_renders_no_conversation(source):
    fmt = analyze(source)
    assert fmt.issues[0].startswith("the template renders no simple conversation")
    assert fmt == WireFormat(issues=fmt.issues)


def test_it_is_a_pure_function_of_the_template():
    assert analyze(templates.WORDY) is analyze(ChatTemplate(templates.WORDY))
    assert "</s>" in analyze(ChatTemplate(templates.WORDY, eos_token="</s>")).turn.ends


def test_it_takes_a_template():
    with pytest.raises(TemplateError):
        analyze("{% for %}")
    with pytest.raises(UsageError):
        analyze(None)


@pytest.mark.parametrize(
    "source",
    [
        value
        for name, value in vars(templates).items()
        if name.isupper() and name not in ("HEAD", "TAIL")
    ],
)
def test_no_probe_text_gets_into_a_format(source):
    document = analyze(source).to_json()
    assert not [probe for probe in PROBE_TEXTS if probe in document]


EACH = (
    "{% for call in message.tool_calls or [] %}"
    "{{ BEFORE ~ '[[ask> ' }}{{ call.function | tojson }}{{ ' <ask]]' }}{% endfor %}"
)


@pytest.mark.parametrize("before", ["", "\n"])
def test_markers_of_each_call_and_what_stands_between(before):
    shown = EACH.replace("BEFORE", repr(before))
    source = (
        templates.HEAD
        + "{{ '<a>' ~ message.content }}"
        + shown
        + templates.TAIL
        + "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
    )
    tools = analyze(source).tools
    assert (tools.per_call_start, tools.per_call_end) == ("[[ask> ", " <ask]]")
    assert (tools.separator, tools.content_separator) == (before, before)
    assert (tools.section_start, tools.section_end) == ("", "")


def test_calls_inside_the_markers_of_content():
    fmt = analyze(templates.INSIDE)
    assert fmt.verified, fmt.issues
    assert (fmt.content.start, fmt.content.end) == ("<say>", "</say>")
    assert (fmt.tools.section_start.strip(), fmt.tools.section_end) == ("<acts>", "</acts>")


def test_a_marker_that_begins_with_the_end_of_the_turn():
    fmt = analyze(templates.REUSED)
    assert fmt.verified, fmt.issues
    wire = 'Sure.</a>call:<b>{"name": "f", "arguments": {}}</a>'
    assert parse(wire, fmt).tool_calls[0].name == "f"
    assert parse(wire, fmt).content == "Sure."


def test_content_in_markers_only_beside_reasoning():
    fmt = analyze(templates.BESIDE)
    assert fmt.verified, fmt.issues
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<mind>", "</mind>")
    assert (fmt.content.mode, fmt.content.start, fmt.content.end) == (
        "WRAPPED_WITH_REASONING",
        "<say>",
        "</say>",
    )
    assert parse("<mind>hm</mind><say>Hi</say></a>", fmt).content == "Hi"
    assert parse("The tag <say> says it.", fmt).content == "The tag <say> says it."


def test_a_template_that_burns_is_refused_after_two_tries():
    burns = "{% for a in range(10**5) %}{% for b in range(10**5) %}{% endfor %}{% endfor %}"
    fmt = analyze("{{ messages[0].content }}" + burns)
    assert "processor time" in fmt.issues[0]


def test_a_template_of_thousands_of_words_is_analysed():
    words = "".join(f"{{% if v{at} == 'w{at}' %}}x{{% endif %}}" for at in range(400))
    assert analyze(words + templates.WORDY).verified
