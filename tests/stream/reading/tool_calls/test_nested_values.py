"""Arguments with values of elements, and the delimiters of names and values."""

from __future__ import annotations

import json

import pytest

from deltaparse import StreamParser, get_format
from deltaparse.stream.reading.tool_calls.nested_values import Argument, Typed
from deltaparse.stream.tokens.traced_parser import TracedParser
from deltaparse.stream.wire.argument_types import DEEPEST
from deltaparse.stream.wire.tag_markers import tagged_markers

from ....strategies.wire_by_hand import ELEMENTS, calls, fed, in_tags, kinds
from ...invariants import run

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
RECORD = {"type": "object", "properties": {"s": TEXT, "n": NUMBER}}
PROPERTIES = {
    "a": {"type": "array", "items": TEXT},
    "o": RECORD,
    "l": {"type": "array", "items": RECORD},
    "n": NUMBER,
}
TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": PROPERTIES}}]
HEAD, TAIL = '<jobs><job of="f">', "</job></jobs>"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("<a><entry>1</entry><entry>2</entry></a>", '{"a": ["1", "2"]}'),
        ("<o><s>1</s><n>1</n></o>", '{"o": {"s": "1", "n": 1}}'),
        (
            "<l><entry><s>1</s></entry><entry><n>1</n></entry></l>",
            '{"l": [{"s": "1"}, {"n": 1}]}',
        ),
        ("<a></a>", '{"a": []}'),
        ("<o></o>", '{"o": {}}'),
        ("<o><entry>1</entry></o>", '{"o": {"entry": 1}}'),
    ],
)
def test_elements_have_the_types_of_the_schema(text, made):
    parser = fed(ELEMENTS, HEAD + text + TAIL, tools=TOOLS)
    assert (calls(parser), parser.issues) == ([("f", made)], [])
    parser = fed(ELEMENTS, HEAD + text, "length", tools=TOOLS)
    assert calls(parser) == [("f", made[:-1])]
    assert [tried.status for tried in parser.attempts] == ["truncated"]


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("<a>", '{"a": '),
        ("<a> ", '{"a": '),
        ("<a><en", '{"a": '),
        ("<a><entry>1", '{"a": ["1'),
        ("<a><entry>1</entry>", '{"a": ["1"'),
        ("<o><n>1", '{"o": {"n": '),
    ],
)
def test_truncated_elements_truncate_the_call(text, made):
    parser = fed(ELEMENTS, HEAD + text, "length", tools=TOOLS)
    assert calls(parser) == [("f", made)]
    assert [tried.status for tried in parser.attempts] == ["truncated"]


def test_broken_element_breaks_the_call():
    long = "x" * 300
    for text in ("<o><n>1", f"<o><{long}>1</{long}></o>", "<a><entry>1"):
        parser = fed(ELEMENTS, HEAD + text + TAIL, tools=TOOLS)
        assert [tried.status for tried in parser.attempts] == ["broken"]
        assert parser.issues[0].kind == "malformed_arguments"


def test_nested_values_have_their_nested_schemas():
    way = tagged_markers(ELEMENTS).usual
    item, member = Argument("entry", {}, False, way), Argument("s", {}, False, way)
    listed = Typed({"array": None}, PROPERTIES["l"])
    assert listed.inner(item, listed=True) == ({"object": None}, RECORD)
    record = Typed({"object": None}, RECORD)
    assert record.inner(member, listed=False) == ({"string": None}, TEXT)
    typed = Argument("entry", {"number": None}, False, way)
    assert listed.inner(typed, listed=True) == ({"number": None}, RECORD)
    typed = Argument("s", {"number": None}, False, way)
    assert record.inner(typed, listed=False) == ({"number": None}, TEXT)


