"""A call while it is read."""

from __future__ import annotations

import pytest

from deltaparse import MalformedOutput, Policies, StreamParser, parse
from deltaparse.stream.tokens.traced_parser import TracedParser

from ....strategies.wire_by_hand import CALL, OTHER, TAGS, UNMARKED, calls, fed, in_tags

STRICT = Policies(duplicate_keys="error")


@pytest.mark.parametrize(
    ("arguments", "twice"),
    [
        ('{"a": {"b": 1}, "b": 2}', False),
        ('{"a": [{"c": 1}, {"c": 2}], "c": [{}, []]}', False),
        ('{"a": "a", "b": ["a", "b"]}', False),
        ('{"a": {"b": 1}, "a": 2}', True),
        ('{"a": [{"c": 1, "c": 2}]}', True),
        ('{"a": [{}], "b": {"c": {}, "c": {}}}', True),
        ('{"\\u0061": 1, "a": 2}', True),
    ],
)
def test_a_key_stands_twice_where_it_does_in_one_object(arguments, twice):
    text = f'<call>\n{{"name": "f", "arguments": {arguments}}}\n</call>'
    if twice:
        with pytest.raises(MalformedOutput, match="twice"):
            parse(text, TAGS, policies=STRICT)
    else:
        assert fed(TAGS, text, policies=STRICT).issues == []


IDS = TAGS.replace(tools={"id_field": "id", "field_order": ("id", "name", "arguments")})


def test_a_call_whose_id_is_known_is_not_held_back():
    parser = StreamParser(IDS)
    made = parser.feed('<call>\n{"id": "7", "name": "f", "arguments": {"a": ')
    assert [(delta.id, delta.name, delta.arguments) for delta in made] == [
        ("7", "f", ""),
        (None, None, '{"a": '),
    ]
    assert StreamParser(IDS).feed('<call>\n{"name": "f", "arguments": {"a": ') == []
    parser = fed(IDS, '<call>\n{"name": "f", "arguments": {"a": 1}}\n</call>')
    assert calls(parser) == [("f", '{"a": 1}')]


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ('{"name": "f"}', [("f", "{}")]),
        ('{"name": "g"}', []),
        ('{"name": "g", "parameters": {}}', []),
        ('{"name": "f", "parameters": {}}', [("f", "{}")]),
        ('{"parameters": {}}', []),
        ('{"parameters": {}, "id": "7"}', []),
        ("{}", []),
    ],
)
def test_where_no_marker_says_so_a_call_has_a_name_and_arguments_or_is_that_of_a_tool(text, called):
    parser = fed(UNMARKED, text, tools=[{"name": "f"}])
    assert calls(parser) == called
    assert parser.message.content == ("" if called else text)


def test_a_call_that_is_left_out_is_told():
    options = {"parallel_tool_calls": False, "policies": Policies(extra_calls="drop")}
    parser = fed(TAGS, CALL + OTHER + "x", **options)
    assert calls(parser) == [("f", '{"a": 1}')]
    assert parser.message.content == "x"
    assert [issue.kind for issue in parser.issues][:2] == ["extra_call"] * 2
    assert parser.issues[1].detail == f"dropped: {OTHER.removesuffix(chr(10) + '</call>')!r}"


def test_a_call_that_is_text_is_so_with_its_closer():
    text = '<call>\n{"name": "f", "arguments": [}\n</call>x'
    parser = fed(TAGS, text, policies=Policies(malformed_arguments="text"))
    assert (calls(parser), parser.message.content) == ([], text)


def test_what_may_have_ended_a_value_is_counted():
    fmt = in_tags(name_prefix="<a=", name_suffix=">", value_suffix="</a>")
    parser = fed(fmt, "<c><f=f><a=x>v</a>w</a>w</a></f></c>")
    assert [(issue.kind, issue.detail[:8]) for issue in parser.issues] == [
        ("ambiguous_marker", "2 times,")
    ]


def test_arguments_may_begin_where_the_output_does():
    prompt = '<|start|>model\n<call>\n{"name": "f", "arguments": '
    parser = TracedParser(TAGS, prompt=prompt)
    parser.feed('{"a": 1}}\n</call>')
    parser.finish()
    spans = [(span.start, span.end, span.role) for span in parser.role_spans]
    assert spans == [(0, 8, "arguments"), (8, 17, "marker")]
