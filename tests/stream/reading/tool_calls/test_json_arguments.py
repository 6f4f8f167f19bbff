"""Arguments of JSON calls that are truncated or written as a string."""

from __future__ import annotations

import pytest

from deltaparse import Policies
from deltaparse.stream.reading.tool_calls.json_arguments import HeldText
from deltaparse.stream.tokens.traced_parser import TracedParser

from ....strategies.wire_by_hand import TAGS, fed, kinds

HEAD = '<call>\n{"name": "f", "arguments": '


@pytest.mark.parametrize("reason", ["stop", "length"])
@pytest.mark.parametrize(
    ("text", "made", "left"),
    [
        ('"', "", ""),
        ('"{\\"a\\": ', '{"a": ', ""),
        ('"{\\"a\\": 1}', '{"a": 1', "}"),
        ('"{\\"a\\": 1} ', '{"a": 1', "} "),
        ('"[1]', "", "[1]"),
        ('{"a": ', '{"a": ', ""),
        ('{"a": tru', '{"a": ', "tru"),
        ('{"a": "x', '{"a": "x', ""),
    ],
)
def test_truncated_arguments_are_reported(text, made, left, reason):
    parser = fed(TAGS, HEAD + text, reason)
    (call,) = parser.message.tool_calls
    assert (call.arguments, call.complete) == (made, False)
    (issue,) = parser.issues
    assert issue.kind == "truncated_call"
    assert issue.detail.endswith(f"not emitted: {left!r}")
    assert [tried.status for tried in parser.attempts] == ["truncated"]


def test_argument_broken_at_the_end_is_truncated():
    for text in ('{"a": x', '{"a" ', "{'a'"):
        assert "truncated_call" in kinds(fed(TAGS, HEAD + text, "length"))[:1] or text[6:] == "x"


@pytest.mark.parametrize(
    "text", ['{"a": 1}', " {} ", "[1]", "", " ", '{"a": 1} x', '{"a"', '{"a" x}', "{}}"]
)
def test_held_object_is_emitted_once_complete(text):
    """Emit no empty text for any chunks."""
    for size in (1, 2, 3, len(text) or 1):
        emitted = []
        held = HeldText(emitted.append)
        for at in range(0, len(text), size):
            held.write(text[at : at + size])
        assert all(emitted)
        assert "".join(emitted) + held.rest == text.lstrip()
        assert held.empty == (not text.strip())
        assert held.whole == (text.strip() in ('{"a": 1}', "{}"))
        assert held.closer == ("}" if text.strip().startswith(("{}", '{"a": 1}')) else "")


def test_broken_arguments_leave_the_rest_unread():
    strict = Policies(malformed_arguments="strict")
    object_, string = '{"a": x}}', '"{\\a"}'
    for before in ("", "<think>\n"):
        for text, left in ((object_, "x}}"), (string, '\\a"}')):
            parser = fed(TAGS, before + HEAD + text + "\n</call>", policies=strict)
            issue = parser.issues[-1]
            assert issue.kind == "malformed_arguments"
            assert issue.detail.endswith(f"not emitted: {left!r}")
            assert [tried.status for tried in parser.attempts] == ["broken"]
    said = fed(TAGS, HEAD + string + "\n</call>", policies=strict).issues[0].detail
    assert said.startswith("the string of the arguments does not end")


@pytest.mark.parametrize("arguments", ["null", '"{}"', '" {} "', '""'])
def test_complete_arguments_are_not_reported(arguments):
    parser = fed(TAGS, HEAD + arguments, "length")
    (call,) = parser.message.tool_calls
    assert (call.arguments, call.complete, parser.issues) == ("{}", True, [])


def test_list_in_place_of_arguments_is_not_closed():
    parser = fed(TAGS, HEAD + "[1\n</call>")
    (call,) = parser.message.tool_calls
    assert (call.arguments, call.complete) == ("", False)
    assert kinds(parser) == ["malformed_arguments"]


def test_arguments_in_a_string_end_with_its_quote():
    text = HEAD + '"{}"}\n</call>'
    parser = TracedParser(TAGS)
    parser.feed(text)
    parser.finish()
    found = [text[span.start : span.end] for span in parser.role_spans if span.role == "arguments"]
    assert found == ['"{}"']


def test_half_a_surrogate_after_a_backslash_is_invalid():
    r"""Reject `"{\"a\": \"x\\\ud83d\"}"`: the text in the string is not JSON."""
    parser = fed(TAGS, HEAD + r'"{\"a\": \"x\\\ud83d\"}"}' + "\n</call>")
    (call,) = parser.message.tool_calls
    assert (call.arguments, call.complete) == ('{"a": "x', False)
    assert "malformed_arguments" in kinds(parser)
    parser = fed(TAGS, HEAD + r'"{\"a\": \"x\\\\\ud83d\"}"}' + "\n</call>")
    (call,) = parser.message.tool_calls
    assert (call.arguments, call.complete) == ('{"a": "x\\\\\\ud83d"}', True)
