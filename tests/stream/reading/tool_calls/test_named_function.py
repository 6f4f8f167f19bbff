"""Whether an object is the arguments of the function that the request names, or a call of it."""

from __future__ import annotations

import pytest

from deltaparse import StreamParser

from ....strategies.wire_by_hand import TAGS, calls, fed, kinds

ASKED = {"type": "function", "function": {"name": "f"}}


LONG = "get_weather_of_tomorrow"


def parsed(text, own, reason="stop"):
    """`own` are the arguments of the functions f and g, None where it is not known."""
    tools = [{"name": "f"}, {"name": "g"}]
    if own is not None:
        schema = {"type": "object", "properties": {name: {} for name in own}}
        tools = [tool | {"parameters": schema} for tool in tools]
    return fed(TAGS, text, reason, calls="json", tools=tools, tool_choice=ASKED)


@pytest.mark.parametrize("own", [(), ("name",), ("arguments",), ("name", "arguments"), None])
@pytest.mark.parametrize(
    "text", ['{"name": "f", "arguments":', '{"name": ', '{"name"', '{"arguments": ', '{"arguments"']
)
def test_an_object_that_is_cut_before_it_is_known_is_a_call_that_is_cut(text, own):
    parser = parsed(text, own, "length")
    assert kinds(parser) == ["truncated_call"]
    assert all(call.arguments == "" for call in parser.message.tool_calls)


@pytest.mark.parametrize(
    ("name", "own", "called"),
    [
        ('"x"', ("a",), "x"),
        ('"x"', ("name",), None),
        ('"x"', None, None),
        ('"g"', None, "g"),
        ('"g"', ("a",), "g"),
        ('"g"', ("name",), None),
        ('"f"', None, "f"),
        ('"f"', ("name", "arguments"), None),
        ('"\\u0066"', ("a",), "f"),
        ('"\\u0066 "', ("a",), None),
        ('"ffffffff"', ("a",), None),
    ],
)
def test_a_name_and_arguments_are_a_call_as_far_as_they_are_none_of_the_functions(
    name, own, called
):
    text = f'{{"name": {name}, "arguments": {{"a": 1}}}}'
    assert calls(parsed(text, own)) == [(called, '{"a": 1}') if called else ("f", text)]


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ('{"name": "g", "arguments": {"a": }}', ("g", '{"a": ')),
        ('{"name":: ', ("f", '{"name":')),
        ('{"arguments": name', ("f", '{"arguments": ')),
    ],
)
def test_an_object_that_breaks_is_what_it_was_before(text, made):
    parser = parsed(text, ("a",))
    assert calls(parser) == [made]
    assert [tried.status for tried in parser.attempts] == ["broken"]


@pytest.mark.parametrize("spelled", [LONG, "".join(f"\\u{ord(char):04x}" for char in LONG)])
def test_a_long_name_is_one_however_it_is_spelled(spelled):
    asked = {"type": "function", "function": {"name": LONG}}
    schema = {"type": "object", "properties": {"a": {}}}
    text = f'{{"name": "{spelled}", "arguments": {{"a": 1}}}}'
    tools = [{"name": LONG, "parameters": schema}]
    parser = fed(TAGS, text, calls="json", tools=tools, tool_choice=asked)
    assert calls(parser) == [(LONG, '{"a": 1}')]


def test_an_object_is_not_kept_once_it_is_known_what_it_is():
    parser = StreamParser(
        TAGS, calls="json", tools=[{"name": "f"}], tool_choice=ASKED, collect=False
    )
    parser.feed('{"a": "')
    for _ in range(100):
        parser.feed("text " * 10)
        assert parser.held < 100


def test_a_call_without_arguments_is_one_where_no_arguments_are_known():
    assert calls(parsed('{"name": "f"}', None)) == [("f", "{}")]


@pytest.mark.parametrize("text", ['{"name": "xxxxxx', '{"arguments": {"a": 1', '{"arguments": tru'])
@pytest.mark.parametrize("own", [("a",), None])
def test_what_is_cut_before_it_is_known_is_no_call_where_the_turn_ended(text, own):
    parser = parsed(text, own)
    if text.endswith("tru"):
        assert calls(parser) == [("f", '{"arguments": ')]
    else:
        assert (calls(parser), parser.message.content) == ([], text)


def test_two_kinds_of_arguments_and_no_name_are_arguments():
    for text in ('{"arguments": {}, "parameters": {}}', '{"parameters": null, "arguments": {}}'):
        assert calls(parsed(text, ("a",))) == [("f", text)]


@pytest.mark.parametrize(("more", "own"), [(0, False), (1, True)])
def test_a_name_is_no_longer_than_the_longest_with_all_of_it_escaped(more, own):
    """Where it is longer it is no name, and the object is the arguments."""
    text = '{"name": "' + "x" * (len(r"\u0000") + 1 + more)
    parser = fed(TAGS, text, calls="json", tools=[{"name": "f"}], tool_choice=ASKED)
    assert calls(parser) == [("f", text)] * own


def test_another_tool_may_have_a_longer_name():
    tools, name = [{"name": "f"}, {"name": LONG}], f'{{"name": "{LONG}", "arguments": {{}}}}'
    parser = fed(TAGS, name, calls="json", tools=tools, tool_choice=ASKED)
    assert calls(parser) == [(LONG, "{}")]
