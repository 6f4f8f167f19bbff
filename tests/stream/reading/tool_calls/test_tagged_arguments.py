"""Single arguments in tags."""

from __future__ import annotations

import pytest

from deltaparse import StreamParser, WireFormat, get_format
from deltaparse.stream.reading.tool_calls import tagged_arguments

from ....strategies.wire_by_hand import calls, fed, in_tags, kinds

USUAL = get_format("qwen3_coder")
WITH_ID = WireFormat().replace(
    turn={"ends": ("<|end|>",)},
    tools={"format": "TAG_WITH_TAGGED"},
    function={"name_prefix": "<f=", "name_suffix": ">", "close": "</f>"},
    arguments={"name_prefix": "<a=", "name_suffix": ">", "value_suffix": "</a>"},
    call_id={"position": "POST_ARGS", "prefix": "<id>", "suffix": "</id>"},
)


def test_usual_arguments_take_the_fast_path(monkeypatch):
    def odd(*_):
        raise AssertionError

    monkeypatch.setattr(tagged_arguments, "argument_name", odd)
    one = "<parameter={}>\n{}\n</parameter>\n"
    text = one.format("s", "x</y>\nz") + one.format("n", "[1]")
    text = f"<tool_call>\n<function=f>\n{text}</function>\n</tool_call>"
    assert calls(fed(USUAL, text)) == [("f", '{"s": "x</y>\\nz", "n": [1]}')]


@pytest.mark.parametrize("reason", ["stop", "length"])
@pytest.mark.parametrize("behind", ["", "</f>", "\n</f> x", " x"])
def test_id_after_the_arguments_ends_them(behind, reason):
    parser = fed(WITH_ID, "<f=f><a=x>1</a><id>7</id>" + behind, reason)
    (call,) = parser.message.tool_calls
    assert (call.id, call.arguments, call.complete) == ("7", '{"x": 1}', True)


def test_text_after_unclosed_arguments_is_not_dropped():
    fmt = WITH_ID.replace(
        function={"close": ""}, call_id={"position": "NONE", "prefix": "", "suffix": ""}
    )
    parser = fed(fmt, "<f=f><a=x>1</a><f=g><a=x>2</a>more")
    assert [call.name for call in parser.message.tool_calls][:1] == ["f"]
    assert not any("left out" in issue.detail for issue in parser.issues)


UNMARKED = in_tags(name_suffix="=", value_suffix=";")
TWO_ENDS = in_tags(name_prefix="<a=", name_suffix=">", value_suffix="</a>")
IN_ONE = TWO_ENDS.replace(arguments={"start": "<args>", "end": "</args>"})


@pytest.mark.parametrize("junk", ["{}", '{"a": 1}', "{"])
def test_text_between_arguments_is_dropped_and_reported(junk):
    parser = fed(UNMARKED, f"<c><f=f>{junk}</f></c>")
    assert calls(parser) == [("f", "{}")]
    (issue,) = parser.issues
    assert (issue.kind, issue.span) == ("repaired_arguments", (8, 8 + len(junk)))
    assert issue.detail == f"not emitted between arguments: {junk!r}"
    parser = fed(UNMARKED, f"<c><f=f>{junk}</", "length")
    assert parser.issues[0].detail == issue.detail
    assert [one.kind for one in parser.issues] == ["repaired_arguments", "truncated_call"]


def test_end_of_all_arguments_completes_them():
    text = "<c><f=f><args><a=x>1</a></args>"
    for behind, whole in (("", True), ("</f></c>", True)):
        (call,) = fed(IN_ONE, text + behind, "length").message.tool_calls
        assert (call.arguments, call.complete) == ('{"x": 1}', whole)
    parser = StreamParser(IN_ONE)
    made = parser.feed(text)
    assert "".join(delta.arguments for delta in made) == '{"x": 1}'


def test_only_the_last_closer_may_be_missing():
    text = "<c><f=f><a=x>1</a>"
    for behind, whole in (("", False), ("<", False), ("</f>", True), ("</f></", True)):
        parser = fed(TWO_ENDS, text + behind, "stop")
        (call,) = parser.message.tool_calls
        assert call.complete == whole, behind
        assert "repaired_arguments" not in kinds(parser)


def test_unmarked_names_select_the_notation_of_the_value():
    fmt = in_tags(name_suffix="=", value_suffix=";", alternatives=("number boolean", "", ":", "!"))
    assert calls(fed(fmt, "<c><f=f>x:1!y=1;</f></c>")) == [("f", '{"x": 1, "y": "1"}')]


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_id_after_the_arguments_completes_them_at_once(reason):
    parser = StreamParser(WITH_ID)
    parser.feed("<f=f><a=x>1</a><id>7</id>")
    (call,) = parser.message.tool_calls
    assert (call.id, call.arguments, call.complete) == ("7", '{"x": 1}', True)


