"""`ToolGate`: its arguments, its contract, and its cost."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
import time
from inspect import getdoc
from typing import get_args

import pytest

from deltaparse import ToolCall, UsageError
from deltaparse.gate import Decision, Reason, ToolGate

from ..strategies.gate_samples import (
    BLOCK,
    BRACKET,
    CITY,
    NORMAL,
    TOOLS,
    called,
    decided,
    tag,
    tool,
)

GATE = ToolGate(TOOLS)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_snippet_bytes": 0}, "max_snippet_bytes must be .* not 0"),
        ({"max_payload_bytes": -1}, "max_payload_bytes must be .* not -1"),
        ({"max_calls": True}, "max_calls must be .* not True"),
        ({"max_calls": 1.5}, "max_calls must be .* not 1.5"),
        ({"on_telemetry": "log"}, "on_telemetry must be a function"),
        ({"fallbacks": ["primary"]}, "fallbacks must be"),
        ({"intents": "CALL_TOOL"}, "intents must be a list"),
        ({"intents": [""]}, "an intent must"),
        ({"intents": [" CALL"]}, "an intent must"),
        ({"intents": ["CALL_TOOL", 1]}, "intents must be a list"),
        ({"intents": ["need_tool: no"]}, "an intent must"),
    ],
)
def test_invalid_options_are_rejected(options, says):
    with pytest.raises(UsageError, match=says):
        ToolGate(TOOLS, **options)


def test_wrong_argument_types_are_rejected():
    for output in (b"text", None, ["text"], GATE.extract("text")):
        with pytest.raises(UsageError, match=r"text .* or a Message"):
            GATE.extract(output)
    with pytest.raises(UsageError, match="prompt"):
        GATE.extract("text", prompt=b"")
    for candidates in ("text", None, list(GATE.extract(tag()))):
        with pytest.raises(UsageError, match="result of extract"):
            GATE.validate(candidates)


def test_executable_call_is_normalized_and_immutable():
    [call] = decided(tag(' { "days" : 2, "city" : "Gent\\u00e9" } ')).calls
    assert call.normalized() == {
        "name": "get_weather",
        "arguments": {"city": "Genté", "days": 2},
    }
    assert call.arguments_json == '{"days": 2, "city": "Genté"}'
    # The validated arguments cannot change.
    call.arguments["city"] = 3
    assert call.arguments == {"days": 2, "city": "Genté"}
    with pytest.raises(dataclasses.FrozenInstanceError):
        call.arguments_json = "{}"


def test_decide_equals_extract_and_validate():
    assert GATE.decide(tag(), prompt="p") == GATE.validate(GATE.extract(tag(), prompt="p"))


def test_number_of_calls_is_limited():
    assert called(tag() * 16) == [NORMAL] * 16
    decision = decided(tag() * 17)
    assert decision.reason == "too_many_calls"
    assert decision.re_emit


def test_re_emit_contains_reason_form_and_tools():
    again = "If you want a tool to run, write the call again, outside of code and quotation marks, "
    schema = "with arguments that follow the schema of the tool"
    written = f'{again}in exactly this form, {schema}: <tool name="NAME">{{"KEY": VALUE}}</tool> '
    unknown = "No tool was run (unknown_tool: the called tool is not on the allow-list). "
    for tools, names in (([], "none"), ([tool("f"), tool("g")], "f, g")):
        assert decided(tag(), tools=tools).re_emit == f"{unknown}{written}Tools: {names}."
    early = ToolGate([tool("f")]).decide_call(ToolCall("1", "g", "{}", True))
    assert early.re_emit == f"{unknown}{again}in your own form for calls, {schema}. Tools: f."


def test_detail_of_an_ambiguous_call():
    decision = decided(f"So {tag()}</a>")
    assert decision.reason == "ambiguous"
    assert decision.detail == "the call may be inside code or an unclosed quotation"


def test_re_emit_is_not_a_call_itself():
    decision = decided(tag("{}"))
    assert "schema" in decision.re_emit
    for tools in (TOOLS, [{"name": "NAME"}]):
        assert not decided(decision.re_emit, tools=tools).calls


HUGE = [
    "<tool",
    "<tool ",
    '<tool name="now">',
    "</tool>",
    tag(),
    '<tool name="' + "x",
    "`",
    "``` ",
    "\n```",
    "\n~~~\n",
    '"',
    "'",
    " '",
    "\n",
    "\n> ",
    "\n- ",
    "- ",
    "1. ",
    " ",
    "<code>",
    "<code></code>",
    "<tool</code>",
    "<tool s' ",
    "<think><tool></think>",
    "</code>",
    "<think>",
    "</think>",
    "<!--",
    "[THINK]",
    "「",
    "“",
    "~~",
    " ~a",
    "x~",
    "<x:",
    "<del>`</del>",
    "<del>\n1. ",
    "|-",
    "\n  ```",
    "-\t",
    "<a>",
    "</a>",
    "/*",
    "|",
    "<|",
    "<|im_end|>",
    "<|start|>",
    "a’ \n\n",
    f"{tag()}</a>",
    "{",
    "[",
    '{"tool"',
    '{"tool": "\\"',
    "[now(",
    "[now()]",
    "CALL_TOOL ",
    "need_tool: yes",
    "\\",
    "😀",
    "\ud83d",
]


@pytest.mark.parametrize("chunk", HUGE)
def test_decide_takes_linear_time(chunk):
    start = time.process_time()
    for at, before in enumerate(("", "CALL_TOOL\n", '<tool name="any">', f"{tag()} ")):
        for place, after in enumerate(("", "</tool>", '"}', ")]")):
            # Each part is tried with long text, and the other pairs with short text.
            size = 30_000 if at == place else 3_000
            many = chunk * (size // len(chunk))
            decision = GATE.decide(before + many + after, intent=True)
            assert len(decision.records) <= 16
            if before != f"{tag()} ":
                assert not decision.calls
    # Quadratic time would take minutes.
    assert time.process_time() - start < 10


def test_telemetry_of_many_calls_is_limited():
    decision = decided(tag() * 1000)
    assert decision.reason == "too_many_calls"
    assert len(decision.records) == 16
    assert decision.telemetry.candidate_count == 1000


def test_large_call_is_accepted():
    text = f'{{"city": "{"é" * 30000}"}}'
    assert called(tag(text))[0]["arguments"] == {"city": "é" * 30000}
    assert CITY in GATE.extract(f"{'prose ' * 100_000}{tag()}").found[0].payload


def test_every_reason_is_described():
    assert re.findall(r"^([a-z_]+)  ", getdoc(Decision), re.MULTILINE) == [*get_args(Reason)]


def test_pickled_gate_decides_the_same():
    seen, options = [], {"fallbacks": ("json",), "intents": ("USE", "USE_TOOL")}
    limits = {"max_snippet_bytes": 80, "max_payload_bytes": 30, "max_calls": 1}
    outputs = [tag(), tag() * 2, tag(json.dumps({"city": "x" * 40}))]
    for word in ("USE_TOOL", "CALL_TOOL"):
        outputs += [f"{word} {made}" for made in (BLOCK, BRACKET, BLOCK.replace(" ", " " * 50))]
    for gate in (GATE, ToolGate(TOOLS, **options, **limits, on_telemetry=seen.append)):
        there = pickle.loads(pickle.dumps(gate))
        decisions = [gate.decide(output) for output in outputs]
        assert [there.decide(output) for output in outputs] == decisions
    assert decisions != [GATE.decide(output) for output in outputs]


def test_pickled_gate_keeps_the_dialect():
    # Both keywords have another or no meaning in 2020-12.
    members = {"a": {"minimum": 0, "exclusiveMinimum": True}, "b": {}}
    asks = {"properties": members, "dependencies": {"b": ["a"]}}
    gate = ToolGate([tool("f", {"$schema": "http://json-schema.org/draft-04/schema#", **asks})])
    for there in (gate, pickle.loads(pickle.dumps(gate))):
        assert there.decide(tag('{"a": 1, "b": 1}', "f")).executable
        for arguments in ('{"a": 0}', '{"b": 1}'):
            assert there.decide(tag(arguments, "f")).reason == "schema"
