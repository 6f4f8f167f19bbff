"""Completed values, compared with Python's parser for the complete text."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaparse.partial import (
    JsonState,
    JsonValue,
    JsonValues,
    UsageError,
    argument_events,
    heal_json,
    sound_json,
)

from ...support import cuts, json_texts, nearly_json, without_twins

S = JsonState


def completed(value, path=()):
    """Yield all values in a value, in the order of their ends."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from completed(value[key], (*path, key))
    yield path, value


def exactly(value):
    """Return a form that distinguishes 1 from 1.0 and True, and 0.0 from -0.0."""
    return repr(value)


@given(json_texts().filter(without_twins), st.data())
@example("[12345678901234567890, 1E400, -1e99999999999999999999, 0e9999999, 1e-99999999]", None)
@example('["1e99999999", {"1e99999999": -0.0}]', None)
def test_each_value_comes_once_in_order_typed(text, data):
    found = list(argument_events(data.draw(cuts(text)) if data else list(text)))

    assert exactly(found) == exactly(
        [JsonValue(*pair) for pair in completed(json.loads(sound_json(text)))]
    )


@given(json_texts(), st.data())
@example('{"a": 1, "a": {"b": 2}}', None)
def test_top_level_value_equals_json_loads(text, data):
    values = JsonValues()
    for chunk in data.draw(cuts(text)) if data else list(text):
        values.feed(chunk)
    values.finish()

    assert exactly(values.value) == exactly(json.loads(sound_json(text)))
    assert values.state is S.DONE


@given(json_texts(), st.data())
def test_at_each_cut_there_is_all_that_healing_returns(text, data):
    values = JsonValues()
    places = data.draw(st.sets(st.integers(1, len(text)), min_size=1).map(sorted))
    for start, end in pairwise([0, *places]):
        values.feed(text[start:end])
        healed = heal_json(text[:end])
        assert exactly(values.value) == exactly(healed.value)
        assert values.path == healed.path


@given(json_texts(), st.data())
def test_a_value_comes_with_the_character_that_completes_it(text, data):
    values = JsonValues()
    for at, char in enumerate(text):
        for path, value in values.feed(char):
            end = at + (isinstance(value, int | float) and not isinstance(value, bool))
            rest = heal_json(text[:end] + char if end == at else text[: at + 1], eager_numbers=True)
            place = rest.value
            for key in path:
                place = place[key]
            assert exactly(place) == exactly(value)


@given(nearly_json() | st.text(), st.data())
@example("[1, 2x", None)
@example('["\ud83d"]', None)
def test_invalid_text_keeps_the_earlier_values(text, data):
    values = JsonValues()
    found = []
    for chunk in data.draw(cuts(text)) if data else list(text):
        found += values.feed(chunk)
    again = JsonValues()
    assert exactly(again.feed(text)) == exactly(found)
    assert (values.state, values.problem) == (again.state, again.problem)
    assert bool(values.problem) is (values.state is S.BROKEN)


def test_no_values_follow_the_end():
    values = JsonValues()
    assert values.feed("[] [1") == [((), [])]
    assert values.feed(", 2]") == []
    assert values.finish() == []
    assert values.value == []


def test_a_number_alone_ends_with_the_input():
    values = JsonValues()
    assert values.feed("12") == []
    assert values.finish() == [((), 12)]
    assert list(argument_events(["1", "2"])) == [((), 12)]


def test_deep_nesting_is_refused():
    values = JsonValues(max_depth=3)
    values.feed("[[[[")
    assert values.problem == "more than 3 open brackets"


def test_text_only():
    with pytest.raises(UsageError, match="TextDecoder"):
        JsonValues().feed(b"[]")


@pytest.mark.parametrize("length", [1000, 8000])
def test_a_long_string_is_read_once(length, monkeypatch):
    sent = []

    class Parser:
        def send(self, text):
            sent.append(len(text))

    values = JsonValues()
    values._parser = Parser()
    for char in '{"a": "' + "x" * length:
        values.feed(char)
    values.feed('"')
    assert sum(sent) == length + 8
    assert len(sent) < 10


def test_the_path_at_each_character():
    values = JsonValues()
    paths = []
    for char in '[1,{"a":"b","c":[2]},3]':
        values.feed(char)
        paths.append("/".join(map(str, values.path)))

    ends = ["1", "1/None", *["1/None"] * 2, *["1/a"] * 5, *["1/None"] * 3, *["1/c"] * 2]
    assert paths == ["0", "0", *ends, "1/c/0", "1/c/0", "1/c", "1", "2", "2", ""]


def test_a_string_comes_when_it_is_whole_though_another_has_begun():
    values = JsonValues()
    values.feed('["a')

    assert values.feed('b","c') == [((0,), "ab")]
    assert values.feed("d") == []
    assert values.feed('","e","') == [((1,), "cd"), ((2,), "e")]


@pytest.mark.parametrize("begun", ["", "[", '{"a":', '{"a":["x",'])
def test_a_string_that_grows_can_be_looked_at_all_the_time(begun):
    body = 'a\\n\\ud83d\\ude00é\\"b\\\\ '
    values, healed = JsonValues(), None
    for at, char in enumerate(begun + '"' + body):
        values.feed(char)
        for _ in range(2):
            healed = heal_json((begun + '"' + body)[: at + 1]).value
            assert exactly(values.value) == exactly(healed)
    values.feed('"')
    assert exactly(values.value) == exactly(healed)


@pytest.mark.parametrize("looks", [0, 1, 2])
def test_a_string_is_whole_however_often_it_was_looked_at(looks):
    values = JsonValues()
    for chunk, so_far in [('["ab', ["ab"]), ('c", "de', ["abc", "de"]), ("f", ["abc", "def"])]:
        values.feed(chunk)
        for _ in range(looks):
            assert values.value == so_far
    assert values.feed('"]') == [((1,), "def"), ((), ["abc", "def"])]


@given(nearly_json() | st.text())
@example('["ab\n')
@example('"ab\n')
@example('{"a": ["ab\\x')
def test_to_look_at_the_value_does_not_change_it(text):
    looked, unseen = JsonValues(), JsonValues()
    for char in text:
        looked.feed(char)
        unseen.feed(char)
        repr(looked.value)
    assert exactly(unseen.value) == exactly(looked.value)
    if unseen.problem:
        unseen.feed("more")
        looked.finish()
        assert exactly(unseen.value) == exactly(looked.value)


@pytest.mark.parametrize("text", ['["a", "b', '"b', '{"a": "b', '{"a'])
def test_a_string_that_breaks_is_shown_as_far_as_it_came(text):
    for chunks in ([text + "\n"], [*text, "\n", "c"]):
        values = JsonValues()
        for chunk in chunks:
            values.feed(chunk)
        assert values.problem == "a control character"
        assert values.value == heal_json(text).value
