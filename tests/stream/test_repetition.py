"""Tests of the detection of degenerate repetition."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import (
    ContentDelta,
    ReasoningDelta,
    RepetitionGuard,
    StreamParser,
    ToolCallDelta,
    UsageError,
)
from deltaparse.stream.repetition import MIN_LENGTH, periodic_from, shortest_period

from ..support import cuts

UNITS = st.text("ab c\n", min_size=1, max_size=8)
TEXTS = st.builds(
    lambda before, unit, times, after: before + unit * times + after,
    st.text("abx", max_size=9),
    UNITS,
    st.integers(1, 30),
    st.text("abx", max_size=2),
)


def periods(text, longest):
    """Return all periods of a text, slowly."""
    return [size for size in range(1, longest + 1) if text[size:] == text[:-size]]


def fed(chunks, **options):
    guard = RepetitionGuard(**options)
    for chunk in chunks:
        guard.feed([ContentDelta(chunk)])
    return guard.found


@given(TEXTS.filter(lambda text: len(text) > 1), st.data())
def test_shortest_period_is_the_smallest_one(text, data):
    longest = data.draw(st.integers(1, len(text) // 2))
    assert shortest_period(text, longest) == next(iter(periods(text, longest)), 0)


@given(TEXTS.map(lambda text: text + "x" * 9), st.integers(1, 8))
def test_periodic_end_is_as_long_as_possible(text, period):
    start = periodic_from(text, period)
    assert text[start + period :] == text[start:-period]
    assert start == 0 or text[start - 1] != text[start - 1 + period]


@given(st.text("xyz. ", max_size=300), UNITS, st.data())
def test_repetition_is_found_at_every_chunking(before, unit, data):
    text = before + "|" + unit * (2 * MIN_LENGTH)
    found = fed(data.draw(cuts(text)))
    assert found == fed([text])
    assert unit == found.text * (len(unit) // found.period)
    assert found.start == len(before) + 1
    assert found.part == "content"
    assert found.count >= 16


@given(st.text("ab", max_size=200), UNITS)
def test_found_text_is_repeated_in_the_response(before, unit):
    text = before + unit * 128
    found = fed([text], repeats=8, min_length=64)
    assert text[found.start :].startswith(found.text * found.count)
    assert found.count * found.period > 64 - found.period


@pytest.mark.parametrize(
    "text",
    [
        "-" * 80 + "\n",
        "| " + "--- | " * 12 + "\n",
        " " * 200 + "x",
        "".join(f"{number}\n" for number in range(3000)),
        json.dumps([0] * 50),
    ],
)
def test_ordinary_text_is_not_a_repetition(text):
    assert fed([text]) is None


def test_parts_are_checked_separately():
    half = "no " * 60
    guard = RepetitionGuard()
    assert guard.feed([ReasoningDelta(half), ContentDelta(half)]) is None
    calls = [ToolCallDelta(index, f"call{index}", "f", half) for index in (0, 1)]
    assert guard.feed(calls) is None
    found = guard.feed([ToolCallDelta(1, arguments=half)])
    assert (found.part, found.index, found.text, found.start) == ("arguments", 1, "no ", 0)
    assert guard.feed([ContentDelta("other")]) is found


def test_guard_reads_the_deltas_of_a_parser():
    parser, guard = StreamParser("qwen3"), RepetitionGuard(repeats=4)
    text = "<think>\nHm. " + "Wait, I should check. " * 40
    found = [guard.feed(parser.feed(char)) for char in text]
    assert found[-1].part == "reasoning"
    assert found[-1].period == len("Wait, I should check. ")
    assert None in found


def test_long_period_is_found_within_its_limit():
    unit = "".join(map(str, range(300)))[:700]
    assert fed([unit * 40]).text in unit * 2
    assert fed([unit * 40], max_period=600) is None


@pytest.mark.parametrize(
    "options", [{"repeats": 1}, {"repeats": True}, {"max_period": 0}, {"min_length": "256"}]
)
def test_invalid_arguments_raise(options):
    with pytest.raises(UsageError, match=f"{next(iter(options))} must be an integer of at least"):
        RepetitionGuard(**options)