@pytest.mark.parametrize(
    ("arguments", "text", "made"),
    [
        ({"name_suffix": ">", "value_prefix": "\n"}, "<a=x>\n  v</a>", "  v"),
        ({"name_suffix": ">", "value_prefix": "\n"}, "<a=x>  v</a>", "  v"),
        ({"name_suffix": ">\n\t"}, "<a=x>\n\tv</a>", "v"),
        ({"name_suffix": ">\n  "}, "<a=x>  v</a>", "  v"),
        ({"name_suffix": ">", "value_prefix": "<v>\n"}, "<a=x>\n<v>\n v</a>", " v"),
        ({"name_suffix": "", "value_prefix": "<v>\n"}, "<a=x<v>\nv</a>", "v"),
        ({"name_suffix": "", "value_prefix": "<v>\n"}, "<a=x<v>v</a>", "v"),
        ({"name_suffix": "", "value_prefix": "<v>\n"}, "<a=x<v>\n<v>v</a>", "<v>v"),
        ({"name_suffix": ">", "type_first": True, "separator": ","}, "<a=x> v</a>", " v"),
    ],
)
def test_markers_before_a_value_are_not_part_of_it(arguments, text, made):
    fmt = in_tags(name_prefix="<a=", value_suffix="</a>", **arguments)
    for spelled in (text, text.replace("x", " x ")):  # as models write it, and oddly
        parser = fed(fmt, f"<c><f=f>{spelled}</f></c>")
        assert calls(parser) == [("f", f'{{"x": "{made}"}}'.replace("\n", "\\n"))]


def test_value_without_its_start_marker_is_read():
    fmt = get_format("glm47")
    tools = [{"name": "f", "parameters": {"properties": {"n": NUMBER}}}]
    for value, made in (("", '""'), ("1", "1"), ("x", '"x"')):
        text = f"<tool_call>f<arg_key>n</arg_key>{value}</arg_value></tool_call>"
        assert calls(fed(fmt, text, tools=tools)) == [("f", f'{{"n": {made}}}')]


@pytest.mark.parametrize(
    ("text", "made"), [("<s k=x>1</s>", '"1"'), ("<n k=x>1</n>", "1"), ("<s k=x>null</s>", "null")]
)
def test_notation_of_an_argument_determines_its_type(text, made):
    fmt = in_tags(
        name_prefix="<s k=",
        name_suffix=">",
        value_suffix="</s>",
        alternatives=("number boolean", "<n k=", ">", "</n>"),
    )
    assert calls(fed(fmt, f"<c><f=f>{text}</f></c>")) == [("f", f'{{"x": {made}}}')]


@pytest.mark.parametrize("gap", ["", " ", "\n  "])
def test_whitespace_between_elements_is_ignored(gap):
    text = gap.join(["<a>", "<entry>1</entry>", "<entry>2</entry>", "</a>"])
    assert calls(fed(ELEMENTS, HEAD + text + TAIL, tools=TOOLS)) == [("f", '{"a": ["1", "2"]}')]


@pytest.mark.parametrize("behind", ["a>", "x"])
def test_text_after_an_element_does_not_close_the_list(behind):
    text = HEAD + "<a><entry>1</entry>" + behind
    parser = fed(ELEMENTS, text + TAIL, tools=TOOLS)
    assert not parser.message.tool_calls[0].complete


def test_list_in_place_of_elements_is_not_buffered():
    parser = StreamParser(ELEMENTS, tools=TOOLS)
    made = parser.feed(HEAD + "<a>[1, 2")
    assert "".join(delta.arguments for delta in made).startswith('{"a": [1')


def test_truncated_type_is_reported_with_the_argument_name():
    fmt = in_tags(name_prefix="<a=", name_suffix=" is ", type_suffix=">", value_suffix="</a>")
    assert calls(fed(fmt, "<c><f=f><a=xyz is number>1</a></f></c>")) == [("f", '{"xyz": 1}')]
    for cut in ("", "num", "number"):
        parser = fed(fmt, "<c><f=f><a=xyz is " + cut, "length")
        (issue,) = parser.issues
        assert issue.kind == "truncated_call"
        assert "xyz" in issue.detail


def test_name_in_a_closer_is_limited_to_the_marker_length():
    fmt = in_tags(name_prefix="<", name_suffix=">", value_suffix="</", key_suffix=">")
    for length, complete in ((30, True), (255, True), (256, False), (300, False)):
        name = "x" * length
        (call,) = run(fmt, [f"<c><f=f><{name}>1</{name}></f></c>"])[0].message.tool_calls
        assert call.complete == complete


