"""Calls of every built-in format, truncated at each character after the name."""

from __future__ import annotations

import json
import re
from itertools import cycle

import pytest

from deltaparse import StreamParser, get_format

from ..strategies.wire_by_hand import calls, kinds
from ..strategies.wire_named import WIRES

TOOLS = [
    {"name": "f", "parameters": {"properties": {"city": {"type": "string"}}}},
    {"name": "g", "parameters": {"properties": {"n": {"type": "integer"}}}},
]
READ = [name for name in WIRES if get_format(name).derived.has_calls]


def read(fmt, text, reason, size=0):
    parser = StreamParser(fmt, tools=TOOLS)
    for start in range(0, len(text), size or len(text)):
        parser.feed(text[start : start + (size or len(text))])
    parser.finish(reason)
    return parser


def behind_names(text):
    """Return the offsets at which a name is certain, after characters no name contains."""
    return [
        re.compile(rf"(?<![a-zA-Z_]){name}[^a-zA-Z_]+").search(text).end() for name in ("f", "g")
    ]


@pytest.mark.parametrize("name", READ)
def test_truncated_call_with_a_complete_name_is_a_call(name):
    text, reasons = WIRES[name].two or "-", cycle(["stop", "length", None])
    whole = read(name, text, "stop").message
    if len(whole.tool_calls) < 2:
        pytest.skip("the template does not render calls")
    begins = behind_names(text)
    for at in range(begins[0], len(text)):
        parser = read(name, text[:at], next(reasons))
        made = parser.message.tool_calls
        names = [call.name for call in made]
        assert (names, text[:at]) in [
            (["f"][: at < begins[1]] or ["f", "g"], text[:at]),
            (["f", "g"], text[:at]),
        ]
        if at >= begins[1] or not made[0].complete:
            assert (parser.message.content.strip(), text[:at]) == ("", text[:at])
        if not made[-1].complete:
            assert kinds(parser)[-1:] == ["truncated_call"]
        for call, wanted in zip(made, whole.tool_calls, strict=False):
            for key, value in call.healed().items():
                assert str(json.loads(wanted.arguments)[key]).startswith(str(value))


@pytest.mark.parametrize("reason", ["stop", "length", None])
@pytest.mark.parametrize(
    ("fmt", "text", "name", "content"),
    [
        (
            "kimi_k3",
            '<|close|>think<|sep|><|open|>tools<|sep|><|open|>call tool="f" index="1',
            "f",
            "",
        ),
        ("kimi_k3", '<|close|>think<|sep|><|open|>tools<|sep|><|open|>call tool="f" ind', "f", ""),
        ("mistral_small", "[TOOL_CALLS]f[CALL_ID]abc", "f", ""),
        ("glm47", "</think><tool_call>f<arg", "f", ""),
        ("apertus", '<|tools_prefix|>[{"f"', "f", ""),
        ("apertus", '<|tools_prefix|>[{"f": {}, "g"', "g", ""),
        ("gpt_oss", "<|channel|>commentary to=functions.f <|cons", "f", ""),
        ("gpt_oss", "<|channel|>commentary to=functions.f<|cons", "f", ""),
        ("pythonic", "[f(", "f", ""),
        ("pythonic", "[f(ci", "f", ""),
        ("olmo3", "<function_calls>f()\ng(", "g", ""),
        # An incomplete name does not count as a name.
        ("pythonic", "[f", "", "[f"),
        ("pythonic", "[h(", "", "[h("),
    ],
)
def test_truncated_head_of_a_call_is_markup(fmt, text, name, content, reason):
    for size in (1, len(text)):
        parser = read(fmt, text, reason, size)
        made = parser.message.tool_calls
        assert [(call.name, call.complete) for call in made[-1:]] == [(name, False)] * bool(name)
        assert parser.message.content == content
        assert not name or "truncated_call" in kinds(parser)


@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.parametrize("cut", range(1, len("<![CDATA[")))
def test_prefix_of_an_escape_marker_is_not_a_value(cut, size):
    text = '<function name="f"><param name="city">' + "<![CDATA["[:cut]
    for reason in ("stop", "length"):
        parser = read("minicpm5", text, reason, size)
        assert (calls(parser), kinds(parser)) == ([("f", '{"city": ')], ["truncated_call"])


@pytest.mark.parametrize("cut", range(1, len("assistant")))
def test_truncated_role_after_a_call_is_not_content(cut):
    text = '<|channel|>commentary to=functions.f<|message|>{"city": "x"}<|call|><|start|>'
    for size in (1, 200):
        parser = read("gpt_oss", text + "assistant"[:cut], "length", size)
        assert (parser.message.content, kinds(parser)) == ("", ["cut_marker"])


@pytest.mark.parametrize("cut", [1, 2])
def test_truncated_fence_after_arguments_is_not_content(cut):
    text = WIRES["deepseek_v3"].one.partition("\n```<")[0] + "\n" + "```"[:cut]
    parser = read("deepseek_v3", text, "length")
    assert (parser.message.content, kinds(parser)) == ("", ["cut_marker"])
