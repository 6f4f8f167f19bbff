"""Tests of the fast path for calls, compared with the ordinary reader."""

from __future__ import annotations

import re
from functools import cache
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import Policies, StreamParser, get_format, list_formats
from deltaparse.partial import Window
from deltaparse.stream.reading import sections
from deltaparse.stream.wire.fast_next_patterns import read_fast_next_call
from deltaparse.stream.wire.fast_patterns import (
    LONGEST_WAIT,
    MOST_KNOWN,
    FastPattern,
    Text,
    so_far,
    whole,
)
from deltaparse.stream.wire.marker_tables import marker_tables
from deltaparse.testing import outputs

from ...strategies.requests import options, policies, reasons
from ...support import cuts
from ..both_ways import check_both_ways
from ..invariants import in_families

TOOLS = [
    {
        "name": "look_up",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "share": {"type": "number"},
                "now": {"type": "boolean"},
                "unit": {"type": "string", "enum": ["day", "1"]},
                "any": {},
                "maybe": {"type": ["integer", "null"]},
                "one": {"type": "integer", "enum": [1, 2]},
                "among": {"type": "array", "items": {"type": "string"}},
            },
        },
    },
    {"name": "say", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}},
]
FAST = [
    name
    for name in list_formats()
    if read_fast_next_call(marker_tables(get_format(name), calls=True))
]
IN_TAGS = [
    name
    for name in FAST
    if getattr(marker_tables(get_format(name), calls=True).fast_tags, "arguments", None)
]
names = st.sampled_from(["look_up", "say", "f.g", "x", "with space", "é", 'q"', "n" * 200])
values = st.sampled_from(
    ["", "Łódź", "3", "-3", "3.0", "03", "1e5", "NaN", "true", "True", "null", "None", "day", "[1]",
     '["a"]', "{}", '"q"', "\n", "a\nb", " x ", "<", "</", "\\", "1_0", "9" * 80, "\ud83d", "a\r\n"]
)  # fmt: skip
keys = st.sampled_from(["city", "days", "share", "now", "unit", "any", "maybe", "one", "a b", "é"])
spaces = st.sampled_from(["", "", "", " ", "\n", "\n\n", "\r\n", " " * 20])


@cache
def written(name):
    """Return a strategy for model outputs with faults, cached because grammars are slow."""
    return outputs(name, TOOLS, faults=True)


@st.composite
def calls_in_tags(draw, fmt):
    """Draw some almost regular calls with arguments in tags."""
    tools, function, arguments = fmt.tools, fmt.function, fmt.arguments
    gap = st.just("") if draw(st.booleans()) else spaces
    texts = []
    for _ in range(draw(st.integers(1, 3))):
        text = tools.per_call_start + draw(gap) + function.name_prefix + draw(names)
        text += function.name_suffix + draw(gap) + arguments.start
        for _ in range(draw(st.integers(0, 3))):
            text += arguments.name_prefix + draw(keys) + arguments.name_suffix + draw(gap)
            text += arguments.value_prefix + draw(values) + arguments.value_suffix + draw(gap)
        texts.append(text + arguments.end + function.close + draw(gap) + tools.per_call_end)
    text = draw(st.sampled_from(["", "Hi. "])) + tools.section_start
    text += (tools.separator + draw(gap)).join(texts) + tools.section_end
    return odd(draw, text)


def odd(draw, text):
    """Return a text with an odd insertion, truncated, or unchanged."""
    if draw(st.booleans()):
        at = draw(st.integers(0, len(text)))
        put = draw(st.sampled_from(["", '"', "{", "<", "\n", "x", "</s>", "</parameter>"]))
        text = text[:at] + put + text[at + draw(st.integers(0, 2)) :]
    return text[: draw(st.integers(0, 3 * len(text)))]


def between(fmt):
    """Return the usual text between two calls, up to the name of the second."""
    tools, function = fmt.tools, fmt.function
    head = marker_tables(fmt, calls=True).fast_head
    begin = tools.per_call_end + tools.separator + tools.per_call_start + function.name_prefix
    return function.close + begin + (head.spelled[0] if head else "")


def behind_name(fmt):
    """Return the text after a name that proves a call."""
    if fmt.tools.format == "JSON_NATIVE":
        return '"'
    arguments = fmt.arguments
    return fmt.function.name_suffix + arguments.start + (arguments.name_prefix or "{")


