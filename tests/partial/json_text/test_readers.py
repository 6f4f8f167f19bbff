"""The JSON sub-parsers, against Python's own parser."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaparse.partial import (
    MAX_TOKEN,
    JsonFault,
    JsonState,
    json_decoded,
    json_key,
    json_space,
    json_string,
    json_value,
)

from ... import support
from ...support import Driver, drive, silent, three_ways

S = JsonState
KEYS = {"truncated": ["", '"', '"a\\', '"a" '], "malformed_json": ["1", '"a" 1', '"a"}', ","]}
NO_STRINGS = ["a", '"a\nb"', '"a\\x"', '"' + "a" * 2 * MAX_TOKEN]
ESCAPES = ["\\ud83d", "\\uDE00", "\\\\", "\\/", '\\"', "\\n", "\\u0041", "😀", "\ud83d", "u", "d8"]
# The mark shows what of a string is emitted so far: half of a surrogate pair is not.
DECODED = ["aˇ", "aˇ\\", "aˇ\\u004", "a\\u0041ˇ", "aˇ\\ud83d", "\\\\ud83dˇ", "\\\\ˇ\\ud83d"]
DECODED += ["ˇ\\ud83d\\ude0", "\\ud83d\\ude00ˇ", "\\ud83d!ˇ", "\\ud83d\\nˇ", "a\\ude00ˇ"]


def value(src, emit):
    return (yield from json_value(src, emit)).state


def test_value_three_ways():
    for text in ('{"a": [1, {"b": "\\u00e9"}]}', '"a\\"b"', "[]", "null"):
        three_ways(value, text, (S.DONE, text, ""))
    three_ways(value, "12", (S.DONE, "12", ""), at_end=True)
    three_ways(value, "12 ", (S.DONE, "12", " "))


@given(st.text() | support.NASTY, st.booleans())
@example("\ud83d", True)
def test_string_three_ways(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    three_ways(silent(json_string), text, (json.loads(text), "", ""), then='"more')


@pytest.mark.parametrize("text", NO_STRINGS)
def test_no_string(text):
    for chunks in ([text], list(text)):
        driver = Driver(silent(json_string))
        driver.feed(*chunks)

        assert isinstance(driver.result, JsonFault)
        assert not driver.result.cut
        assert driver.src.offset == 0


@pytest.mark.parametrize("text", ["", '"a', '"a\\u00'])
def test_the_input_ends_before_the_string_is_read(text):
    read = drive(silent(json_string), [text])

    assert isinstance(read.result, JsonFault)
    assert read.result.cut
    assert read.unread == text


@given(st.lists(st.sampled_from(ESCAPES), max_size=6).map("".join))
@example("\\\\ud83d\\ude00")
@example("\\ud83d\\ud83d\\ude00")
def test_decoded_three_ways(text):
    expected = (True, json.loads(f'"{text}"'), "")
    three_ways(json_decoded, text + '"', expected, then='"more')


@pytest.mark.parametrize("text", DECODED)
def test_decoded_holds_back_what_may_change_its_meaning(text):
    passed, held = text.split("ˇ")
    for chunks in ([passed + held], list(passed + held)):
        driver = Driver(json_decoded)
        driver.feed(*chunks)

        assert driver.running
        assert (driver.text, driver.src.unread) == (json.loads(f'"{passed}"'), held)


def test_no_end_of_a_decoded_string_three_ways():
    three_ways(json_decoded, "a\\x", (False, "a", "\\x"))
    three_ways(json_decoded, "\\ud83d\n", (False, "\ud83d", "\n"))
    three_ways(json_decoded, "a\\ud83d", (False, "a", "\\ud83d"), at_end=True)
    three_ways(json_decoded, "a\\", (False, "a", "\\"), at_end=True)


def test_key_three_ways():
    three_ways(silent(json_key, first=True), "}", (None, "", ""))
    three_ways(silent(json_key, first=False), " \n}", (None, "", ""))
    three_ways(silent(json_key, first=True), ' "\\u0041" : {', ("A", "", "{"))
    three_ways(silent(json_key, first=False), ' , "":1', ("", "", "1"))


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind in KEYS for text in KEYS[kind]])
@pytest.mark.parametrize(("first", "comma"), [(True, ""), (False, ", ")])
def test_no_key(first, comma, kind, text):
    fault = drive(silent(json_key, first=first), list(comma + text)).result

    assert isinstance(fault, JsonFault)
    assert fault.cut is (kind == "truncated")


@pytest.mark.parametrize("text", ['"a": 1', 'x"a": 1', ", }", ",, "])
def test_one_comma_stands_between_members(text):
    driver = Driver(silent(json_key, first=False))
    driver.feed(text)

    assert isinstance(driver.result, JsonFault)
    assert not driver.result.cut


def test_space_three_ways():
    three_ways(silent(json_space), " \t\r\nx", ("x", "", "x"))
    three_ways(silent(json_space), "\xa0", ("\xa0", "", "\xa0"))
    three_ways(silent(json_space), " ", ("", "", ""), at_end=True)


@pytest.mark.parametrize("size", [1, 10_000])
def test_the_length_of_a_string_is_limited_at_every_cut(size):
    text = '"' + "a" * MAX_TOKEN + '"'
    chunks = [text[at : at + size] for at in range(0, len(text), size)]

    assert isinstance(drive(silent(json_string), chunks).result, JsonFault)


@pytest.mark.parametrize("text", ["[nope]", "[1-2]", '{"a": tru}', "[01]"])
def test_the_problem_is_the_same_at_every_cut(text):
    whole, cut = drive(json_value, [text]).result, drive(json_value, list(text)).result
    assert whole.state is cut.state is JsonState.BROKEN
    assert whole.problem == cut.problem


@pytest.mark.parametrize("text", ['"a\\', '"a\\u00', "tru", "-", "1."])
def test_a_scalar_that_the_input_cuts_is_not_broken(text):
    assert drive(json_value, [text]).result.state in (JsonState.STRING, JsonState.START)


def test_an_escape_that_begins_in_the_prompt_is_decoded():
    read = drive(json_decoded, ["x\\", '"y\\n"'], prompt=2)
    assert "".join(read.emitted) == '"y\n'


def test_half_a_pair_at_the_end_of_the_input_is_not_emitted():
    read = drive(json_decoded, ["a\\ud83d"])
    assert (read.result, "".join(read.emitted), read.unread) == (False, "a", "\\ud83d")
