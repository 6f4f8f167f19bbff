"""Damaged calls in tags: no word of them is lost silently."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import get_format, parse

from ....strategies.wire_by_hand import ELEMENTS, calls, fed, in_tags, kinds

ESCAPED = in_tags(
    name_prefix="<a=", name_suffix=">", value_suffix="</a>", escape_start="<[", escape_end="]>"
)
TYPED = in_tags(name_prefix='<a k="', name_suffix='" t="', type_suffix='">', value_suffix="</a>")
TYPE_FIRST = in_tags(
    name_prefix="<a:", type_first=True, type_suffix=" is ", name_suffix=">", value_suffix="</a>"
)
SCHEMA = {"properties": {"a": {"type": "string"}, "o": {"type": "object"}, "l": {"type": "array"}}}
TOOLS = [{"name": name, "parameters": SCHEMA} for name in "fg"]
BETWEEN = "</f></c><c><f=g>"
WRITTEN = {
    "escaped": (ESCAPED, f"<c><f=f><a=a><[x]></a><a=b>2</a>{BETWEEN}<a=b>1</a></f></c>"),
    "JSON": (ESCAPED, f'<c><f=f><a=o>{{"u": 1}}</a><a=b>2</a>{BETWEEN}<a=b>1</a></f></c>'),
    "typed": (
        TYPED,
        '<c><f=f><a k="a" t="string">x</a></f></c><c><f=g><a k="b" t="number">1</a></f></c>',
    ),
    "the type first": (
        TYPE_FIRST,
        f"<c><f=f><a:string is a>x</a><a:number is b>2</a>{BETWEEN}<a:number is b>1</a></f></c>",
    ),
    "elements": (
        ELEMENTS,
        '<jobs><job of="f"><l><entry>1</entry><entry>2</entry></l></job><job of="g"></job></jobs>',
    ),
    "qwen3_coder": (
        get_format("qwen3_coder"),
        "<tool_call>\n<function=f>\n<parameter=o>\n{}\n</parameter>\n</function>\n</tool_call>",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
@given(data=st.data(), tools=st.sampled_from([None, TOOLS]))
def test_no_word_of_calls_in_tags_is_lost(name, data, tools):
    fmt, text = WRITTEN[name]
    for word in "ΔΘ":
        at = data.draw(st.integers(0, len(text)))
        text = (
            text[:at] + data.draw(st.sampled_from(["{}", " {} ", '"{}"'])).format(word) + text[at:]
        )
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + text[at + data.draw(st.integers(1, 6)) :]
    message = parse(text, fmt, tools=tools, finish_reason="stop")
    found = repr(message.parts) + "".join(issue.detail for issue in message.issues)
    assert [word for word in "ΔΘ" if word in text and word not in found] == []


def test_argument_after_an_escaped_string_is_not_dropped():
    parser = fed(ESCAPED, "<c><f=f><a=a><[x]></a> <a b>1</a><a=c>2</a></f></c>")
    assert calls(parser) == [("f", '{"a": "x", "c": 2}')]
    assert [issue.detail for issue in parser.issues] == [
        "not emitted between arguments: '<a b>1</a>'"
    ]
    parser = fed(ESCAPED, "<c><f=f><a=a><[x]></a></g><c><f=g><a=b>1</a></f></c>")
    assert [(call.name, call.complete) for call in parser.message.tool_calls] == [
        ("f", False),
        ("g", True),
    ]


@pytest.mark.parametrize("lost", ['"', "", '"<', "y" * 300])
def test_unclosed_type_breaks_only_its_call(lost):
    text = f'<c><f=f><a k="a" t="number{lost}5</a>{BETWEEN}<a k="b" t="number">1</a></f></c>'
    parser = fed(TYPED, text)
    first, second = parser.message.tool_calls
    assert (first.complete, second.complete, second.arguments) == (False, True, '{"b": 1}')
    (issue,) = parser.issues
    assert issue.kind == "malformed_arguments"
    assert f'a" t="number{lost}5</a>' in issue.detail


@pytest.mark.parametrize("word", ["some lost words", "5", "é", "y " * 127 + "y"])
@pytest.mark.parametrize(
    ("fmt", "text"), [(TYPED, '<a k="a" t="{}">5</a>'), (TYPE_FIRST, "<a:{} is a>5</a>")]
)
def test_unknown_type_is_reported(fmt, text, word):
    parser = fed(fmt, f"<c><f=f>{text.format(word)}</f></c>")
    assert (calls(parser), kinds(parser)) == ([("f", '{"a": 5}')], ["unused_member"])
    assert word in parser.issues[0].detail
    for unknown in ("", "date", "any", "y" * 256):  # types that occur in templates
        parser = fed(fmt, f"<c><f=f>{text.format(unknown)}</f></c>")
        assert (calls(parser), kinds(parser)) == ([("f", '{"a": 5}')], [])


def test_item_with_another_name_is_reported():
    text = "<l><entry>1</entry><lost>2</lost><entry>3</entry></l>"
    parser = fed(ELEMENTS, f'<jobs><job of="f">{text}</job></jobs>')
    (call,) = parser.message.tool_calls
    assert json.loads(call.arguments) == {"l": [1, 2, 3]}
    (issue,) = parser.issues
    assert (issue.kind, "the name lost" in issue.detail) == ("unused_member", True)
