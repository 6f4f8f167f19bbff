"""Tests of the wire format: JSON, validation and `replace`."""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import fields, is_dataclass
from inspect import getdoc

import pytest
from hypothesis import given

import deltaparse
from deltaparse import (
    CallIdPosition,
    ContentMode,
    FormatError,
    ReasoningMode,
    ToolFormat,
    ToolsFormat,
    WireFormat,
)
from deltaparse.stream.wire.format import marker_texts

from ...strategies.wire_by_hand import TAGS
from ...strategies.wire_json_and_tags import formats


@given(formats())
def test_format_round_trips_through_json(fmt):
    assert WireFormat.from_json(fmt.to_json()) == fmt
    assert hash(WireFormat.from_json(fmt.to_json())) == hash(fmt)
    assert json.loads(fmt.to_json())["tools"]["format"] == fmt.tools.format


def test_format_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TAGS.verified = True


def test_replace_accepts_groups_and_fields():
    assert TAGS.replace(tools=ToolsFormat()).tools.format is ToolFormat.NONE
    changed = TAGS.replace(tools={"per_call_start": "<x>"}, verified=True)
    assert changed.tools.per_call_start == "<x>"
    assert changed.tools.per_call_end == TAGS.tools.per_call_end
    assert changed.verified
    assert TAGS.tools.per_call_start == "<call>\n"


def test_enum_values_are_given_as_words():
    assert WireFormat.from_json(
        '{"reasoning": {"mode": "DELIMITER", "end": "x"}}'
    ).reasoning.mode is (ReasoningMode.DELIMITER)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no", "JSON document"),
        ("[]", "must be an object"),
        ('{"tool": {}}', "has no 'tool'"),
        ('{"tools": {"format": "XML"}}', "must be one of"),
        ('{"tools": {"format": "JSON_NATIVE"}}', "name_field"),
        ('{"reasoning": {"mode": "TAG_BASED", "start": "<a>"}}', "reasoning.end"),
        ('{"reasoning": {"mode": "TAG_BASED", "end": "<a>"}}', "reasoning.start"),
        ('{"content": {"mode": "ALWAYS_WRAPPED", "end": "<a>"}}', "content.start"),
        ('{"turn": {"ends": "x"}}', "must be"),
        ('{"turn": {"ends": [1]}}', "must be"),
        ('{"verified": 1}', "must be bool"),
        (json.dumps({"tools": {"section_start": "x" * 257}}), "section_start has more than 256"),
        (json.dumps({"turn": {"ends": ["x", "x" * 257]}}), "ends has more than 256"),
        (json.dumps({"preserved_tokens": {}}), "preserved_tokens must be"),
    ],
)
def test_invalid_json_document_raises(text, says):
    with pytest.raises(FormatError, match=says):
        WireFormat.from_json(text)


