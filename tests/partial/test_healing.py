"""Cut JSON texts, completed, against the whole text and against the obvious completion."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support import NASTY, certain, closers, is_json, json_texts, nearly_json, open_brackets

from deltaparse.partial import MAX_DEPTH, JsonState, heal_json

MISSING = object()
S = JsonState


def agrees(part, whole):
    """Whether `part` is what there may be of `whole` while it is still being written."""
    if type(part) is not type(whole):
        return False
    if isinstance(part, str):
        return whole.startswith(part)
    if isinstance(part, list | dict):
        keys = range(len(part)) if isinstance(part, list) else list(part)
        order = range(len(whole)) if isinstance(whole, list) else list(whole)
        if list(keys) != list(order)[: len(keys)]:
            return False
        return all(
            agrees(part[key], whole[key]) if key == keys[-1] else part[key] == whole[key]
            for key in keys
        )
    return part == whole


def obvious(text):
    """The value of a cut text that a quote and closing brackets make whole, or `MISSING`."""
    whole = text + closers(text)
    if is_json(whole) and not re.search(r"[0-9]\Z", text):
        return json.loads(whole)
    whole = f'{text}"{closers(text)}'
    if is_json(whole) and not re.search(r"\\u[dD][89abAB]..\Z", text):
        return json.loads(whole)
    return MISSING


@given(json_texts(), st.data())
def test_healed_is_valid_json_that_agrees_with_the_whole(text, data):
    cut = data.draw(st.integers(0, len(text)))
    healed = heal_json(text[:cut])

    if healed.text:
        assert is_json(healed.text)
        assert json.loads(healed.text) == healed.value
        assert agrees(healed.value, json.loads(text))
    else:
        assert healed.value is None
    assert healed.end == certain(text)[cut]
    assert list(healed.stack) == open_brackets(text[:cut])


@given(json_texts(), st.data())
@example('{"a": ["x"', None)
@example('["\\\\', None)
def test_healed_has_all_that_is_certain(text, data):
    text = text[: data.draw(st.integers(0, len(text)))] if data else text
    value = obvious(text)

    assert value is MISSING or heal_json(text).value == value


@given(json_texts(), st.data())
def test_more_text_takes_nothing_back(text, data):
    cut = data.draw(st.integers(0, len(text)))
    less, more = heal_json(text[: max(cut - 1, 0)]), heal_json(text[:cut])

    assert more.end >= less.end
    assert not less.text or agrees(less.value, more.value)


@given(json_texts(), NASTY)
@example("[1] ", "]")
@example("{}", "{}")
@example("true", "x")
def test_whole_json_is_returned_as_it_is(text, then):
    whole = text + "\n" if text[-1].isdigit() else text  # or the number might go on
    healed = heal_json(whole + then)

    assert healed.text == text.rstrip()
    assert (healed.end, healed.state, healed.stack) == (len(text.rstrip()), S.DONE, ())


@given(json_texts(), st.data())
def test_healing_again_changes_nothing(text, data):
    healed = heal_json(text[: data.draw(st.integers(0, len(text)))])

    if not healed.text[-1:].isdigit():
        assert heal_json(healed.text).text == healed.text


@given(nearly_json() | st.text())
@example("]")
@example("[1x")
@example('{"a":1,}')
@example("{'a'")
def test_broken_json_is_healed_up_to_where_it_breaks(text):
    healed = heal_json(text)

    assert healed.state is not S.BROKEN
    assert is_json(healed.text) or not healed.text
    if healed.state is not S.DONE:
        cut = heal_json(text[: healed.end])
        assert (healed.text, healed.value, healed.state) == (cut.text, cut.value, cut.state)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", MISSING),
        ("  ", MISSING),
        ("{", {}),
        ("[", []),
        ('{"co', {}),
        ('{"a"', {}),
        ('{"a":', {}),
        ('{"a": ', {}),
        ('{"a":"', {"a": ""}),
        ('{"a":"he', {"a": "he"}),
        ('{"a":"x\\', {"a": "x"}),
        ('{"a":"x\\u', {"a": "x"}),
        ('{"a":"x\\u004', {"a": "x"}),
        ('{"a":"x\\u0041', {"a": "xA"}),
        ('{"a":"x\\ud83d', {"a": "x"}),
        ('{"a":"x\\ud83d\\', {"a": "x"}),
        ('{"a":"x\\ud83d\\ude0', {"a": "x"}),
        ('{"a":"x\\ud83d\\ude00', {"a": "x😀"}),
        ('{"a":"x\\ud83dy', {"a": "x\ud83dy"}),
        ('{"a":"x\\\\ud83d', {"a": "x\\ud83d"}),
        *[('{"a":' + number, {}) for number in ("-", "1", "12", "1.", "1.5", "1e", "1e+", "1e5")],
        *[('{"a":' + literal, {}) for literal in ("t", "tru", "f", "fals", "n", "nul")],
        ('{"a":true', {"a": True}),
        ('{"a":null', {"a": None}),
        ('{"a":1 ', {"a": 1}),
        ('{"a":1,', {"a": 1}),
        ('{"a":1,"b', {"a": 1}),
        ('{"a":1,"b":', {"a": 1}),
        ('["\\\\\\ud83d', ["\\"]),
        ("[{}", [{}]),
        ("[1,", [1]),
        ("[1, 2", [1]),
        ('[1, ["a", {"b": "c', [1, ["a", {"b": "c"}]]),
        ('"abc', "abc"),
        ('"', ""),
        ("12", MISSING),
        ("tru", MISSING),
        ("null", None),
        ('{"a":1} trailing', {"a": 1}),
        ('{"a":1}}', {"a": 1}),
        ('{"a":1}{"b":2}', {"a": 1}),
        ("{'a': 'b", {}),
        ('{"a":1,}', {"a": 1}),
        ('{"a": True', {}),
        ('{"a": NaN', {}),
        ('{"a":"x\ny"}', {"a": "x"}),
        ('{"a":"x\\x41"}', {"a": "x"}),
    ],
)
def test_the_value_of_what_there_is(text, value):
    healed = heal_json(text)

    assert bool(healed.text) is (value is not MISSING)
    assert healed.value == (None if value is MISSING else value)


def test_what_stood_open():
    healed = heal_json(' {"a": [1, "x\\u00')

    assert healed.text == ' {"a": [1, "x"]}'
    assert (healed.state, healed.stack, healed.end) == (S.STRING, ("{", "["), 13)


def test_spelling_is_kept():
    assert heal_json('{"a" : 1.50, "a":[ "\\u00e9"').text == '{"a" : 1.50, "a":[ "\\u00e9"]}'


@pytest.mark.parametrize("limit", [None, 1, 600])
def test_deeper_than_the_limit_is_cut(limit):
    options = {"max_depth": limit} if limit else {}
    depth = limit or MAX_DEPTH
    healed = heal_json("[" * 2 * depth, **options)

    assert healed.text == "[" * depth + "]" * depth
    assert (healed.end, healed.state) == (depth, S.AFTER_OPEN)


def test_healed_json_does_not_change():
    with pytest.raises(AttributeError):
        heal_json("{").text = ""


def test_the_end_is_that_of_the_text_that_is_taken_for_cut():
    for text in ("[1, 2x", '{"a": "b\n', "[tru1"):
        end = heal_json(text).end
        assert heal_json(text[:end]).end == end


def test_deep_nesting_is_healed_from_deep_down():
    def deep(levels):
        return deep(levels - 1) if levels else heal_json("[" * 512)

    assert deep(450).end == 512
    healed = heal_json('[{"a": [1, 2.5, "x", null,' + "[" * 1000, max_depth=2000)
    assert healed.value[0]["a"][:4] == [1, 2.5, "x", None]
