"""Tests of suggested formats for templates that render no calls."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, ToolFormat, WireFormat, analyze, get_format
from deltaparse.analyzer.format_from_description import (
    _by_tokens,
    _closers,
    _Known,
    _more,
    _syntax,
    accepted,
    suggested_format,
    without_greed,
)
from deltaparse.analyzer.renderer import Renderer

TURNS = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
LISTED = "{% if tools %}<|tool_list_start|>{{ tools | tojson }}<|tool_list_end|>{% endif %}" + TURNS
DESCRIBED = "{% if tools %}{{ tools | tojson }} Write <tool_call>{...}</tool_call>.{% endif %}"


@pytest.mark.parametrize(
    ("source", "tokens", "name"),
    [
        (DESCRIBED + TURNS, (), "hermes"),  # call markers in the instructions
        (TURNS, ("<|tool_call_start|>", "<|tool_call_end|>"), "lfm2"),  # or among the tokens
        (DESCRIBED.replace("</tool_call>", "") + TURNS, (), ""),  # two have no more than that
        (LISTED, (), "lfm2"),  # a token that no other format has
        (TURNS, (), ""),
        (TURNS, ("<tool_", "call>", "</tool_", "call>"), ""),  # each token is one
        ("Write <tool_call>{...}</tool_call>." + TURNS, (), ""),  # whether there are tools or not
        ("{% if tools %}Write <tool_\ncall>{...}</tool_\ncall>.{% endif %}" + TURNS, (), ""),
        ("{% if tools %}{{ tools | tojson }} >>>{% endif %}" + TURNS, (), ""),  # too short
        ("{% if tools %}{{ tools | tojson }}{% endif %}" + TURNS, (), ""),
    ],
)
def test_format_is_suggested_if_exactly_one_matches(source, tokens, name):
    fmt = analyze(ChatTemplate(source, added_tokens=tokens))
    assert fmt.suggested == name
    assert not fmt.proved.calls


def test_accepted_suggestion_is_not_verified():
    fmt = analyze(LISTED, accept_suggestion=True)
    named = get_format("lfm2")
    assert (fmt.tools, fmt.function, fmt.arguments) == (
        named.tools,
        named.function,
        named.arguments,
    )
    assert {"<|tool_call_start|>", "<|tool_call_end|>"} <= set(fmt.preserved_tokens)
    assert fmt.turn == analyze(LISTED).turn != named.turn
    assert not fmt.verified
    assert fmt.issues[-1].startswith("calls are read as in the built-in format lfm2")
    assert fmt.issues[:-1] == analyze(LISTED).issues


def test_no_suggestion_for_a_template_that_refuses_all():
    assert suggested_format(Renderer(ChatTemplate("{{ raise_exception('no') }}"))) == ""


def test_accepted_without_suggestion_changes_no_format():
    fmt = WireFormat()
    assert accepted(fmt) is fmt


def test_calls_without_markers_are_given_up_unless_they_are_proved():
    greedy = WireFormat().replace(
        tools={
            "format": ToolFormat.JSON_NATIVE,
            "name_field": "name",
            "arguments_field": "arguments",
            "supports_tools": True,
        }
    )
    assert greedy.derived.unmarked_calls
    left = without_greed(greedy)
    assert left.tools.format is ToolFormat.NONE
    assert left.tools.supports_tools
    (issue,) = left.issues
    assert "plain brackets are content" in issue
    marked = greedy.replace(tools={"section_start": "<c>", "section_end": "</c>"})
    proved = greedy.replace(proved={"calls": ("default",)})
    for kept in (marked, proved, greedy.replace(verified=True)):
        assert without_greed(kept) is kept


@pytest.mark.parametrize(
    ("evidence", "names"),
    [
        ("", []),
        ("Write <|call|>.", ["one"]),
        ("Write <do>.", ["two"]),
        ("Write <|call|> or <do>.", ["one", "two"]),
        ("Write <|both|>.", []),
        ("Write <1>.", []),  # too short
    ],
)
def test_a_token_that_one_format_has_alone_means_that_format(evidence, names):
    tokens = {"one": ("<|call|>", "<|both|>"), "two": ("<do>", "<|both|>"), "three": ("<1>",)}
    none = frozenset()
    known = [_Known(name, none, none, frozenset(own)) for name, own in tokens.items()]
    assert [one.name for one in _by_tokens(known, evidence)] == names


def test_a_bracket_is_no_evidence_of_the_end_of_calls():
    tools = {"format": ToolFormat.PYTHONIC, "section_start": "<|c|>", "section_end": "]"}
    assert _closers(WireFormat().replace(tools=tools)) == frozenset()
    for end in ("<|d>", "<|d>\n"):
        tools["section_end"] = end
        assert _closers(WireFormat().replace(tools=tools)) == {"<|d>"}


def test_the_lines_that_a_text_has_beyond_another_stay_lines():
    assert _more("<a>\n<b>", "<a>\n<do\n<b>\n>") == "<do\n>"


@pytest.mark.parametrize("kind", ["JSON_NATIVE", "PYTHONIC"])
def test_the_names_of_fields_tell_formats_apart_that_have_some(kind):
    one, other = (
        WireFormat().replace(
            tools={
                "format": ToolFormat[kind],
                "section_start": "<|c|>",
                "name_field": "name",
                "arguments_field": field,
            }
        )
        for field in ("arguments", "parameters")
    )
    assert (_syntax(one) != _syntax(other)) == (kind == "JSON_NATIVE")