def test_empty_untyped_value_is_a_string():
    assert calls(fed(ELEMENTS, HEAD + "<a></a>" + TAIL)) == [("f", '{"a": ""}')]


def test_crlf_ends_a_value_that_started_with_crlf():
    fmt = in_tags(name_prefix="<a=", name_suffix=">\n", value_suffix="\n</a>")
    for text, made in (
        ("v\r\n", '"v\\r"'),
        ("\nv\r\n", '"v\\r"'),
        ("\rv\r\n", '"\\rv\\r"'),
        ("\r\nv\r\n", '"v"'),
    ):
        parser = fed(fmt, f"<c><f=f><a=x>{text}</a></f></c>")
        assert calls(parser) == [("f", f'{{"x": {made}}}')]


@pytest.mark.parametrize(
    ("literal", "made"),
    [('" s="n">\n', '{"x": "1"}'), (" ", '{"x": 1}'), ("", '{"x": 1}')],
)
def test_string_marker_makes_a_value_a_string(literal, made):
    fmt = in_tags(
        name_prefix='<p k="',
        name_suffix='" s="y">\n',
        literal_name_suffix=literal,
        value_suffix="</p>",
    )
    for name in ("x", " x "):  # as models write it, and oddly
        text = f'<c><f=f><p k="{name}" s="y">\n1</p></f></c>'
        assert calls(fed(fmt, text)) == [("f", made)]


def test_truncated_type_before_the_name_is_reported():
    fmt = in_tags(
        name_prefix="<a:",
        type_first=True,
        type_suffix=" is ",
        name_suffix=">",
        value_suffix="</a>",
    )
    assert calls(fed(fmt, "<c><f=f><a:number is x>1</a></f></c>")) == [("f", '{"x": 1}')]
    (issue,) = fed(fmt, "<c><f=f><a:num", "length").issues
    assert issue.detail.endswith("not emitted: 'num'")


def test_line_end_before_a_type_does_not_end_the_value():
    fmt = in_tags(
        name_prefix="<a>\n",
        type_first=True,
        type_suffix=" is ",
        name_suffix="=",
        value_suffix="\n",
    )
    text = "<c><f=f><a>\nnumber is x=1\n<a>\nstring is y=1\n</f></c>"
    assert calls(fed(fmt, text)) == [("f", '{"x": 1, "y": "1"}')]


def test_type_before_a_name_is_optional():
    fmt = in_tags(name_prefix="<a=", type_first=True, name_suffix=">", value_suffix="</a>")
    assert calls(fed(fmt, "<c><f=f><a=x>1</a></f></c>")) == [("f", '{"x": 1}')]


def test_unknown_type_is_reported():
    fmt = in_tags(name_prefix="<a=", name_suffix=" is ", type_suffix=">", value_suffix="</a>")
    text = "<a=x is string>1</a><a=y is ?>1</a><a=z is !>1</a>"
    parser = fed(fmt, f"<c><f=f>{text}</f></c>")
    assert calls(parser) == [("f", '{"x": "1", "y": 1, "z": 1}')]
    (issue,) = parser.issues
    assert issue.detail.endswith("'the type ?, the type !'")


def test_string_with_a_literal_marker_is_reported():
    fmt = in_tags(
        name_prefix="<p ", name_suffix=" s>", literal_name_suffix=" n>", value_suffix="</p>"
    )
    for marker, told in ((" s>", []), (" n>", ["repaired_arguments"])):
        parser = fed(fmt, f"<c><f=f><p x{marker}a b</p></f></c>")
        assert (calls(parser), kinds(parser)) == ([("f", '{"x": "a b"}')], told)


def test_crlf_before_indentation_starts_a_value():
    fmt = in_tags(name_prefix="<a=", name_suffix=">\n  ", value_suffix="\n</a>")
    assert calls(fed(fmt, "<c><f=f><a=x>\r\n  v\r\n</a></f></c>")) == [("f", '{"x": "v"}')]


def test_elements_nest_up_to_the_depth_of_schemas():
    depth = DEEPEST + 2
    parser, _ = run(ELEMENTS, [HEAD + "<x>" * depth + "1" + "</x>" * depth + TAIL])
    assert parser.message.tool_calls[0].arguments.count('{"x": ') == DEEPEST + 1


