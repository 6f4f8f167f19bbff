"""Tests of the fast path for JSON calls, compared with the ordinary reader."""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deltaparse import get_format
from deltaparse.partial import Window
from deltaparse.partial.json_text import lexer
from deltaparse.stream.wire.fast_patterns import LONGEST_NAME, fast_head
from deltaparse.stream.wire.marker_tables import marker_tables

from ...strategies.requests import policies, reasons
from ...support import cuts
from ..both_ways import check_both_ways

FORMATS = [get_format(name) for name in ("hermes", "apriel", "granite", "jamba", "longcat")]
WITH_HEAD = [fmt for fmt in FORMATS if marker_tables(fmt, calls=True).fast_head]
TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"name": {}}}},
    {"name": "f.g", "parameters": {}},
]
spaces = st.sampled_from(["", "", " ", "\n", "  \t", " " * 20])
names = st.sampled_from(
    ["get_weather", "f.g", "x", "with space", "é", 'q"', "<tool_call>", "n" * 200]
)
texts = st.sampled_from(
    ["", "Łódź", 'a "b"', "\n", "</tool_call>", "<tool_call>", "}", "\ud83d", "\\"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 10**40) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def calls(draw, fmt):
    """Draw the text of one or two almost regular calls."""
    tools, text = fmt.tools, draw(st.sampled_from(["", "Hi. "]))
    begin = tools.section_start + tools.per_call_start
    end = tools.per_call_end + tools.section_end
    for _ in range(draw(st.integers(1, 2))):
        arguments = draw(st.dictionaries(texts, values, max_size=3) | values)
        members = [
            (tools.name_field, draw(names)),
            (tools.arguments_field, arguments),
            *draw(st.sampled_from([[], [], [], [("id", "1")], [(tools.name_field, "again")]])),
        ]
        if draw(st.integers(0, 5)) == 0:
            members = draw(st.permutations(members))
        ascii_only = draw(st.booleans())
        gap = [draw(spaces) for _ in range(4)]
        body = f"{gap[0]},{gap[1]}".join(
            f"{json.dumps(key)}{gap[2]}:{gap[3]}{json.dumps(value, ensure_ascii=ascii_only)}"
            for key, value in members
        )
        brackets = "[]" if tools.array_wrapped else ("", "")
        text += f"{begin}{brackets[0]}{{{draw(spaces)}{body}{draw(spaces)}}}{brackets[1]}{end}"
    if draw(st.booleans()):
        at = draw(st.integers(0, len(text)))
        odd = draw(st.sampled_from(["", '"', "{", "}", ",", "<", "\\", "x", "'"]))
        text = text[:at] + odd + text[at + draw(st.integers(0, 2)) :]
    return text[: draw(st.integers(0, 3 * len(text)))]


@given(
    data=st.data(),
    fmt=st.sampled_from(WITH_HEAD),
    tools=st.sampled_from([None, TOOLS]),
    policy=policies,
    reason=reasons,
    parallel=st.booleans(),
)
def test_fast_path_emits_the_same_json_calls(data, fmt, tools, policy, reason, parallel):
    chunks = data.draw(cuts(data.draw(calls(fmt))))
    options = {"tools": tools, "policies": policy, "parallel_tool_calls": parallel}
    check_both_ways(fmt, chunks, reason, **options)


@pytest.mark.parametrize("fmt", WITH_HEAD)
def test_fast_patterns_match_json_calls(fmt):
    tables = marker_tables(fmt, calls=True)
    key, arguments = fmt.tools.name_field, fmt.tools.arguments_field
    text = f'{{"{key}": "get_weather", "{arguments}": {{"name": "x"}}}}'
    assert tables.fast_head.whole.match(text).end() == len(text)
    head = tables.fast_head.name.match(text)
    assert head[1] == "get_weather"
    assert tables.fast_head.arguments.match(text, head.end()).end() == text.index('{"name": "x"')


@pytest.mark.parametrize("gap", ["", " "])
def test_json_pattern_waits_only_for_its_own_prefix(gap):
    head = fast_head("name", "arguments", "<")
    name, arguments = f'{{"name":{gap}"f"', f',{gap}"arguments":{gap}{{'
    assert head.name.match(name)[1] == "f"
    assert head.arguments.match(arguments).end() == len(arguments) - 1
    assert head.whole.match(f"{name}{arguments}}}}}").groups() == ("f", "{}")
    for step, text in ((head.name, name), (head.arguments, arguments)):
        for size in range(len(text)):
            assert step.may_follow(Window(text[:size]))
            assert not step.may_follow(Window(text[:size] + "?"))


def test_formats_without_a_fast_json_pattern():
    assert len(WITH_HEAD) > 1
    for name in ("qwen3_coder", "llama4_pythonic", "gpt_oss"):
        assert marker_tables(get_format(name), calls=True).fast_head is None
    assert fast_head("name", "name", "") is None
    assert fast_head("name", "", "") is None
    assert fast_head("", "arguments", "") is None
    assert fast_head("", "", "") is None
    assert fast_head("function name", "arguments", "<") is not fast_head("a", "b", "<")
    assert fast_head("function name", "argumenté", "<") is None
    assert fast_head("name", "arguments", "f") is None
    assert fast_head("name", "arguments", "<f") is None


def test_unusual_json_is_not_matched():
    head = fast_head("name", "arguments", "<")
    assert head.name.match('{"name": "a b"') is None
    assert head.name.match('{"name": "' + "n" * (LONGEST_NAME + 1) + '"') is None
    assert head.name.match("{" + " " * 17 + '"name": "f"') is None
    assert head.whole.match('{"name": "f", "arguments": {"a": "\\n"}}') is None


@given(data=st.data(), value=st.dictionaries(texts, values, max_size=4), commas=st.booleans())
def test_small_object_pattern_agrees_with_the_lexer(data, value, commas):
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans())) + data.draw(texts)
    at = data.draw(st.integers(0, len(text)))
    odd = data.draw(st.sampled_from(["", '"', "{", "}", "]", ",", "0", "-", "e", " ", "\n", "\\"]))
    text = text[:at] + odd + text[at + data.draw(st.integers(0, 1)) :]
    assume(text)
    quick, slow = lexer.JsonLexer(hold_commas=commas), lexer.JsonLexer(hold_commas=commas)
    end = quick.scan(text)
    with patch.object(lexer, "small_object", lambda *_: None):
        assert slow.scan(text) == end
    assert (quick.state, quick.stack, quick.problem) == (slow.state, slow.stack, slow.problem)


def test_small_object_pattern_respects_the_depth_limit():
    assert lexer.small_object('{"a": [1]}', 0)
    shallow = lexer.JsonLexer(max_depth=1)
    assert (shallow.scan('{"a": [1]}'), shallow.state) == (6, lexer.BROKEN)
