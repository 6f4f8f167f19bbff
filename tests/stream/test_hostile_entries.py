"""Hostile input for other entry points: tool parsers, suggestions, gate and response templates.

Most of the input is that of `test_hostile.py`. Response templates get hostile fields.
"""

from __future__ import annotations

import pytest

from deltaparse import (
    FormatError,
    ToolGate,
    create_tool_parser,
    from_response_template,
    list_formats,
    suggest_formats,
)
from deltaparse.tool_parsers import safe_value

from ..strategies.call_patterns import FAMILIES, read
from ..strategies.response_templates import FUNCTION
from .work import counted, is_linear

SIZE = 5_000
VALUES = {
    "brackets": "[" * SIZE,
    "a number": "7" * SIZE,
    "a string without end": '"' + "s" * SIZE,
    "escapes that are none": '"' + r"\q" * SIZE,
    "odd characters": '"\0\ud83d\ufeff',
    "brackets that close": "]}" * SIZE,
}


@pytest.fixture
def work(monkeypatch):
    return counted(monkeypatch)


def opening(fmt):
    """Return the start of a call."""
    tools = fmt.tools
    return (
        tools.section_start
        + ("[" if tools.array_wrapped else "")
        + tools.per_call_start
        + fmt.function.name_prefix
    )


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", FAMILIES)
def test_incomplete_call_is_invalid_and_fails_the_gate(name, value):
    family = FAMILIES[name]
    text = family.write(v=VALUES[value])
    result = create_tool_parser(family.format).parse(text)
    parser = read(family.format, text)
    calls = parser.message.tool_calls
    assert result.is_valid == (bool(calls) and all(call.complete for call in calls))
    gate = ToolGate([{"name": "f", "parameters": {"properties": {"b": {}}}}])
    for output, issues in ((text, ()), (parser.message, parser.issues)):
        decision = gate.decide(output, issues=issues)
        assert decision.calls == ()
        assert decision.reason
        # Logs and replies to the model must not grow with the response.
        assert len(repr(decision)) < 3_000


@pytest.mark.parametrize("name", list_formats())
def test_tool_parser_of_each_format_survives_hostile_text(name):
    parser = create_tool_parser(name)
    begun = opening(parser.wire_format)
    for text in (
        "[" * SIZE,
        '{"name": ' * SIZE,
        begun * 300,
        begun + "f" * SIZE,
        begun + "\0\ud83d" * 300,
        "]})`" * SIZE,
    ):
        assert not parser.parse(text).is_valid
        assert parser.detect_tool_call(text) == (parser.extract_tool_string(text) is not None)
        parser.parse_tool_string(text)


@pytest.mark.parametrize(
    "unit",
    ["[", "<", "<tool_call>", "<tool_call><think>[TOOL_CALLS]<|channel|>", "<function=f>\n"],
)
def test_suggestions_are_linear(work, unit):
    text = unit * (SIZE // len(unit))
    assert is_linear(work, suggest_formats, text, text * 3)


@pytest.mark.parametrize("unit", ["[", "(", "'a' ", "{'a': ", "float(", "-", "1_", "r'\\"])
def test_safe_value_of_invalid_text_is_the_text(unit):
    text = unit * SIZE
    assert safe_value(text) in (text, "a" * SIZE)


def template(**tool_calls):
    """Return a response template with these fields for its calls."""
    own = {"open": "<c>", "close": "</c>", "content": "json", "repeats": True}
    calls = own | {"transform": FUNCTION} | tool_calls
    return {"start_anchor": "<a>", "fields": {"tool_calls": calls}}


@pytest.mark.costly
@pytest.mark.parametrize(
    "pattern",
    [
        *(unit * 20_000 for unit in ("(", "[", "a|", "(?:", r"\1", "a?", "(?P<x>", "a{9}")),
        "(?:a|b)" * 200,
        "(?:(?:(?:a{100}){100}){100})",
        "(?:(a+)+)+$",
    ],
    ids=lambda pattern: pattern[:6],
)
def test_hostile_response_template_pattern_is_rejected(pattern):
    for anchors in ({"open_pattern": pattern}, {"close_pattern": pattern}):
        given = template(**anchors)
        given["fields"]["tool_calls"].pop(next(iter(anchors)).removesuffix("_pattern"))
        with pytest.raises(FormatError):
            from_response_template(given)


@pytest.mark.parametrize("marker", ["\0", "\ud83d", "(.*)+", "<" * 200, " \n"])
def test_odd_response_template_marker_works_in_any_chunks(marker):
    made = from_response_template(template(open=marker))
    text = f"x {marker}" + '{"name": "f", "arguments": {}}</c>' * 2
    for size in (1, 2, 7):
        assert read(made, text, size).message == read(made, text).message


def test_response_template_marker_length_is_limited():
    with pytest.raises(FormatError, match="256"):
        from_response_template(template(open="<" * 257))
