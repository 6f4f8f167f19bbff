"""Calls in several forms after the same marker; the text after the marker selects the form.

[TOOL_CALLS] [{"name": "f", "arguments": {}, "id": "abcdefghi"}]
[TOOL_CALLS]f{}    [TOOL_CALLS]f[ARGS]{}    [TOOL_CALLS]f[CALL_ID]abcdefghi[ARGS]{}
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import FormatError, StreamParser, WireFormat, get_format, parse

from ..strategies.wire_parts import arguments
from ..support import as_joined, joined
from .invariants import run

FAMILY = ["mistral", "mistral_small", "devstral", "ministral"]
TOOLS = [{"name": name, "parameters": {"type": "object"}} for name in ("f", "g")]
IDS = ("abcdefghi", "123456789")


def listed(calls, gap=""):
    """Write calls like versions 1 to 7 of Mistral's tokenizer."""
    made = [
        {"name": name, "arguments": value} | ({"id": id} if id else {}) for name, value, id in calls
    ]
    return f"[TOOL_CALLS]{gap}{json.dumps(made)}"


def single(calls, gap=""):
    """Write one JSON object after each marker."""
    return "".join(listed([call], gap).replace("[{", "{", 1).removesuffix("]") for call in calls)


def tagged(calls, gap=""):
    """Write calls like versions 11 and 13 of the tokenizer."""
    return "".join(
        f"[TOOL_CALLS]{gap}{name}{f'[CALL_ID]{id}' if id else ''}[ARGS]{json.dumps(value)}"
        for name, value, id in calls
    )


def bare(calls, gap=""):
    """Write calls without a marker after the name and without ids."""
    return "".join(f"[TOOL_CALLS]{gap}{name}{json.dumps(value)}" for name, value, _ in calls)


FORMS = [listed, single, tagged, bare]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FAMILY)
@given(data=st.data())
def test_each_format_of_the_family_reads_each_form(name, form, data):
    given_ids = data.draw(st.sampled_from([IDS, ("", "")])) if form is not bare else ("", "")
    values = data.draw(st.lists(arguments, min_size=1, max_size=2))
    calls = list(zip(("f", "g"), values, given_ids, strict=False))
    content = data.draw(st.sampled_from(["", "Hi "]))
    wire = content + form(calls, data.draw(st.sampled_from(["", " ", "\n"])))
    size = data.draw(st.sampled_from([1, 2, 3, 7, len(wire)]))
    texts = [wire[at : at + size] for at in range(0, len(wire), size)]
    parser, deltas = run(get_format(name), texts, tools=data.draw(st.sampled_from([None, TOOLS])))
    message = parser.message
    assert joined(deltas) == as_joined(message)
    assert message == parse(wire, name, tools=parser._request.tools, finish_reason="stop")
    assert message.content.strip() == content.strip()
    assert [(one.name, json.loads(one.arguments)) for one in message.tool_calls] == [
        (called, value) for called, value, _ in calls
    ]
    assert all(one.complete for one in message.tool_calls)
    ids = [one.id for one in message.tool_calls]
    assert not any(given_ids) or ids == list(given_ids[: len(calls)])
    assert message.issues == ()


@pytest.mark.parametrize("name", FAMILY)
def test_one_turn_may_mix_two_forms(name):
    first, second = [("f", {"a": 1}, IDS[0])], [("g", {"b": "]"}, IDS[1])]
    for one in FORMS:
        for other in FORMS:
            message = parse(one(first) + other(second), name, tools=TOOLS, finish_reason="stop")
            assert [call.name for call in message.tool_calls] == ["f", "g"]
            assert all(call.complete for call in message.tool_calls)
            assert message.issues == ()


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize(
    "text", ['[TOOL_CALLS]"f"', "[TOOL_CALLS] is a marker.", "[TOOL_CALLS]x y{}", "[TOOL_CALLS][a"]
)
def test_marker_without_a_known_form_is_content(name, text):
    message = parse(text, name, tools=TOOLS, finish_reason="stop")
    assert (message.content, message.tool_calls) == (text, [])


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("form", FORMS)
def test_truncated_call_is_incomplete(name, form):
    wire = form([("f", {"a": "b"}, "")])
    for end in range(wire.index("b"), wire.index('"}') + 1):
        message = parse(wire[:end], name, tools=TOOLS, finish_reason="length")
        assert [(call.name, call.complete) for call in message.tool_calls] == [("f", False)]


@pytest.mark.parametrize("name", ["deepseekv31", "functionary_v31", "kimi_k2", "qwen3_coder"])
@pytest.mark.parametrize("begins", ['[{"name": "f"', "[", '{"name": "f", "arguments": {}', '"f"'])
def test_start_of_a_json_value_is_not_a_name(name, begins):
    fmt = get_format(name)
    text = "".join(fmt.derived.openers) + begins + '{"a": 1}'
    for tools in (None, TOOLS):
        message = parse(text, fmt, tools=tools, finish_reason="stop")
        assert message.tool_calls == []


def test_tool_name_may_look_like_the_start_of_a_value():
    tools = [{"name": "[f]"}]
    message = parse('[TOOL_CALLS][f][ARGS]{"a": 1}', DEVSTRAL_ALONE, tools=tools)
    assert [call.name for call in message.tool_calls] == ["[f]"]


DEVSTRAL_ALONE = get_format("devstral").replace(tools={"also": "NONE"})


def test_arguments_stream_in_a_format_without_ids():
    parser = StreamParser(get_format("devstral"), tools=TOOLS)
    deltas = parser.feed('[TOOL_CALLS]f[ARGS]{"a": "b')
    assert "".join(delta.arguments for delta in deltas) == '{"a": "b'


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": {"also": "PYTHONIC"}},
        {"tools": {"also": "TAG_WITH_JSON"}},
        {"tools": {"also": "JSON_NATIVE", "name_field": ""}},
        {"tools": {"also": "JSON_NATIVE", "per_call_start": ""}, "function": {"name_prefix": "<"}},
    ],
)
def test_ambiguous_second_form_is_rejected(changes):
    with pytest.raises(FormatError, match="also"):
        get_format("devstral").replace(**changes)


def test_format_with_two_forms_round_trips_as_json():
    for name in FAMILY:
        fmt = get_format(name)
        assert fmt.tools.also != "NONE"
        assert WireFormat.from_json(fmt.to_json()) == fmt
