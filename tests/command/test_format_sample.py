"""Samples and grammars of formats, for people."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

import deltaparse as dp
from deltaparse.command.format_sample import ebnf, sample

from ..strategies import wire_json_and_tags as wire
from ..strategies.open_templates import NAMES, opened
from ..strategies.wire_channels import channel_formats
from ..strategies.wire_pythonic import pythonic_formats
from ..strategies.wire_tag_forms import tag_form_formats

TAGS = {
    "turn": {"headers": ("<m>",), "ends": ("<e>",)},
    "tools": {"per_call_start": "<c>\n", "per_call_end": "</c>", "separator": "\n"}
    | {"supports_parallel_calls": True, "content_separator": "\n\n"},
    "function": {"name_prefix": "<f=", "name_suffix": ">\n", "close": "</f>\n"},
}
PARAMETERS = {"name_prefix": "<p=", "name_suffix": ">", "value_suffix": "</p>\n"}


def of(family, **groups):
    merged = {name: dict(group) for name, group in TAGS.items()}
    for name, group in groups.items():
        merged[name] = merged.get(name, {}) | group
    merged["tools"]["format"] = family
    return dp.WireFormat().replace(**merged)


FORMATS = {
    "json": of("TAG_WITH_JSON"),
    "id before": of("TAG_WITH_JSON", call_id={"position": "PRE_FUNC_NAME", "suffix": "#"}),
    "id between": of(
        "TAG_WITH_JSON", call_id={"position": "BETWEEN_FUNC_AND_ARGS", "prefix": "#", "suffix": ":"}
    ),
    "id behind": of("TAG_WITH_JSON", call_id={"position": "POST_ARGS", "prefix": "#"}),
    "id is name": of(
        "TAG_WITH_JSON",
        function={"name_prefix": "", "namespace": "functions."},
        call_id={"position": "PRE_FUNC_NAME", "holds_name": True},
    ),
    "arguments end": of("TAG_WITH_JSON", arguments={"start": "```json\n", "end": "\n```"}),
    "tagged": of("TAG_WITH_TAGGED", arguments=PARAMETERS),
    "tagged, quoted": of(
        "TAG_WITH_TAGGED", arguments=PARAMETERS | {"quoted_strings": True, "separator": ","}
    ),
    "tagged, literals": of(
        "TAG_WITH_TAGGED",
        arguments=PARAMETERS | {"python_literals": True, "literal_name_suffix": " raw>"},
    ),
    "tagged, in markers": of(
        "TAG_WITH_TAGGED", arguments=PARAMETERS | {"start": "<args>\n", "end": "</args>\n"}
    ),
    "python": dp.WireFormat().replace(
        tools={"format": "PYTHONIC", "array_wrapped": True, "separator": ", "}
        | {"section_start": "<calls>", "section_end": "</calls>", "supports_parallel_calls": True}
    ),
    "python, unmarked": dp.WireFormat().replace(
        tools={"format": "PYTHONIC", "array_wrapped": True}
    ),
    "channels": dp.WireFormat().replace(
        turn={"headers": ("<|start|>assistant",), "ends": ("<|return|>",)},
        channels={"start": "<|start|>", "channel": "<|channel|>", "message": "<|message|>"}
        | {"recipient": " to=", "constrain": "<|constrain|>", "reasoning": ("analysis",)}
        | {"ends": ("<|end|>", "<|call|>", "<|return|>")},
        tools={"format": "TAG_WITH_JSON"},
        function={"namespace": "functions."},
    ),
    "channels without calls": dp.WireFormat().replace(
        turn={"headers": ("<|start|>assistant",), "ends": ("<|return|>",)},
        channels={"start": "<|start|>", "channel": "<|channel|>", "message": "<|message|>"}
        | {"recipient": " to=", "reasoning": ("analysis",), "ends": ("<|end|>", "<|return|>")},
    ),
}


def check(fmt):
    """Check that the sample of a format parses to its placeholders, complete and by character."""
    text, calls = sample(fmt), []
    if fmt.tools.format != "NONE":
        several = fmt.tools.supports_parallel_calls and not fmt.derived.has_channels
        calls = [("NAME", {"KEY": "VALUE"})] * (2 if several else 1)
    prompt = "".join(fmt.turn.headers[:1])
    if fmt.reasoning.mode in ("FORCED_OPEN", "FORCED_CLOSED"):
        prompt += fmt.reasoning.start
    for size in (len(text), 1):
        parser = dp.StreamParser(fmt, prompt=prompt)
        for at in range(0, len(text), size):
            parser.feed(text[at : at + size])
        parser.finish("stop")
        message = parser.message
        # Some templates have a space before content that belongs to it after reasoning.
        assert message.content.lstrip(" ") == ("CONTENT" if "CONTENT" in text else "")
        assert message.reasoning_content == ("REASONING" if "REASONING" in text else "")
        found = [(call.name, json.loads(call.arguments)) for call in message.tool_calls]
        assert found == calls
    return message


@pytest.mark.parametrize("name", FORMATS)
def test_sample_parses_to_its_placeholders(name):
    fmt = FORMATS[name]
    message = check(fmt)
    if fmt.call_id.position != "NONE":
        ids = ["functions.NAME:0", "functions.NAME:1"]
        ids = ids if fmt.call_id.holds_name else ["ID0", "ID1"]
        assert [call.id for call in message.tool_calls] == ids


@pytest.mark.parametrize("name", dp.list_formats())
def test_sample_of_a_built_in_format_parses_back(name):
    check(dp.get_format(name))


@pytest.mark.parametrize("name", NAMES)
def test_sample_of_a_template_parses_back(name):
    check(opened(name).fmt)


@given(wire.formats() | tag_form_formats() | pythonic_formats() | channel_formats())
def test_sample_of_any_format_parses_back(fmt):
    check(fmt)


def test_whitespace_before_calls_is_not_doubled():
    fmt = of("TAG_WITH_JSON", tools={"section_start": "\n<s>", "content_separator": "\n"})
    assert "CONTENT\n<s><c>" in sample(fmt)


@pytest.mark.parametrize("name", FORMATS)
def test_each_name_in_a_grammar_has_a_rule(name):
    rules = dict(line.split(" = ", 1) for line in ebnf(FORMATS[name]).splitlines())
    names = {rule.strip() for rule in rules}
    said = {"name", "key", "index", "id", "word"}
    for body in rules.values():
        plain = ""
        quoted = False
        for part in body.replace('\\"', "").split('"'):
            plain += "" if quoted else part
            quoted = not quoted
        plain = "".join(plain.split("?")[::2])
        assert {word for word in plain.split() if word.isalpha()} <= names | said


def test_grammars():
    assert ebnf(FORMATS["tagged, literals"]).splitlines() == [
        "turn      = [ content ] [ calls ] [ end ]",
        "content   = text",
        'calls     = "\\n\\n" call { "\\n" call }',
        'call      = "<c>\\n<f=" name ">\\n" arguments "</f>\\n</c>"',
        "arguments = { argument }",
        'argument  = "<p=" key ">" value "</p>\\n" | "<p=" key " raw>" value "</p>\\n"',
        "value     = ? raw string or Python literal, depending on the schema ?",
        'end       = "<e>"',
        "text      = ? any text without the next marker ?",
    ]
    assert '"[" call { ", " call } "]"' in ebnf(FORMATS["python"])
    assert "name" in ebnf(FORMATS["id is name"]).partition("id ")[2]
    code = dp.WireFormat().replace(code={"start": "<py>", "function": "python"})
    assert 'code    = "<py>" ? code: argument code of python ?' in ebnf(code)
