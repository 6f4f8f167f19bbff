"""Tests of each option of each policy, for calls of every family."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from deltaparse import (
    Content,
    MalformedOutput,
    Policies,
    Reasoning,
    StreamParser,
    ToolCall,
    WireFormat,
    get_format,
    parse,
)

from ...strategies.wire_by_hand import CALL, OTHER, TAGS, THINK, TURN, calls, fed, kinds
from ...strategies.wire_channels import HARMONY

IN_TAGS = {"turn": TURN, "reasoning": THINK}
HEADER = "<|start|>assistant"


def in_channel(name, arguments, before=HEADER):
    header = f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
    return f"{before}{header}{arguments}<|call|>"


def named(name, body):
    return f"<tool_call>\n<function={name}>\n{body}</function>\n</tool_call>"


class Family(NamedTuple):
    """A format, with calls of f and g, a malformed call of f, and text."""

    fmt: WireFormat
    f: str
    g: str
    bad: str
    text: str = "{}"
    thought: str = "<think>\n{}\n</think>\n\n"


FAMILIES = {
    "JSON_NATIVE": Family(
        TAGS, CALL, OTHER, '<call>{"name": "f", "arguments": {"a": oops}}</call>'
    ),
    "TAG_WITH_JSON": Family(
        get_format("llama3_json").replace(
            **IN_TAGS,
            tools={"format": "TAG_WITH_JSON"},
            function={"name_prefix": "<function=", "name_suffix": ">", "close": "</function>"},
        ),
        '<function=f>{"a": 1}</function>',
        '<function=g>{"b": [true, "x"]}</function>',
        '<function=f>{"a": oops}</function>',
    ),
    "TAG_WITH_TAGGED": Family(
        get_format("qwen3_coder").replace(**IN_TAGS),
        named("f", "<parameter=a>\n1\n</parameter>\n"),
        named("g", '<parameter=b>\n[true, "x"]\n</parameter>\n'),
        named("f", "<parameter=l>\n[oops]\n</parameter>\n"),
    ),
    "PYTHONIC": Family(
        get_format("llama4_pythonic").replace(
            **IN_TAGS, tools={"section_start": "<calls>", "section_end": "</calls>"}
        ),
        "<calls>[f(a=1)]</calls>",
        "<calls>[g(b=[True, 'x'])]</calls>",
        "<calls>[f(a=oops)]</calls>",
    ),
    "channels": Family(
        HARMONY,
        in_channel("f", '{"a": 1}'),
        in_channel("g", '{"b": [true, "x"]}'),
        in_channel("f", '{"a": oops}'),
        HEADER + "<|channel|>final<|message|>{}<|end|>",
        HEADER + "<|channel|>analysis<|message|>{}<|end|>",
    ),
}
SCHEMAS = {"f": {"a": {"type": "integer"}, "l": {"type": "array"}}, "g": {"b": {"type": "array"}}}
TOOLS = [
    {"name": name, "parameters": {"type": "object", "properties": schema}}
    for name, schema in SCHEMAS.items()
]
F, G = ("f", {"a": 1}), ("g", {"b": [True, "x"]})


@pytest.fixture(params=FAMILIES)
def family(request):
    return FAMILIES[request.param]


def values(parser):
    return [(name, json.loads(arguments)) for name, arguments in calls(parser)]


def raised(family, text, policies, **options):
    """Return the kind of the error in any chunking, and check that earlier text is kept."""
    found = set()
    for size in (1, 3, len(text)):
        parser = StreamParser(family.fmt, policies=policies, **options)
        try:
            for at in range(0, len(text), size):
                parser.feed(text[at : at + size])
            parser.finish("stop")
        except MalformedOutput as error:
            found.add(error.kind)
        assert parser.message.content.startswith("before")
    (kind,) = found
    return kind


def before(family):
    return family.text.format("before")


def test_calls_of_every_family(family):
    text = family.thought.format("hm") + family.text.format("Well.") + family.f + family.g
    parser = fed(family.fmt, text, tools=TOOLS)
    assert values(parser) == [F, G]
    assert parser.message.parts[:2] == [Reasoning("hm"), Content("Well.")]
    assert parser.issues == []


@pytest.mark.parametrize("choice", ["keep", "drop", "error"])
def test_text_after_tool_call(family, choice):
    text = family.text.format("before") + family.f + family.text.format(" more")
    policies = Policies(text_after_tool_call=choice)
    if family.fmt is HARMONY:
        # A separate message does not count as text after a call.
        assert fed(family.fmt, text, policies=policies).message.content == "before more"
        text = text.replace(HEADER + "<|channel|>final<|message|> more", " more")
    if choice == "error":
        assert raised(family, text, policies) == "text_after_tool_call"
        return
    parser = fed(family.fmt, text, tools=TOOLS, policies=policies)
    kept = " more" if choice == "keep" else ""
    assert (parser.message.content, values(parser)) == (f"before{kept}", [F])
    assert "text_after_tool_call" in kinds(parser)
    assert choice == "keep" or "more" in parser.issues[0].detail


@pytest.mark.parametrize("choice", ["pass", "text", "error"])
def test_unknown_tool(family, choice):
    text = before(family) + family.g + family.f
    policies = Policies(unknown_tool=choice)
    options = {"tools": TOOLS[:1], "policies": policies}
    if choice == "error":
        assert raised(family, text, **options) == "unknown_tool"
        return
    parser = fed(family.fmt, text, **options)
    assert [name for name, _ in calls(parser)] == (["g", "f"] if choice == "pass" else ["f"])
    assert kinds(parser)[0] == "unknown_tool"
    assert ("x" in parser.message.content) == (choice == "text")


@pytest.mark.parametrize("choice", ["flag", "drop", "text", "error"])
def test_extra_calls(family, choice):
    text = before(family) + family.f + family.g
    policies = Policies(extra_calls=choice)
    options = {"tools": TOOLS, "policies": policies, "parallel_tool_calls": False}
    if choice == "error":
        assert raised(family, text, **options) == "extra_call"
        return
    parser = fed(family.fmt, text, **options)
    assert values(parser) == ([F, G] if choice == "flag" else [F])
    assert kinds(parser)[0] == "extra_call"
    assert ("x" in parser.message.content) == (choice == "text")
    assert choice != "drop" or any("x" in issue.detail for issue in parser.issues)


@pytest.mark.parametrize("choice", ["repair", "strict", "text", "error"])
def test_malformed_arguments(family, choice):
    policies = Policies(malformed_arguments=choice)
    text = before(family) + family.bad
    if choice == "error":
        assert raised(family, text, policies, tools=TOOLS) == "malformed_arguments"
        return
    parser = fed(family.fmt, text, tools=TOOLS, policies=policies)
    assert not any(call.complete for call in parser.message.tool_calls)
    assert "malformed_arguments" in kinds(parser)
    reported = parser.message.content + "".join(issue.detail for issue in parser.issues)
    assert "oops" in reported
    assert len(parser.message.tool_calls) == (choice != "text")
    assert ("oops" in parser.message.content) == (choice == "text")
    good = fed(family.fmt, family.f + family.g, tools=TOOLS, policies=policies)
    assert (values(good), good.issues) == ([F, G], [])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("JSON_NATIVE", '<call>{"name": "f", "arguments": [1]}</call>'),
        ("TAG_WITH_JSON", '<function=f>"[1]"</function>'),
        ("channels", in_channel("f", "[1]")),
    ],
)
def test_complete_arguments_other_than_an_object_are_malformed(name, text):
    text = before(FAMILIES[name]) + text
    parser = fed(FAMILIES[name].fmt, text)
    assert kinds(parser) == ["malformed_arguments"]
    assert [call.complete for call in parser.message.tool_calls] == [False]
    assert "[1]" in parser.issues[0].detail
    policies = Policies(malformed_arguments="error")
    assert raised(FAMILIES[name], text, policies) == "malformed_arguments"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("JSON_NATIVE", "<call>\nno call"),
        ("TAG_WITH_JSON", "<function=f>\nno arguments"),
        ("TAG_WITH_JSON", "<function=no name>{}"),
        ("TAG_WITH_TAGGED", "<tool_call>\n<function=f>\nno arguments"),
        ("TAG_WITH_TAGGED", "<tool_call>\nno function"),
        ("PYTHONIC", "<calls>[no call"),
    ],
)
def test_apparent_call_is_text_in_every_family(name, text):
    parser = fed(FAMILIES[name].fmt, text)
    assert (parser.message.parts, parser.issues) == ([Content(text)], [])


def test_text_between_arguments_in_tags_is_reported():
    fmt = FAMILIES["TAG_WITH_TAGGED"].fmt.replace(arguments={"separator": ","})
    text = named("f", "<parameter=a>1</parameter>, well <parameter=l>[]</parameter>")
    parser = fed(fmt, text, tools=TOOLS)
    assert values(parser) == [("f", {"a": 1, "l": []})]
    (issue,) = parser.issues
    assert issue.detail == "not emitted between arguments: 'well '"
    assert text[slice(*issue.span)] == "well "


def test_duplicate_keys(family):
    twice = {
        "JSON_NATIVE": family.f.replace('"a": 1', '"a": 1, "a": 2'),
        "TAG_WITH_JSON": family.f.replace('"a": 1', '"a": 1, "a": 2'),
        "TAG_WITH_TAGGED": named("f", "<parameter=a>\n1\n</parameter>\n" * 2),
        "PYTHONIC": family.f.replace("a=1", "a=1, a=2"),
        "channels": family.f.replace('"a": 1', '"a": 1, "a": 2'),
    }
    (text,) = (twice[name] for name, each in FAMILIES.items() if each is family)
    (call,) = fed(family.fmt, text, tools=TOOLS).message.tool_calls
    assert call.arguments.count('"a"') == 2
    assert call.healed()["a"] == (1 if "<parameter" in text else 2)
    text = before(family) + text
    assert raised(family, text, Policies(duplicate_keys="error"), tools=TOOLS) == "duplicate_keys"


@pytest.mark.parametrize("choice", ["defer", "reasoning", "call", "error"])
def test_tool_in_reasoning(family, choice):
    """Check all families except channels, in which calls have their own message."""
    if family.fmt is HARMONY:
        return
    policies = Policies(tool_in_reasoning=choice)
    text = f"before<think>hm{family.f}"
    if choice == "error":
        assert raised(family, text, policies, tools=TOOLS) == "tool_in_reasoning"
        return
    parser = fed(family.fmt, text, tools=TOOLS, policies=policies)
    is_call = choice != "reasoning"
    assert values(parser) == ([F] if is_call else [])
    assert parser.message.reasoning_content == ("hm" if is_call else f"hm{family.f}")
    draft = fed(family.fmt, f"{text}</think>x", tools=TOOLS, policies=policies)
    assert values(draft) == ([F] if choice == "call" else [])
    cut = fed(family.fmt, text, "length", tools=TOOLS, policies=policies)
    assert bool(cut.message.tool_calls) == (choice == "call")


@pytest.mark.parametrize("choice", ["reasoning", "copy", "error"])
def test_unclosed_reasoning(family, choice):
    text = family.thought.format("42").rpartition("42")[0] + "42"
    policies = Policies(unclosed_reasoning=choice)
    if choice == "error":
        assert raised(family, before(family) + text, policies) == "unclosed_reasoning"
        return
    parser = fed(family.fmt, text, policies=policies)
    assert parser.message.reasoning_content == "42"
    assert parser.message.content == ("42" if choice == "copy" else "")
    assert kinds(parser) == ["unclosed_reasoning"]


def test_calls_are_text_without_tools_or_with_tool_choice_off(family):
    for options in ({"tools": []}, {"tools": TOOLS, "tool_choice": "none"}):
        message = fed(family.fmt, family.f, **options).message
        assert message.tool_calls == []
        assert "f" in message.content
        assert family.fmt is HARMONY or message.content == family.f


def test_tool_choice_required_and_named(family):
    for choice in ("required", {"type": "function", "function": {"name": "f"}}):
        options = {"tools": TOOLS, "tool_choice": choice}
        assert kinds(fed(family.fmt, family.f, **options)) == []
        assert kinds(fed(family.fmt, before(family), **options)) == ["missing_call"]
        assert kinds(fed(family.fmt, before(family), "length", **options)) == []
        wrong = kinds(fed(family.fmt, family.g, **options))
        assert wrong == ([] if choice == "required" else ["wrong_tool"])


def test_parse_returns_the_message_of_a_stream(family):
    text = before(family) + family.f + family.g
    assert parse(text, family.fmt, tools=TOOLS) == fed(family.fmt, text, tools=TOOLS).message
    assert isinstance(parse(text, family.fmt).parts[-1], ToolCall)
