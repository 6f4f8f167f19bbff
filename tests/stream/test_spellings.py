"""Arguments in other notations than JSON: custom quotes, type markers, Python."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import (
    ArgumentsFormat,
    FunctionFormat,
    StreamParser,
    ToolsFormat,
    TurnFormat,
    WireFormat,
    parse,
)

from ..strategies.wire_by_hand import TAGS
from ..strategies.wire_json_and_tags import TEASING
from ..support import cuts

TURN = TurnFormat(headers=("<|start|>model\n",), ends=("<|end|>",))
QUOTED = WireFormat(
    turn=TURN,
    tools=ToolsFormat(format="TAG_WITH_JSON", per_call_start="<do>", per_call_end="</do>"),
    function=FunctionFormat(name_prefix="call:"),
    arguments=ArgumentsFormat(quote="<q>"),
)
"""A format of objects with unquoted keys and a marker around strings."""

TYPED = WireFormat(
    turn=TURN,
    tools=ToolsFormat(format="TAG_WITH_TAGGED", section_start="<calls>\n", section_end="</calls>"),
    function=FunctionFormat(name_prefix='<call name="', name_suffix='">\n', close="</call>\n"),
    arguments=ArgumentsFormat(
        name_prefix='<arg name="',
        name_suffix='" text="yes">',
        literal_name_suffix='" text="no">',
        value_suffix="</arg>\n",
    ),
)
"""A format with a marker for strings before a value."""

PYTHON = TAGS.replace(arguments={"python_literals": True})
"""A format of calls as Python dictionaries."""

texts = st.text(TEASING, max_size=8).filter(lambda text: "<q>" not in text and "</" not in text)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "key_2", "_x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
objects = st.dictionaries(st.sampled_from(["a", "b_2", "_c"]), values, max_size=3)


def in_own_quotes(value):
    if isinstance(value, str):
        return f"<q>{value}<q>"
    if isinstance(value, list):
        return "[" + ",".join(map(in_own_quotes, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{in_own_quotes(value[key])}" for key in value) + "}"
    return json.dumps(value)


def typed(key, value):
    is_text = isinstance(value, str)
    text = value if is_text else json.dumps(value, ensure_ascii=False)
    return f'<arg name="{key}" text="{"yes" if is_text else "no"}">{text}</arg>\n'


def fed(fmt, chunks):
    parser = StreamParser(fmt)
    for chunk in chunks:
        parser.feed(chunk)
    parser.finish("stop")
    return parser


@given(value=objects, data=st.data())
def test_custom_quotes_round_trip(value, data):
    wire = f"hi<do>call:f{in_own_quotes(value)}</do><|end|>"
    parser = fed(QUOTED, data.draw(cuts(wire)))
    (call,) = parser.message.tool_calls

    assert (call.name, json.loads(call.arguments), call.complete) == ("f", value, True)
    assert (parser.message.content, parser.issues) == ("hi", [])


@given(value=objects, data=st.data())
def test_type_markers_round_trip(value, data):
    arguments = "".join(typed(key, value[key]) for key in value)
    wire = f'<calls>\n<call name="f">\n{arguments}</call>\n</calls><|end|>'
    parser = fed(TYPED, data.draw(cuts(wire)))
    (call,) = parser.message.tool_calls

    assert json.loads(call.arguments) == value
    assert parser.issues == []


@given(value=objects, data=st.data())
def test_python_dictionaries_round_trip(value, data):
    wire = f"<call>\n{ {'name': 'f', 'arguments': value}!r}\n</call><|end|>"
    parser = fed(PYTHON, data.draw(cuts(wire)))
    (call,) = parser.message.tool_calls

    assert (call.name, json.loads(call.arguments), call.complete) == ("f", value, True)
    assert parser.issues == []


@given(value=objects, cut=st.integers(0, 60))
def test_truncated_arguments_are_a_prefix_of_the_complete_ones(value, cut):
    for fmt, wire in (
        (QUOTED, f"<do>call:f{in_own_quotes(value)}</do>"),
        (PYTHON, f"<call>\n{ {'name': 'f', 'arguments': value}!r}\n</call>"),
    ):
        whole = parse(wire, fmt).tool_calls[0].arguments
        for call in parse(wire[:cut], fmt, finish_reason="length").tool_calls:
            assert whole.startswith(call.arguments)
            assert not call.complete or call.arguments == whole


@pytest.mark.parametrize("repair", ["repair", "strict"])
def test_python_in_a_format_of_json_is_a_repair(repair):
    from deltaparse import Policies

    wire = "<call>\n{'name': 'f', 'arguments': {'a': True}}\n</call>"
    parser = StreamParser(TAGS, policies=Policies(malformed_arguments=repair))
    parser.feed(wire)
    parser.finish("stop")
    if repair == "repair":
        (call,) = parser.message.tool_calls
        assert (call.name, call.arguments) == ("f", '{"a": true}')
        assert [issue.kind for issue in parser.issues] == ["repaired_arguments"]
    else:
        assert parser.message.content == wire


@pytest.mark.parametrize(
    ("text", "value"),
    [('"x"', "x"), ("null", None), ('{"a": "</arg>"}', {"a": "</arg>"}), ("bare", "bare")],
)
def test_quoted_strings_among_other_types(text, value):
    fmt = TYPED.replace(
        arguments={"quoted_strings": True, "literal_name_suffix": "", "name_suffix": '">'}
    )
    tools = [
        {"name": "f", "parameters": {"properties": {"a": {"type": ["string", "null", "object"]}}}}
    ]
    wire = f'<calls>\n<call name="f">\n<arg name="a">{text}</arg>\n</call>\n</calls>'
    (call,) = parse(wire, fmt, tools=tools).tool_calls
    assert json.loads(call.arguments) == {"a": value}


def test_raw_reasoning_leaves_the_markers_of_calls_alone():
    wire = 'Hi\n<call>\n{"name": "f", "arguments": {}}\n</call>\n\n<|end|>'
    assert parse(wire, TAGS, reasoning="raw").content == parse(wire, TAGS).content == "Hi"