@pytest.mark.parametrize("gap", ["", " ", "\n"])
def test_whitespace_around_a_separator_is_ignored(gap):
    fmt = TWO_ENDS.replace(arguments={"separator": ","})
    parser = fed(fmt, f"<c><f=f><a=x>1</a>{gap},{gap}<a=y>2</a>{gap}</f></c>")
    assert (calls(parser), parser.issues) == ([("f", '{"x": 1, "y": 2}')], [])


def test_name_without_its_marker_is_not_an_argument():
    fmt = TWO_ENDS.replace(arguments={"escape_start": "<e>", "escape_end": "</e>"})
    parser = fed(fmt, "<c><f=f><a=x><e>v</e></a>y>1<a=z>1</a></f></c>")
    assert calls(parser) == [("f", '{"x": "v", "z": 1}')]
    assert [one.detail for one in parser.issues] == ["not emitted between arguments: 'y>1'"]


@pytest.mark.parametrize(("reason", "whole"), [("stop", True), ("length", False)])
@pytest.mark.parametrize(("text", "made"), [("", "{}"), ("x=1;", '{"x": 1}')])
def test_only_closer_may_be_missing_after_unmarked_names(text, made, reason, whole):
    fmt = UNMARKED.replace(tools={"per_call_start": "", "per_call_end": ""})
    (call,) = fed(fmt, "<f=f>" + text, reason).message.tool_calls
    assert call.complete == whole
    assert call.arguments == made if whole else made.startswith(call.arguments)


UNENDED = WITH_ID.replace(
    function={"close": ""}, call_id={"position": "NONE", "prefix": "", "suffix": ""}
)


@pytest.mark.parametrize("reason", ["stop", "length"])
@pytest.mark.parametrize(("cut", "whole"), [("<", False), ("<a", False), ("<|", True)])
def test_possible_argument_leaves_an_unclosed_call_incomplete(cut, whole, reason):
    (call,) = fed(UNENDED, "<f=f><a=x>1</a>" + cut, reason).message.tool_calls
    assert (call.arguments, call.complete) == ('{"x": 1' + "}" * whole, whole)


IN_ELEMENTS = WireFormat().replace(
    turn={"ends": ("<|end|>",)},
    tools={"format": "TAG_WITH_TAGGED", "per_call_start": "<call>", "per_call_end": "</call>"},
    function={"name_prefix": "<name>", "name_suffix": "</name>"},
    arguments={"name_prefix": "<", "name_suffix": ">", "value_suffix": "</", "key_suffix": ">"},
)
"""A format in which calls and arguments share a start marker."""
HAS_CALL = [
    {"name": "f", "parameters": {"properties": {"call": {"type": "string"}, "x": {}}}},
    {"name": "g", "parameters": {"properties": {"x": {}}}},
]


@pytest.mark.parametrize("end", ["</call>", ""])
def test_call_marker_starts_an_argument_of_the_schema(end):
    fmt = IN_ELEMENTS.replace(tools={"per_call_end": end})
    text = f"<call><name>f</name><call>v</call><x>1</x>{end}"
    parser = fed(fmt, text, tools=HAS_CALL)
    assert (calls(parser), parser.issues) == ([("f", '{"call": "v", "x": 1}')], [])
    first, second = "<call><name>g</name><x>1</x>", f"<call><name>f</name><x>2</x>{end}"
    for tools in (HAS_CALL, None):
        parser = fed(fmt, first + second, tools=tools)
        assert [call.arguments.rstrip("}") for call in parser.message.tool_calls] == [
            '{"x": 1',
            '{"x": 2',
        ]
        # The first call lacks its closer, if the format has one.
        assert [call.complete for call in parser.message.tool_calls] == [not end, True]


@pytest.mark.parametrize(
    ("arguments", "start", "text"),
    [
        ({}, "<a=call>", "<a=x>1</a><a=call>v</a>"),
        ({"name_prefix": "", "name_suffix": "=", "value_suffix": ";"}, "call=", "x=1;call=v;"),
        (
            {"alternatives": ("string", "<s ", ">", "</s>")},
            "<s call>",
            "<a=x>1</a><s call>v</s>",
        ),
    ],
)
def test_argument_with_a_call_marker_has_any_notation(arguments, start, text):
    fmt = TWO_ENDS.replace(tools={"per_call_start": start}, arguments=arguments)
    parser = fed(fmt, f"{start}<f=f>{text}</f></c>", tools=HAS_CALL)
    assert (calls(parser), parser.issues) == ([("f", '{"x": 1, "call": "v"}')], [])
