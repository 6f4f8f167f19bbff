"""Code after its marker."""

from __future__ import annotations

import json

import pytest

from deltaparse import CodeFormat, FunctionFormat, ToolsFormat, WireFormat

from ....strategies.token_texts import Text
from ....strategies.wire_by_hand import TAGS, TURN, calls, fed, kinds

CODE = TAGS.replace(code=CodeFormat(start="<|code|>", function="python"))
IN_TAGS = WireFormat(
    turn=TURN,
    tools=ToolsFormat(format="TAG_WITH_JSON", per_call_start="<call>", per_call_end="</call>"),
    function=FunctionFormat(name_prefix="<f=", name_suffix=">", close="</f>"),
    code=CODE.code,
)


@pytest.mark.parametrize("space", ["", " ", "\n"])
def test_code_marker_without_code_is_text(space):
    text = "<|code|>" + space
    parser = fed(CODE, text)
    assert (parser.message.content, parser.issues) == (text, [])
    parser = fed(CODE, text, "length")
    assert (parser.message.content or "", kinds(parser)) == ("", ["truncated_call"])
    assert parser.issues[0].detail == f"the output ends after {text!r}"
    assert parser.issues[0].span == (0, len(text))


@pytest.mark.parametrize(
    ("fmt", "text"),
    [
        *((fmt, text) for fmt in (CODE, IN_TAGS) for text in ("f(a=1)", "f.call(a=1)", "(f)")),
        (IN_TAGS, "{1: 2}"),  # calls of this format are not JSON
    ],
)
def test_any_code_is_the_argument(fmt, text):
    tools = [{"name": "f"}, {"name": "python"}]
    parser = fed(fmt, "<|code|>" + text, tools=tools)
    assert calls(parser) == [("python", json.dumps({"code": text}))]
    assert parser.issues == []


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_turn_end_prefixing_another_ends_code(reason):
    fmt = CODE.replace(turn={"ends": ("<|end|>", "<|end|>all")})
    (call,) = fed(fmt, "<|code|>x<|end|>", reason).message.tool_calls
    assert (call.arguments, call.complete) == ('{"code": "x"}', True)


def test_reasoning_end_is_code_without_reasoning():
    fmt = CODE.replace(reasoning={"mode": "NONE", "start": "", "end": ""})
    assert calls(fed(fmt, "<|code|>x</think>y")) == [("python", '{"code": "x</think>y"}')]


def test_code_is_the_arguments_up_to_the_end_of_the_turn():
    parser = Text(CODE, ["<|code|>", "<|end|>"], ["<|code|>", "x", " = 1", "<|end|>"]).read()
    assert parser.roles == ["marker", "arguments", "arguments", "end"]
