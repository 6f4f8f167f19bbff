"""Calls behind one marker in more than one form: what stands behind it tells which.

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
    """The calls as versions 1 to 7 of Mistral's tokenizer have them."""
    made = [
        {"name": name, "arguments": value} | ({"id": id} if id else {}) for name, value, id in calls
    ]
    return f"[TOOL_CALLS]{gap}{json.dumps(made)}"


def single(calls, gap=""):
    """A call for each marker, as an object."""
    return "".join(listed([call], gap).replace("[{", "{", 1).removesuffix("]") for call in calls)


def tagged(calls, gap=""):
    """The calls as versions 11 and 13 have them."""
    return "".join(
        f"[TOOL_CALLS]{gap}{name}{f'[CALL_ID]{id}' if id else ''}[ARGS]{json.dumps(value)}"
        for name, value, id in calls
    )


def bare(calls, gap=""):
    """The same without a marker behind the name, and so without ids."""
    return "".join(f"[TOOL_CALLS]{gap}{name}{json.dumps(value)}" for name, value, _ in calls)


FORMS = [listed, single, tagged, bare]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FAMILY)
@given(data=st.data())
def test_each_form_is_read_by_each_name_of_the_family(name, form, data):
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
def test_two_forms_may_stand_in_one_turn(name):
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
def test_what_is_in_no_form_is_text(name, text):
    message = parse(text, name, tools=TOOLS, finish_reason="stop")
    assert (message.content, message.tool_calls) == (text, [])


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("form", FORMS)
def test_a_call_that_was_cut_is_not_complete(name, form):
    wire = form([("f", {"a": "b"}, "")])
    for end in range(wire.index("b"), wire.index('"}') + 1):
        message = parse(wire[:end], name, tools=TOOLS, finish_reason="length")
        assert [(call.name, call.complete) for call in message.tool_calls] == [("f", False)]


@pytest.mark.parametrize("name", ["deepseekv31", "functionary_v31", "kimi_k2", "qwen3_coder"])
@pytest.mark.parametrize("begins", ['[{"name": "f"', "[", '{"name": "f", "arguments": {}', '"f"'])
def test_what_begins_like_a_value_is_no_name(name, begins):
    fmt = get_format(name)
    text = "".join(fmt.derived.openers) + begins + '{"a": 1}'
    for tools in (None, TOOLS):
        message = parse(text, fmt, tools=tools, finish_reason="stop")
        assert message.tool_calls == []


def test_a_tool_may_be_called_like_the_beginning_of_a_value():
    tools = [{"name": "[f]"}]
    message = parse('[TOOL_CALLS][f][ARGS]{"a": 1}', DEVSTRAL_ALONE, tools=tools)
    assert [call.name for call in message.tool_calls] == ["[f]"]


DEVSTRAL_ALONE = get_format("devstral").replace(tools={"also": "NONE"})


def test_ids_that_the_format_does_not_write_do_not_hold_arguments_back():
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
def test_a_second_form_that_nothing_tells_from_the_first_is_refused(changes):
    with pytest.raises(FormatError, match="also"):
        get_format("devstral").replace(**changes)


def test_a_format_with_two_forms_goes_to_json_and_back():
    for name in FAMILY:
        fmt = get_format(name)
        assert fmt.tools.also != "NONE"
        assert WireFormat.from_json(fmt.to_json()) == fmt