def test_unclosed_type_breaks_the_call():
    fmt = in_tags(name_prefix="<a=", name_suffix=" is ", type_suffix=">", value_suffix="</a>")
    parser, _ = run(fmt, [f"<c><f=f><a=x is {'t' * 1000}>1</a></f></c>"])
    assert [one.status for one in parser.attempts] == ["broken"]
    assert "the type of an argument has no end marker" in parser.issues[0].detail


@pytest.mark.parametrize("cut", ["<", "<v"])
def test_truncated_marker_before_a_value_reports_the_name(cut):
    fmt = in_tags(name_prefix="<a=", name_suffix=">", value_prefix="<v>", value_suffix="</a>")
    (issue,) = fed(fmt, "<c><f=f><a=xyz>" + cut, "length").issues
    assert issue.kind == "truncated_call"
    assert "not emitted: 'xyz" in issue.detail


TELLING = in_tags(
    name_prefix='<a k="',
    name_suffix='" s="true">',
    literal_name_suffix='" s="false">\n',
    value_suffix="</a>",
)


@pytest.mark.parametrize(
    ("said", "made", "value"), [("false", "5", "5"), ("true", '"\\n5"', "\n5")]
)
def test_whitespace_after_a_name_belongs_to_its_suffix(said, made, value):
    text = f'<c><f=f><a k="x" s="{said}">\n5</a></f></c>'
    assert calls(fed(TELLING, text)) == [("f", f'{{"x": {made}}}')]
    parser = TracedParser(TELLING)
    parser.feed(text)
    parser.finish()
    spans = [text[one.start : one.end] for one in parser.role_spans if one.role == "arguments"]
    assert spans == ["x", value]


def test_truncated_name_end_is_reported():
    (issue,) = fed(TELLING, '<c><f=f><a k="x" s', "length").issues
    assert (issue.span, issue.detail[-6:]) == ((15, 18), "'x\" s'")


def test_written_type_wins_over_the_notation():
    fmt = in_tags(
        name_prefix="<a=",
        type_first=True,
        type_suffix=" is ",
        name_suffix=">",
        value_suffix="</a>",
        alternatives=("number boolean", "<n=", ">", "</n>"),
    )
    for written, made in (("number", "5"), ("string", '"5"')):
        parser = fed(fmt, f"<c><f=f><a={written} is x>5</a></f></c>")
        assert (calls(parser), parser.issues) == ([("f", f'{{"x": {made}}}')], [])


QWEN = "<tool_call>\n<function=f>\n{}</function>\n</tool_call>"


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "made", "repaired"),
    [
        ("<parameter=path\na>b\n</parameter>\n", {"path": "a>b"}, True),
        ("<parameter=path\nSan > Francisco\n</parameter>\n", {"path": "San > Francisco"}, True),
        ("<parameter=path\r\nSan\r\n</parameter>\n", {"path": "San"}, True),
        (
            "<parameter=a\nx\n</parameter>\n<parameter=b>\ny\n</parameter>",
            {"a": "x", "b": "y"},
            True,
        ),
        ("<parameter=\npath>\nx\n</parameter>\n", {"path": "x"}, False),
        ("<parameter=path\n>\nx\n</parameter>\n", {"path": "x"}, False),
        ("<parameter=a b\nc>\nx\n</parameter>\n", {"a b\nc": "x"}, False),
        ("<parameter=given\nname>\nx\n</parameter>\n", {"given\nname": "x"}, False),
    ],
)
def test_line_end_ends_a_name_without_its_marker(text, made, repaired, size):
    tools = [{"name": "f", "parameters": {"properties": {"given\nname": {"type": "string"}}}}]
    parser = StreamParser("qwen3_coder", tools=tools)
    text = QWEN.format(text)
    for start in range(0, len(text), size):
        parser.feed(text[start : start + size])
    parser.finish("stop")
    (call,) = parser.message.tool_calls
    assert (call.complete, json.loads(call.arguments)) == (True, made)
    assert [issue.kind for issue in parser.issues] == ["repaired_arguments"] * repaired
    assert call.repaired is repaired
