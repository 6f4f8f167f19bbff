"""Formats with several messages per turn, each with a header."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deltaparse import (
    ContentFormat,
    ReasoningFormat,
    ToolFormat,
    ToolsFormat,
    WireFormat,
    analyze,
    parse,
)
from deltaparse.analyzer.phases.find_channels import header_marks, with_channels

REASONING = ReasoningFormat(start="<|in|>think<|is|>", end="<|end|><|from|>me")
CONTENT = ContentFormat(start="<|in|>say<|is|>")
TURN = {"headers": ("<|from|>me",), "ends": ("<|end|>", "<|done|>")}


@pytest.mark.parametrize(
    ("reasoning", "content", "found"),
    [
        ("<|in|>think<|is|>", "<|in|>say<|is|>", True),
        ("think<|is|>", "say<|is|>", False),
        (" think<|is|>", " say<|is|>", False),
        ("<|in|>think", "<|in|>say", False),
        ("<|in|>think\n", "<|in|>say\n", False),
        ("<|in|>to think<|is|>", "<|in|>say<|is|>", False),
        ("<|in|>think<|is|>", "<|in|><|is|>", False),
    ],
)
def test_header_marks_surround_one_differing_word(reasoning, content, found):
    marks = header_marks(ReasoningFormat(start=reasoning), ContentFormat(start=content))
    assert (marks is not None) is found


def test_format_without_headers_has_no_channels():
    bare = WireFormat(reasoning=REASONING, content=CONTENT)
    assert with_channels(bare) is bare
    headed = WireFormat().replace(turn=TURN)
    assert with_channels(headed) is headed


def test_format_with_channel_headers_gets_channels():
    fmt = WireFormat(reasoning=REASONING, content=CONTENT).replace(turn=TURN)
    found = with_channels(fmt)
    assert (found.channels.channel, found.channels.message) == ("<|in|>", "<|is|>")
    assert found.channels.reasoning == ("think",)
    assert found.channels.ends == ("<|end|>", "<|done|>")
    assert found.tools.format is ToolFormat.NONE
    for end in ("<|from|>me", "\n<|from|>me"):
        no_end = fmt.replace(reasoning={"end": end})
        assert with_channels(no_end).channels.ends == TURN["ends"]
    calls = fmt.replace(
        tools={"format": ToolFormat.TAG_WITH_JSON}, function={"name_prefix": "<|to|>"}
    )
    assert with_channels(calls).tools.format is ToolFormat.TAG_WITH_JSON
    spaced = calls.replace(function={"name_prefix": " api."})
    assert with_channels(spaced).channels.recipient == " api."
    named = calls.replace(function={"name_prefix": "<|in|>\n"})
    begun = fmt.replace(
        tools={
            "format": ToolFormat.JSON_NATIVE,
            "per_call_start": "<|in|>\n",
            "name_field": "name",
            "arguments_field": "arguments",
        }
    )
    for found in map(with_channels, (named, begun)):
        assert (found.channels.channel, found.channels.recipient) == ("", "<|in|>")
    begun = replace(
        named,
        reasoning=replace(REASONING, start="<|in|>\nthink<|is|>"),
        content=replace(CONTENT, start="<|in|>\nsay<|is|>"),
    )
    assert with_channels(begun).channels.recipient == "<|in|>\n"
    assert with_channels(begun).channels.channel == ""


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("addressed", [True, False])
def test_addressed_calls_keep_their_syntax(addressed, parallel):
    tools = {
        "format": ToolFormat.JSON_NATIVE,
        "section_start": "<c>",
        "section_end": "</c>",
        "name_field": "name",
        "arguments_field": "arguments",
        "supports_tools": True,
        "supports_parallel_calls": parallel,
    }
    fmt = WireFormat(reasoning=REASONING, content=CONTENT).replace(
        turn=TURN, tools=tools, content={"requires_nonnull": False}
    )
    found = with_channels(fmt, addressed=addressed)
    channels = found.channels
    assert ("</c>" in channels.ends) is not addressed
    if addressed:
        assert found.tools == fmt.tools
        assert (channels.channel, channels.recipient, channels.readers) == ("", "<|in|>", ("say",))
    else:
        kept = {"supports_tools": True, "supports_parallel_calls": parallel}
        assert found.tools == replace(ToolsFormat(format=ToolFormat.TAG_WITH_JSON), **kept)
        assert (channels.channel, channels.recipient, channels.readers) == ("<|in|>", "", ())
    assert found.content == ContentFormat(requires_nonnull=False)
    assert found.reasoning == replace(REASONING, end="<|end|>")


NAMED = (
    "{% for m in messages %}{% if m.role == 'assistant' %}"
    "{% if m.reasoning_content %}<|from|>me<|in|>think<|is|>{{ m.reasoning_content }}<|end|>"
    "{% endif %}{% if m.content %}<|from|>me<|in|>say<|is|>{{ m.content }}<|end|>{% endif %}"
    "{% for c in m.tool_calls or [] %}<|from|>me<|in|>BEFORE{{ c.function.name }}<|is|>"
    "{{ c.function.arguments | tojson }}<|end|>{% endfor %}{% else %}<|from|>{{ m.role }}<|is|>"
    "{{ m.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|from|>me{% endif %}"
)


@pytest.mark.parametrize(
    ("before", "channel", "recipient", "namespace"),
    [
        ("call ", "<|in|>", "call ", ""),
        ("call:", "<|in|>", "call:", ""),
        ("api.", "<|in|>", "api.", ""),
        ("to=api.", "<|in|>", "to=", "api."),
        ("", "", "<|in|>", ""),
    ],
)
def test_function_name_in_channel_position_is_a_recipient(before, channel, recipient, namespace):
    fmt = analyze(NAMED.replace("BEFORE", before))
    assert fmt.verified
    assert (fmt.channels.channel, fmt.channels.recipient) == (channel, recipient)
    assert fmt.function.namespace == namespace
    message = parse(f'<|in|>{before}f<|is|>{{"a": 1}}<|end|>', fmt)
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("f", '{"a": 1}')]
    assert not message.issues
