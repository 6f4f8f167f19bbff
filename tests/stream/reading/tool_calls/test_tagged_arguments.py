"""Arguments in tags, one by one."""

from __future__ import annotations

import pytest

from deltaparse import StreamParser, WireFormat, get_format
from deltaparse.stream.reading.tool_calls import tagged_arguments

from ....strategies.wire_by_hand import calls, fed, in_tags

USUAL = get_format("qwen3_coder")
WITH_ID = WireFormat().replace(
    turn={"ends": ("<|end|>",)},
    tools={"format": "TAG_WITH_TAGGED"},
    function={"name_prefix": "<f=", "name_suffix": ">", "close": "</f>"},
    arguments={"name_prefix": "<a=", "name_suffix": ">", "value_suffix": "</a>"},
    call_id={"position": "POST_ARGS", "prefix": "<id>", "suffix": "</id>"},
)


def test_they_are_read_without_the_readers_of_odd_ones(monkeypatch):
    def odd(*_):
        raise AssertionError

    monkeypatch.setattr(tagged_arguments, "argument_name", odd)
    one = "<parameter={}>\n{}\n</parameter>\n"
    text = one.format("s", "x</y>\nz") + one.format("n", "[1]")
    text = f"<tool_call>\n<function=f>\n{text}</function>\n</tool_call>"
    assert calls(fed(USUAL, text)) == [("f", '{"s": "x</y>\\nz", "n": [1]}')]


@pytest.mark.parametrize("reason", ["stop", "length"])
@pytest.mark.parametrize("behind", ["", "</f>", "\n</f> x", " x"])
def test_an_id_behind_the_arguments_ends_them(behind, reason):
    parser = fed(WITH_ID, "<f=f><a=x>1</a><id>7</id>" + behind, reason)
    (call,) = parser.message.tool_calls
    assert (call.id, call.arguments, call.complete) == ("7", '{"x": 1}', True)


def test_text_behind_arguments_that_nothing_ends_is_content():
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
def test_what_is_no_argument_is_left_out_and_told(junk):
    parser = fed(UNMARKED, f"<c><f=f>{junk}</f></c>")
    assert calls(parser) == [("f", "{}")]
    (issue,) = parser.issues
    assert (issue.kind, issue.span) == ("repaired_arguments", (8, 8 + len(junk)))
    assert issue.detail == f"left out between arguments: {junk!r}"
    parser = fed(UNMARKED, f"<c><f=f>{junk}</", "length")
    assert parser.issues[0].detail == issue.detail
    assert [one.kind for one in parser.issues] == ["repaired_arguments", "truncated_call"]


def test_the_end_of_all_arguments_makes_them_whole():
    text = "<c><f=f><args><a=x>1</a></args>"
    for behind, whole in (("", True), ("</f></c>", True)):
        (call,) = fed(IN_ONE, text + behind, "length").message.tool_calls
        assert (call.arguments, call.complete) == ('{"x": 1}', whole)
    parser = StreamParser(IN_ONE)
    made = parser.feed(text)
    assert "".join(delta.arguments for delta in made) == '{"x": 1}'


def test_no_closer_but_the_last_may_be_missing():
    text = "<c><f=f><a=x>1</a>"
    for behind, whole in (("", False), ("<", False), ("</f>", True), ("</f></", True)):
        (call,) = fed(TWO_ENDS, text + behind, "stop").message.tool_calls
        assert call.complete == whole, behind


def test_a_name_without_a_marker_says_how_the_value_is_written():
    fmt = in_tags(name_suffix="=", value_suffix=";", alternatives=("number boolean", "", ":", "!"))
    assert calls(fed(fmt, "<c><f=f>x:1!y=1;</f></c>")) == [("f", '{"x": 1, "y": "1"}')]