THINK = {"mode": "TAG_BASED", "start": "<a>", "end": "</a>"}
DELIMITED = {"mode": "DELIMITER", "end": "</a>"}
JSON_TOOLS = {"format": "JSON_NATIVE"}
OPENED = {"format": "TAG_WITH_TAGGED", "per_call_start": "<call>"}
CLOSED = OPENED | {"per_call_end": "</call>"}
KEY, UNNAMED = {"name_prefix": "<p=", "name_suffix": ">"}, {"name_suffix": "="}
ANYTHING = {"value_suffix": "</p>"}
BY_NAME = {"close": "</", "close_suffix": ">"}
TELLING = "needs an arguments.name_prefix or a name_suffix"
SUFFIX = "needs an arguments.value_suffix, or an arguments.name_prefix"
LAST = "arguments without a name_prefix need an end marker of arguments or calls"


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        ({"turn": {"generation_prompt": "x" * 257}}, ""),
        ({"turn": {"ends": ("x" * 256,), "headers": ("x" * 256,)}}, ""),
        ({"function": {"name_prefix": "x" * 257}}, "name_prefix has more than 256 characters"),
        (
            {"reasoning": DELIMITED | {"end": " \n"}},
            "reasoning mode DELIMITER needs a reasoning.end",
        ),
        ({"reasoning": {"mode": "TOOLS_ONLY", "start": " ", "end": "</a>"}}, "needs a reasoning.s"),
        ({"reasoning": {"mode": "FORCED_OPEN", "end": "</a>"}}, ""),
        ({"reasoning": THINK | {"alternatives": ("<b>", "</b>")}}, ""),
        ({"reasoning": THINK | {"alternatives": ("<b>",)}}, "must be pairs of markers"),
        ({"reasoning": THINK | {"alternatives": ("<b>", " ")}}, "must be pairs of markers"),
        ({"reasoning": DELIMITED}, ""),
        ({"reasoning": DELIMITED | {"alternatives": ("<b>", "</b>")}}, "need a reasoning.start"),
        (
            {"reasoning": DELIMITED | {"start": "\n", "alternatives": ("<b>", "</b>")}},
            "alternatives need a reasoning.start",
        ),
        ({"content": {"mode": "PLAIN", "start": "\n"}}, ""),
        ({"content": {"mode": "ALWAYS_WRAPPED", "start": "\n"}}, "needs a content.start"),
        ({"tools": JSON_TOOLS | {"name_field": "f"}}, "an arguments_field, or name_is_key"),
        ({"tools": JSON_TOOLS | {"arguments_field": "a"}}, "needs a name_field and"),
        ({"tools": JSON_TOOLS | {"name_is_key": True}}, ""),
        ({"tools": JSON_TOOLS | {"name_field": "f", "arguments_field": "a"}}, ""),
        ({"tools": {"format": "PYTHONIC", "name_is_key": True}}, ""),
        ({"tools": {"format": "TAG_WITH_JSON"}}, "TAG_WITH_JSON needs a marker before the name"),
        ({"function": {"close_suffix": ">"}}, "close_suffix needs a function.close"),
        ({"function": {"close": "\n", "close_suffix": ">"}}, "close_suffix needs a function.close"),
        ({"function": {"close_suffix": "\n"}}, ""),
        ({"tools": {"format": "TAG_WITH_JSON"}, "function": {"name_prefix": "<f="}}, ""),
        ({"tools": {"format": "TAG_WITH_JSON"}, "channels": {"message": "<m>"}}, ""),
        ({"tools": {"constants": ("v", "1", "at", "", "by", '{"a": [null]}')}}, ""),
        ({"tools": {"constants": ("v",)}}, "constants must be pairs of a key and a value"),
        ({"tools": {"constants": ("v", "1", "w", "2", "x", "y")}}, "constants: 'y' is not JSON"),
        ({"tools": {"constants": ("v", "1", "at", "2,")}}, "constants: '2,' is not JSON"),
        ({"tools": {"constants": ("v", "x" * 200)}}, f"constants: '{'x' * 79} is not JSON"),
        ({"tools": {"constants": ("v", "[" * 200_000)}}, "has more than 256 characters"),
        ({"tools": CLOSED, "arguments": ANYTHING}, TELLING),
        ({"tools": CLOSED, "arguments": ANYTHING | {"name_prefix": " "}}, TELLING),
        ({"tools": CLOSED, "arguments": ANYTHING | {"value_prefix": ":"}}, ""),
        ({"tools": CLOSED, "arguments": ANYTHING | UNNAMED}, ""),
        ({"tools": CLOSED, "arguments": ANYTHING | KEY}, ""),
        ({"tools": CLOSED, "arguments": KEY}, ""),
        ({"tools": CLOSED, "arguments": KEY | {"value_suffix": " "}}, SUFFIX),
        ({"tools": CLOSED, "arguments": KEY | {"value_suffix": " \n"}}, ""),
        ({"tools": CLOSED, "arguments": UNNAMED}, SUFFIX),
        ({"tools": CLOSED, "arguments": UNNAMED | {"name_prefix": "\n"}}, SUFFIX),
        ({"tools": CLOSED, "arguments": UNNAMED | {"value_suffix": "\n"}}, ""),
        ({"tools": OPENED, "arguments": ANYTHING | UNNAMED}, LAST),
        ({"tools": OPENED, "arguments": ANYTHING | UNNAMED | {"name_prefix": "\n"}}, LAST),
        ({"tools": OPENED, "arguments": ANYTHING | UNNAMED | {"end": " "}}, LAST),
        ({"tools": OPENED, "arguments": ANYTHING | UNNAMED | {"end": "</args>"}}, ""),
        ({"tools": OPENED, "arguments": ANYTHING | UNNAMED, "function": BY_NAME}, ""),
        ({"tools": OPENED, "arguments": ANYTHING | KEY}, ""),
        (
            {"tools": CLOSED, "arguments": ANYTHING | KEY | {"alternatives": ("", "<n ", ">")}},
            "must be groups of four: the types and three markers",
        ),
        (
            {
                "tools": CLOSED,
                "arguments": ANYTHING | KEY | {"alternatives": ("", "<n ", ">", "</n>")},
            },
            "",
        ),
        (
            {"tools": OPENED | {"per_call_start": " "}, "arguments": ANYTHING | KEY},
            "TAG_WITH_TAGGED needs a marker before the name of a function",
        ),
        ({"tools": {"format": "TAG_WITH_JSON", "per_call_start": "<call>"}}, ""),
    ],
)
def test_incomplete_groups_raise(groups, says):
    if not says:
        assert WireFormat().replace(**groups) == WireFormat.from_json(json.dumps(groups))
        return
    with pytest.raises(FormatError, match=says):
        WireFormat().replace(**groups)
    with pytest.raises(FormatError, match=says):
        WireFormat.from_json(json.dumps(groups))


