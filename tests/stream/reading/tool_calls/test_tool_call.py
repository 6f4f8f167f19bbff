"""Properties of a call besides its arguments: `repaired` and `span`."""

from __future__ import annotations

import pytest

from deltaparse import Policies, StreamParser, get_format

from ....strategies.wire_by_hand import fed
from ....strategies.wire_named import WIRES

HERMES = get_format("hermes")
REPAIRED = [
    (HERMES, '<tool_call>{"name": "f", "arguments": {\'a\': 1}}</tool_call>'),
    (HERMES, '<tool_call>{"name": "f", "arguments": {"a": 1,}}</tool_call>'),
    (HERMES, '<tool_call>{"name": "f", "arguments": {"a": 1}</tool_call>'),
]


def flags(parser):
    return [(call.repaired, call.complete) for call in parser.message.tool_calls]


@pytest.mark.parametrize(("fmt", "text"), REPAIRED)
def test_repaired_call_is_flagged(fmt, text):
    assert flags(fed(fmt, text)) == [(True, True)]
    assert flags(fed(fmt, f"Well. {text}")) == [(True, True)]


@pytest.mark.parametrize("name", sorted(name for name, wire in WIRES.items() if wire.two))
def test_regular_call_is_not_flagged_as_repaired(name):
    assert flags(fed(get_format(name), WIRES[name].two)) == [(False, True)] * 2


def test_calls_around_a_repaired_call_are_not_flagged():
    good = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
    for bad in (text for fmt, text in REPAIRED if fmt is HERMES):
        assert [flag for flag, _ in flags(fed(HERMES, good + bad + good))] == [False, True, False]


def test_unrepaired_call_is_incomplete():
    policies = Policies(malformed_arguments="strict")
    parser = StreamParser(HERMES, policies=policies)
    parser.feed(REPAIRED[0][1])
    parser.finish()
    assert flags(parser) == [(False, False)]


@pytest.mark.parametrize("name", sorted(name for name, wire in WIRES.items() if wire.two))
def test_span_locates_the_call_in_the_response(name):
    wire = WIRES[name].two
    first, second = fed(get_format(name), wire).message.tool_calls
    assert 0 <= first.span[0] < first.span[1] <= second.span[0] < second.span[1] <= len(wire)
    assert "NYC" in wire[slice(*first.span)]
    assert "f" in wire[slice(*first.span)]
    assert "2" in wire[slice(*second.span)]
