"""Tests of the fast path between calls."""

from __future__ import annotations

import pytest

from deltaparse import get_format
from deltaparse.partial import Window
from deltaparse.stream.wire.fast_next_patterns import read_fast_next_call
from deltaparse.stream.wire.marker_tables import MarkerTables

THINK = {"mode": "TAG_BASED", "start": "<think>", "end": "</think>"}
JSON = get_format("hermes").replace(reasoning=THINK)
TAGS = get_format("qwen3_coder").replace(reasoning=THINK)


def step(fmt, **options):
    return read_fast_next_call(MarkerTables(fmt, calls=True, **options))


def test_next_call_pattern_is_cached():
    tables = MarkerTables(TAGS, calls=True)
    assert read_fast_next_call(tables) is read_fast_next_call(tables) is not None


@pytest.mark.parametrize(
    ("fmt", "text", "call"),
    [
        (JSON, '\n</tool_call>\n<tool_call>\n{"name": "f"', '{"name"'),
        (JSON, '</tool_call><tool_call>{"name":"f"', '{"name"'),
        (JSON.replace(tools={"separator": "\n\n"}), '</tool_call>\n<tool_call>{"name": "f"', "{"),
        (JSON.replace(tools={"per_call_end": " "}), '<tool_call>{"name": "f"', "{"),
        (TAGS, "</function>\n</tool_call>\n<tool_call>\n<function=f>\n", "f>"),
        (TAGS.replace(function={"close": ""}), "</tool_call><tool_call><function=f>", "f>"),
        (TAGS.replace(tools={"per_call_start": "\n"}), "</function></tool_call><function=f>", "f>"),
        (
            TAGS.replace(tools={"section_start": "{calls"}),
            "</function>\n</tool_call>\n<tool_call>\n<function=f>\n",
            "f>",
        ),
    ],
)
def test_next_call_pattern_matches_the_text_between_calls(fmt, text, call):
    usual = step(fmt)
    text += "" if fmt.tools.format == "JSON_NATIVE" else "<parameter="
    found = usual.match(text)
    assert text[found.end() :].startswith(call)
    assert all(usual.may_follow(Window(text[:size])) for size in range(len(text)))
    assert not any(usual.may_follow(Window(text[:size] + "?")) for size in range(found.end() + 1))
    assert not usual.may_follow(Window(text[: found.end()] + "\x00"))


@pytest.mark.parametrize(
    ("fmt", "groups"),
    [
        (JSON, {"tools": {"per_call_end": "</think>"}}),
        (JSON, {"tools": {"per_call_start": "<think>"}}),
        (JSON, {"tools": {"section_start": "<tool_call>"}}),
        (JSON, {"tools": {"section_start": "{calls"}}),
        (JSON, {"tools": {"section_start": "calls:"}}),
        (JSON, {"tools": {"per_call_end": "}"}}),
        (JSON, {"tools": {"per_call_start": "]"}}),
        (JSON, {"tools": {"separator": " ;"}}),
        (JSON, {"code": {"start": "<tool_call>", "function": "run"}}),
        (TAGS, {"function": {"close": "</think>"}}),
        (TAGS, {"function": {"name_prefix": "<think>"}}),
        (TAGS, {"tools": {"section_start": "<function=s"}}),
        (TAGS, {"tools": {"section_end": "</function>s"}}),
        (TAGS, {"turn": {"ends": ("</tool_call>s",)}}),
        (TAGS, {"tools": {"separator": ","}}),
        (TAGS, {"function": {"close": "</", "close_suffix": ">"}}),
        (TAGS, {"channels": {"message": "<m>"}}),
        (TAGS, {"tools": {"per_call_start": "* ", "section_start": "<calls>"},
                "function": {"name_prefix": ""}}),
        (TAGS, {"tools": {"per_call_start": "", "section_start": "<calls>"},
                "function": {"name_prefix": "*"}}),
    ],
)  # fmt: skip
def test_marker_with_several_meanings_has_no_pattern(fmt, groups):
    assert step(fmt) is not None
    assert step(fmt.replace(**groups)) is None


def test_calls_without_certain_markers_have_no_pattern():
    for fmt in (JSON, TAGS):
        assert step(fmt, constrained=True) is None
        assert step(fmt, exact=True) is None
    for name in ("llama3_json", "functionary_v32", "pythonic", "mistral"):
        assert step(get_format(name)) is None
