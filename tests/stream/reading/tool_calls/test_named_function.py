"""Objects for a named function: its bare arguments, or a call of it."""

from __future__ import annotations

import pytest

from deltaparse import StreamParser

from ....strategies.wire_by_hand import TAGS, calls, fed, kinds

ASKED = {"type": "function", "function": {"name": "f"}}


LONG = "get_weather_of_tomorrow"


def parsed(text, own, reason="stop"):
    """Parse a text; `own` are the arguments of f and g, or None if unknown."""
    tools = [{"name": "f"}, {"name": "g"}]
    if own is not None:
        schema = {"type": "object", "properties": {name: {} for name in own}}
        tools = [tool | {"parameters": schema} for tool in tools]
    return fed(TAGS, text, reason, calls="json", tools=tools, tool_choice=ASKED)


@pytest.mark.parametrize("own", [(), ("name",), ("arguments",), ("name", "arguments"), None])
@pytest.mark.parametrize(
    "text", ['{"name": "f", "arguments":', '{"name": ', '{"name"', '{"arguments": ', '{"arguments"']
)
def test_object_truncated_before_its_meaning_is_a_truncated_call(text, own):
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
def test_name_and_arguments_are_a_call_unless_declared(name, own, called):
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
def test_broken_object_keeps_its_meaning(text, made):
    parser = parsed(text, ("a",))
    assert calls(parser) == [made]
    assert [tried.status for tried in parser.attempts] == ["broken"]


@pytest.mark.parametrize("spelled", [LONG, "".join(f"\\u{ord(char):04x}" for char in LONG)])
def test_long_name_may_be_escaped(spelled):
    asked = {"type": "function", "function": {"name": LONG}}
    schema = {"type": "object", "properties": {"a": {}}}
    text = f'{{"name": "{spelled}", "arguments": {{"a": 1}}}}'
    tools = [{"name": LONG, "parameters": schema}]
    parser = fed(TAGS, text, calls="json", tools=tools, tool_choice=asked)
    assert calls(parser) == [(LONG, '{"a": 1}')]


def test_object_of_known_meaning_is_not_buffered():
    parser = StreamParser(
        TAGS, calls="json", tools=[{"name": "f"}], tool_choice=ASKED, collect=False
    )
    parser.feed('{"a": "')
    for _ in range(100):
        parser.feed("text " * 10)
        assert parser.held < 100


def test_name_alone_is_a_call_if_no_arguments_are_declared():
    assert calls(parsed('{"name": "f"}', None)) == [("f", "{}")]


@pytest.mark.parametrize("text", ['{"name": "xxxxxx', '{"arguments": {"a": 1', '{"arguments": tru'])
@pytest.mark.parametrize("own", [("a",), None])
def test_object_truncated_before_its_meaning_is_content_at_stop(text, own):
    parser = parsed(text, own)
    if text.endswith("tru"):
        assert calls(parser) == [("f", '{"arguments": ')]
    else:
        assert (calls(parser), parser.message.content) == ([], text)


def test_arguments_and_parameters_without_a_name_are_arguments():
    for text in ('{"arguments": {}, "parameters": {}}', '{"parameters": null, "arguments": {}}'):
        assert calls(parsed(text, ("a",))) == [("f", text)]


@pytest.mark.parametrize(("more", "own"), [(0, False), (1, True)])
def test_name_length_is_limited_by_the_longest_escaped_name(more, own):
    """Treat an object with a longer name as bare arguments."""
    text = '{"name": "' + "x" * (len(r"\u0000") + 1 + more)
    parser = fed(TAGS, text, calls="json", tools=[{"name": "f"}], tool_choice=ASKED)
    assert calls(parser) == [("f", text)] * own


def test_another_tool_may_have_a_longer_name():
    tools, name = [{"name": "f"}, {"name": LONG}], f'{{"name": "{LONG}", "arguments": {{}}}}'
    parser = fed(TAGS, name, calls="json", tools=tools, tool_choice=ASKED)
    assert calls(parser) == [(LONG, "{}")]