@pytest.mark.parametrize("name", FAST)
def test_next_call_pattern_waits_at_each_character(name):
    fmt = get_format(name)
    usual = read_fast_next_call(marker_tables(fmt, calls=True))
    text = f"{between(fmt)}functions.f:0{behind_name(fmt)}".rstrip()
    for size in range(len(text)):
        assert usual.match(text[:size]) is None
        assert usual.may_follow(Window(text[:size])), text[:size]
        assert not usual.may_follow(Window(text[:size], closed=True))
        assert not usual.may_follow(Window(text[:size] + "\x00"))
    found = usual.match(text)
    closers = fmt.function.close + fmt.tools.per_call_end
    assert text[: found.start(1)].strip() == closers.strip()
    assert text[found.end() :].startswith(("functions", "{"))


def test_waiting_prefix_has_a_maximum_length():
    usual = FastPattern("a+b", "a*+", ["aab"])
    for size in range(2 * LONGEST_WAIT):
        assert usual.may_follow(Window("a" * size)) is (size <= LONGEST_WAIT)
        assert not usual.may_follow(Window("a" * size + "c"))
    window = Window("c" * 10**6 + "a" * 5)
    assert not usual.may_follow(window)
    window.pos = 10**6
    assert usual.may_follow(window)
    assert window.step() == ""
    window.feed("a" * (LONGEST_WAIT // 2))
    assert window.step() == ""
    window.feed("c")
    assert window.step() is None


def test_cache_of_waiting_prefixes_is_bounded():
    usual = FastPattern("[a-z]+!", "[a-z]*+")
    for number in range(2 * MOST_KNOWN):
        assert usual.may_follow(Window("".join(chr(97 + int(digit)) for digit in str(number))))
        assert usual.may_follow(Window("a" * (number % LONGEST_WAIT)))
    cells = [cell.cell_contents for cell in usual._waiter.step.__closure__]
    (known,) = (cell for cell in cells if isinstance(cell, set))
    assert 0 < len(known) <= MOST_KNOWN
    assert max(map(len, known)) < LONGEST_WAIT // 2


@pytest.mark.parametrize("name", ["hermes", "kimi_k2", "qwen3_coder", "glm45"])
def test_turn_reader_is_bypassed_between_calls(name):
    fmt = get_format(name)
    call = {"qwen3_coder": "<parameter=a>\nx\n</parameter>\n", "glm45": "<arg_key>a</arg_key>\n"}
    call["glm45"] += "<arg_value>x</arg_value>\n"
    arguments = call.get(name, '{"a": "x"}')
    whole = f"f{behind_name(fmt).removesuffix(fmt.arguments.name_prefix or '{')}{arguments}"
    if name == "hermes":
        whole = 'f", "arguments": {"a": "x"}}'
    first = whole + between(fmt)
    opener = fmt.tools.per_call_start + fmt.function.name_prefix
    opener += '{"name": "' * (name == "hermes")
    asked = {}
    for calls in (3, 30):
        parser = StreamParser(fmt)
        text = opener + first * calls
        with patch.object(sections, "role_of", wraps=sections.role_of) as role_of:
            for at in range(0, len(text), 4):
                parser.feed(text[at : at + 4])
        assert len(parser.message.tool_calls) == calls
        assert {issue.kind for issue in parser.issues} <= {"repeated_id"}
        asked[calls] = role_of.call_count
    assert asked[3] == asked[30] > 0


@pytest.mark.parametrize("name", ["llama3_json", "firefunction_v2", "gpt_oss", "kimi_k3", "gemma2"])
def test_ambiguous_calls_have_no_next_call_pattern(name):
    assert read_fast_next_call(marker_tables(get_format(name), calls=True)) is None


@pytest.mark.parametrize(
    "groups",
    [
        {"tools": {"separator": ";"}},
        {"tools": {"per_call_start": ""}},
        {"tools": {"per_call_end": "</tool_call", "section_end": "</tool_call>"}},
        {"tools": {"per_call_end": "]"}},
        {"tools": {"section_start": "<tool_call>"}},
        {"tools": {"generated_id_field": "id"}},
    ],
)
def test_ambiguous_markers_have_no_next_call_pattern(groups):
    fmt = get_format("hermes").replace(**groups)
    assert read_fast_next_call(marker_tables(fmt, calls=True)) is None
    assert (
        read_fast_next_call(marker_tables(get_format("hermes"), calls=True, constrained=True))
        is None
    )


@pytest.mark.parametrize(
    "groups",
    [
        {"arguments": {"separator": ","}},
        {"arguments": {"value_suffix": "\n"}},
        {"arguments": {"value_suffix": " </parameter>"}},
        {"arguments": {"name_suffix": "> "}},
        {"arguments": {"name_suffix": ""}},
        {"arguments": {"name_prefix": ""}},
        {"arguments": {"item": "item"}},
        {"arguments": {"literal_name_suffix": "=json>"}},
        {"arguments": {"key_suffix": ">"}},
        {"function": {"close": "</", "close_suffix": ">"}},
    ],
)
def test_ambiguous_arguments_have_no_fast_patterns(groups):
    fmt = get_format("qwen3_coder").replace(**groups)
    tags = marker_tables(fmt, calls=True).fast_tags
    assert tags is None or tags.arguments is None


@given(st.data())
def test_prefix_pattern_matches_all_prefixes(data):
    words = st.text("ab<", max_size=5).map(Text) | st.sampled_from([" ?+", "[xy]{1,2}+", "x?+"])
    parts = data.draw(st.lists(words, min_size=1, max_size=6))
    text = data.draw(
        st.from_regex(re.compile(whole(parts).replace("+", ""), re.ASCII), fullmatch=True)
    )
    cut = text[: data.draw(st.integers(0, len(text)))]
    if re.fullmatch(whole(parts), text):
        assert re.fullmatch(so_far(parts), cut)
    assert re.fullmatch(so_far(parts), cut + "!") is None


GLM = "<tool_call>{}\n<arg_key>city</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>\n"
CODER = (
    "<tool_call>\n<function={}>\n<parameter=city>\n{}\n</parameter>\n</function>\n</tool_call>\n"
)
HERMES = '<tool_call>\n{{"name": "{}", "arguments": {{"city": "{}"}}}}\n</tool_call>\n'
PYTHON = '{}(city="{}"), '
OSS = (
    "<|channel|>commentary to=functions.{} <|constrain|>json<|message|>"
    '{{"city": "{}"}}<|call|><|start|>assistant'
)


@pytest.mark.parametrize("reason", ["stop", "length"])
@pytest.mark.parametrize(
    "given",
    [
        {"policies": Policies(extra_calls="text"), "parallel_tool_calls": False},
        {"policies": Policies(extra_calls="drop"), "parallel_tool_calls": False},
        {"policies": Policies(unknown_tool="text"), "tools": TOOLS},
        {"policies": Policies(malformed_arguments="text"), "tools": TOOLS},
        {"policies": Policies(text_after_tool_call="drop")},
        {"tools": TOOLS, "collect": True},
    ],
)
@pytest.mark.parametrize(
    ("name", "start", "call"),
    [
        ("glm45", "", GLM),
        ("qwen3_coder", "", CODER),
        ("hermes", "", HERMES),
        ("llama4_pythonic", "[", PYTHON),
        ("gpt_oss", "", OSS),
    ],
)
def test_fast_path_emits_the_same_under_each_policy(name, start, call, given, reason):
    one, other, third = call.format("look_up", "x"), call.format("f", "y"), call.format("say", "z")
    behind = (other + third, one + " Hi", other[:-9], one[:-3] + third)
    for text in (start + one + rest for rest in behind):
        for size in (1, 3, 4, len(text)):
            chunks = [text[at : at + size] for at in range(0, len(text), size)]
            check_both_ways(get_format(name), chunks, reason, **given)


def test_fast_path_of_an_extra_call_with_other_deltas():
    call = "<tool_call>\n<function=look_up>\nARGUMENTS</function>"
    one, empty = "<parameter=city>\n\n</parameter>\n", ""
    text = "\n</tool_call>\n".join(call.replace("ARGUMENTS", given) for given in (empty, one))
    policy = Policies(extra_calls="text")
    for chunks in ([text], list(text)):
        given = {"tools": TOOLS, "policies": policy, "parallel_tool_calls": False}
        check_both_ways(get_format("qwen3_coder"), chunks, "stop", **given)


@pytest.mark.parametrize("name", IN_TAGS)
@given(data=st.data(), policy=policies, reason=reasons, parallel=st.booleans())
def test_fast_path_emits_the_same_tagged_calls(name, data, policy, reason, parallel):
    fmt = get_format(name)
    chunks = data.draw(cuts(data.draw(calls_in_tags(fmt))))
    tools = data.draw(st.sampled_from([None, TOOLS]))
    check_both_ways(fmt, chunks, reason, tools=tools, policies=policy, parallel_tool_calls=parallel)


@pytest.mark.parametrize("name", [*FAST, "gpt_oss", "muse_glimmer", "llama4_pythonic", "olmo3"])
@given(data=st.data(), policy=policies, reason=reasons)
def test_fast_path_emits_the_same_for_model_outputs(name, data, policy, reason):
    text = data.draw(written(name))
    check_both_ways(get_format(name), data.draw(cuts(text)), reason, tools=TOOLS, policies=policy)


@in_families()
@given(data=st.data(), kw=options, reason=reasons)
def test_fast_path_emits_the_same_for_any_text(family, data, kw, reason):
    fmt, text = data.draw(family.texts)
    text += data.draw(st.sampled_from(["", "", text, "\n" + text]))
    check_both_ways(fmt, data.draw(cuts(text)), reason, **kw)
