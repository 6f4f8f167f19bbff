"""Arguments in tags: a string comes out while it is written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import Content, StreamParser, ToolCallDelta, WireFormat

from ....strategies.wire_by_hand import fed, kinds
from ....strategies.wire_json_and_tags import TOOLS, tagged_formats, write
from ....strategies.wire_parts import Written, markers_of


@given(
    fmt=tagged_formats(kinds=["TAG_WITH_TAGGED"], streamed=True),
    text=st.text("ab<[/\n> é", max_size=60),
)
def test_7_a_string_in_tags_is_held_back_no_longer_than_what_ends_it(fmt, text):
    text = "é" + text  # which no marker has
    wire = write(fmt, Written("", "", (("f", {"s": text}),)))
    start = wire.rindex(text)
    longest = 2 * max(map(len, markers_of(fmt))) + 8
    parser = StreamParser(fmt, tools=TOOLS)
    seen = "".join(
        delta.arguments for delta in parser.feed(wire[:start]) if isinstance(delta, ToolCallDelta)
    )
    for at, char in enumerate(text, 1):
        seen += "".join(delta.arguments for delta in parser.feed(char))
        value = json.loads(seen + '"}')["s"] if seen.count('"') > 2 else ""
        assert text[:at].startswith(value)
        assert at - len(value) <= longest


BY_NAME = WireFormat().replace(
    turn={"ends": ("</a>",)},
    tools={"format": "TAG_WITH_JSON"},
    function={
        "name_prefix": "<run=",
        "name_suffix": ">",
        "close": "</run=",
        "close_suffix": ">\n",
    },
)
"""What closes a call repeats the name of its function."""
CALLED, CLOSER = '<run=f>{"a": 1}', "</run=f>\n"


@pytest.mark.parametrize(
    ("behind", "content"),
    [
        (CLOSER, ""),
        (f" \n {CLOSER}</a>", ""),
        (f"{CLOSER}x", "x"),
        ("</run=f> y", " y"),
        ("</run=g>\nx", "</run=g>\nx"),
        ("</run=ff>\nx", "</run=ff>\nx"),
    ],
)
def test_a_call_is_closed_by_its_own_name(behind, content):
    parser = fed(BY_NAME, CALLED + behind)
    call, *rest = parser.message.parts
    assert (call.name, call.arguments, call.complete) == ("f", '{"a": 1}', True)
    assert rest == [Content(content)] * bool(content)
    assert kinds(parser) == ["text_after_tool_call"] * bool(content)


@pytest.mark.parametrize("reason", ["stop", "length"])
@pytest.mark.parametrize("cut", range(1, len(CLOSER) - 1))
def test_what_is_there_of_the_closer_is_reported(cut, reason):
    parser = fed(BY_NAME, CALLED + CLOSER[:cut], reason)
    (call,) = parser.message.parts
    assert call.arguments == '{"a": 1}'
    (issue,) = parser.issues
    assert issue.kind == "cut_marker"
    assert issue.span == (len(CALLED), len(CALLED) + cut)
    assert issue.detail.endswith(f"not emitted: {CLOSER[:cut]!r}")


def test_calls_that_are_closed_by_name_follow_one_another():
    parser = fed(BY_NAME, (CALLED + CLOSER) * 2)
    assert [call.complete for call in parser.message.parts] == [True, True]
    assert parser.issues == []
