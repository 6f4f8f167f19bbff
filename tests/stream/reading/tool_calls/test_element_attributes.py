"""Attributes before and after a name in tags, in any order."""

from __future__ import annotations

import json

import pytest

from deltaparse import StreamParser
from deltaparse.partial import Window
from deltaparse.stream.reading.tool_calls.element_attributes import (
    attributes_after,
    attributes_before,
)
from deltaparse.stream.wire.element_heads import LONGEST_HEAD, element_head

from ....strategies.wire_by_hand import kinds

MUSE = (
    ' to=f<|message|><atem:function_calls>\n<atem:invoke name="f">\n{}</atem:invoke>\n'
    "</atem:function_calls><|eom|>"
)
DSML = "<｜DSML｜function_calls>\n{}</｜DSML｜invoke>\n</｜DSML｜function_calls>"
KIMI = (
    '<|close|>think<|sep|><|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|>{}'
    "<|close|>call<|sep|><|close|>tools<|sep|>"
)
HEAD = element_head('<p name="', '">')


def read(fmt, text, size):
    parser = StreamParser(fmt, prompt="<|start|>assistant" * (fmt == "muse_glimmer"))
    for start in range(0, len(text), size):
        parser.feed(text[start : start + size])
    parser.finish("stop")
    return parser


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("fmt", "text", "made", "left_out"),
    [
        (
            "muse_glimmer",
            MUSE.format(
                '<atem:parameter name="a">x</atem:parameter>\n'
                '<atem:parameter type="text" name="b">two</atem:parameter>\n'
            ),
            {"a": "x", "b": "two"},
            ["type"],
        ),
        ("muse_glimmer", "type=text name=#", {"b": "two"}, ["type"]),
        ("muse_glimmer", "name=# type='text'", {"b": "two"}, ["type"]),
        ("muse_glimmer", "name=# type=text x", {"b": "two"}, ["type", "x"]),
        ("muse_glimmer", "x  y=1\nname = # z", {"b": "two"}, ["x", "y", "z"]),
        (
            "deepseek_v32",
            DSML.format(
                '<｜DSML｜invoke id="3" name="f" x=y>\n'
                '<｜DSML｜parameter string="false" name="n">1</｜DSML｜parameter>\n'
                '<｜DSML｜parameter string="true" name="s">1</｜DSML｜parameter>\n'
                '<｜DSML｜parameter name="t" x="1" string="true">1</｜DSML｜parameter>\n'
            ),
            {"n": 1, "s": "1", "t": "1"},
            ["id", "x", "x"],
        ),
        (
            "kimi_k3",
            KIMI.format(
                '<|open|>argument type="number" key="k"<|sep|>1<|close|>argument<|sep|>'
                '<|open|>argument key="s" z="1" type="string"<|sep|>1<|close|>argument<|sep|>'
            ),
            {"k": 1, "s": "1"},
            ["z"],
        ),
    ],
)
def test_attributes_of_a_head_are_read_in_any_order(fmt, text, made, left_out, size):
    if "<" not in text:
        head = text.replace("#", '"b"')
        text = MUSE.format(f"<atem:parameter {head}>two</atem:parameter>\n")
    parser = read(fmt, text, size)
    (call,) = parser.message.tool_calls
    assert (call.complete, json.loads(call.arguments), parser.message.content) == (True, made, "")
    assert kinds(parser) == ["unused_member"] * bool(left_out)
    said = ", ".join(f"the attribute {name}" for name in left_out)
    assert all(issue.detail.endswith(repr(said)) for issue in parser.issues)


def result(steps):
    try:
        next(steps)
    except StopIteration as returned:
        return returned.value
    return "waits"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<p a="1" name="', [("a", "1")]),
        ("<p a='1' b=2 c name=\"", [("a", "1"), ("b", "2"), ("c", "")]),
        ('<p name="', []),
        ("<p a", "waits"),
        ("<p a>", None),
        ("<p a b" + " " * LONGEST_HEAD, None),
        ("<q a", None),
    ],
)
def test_attributes_before_a_name_are_awaited_within_the_head(text, found):
    src = Window(text)
    assert result(attributes_before(src, HEAD)) == found
    assert src.unread == ("" if isinstance(found, list) else text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('" a="1">', [("a", "1")]),
        ('" a />', [("a", "")]),
        ('">', []),
        ('" a', "waits"),
        ('" a"b>', None),
    ],
)
def test_attributes_after_a_name_end_with_the_head(text, found):
    src = Window(text)
    assert result(attributes_after(src, HEAD)) == found
    assert src.unread == ("" if isinstance(found, list) else text)


def test_truncated_head_has_no_attributes():
    assert result(attributes_before(Window("<p a", closed=True), HEAD)) is None
    assert result(attributes_before(Window("<p a"), None)) is None
    assert result(attributes_after(Window('" a'), None)) is None


@pytest.mark.parametrize(
    ("prefix", "suffixes"),
    [("<parameter=", [">"]), ('<p name="', [""]), ('<p name="', ['"']), ("<key>", ["</key>"])],
)
def test_marker_without_a_quoted_attribute_is_not_a_head(prefix, suffixes):
    assert element_head(prefix, *suffixes) is None
