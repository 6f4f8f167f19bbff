"""Policies that make a call content: all of its text is, the markers that end it too."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import Policies, StreamParser, get_format

from ..strategies import wire_json_and_tags as wire
from ..strategies.wire_named import WIRES
from ..support import cuts

OTHERS = [{"name": "other", "parameters": {"type": "object", "properties": {}}}]
REASONS = re.compile(r"^hm\n?(?:</think>|\[BEGIN FINAL RESPONSE\])\n?\n?")
NAMED = [
    (name, REASONS.sub("", text), REASONS.match(text))
    for name in WIRES
    # Where nothing marks a call, its name does; a message in a channel has a header of its own.
    for text in ({WIRES[name].one, WIRES[name].two} if name != "gpt_oss" else {WIRES[name].one})
    if text and name != "llama4_pythonic"
]


def read(fmt, chunks, reason="stop", **options):
    """A parser that was fed and finished."""
    parser = StreamParser(fmt, **options)
    for chunk in chunks:
        parser.feed(chunk)
    parser.finish(reason)
    return parser


def kinds(parser):
    """The kinds of what was reported."""
    return {issue.kind for issue in parser.issues}


@pytest.mark.parametrize(("name", "calls", "reasons"), NAMED)
@given(data=st.data())
def test_calls_of_unknown_tools_are_text_to_the_byte(name, calls, reasons, data):
    before = reasons[0] if reasons else ""
    policies = Policies(unknown_tool="text")
    parser = read(
        get_format(name), data.draw(cuts(before + calls)), tools=OTHERS, policies=policies
    )

    assert parser.message.tool_calls == []
    assert parser.message.content.strip() == calls.strip()
    assert parser.message.content.endswith(calls)
    assert kinds(parser) <= {"unknown_tool"}


@given(data=st.data())
def test_calls_of_unknown_tools_are_text_in_any_format(data):
    fmt = data.draw(wire.any_format)
    turn = data.draw(wire.turns(fmt, calls=(1, 3)))
    calls = wire.write(fmt, turn).removeprefix(turn.reasoning)
    text = calls[calls.rindex(turn.content) :] if turn.content else calls
    policies = Policies(unknown_tool="text")
    parser = read(fmt, data.draw(cuts(calls)), tools=OTHERS, policies=policies)

    assert parser.message.tool_calls == []
    assert text.strip() in parser.message.content
    assert "text_after_tool_call" not in kinds(parser)