@pytest.mark.parametrize(
    ("group", "given", "choice"),
    [
        ("reasoning", {"start": "<a>", "end": "</a>"}, "mode"),
        ("tools", {"per_call_start": "<call>"}, "format"),
        ("tools", {"section_start": "<calls>", "name_field": "name"}, "format"),
    ],
)
def test_markers_need_a_mode_or_format(group, given, choice):
    with pytest.raises(FormatError, match=f"start has no effect without a {group}.{choice}"):
        WireFormat().replace(**{group: given})
    assert WireFormat().replace(**{group: given | {choice: "NONE"}})
    assert TAGS.replace(reasoning=THINK).replace(**{group: given})


def test_marker_texts_are_listed_with_their_groups():
    assert list(marker_texts(WireFormat())) == []
    fmt = WireFormat().replace(
        turn={"headers": ("<a>", "<b>"), "ends": ("", "</s>")},
        tools=JSON_TOOLS | {"name_field": "f", "arguments_field": "a", "per_call_start": "<call>"},
        preserved_tokens=("<call>",),
    )
    texts = [("turn", "<a>"), ("turn", "<b>"), ("turn", "</s>"), ("tools", "<call>")]
    assert list(marker_texts(fmt)) == texts


def test_replace_of_an_unknown_field_raises_with_the_known_ones():
    with pytest.raises(FormatError, match="reasoning"):
        TAGS.replace(thinking={})
    with pytest.raises(FormatError, match="per_call_start"):
        TAGS.replace(tools={"open": "<x>"})
    with pytest.raises(FormatError, match="must be one of"):
        ToolsFormat(format="XML")
    with pytest.raises(FormatError, match="turn must be a TurnFormat"):
        TAGS.replace(turn=("<a>",))
    with pytest.raises(FormatError, match="has no '_hash'"):
        WireFormat.from_json('{"_hash": 1}')


@pytest.mark.parametrize("kind", [ReasoningMode, ContentMode, ToolFormat, CallIdPosition])
def test_docstring_describes_each_enum_value(kind):
    for word in kind:
        assert re.search(rf"^    {word}: \S", getdoc(kind), re.MULTILINE)


GROUPS = [field.default_factory for field in dataclasses.fields(WireFormat())]


@pytest.mark.parametrize("kind", [WireFormat, *filter(dataclasses.is_dataclass, GROUPS)])
def test_docstring_describes_each_field(kind):
    named = re.findall(r"^    ([a-z_]+): \S", getdoc(kind), re.MULTILINE)
    assert {*named} == {field.name for field in dataclasses.fields(kind)}


FIELDS = [
    (group.type, field.name, type(getattr(getattr(WireFormat(), group.name), field.name)))
    for group in fields(WireFormat)
    if is_dataclass(getattr(WireFormat(), group.name))
    for field in fields(getattr(WireFormat(), group.name))
]
FIELDS += [
    ("WireFormat", *field)
    for field in (("preserved_tokens", tuple), ("verified", bool), ("issues", tuple))
]


@pytest.mark.parametrize(("group", "name", "kind"), FIELDS)
def test_field_of_the_wrong_type_raises(group, name, kind):
    """Check that types are validated early: letters of a string would become markers."""
    make = getattr(deltaparse.stream, group)
    for value in ("</s>", b"</s>", 1, 0, None, True, ("</s>",), ["</s>", 1], {"</s>"}, {}):
        fits = type(value) is kind or (kind is tuple and value == ["</s>"])
        if not fits:
            with pytest.raises(FormatError, match=f"^{name} must be"):
                make(**{name: value})
            with pytest.raises(FormatError, match=f"{name} must be"):
                WireFormat.replace(WireFormat(), **change(group, name, value))


def change(group, name, value):
    """Return the changes that set one field of a format."""
    named = {field.type: field.name for field in fields(WireFormat)}
    return {named[group]: {name: value}} if group in named else {name: value}


def test_string_instead_of_a_tuple_raises_with_the_right_spelling():
    with pytest.raises(FormatError, match=r"write \('</s>',\)"):
        deltaparse.TurnFormat(ends="</s>")
    with pytest.raises(FormatError, match=r"write \('<x>',\)"):
        WireFormat(preserved_tokens="<x>")


def test_list_of_strings_becomes_a_tuple():
    assert deltaparse.TurnFormat(ends=["</s>"]) == deltaparse.TurnFormat(ends=("</s>",))
    assert hash(WireFormat(preserved_tokens=["<x>"])) == hash(WireFormat(preserved_tokens=("<x>",)))


@pytest.mark.parametrize("version", ["true", "1.0", '"1"', "null", "2"])
def test_version_must_be_the_number_one(version):
    with pytest.raises(FormatError, match="version"):
        WireFormat.from_json(f'{{"version": {version}}}')
    assert WireFormat.from_json('{"version": 1}') == WireFormat.from_json("{}") == WireFormat()


def test_mapping_becomes_switches():
    fmt = WireFormat(switches={"think": ["prompt"]})
    assert type(fmt.switches) is type(WireFormat().switches)
    assert fmt.switches["think"] == ("prompt",)
    assert hash(fmt) == hash(WireFormat(switches=fmt.switches))
    with pytest.raises(FormatError, match="switches must map strings to tuples"):
        WireFormat(switches=("think",))
