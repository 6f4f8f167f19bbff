"""Arguments in tags, one by one."""

from __future__ import annotations

import pytest

from deltaparse import WireFormat, get_format
from deltaparse.stream.reading.tool_calls import tagged_arguments

from ....strategies.wire_by_hand import calls, fed

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
