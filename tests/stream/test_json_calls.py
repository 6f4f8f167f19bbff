"""`calls="json"`: calls that a server constrained the model to write as JSON that stands alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import (
    ContentDelta,
    MalformedOutput,
    Policies,
    StreamParser,
    ToolCallDelta,
    ToolGate,
    UsageError,
    aiter_deltas,
    get_format,
    iter_deltas,
    parse,
)

from ..strategies.wire_json_calls import written
from ..support import cuts, joined
from .invariants import check_1_and_2, check_3, check_4, check_5, run

QWEN, CODER, HARMONY = get_format("qwen25"), get_format("qwen3_coder"), get_format("gpt_oss")
NANO = get_format("nemotron3_nano")
F = '{"name": "f", "arguments": {"a": 1}}'
G = '{"name": "g", "parameters": {}}'
NAMED = {"type": "function", "function": {"name": "f"}}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"name": "f", "parameters": CITY}, {"name": "g"}]


def made(message):
    """Name, arguments and completeness of each call."""
    return [(call.name, call.arguments, call.complete) for call in message.tool_calls]


def kinds(parser):
    return [issue.kind for issue in parser.issues]


def read(text, fmt=QWEN, reason="stop", **kw):
    """The parser that read the text, which is the same whole and one character at a time."""
    whole = run(fmt, [text], reason, calls="json", **kw)[0]
    parser = run(fmt, list(text), reason, calls="json", **kw)[0]
    assert (parser.message, parser.issues) == (whole.message, whole.issues)
    assert (parser.finish_reason, parser.attempts) == (whole.finish_reason, whole.attempts)
    return parser


@given(data=st.data(), case=written())
def test_what_is_written_comes_back(data, case):
    parser, deltas = run(case.fmt, data.draw(cuts(case.text)), **case.options)
    content, reasoning, calls = joined(deltas)
    assert (content, reasoning) == ("", case.reasoning)
    assert [call[1:] for call in calls] == list(case.calls)
    assert all(call.complete for call in parser.message.tool_calls)
    assert [tried.status for tried in parser.attempts] == ["complete"] * len(calls)
    assert parser.finish_reason == "tool_calls"
    assert set(kinds(parser)) - {"repeated_marker"} == ({"stray_marker"} if case.strays else set())


@given(data=st.data(), case=written(), reason=st.sampled_from(["stop", "length", None]))
def test_the_invariants_hold(data, case, reason):
    text = case.text[: data.draw(st.integers(0, len(case.text)) | st.just(len(case.text)))]
    cut = (list(text), data.draw(cuts(text)))
    check_1_and_2(case.fmt, text, cut, reason, **case.options)
    check_3(case.fmt, text, **case.options)
    check_4(run(case.fmt, list(text), reason, **case.options)[1])
    check_5(parse(text, case.fmt, finish_reason=reason, **case.options))


@given(case=written(), reason=st.sampled_from(["length", None]))
def test_no_cut_makes_a_whole_call(case, reason):
    for cut in range(case.head, len(case.text)):
        parser = run(case.fmt, [case.text[:cut]], reason, **case.options)[0]
        calls = parser.message.tool_calls
        assert len(calls) <= len(case.calls)
        for call, (name, text) in zip(calls, case.calls, strict=False):
            assert call.name == name
            assert text.startswith(call.arguments)
            assert call.complete is (text == call.arguments)
            assert call.healed().keys() <= json.loads(text).keys()
        whole = all(call.complete for call in calls) and "truncated_call" not in kinds(parser)
        assert whole or parser.finish_reason == "length"
        assert (parser.message.content or "").strip() == ""


@given(case=written())
def test_last_stands_where_the_arguments_end(case):
    parser = StreamParser(case.fmt, **case.options)
    seen = ""
    for char in case.text:
        for delta in parser.feed(char):
            if isinstance(delta, ToolCallDelta):
                seen += delta.arguments
                assert delta.last is (seen == case.calls[delta.index][1])
                seen = "" if delta.last else seen
    assert seen == ""
