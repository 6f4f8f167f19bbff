"""Table of a tally, which attributes faults."""

from __future__ import annotations

import json

import pytest

from deltaparse.replay import Tally, table

from .records import REPLAYER, TEXT, call, record


def results():
    """Return results of two models, one of them with a faulty server."""
    right = REPLAYER(record())["message"]
    unread = {name: right[name] for name in right if name != "tool_calls"}
    leaked = right | {"content": "Let me see.</think>"}
    for at in range(60):
        given = record(id=at, model=("alpha-8b", "beta-70b")[at % 2], expected=right)
        if at % 3 == 1:
            given["expected"] = unread if at % 4 == 1 else leaked
        elif at % 10 == 4:
            given |= {"text": call("wether", "{}"), "expected": None}
        elif at % 10 == 9:
            given |= {"text": TEXT[:70], "finish_reason": "length", "expected": None}
        yield REPLAYER(given)


@pytest.fixture(scope="module")
def tally():
    return Tally.of([*results(), {"id": 60, "error": "not JSON"}])


def test_the_table_answers(tally):
    lines = table(tally).splitlines()
    assert lines[:3] == ["61 records", "1 could not be read:", "  record 61: not JSON"]
    assert lines[3].startswith("20 (33.3 %): the server returned a different message; ")
    assert "the model wrote a malformed call" in lines[3]
    for words in ("alpha-8b", "beta-70b", "weather", "clock", "whole", "cut off", "call_lost"):
        assert words in table(tally)


def test_table_without_comparison_has_a_note():
    text = table(Tally.of([REPLAYER(record())]))
    assert "Only the model was checked" in text
    assert "Only the model" not in table(Tally.of(results()))


def test_a_tally_goes_through_json(tally):
    again = Tally.from_json(json.loads(json.dumps(tally.to_json())))
    assert again.to_json() == tally.to_json()
    assert table(again) == table(tally)


def test_tallies_add_up(tally):
    asked = record(messages=[{"role": "user", "content": "?"}])
    other = Tally.of([REPLAYER(asked), {"id": 60, "error": "not JSON"}])
    both = Tally.from_json(tally.to_json())
    both.merge(other)
    assert (both.records, both.errors, both.unrendered) == (63, 2, 1)


def test_empty_tally_has_a_table():
    assert table(Tally.of([{"id": 1, "error": "not JSON"}])).startswith("1 record\n")
    assert table(Tally()) == "0 records\nNo output could be parsed.\n"


def test_many_names_of_tools_are_counted_together():
    tally = Tally()
    for at in range(1100):
        tally.add(REPLAYER({"text": call(f"invented_{at}", "{}"), "finish_reason": "stop"}), at)
    assert len(tally.by["tool"]) == 1001
    assert tally.by["tool"]["(others)"].total() == 100
    assert "and 981 more" in table(tally)
