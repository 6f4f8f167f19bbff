"""The JSON scanner, against Python's own parser and a tokenizer that has the whole text."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests import support
from tests.support import Driver, closers, cuts, drive, is_json, silent, three_ways

from deltaparse.partial import (
    JsonScanner,
    JsonState,
    MalformedJson,
    json_decoded,
    json_scan,
    json_string,
    json_value,
)
from deltaparse.partial.json_scan import MAX_DEPTH, MAX_TOKEN

SUITE = Path(__file__).parents[2] / "../shared/corpus/json/jsontestsuite.jsonl"
S = JsonState
STATES = {
    S.START: ["", " \n", "-12.5e", "tru"],
    S.STRING: ['"', '"a\\u00', '{"a":"he', '["a\\', '["\\ud83d'],
    S.AFTER_OPEN: ["{", "[ ", "[[", '[{"a":{', "[1", "[nul"],
    S.KEY: ['{"', '{"co', '{"a":1,"', '{"\\'],
    S.AFTER_KEY: ['{"a"', '{"a" '],
    S.AFTER_COLON: ['{"a":', '{"a":12', '{"a": fals'],
    S.AFTER_VALUE: ['{"a":"he"', '{"a":1 ', "[true", "[{}", "[1\n"],
    S.AFTER_COMMA: ['{"a":1,', "[1, ", "[1,-", "[[],t"],
}
# The mark shows the place up to which it may be JSON.
BROKEN = ["ˇ]", "[1,ˇ]", "[ˇ}", "[1ˇ}", '{"a":1ˇ]', '{"a":1,ˇ}', "{ˇ1", '{"a" ˇ1', '{"a":ˇ}']
BROKEN += ['["" ˇ""]', "[ˇ-]", "[ˇ01]", "[ˇ-00]", "[ˇTrue]", "[ˇnulL]", "[1ˇx]", "[ˇ'a']"]
BROKEN += ['["aˇ\nb"]', '["aˇ\\x41"]', '{"ˇ\\u12g']
KEYS = {"truncated": ["", '"', '"a\\', '"a" '], "malformed_json": ["1", '"a" 1', '"a"}', ","]}
NO_STRINGS = ["a", '"a\nb"', '"a\\x"', '"' + "a" * 2 * MAX_TOKEN]
ESCAPES = ["\\ud83d", "\\uDE00", "\\\\", "\\/", '\\"', "\\n", "\\u0041", "😀", "\ud83d", "u", "d8"]
# The mark shows what of a string is handed out so far: half of a surrogate pair is not.
DECODED = ["aˇ", "aˇ\\", "aˇ\\u004", "a\\u0041ˇ", "aˇ\\ud83d", "\\\\ud83dˇ", "\\\\ˇ\\ud83d"]
DECODED += ["ˇ\\ud83d\\ude0", "\\ud83d\\ude00ˇ", "\\ud83d!ˇ", "\\ud83d\\nˇ", "a\\ude00ˇ"]


def pieces(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


def accepts(chunks):
    read = drive(json_value, chunks)
    return read.result.state is S.DONE and not read.unread.strip(" \t\n\r")


def value(src, emit):
    return (yield from json_value(src, emit)).state


@given(support.json_texts(), st.data())
def test_all_that_is_certain_is_passed_on_verbatim_at_once(text, data):
    driver, places = Driver(json_value), support.certain(text)
    fed = 0
    for chunk in data.draw(cuts(text)):
        driver.feed(chunk)
        fed += len(chunk)
        assert driver.text == text[: places[fed]]
    driver.close()

    assert driver.text == text
    assert (driver.result.state, driver.result.stack) == (S.DONE, [])


@given(support.json_texts(), st.text() | support.NASTY, st.data())
@example("[1]", "]", None)
@example('"\\\\"', '"', None)
@example("true", "e", None)
@example("1", " 1", None)
def test_what_follows_is_left_untouched(text, then, data):
    if text[-1].isdigit():
        then = f",{then}"  # or it might belong to the number
    start = len(text) - len(text.lstrip())
    end = json.JSONDecoder().raw_decode(text + then, start)[1]
    read = drive(json_value, data.draw(cuts(text + then)) if data else text + then)

    assert read.result.state is S.DONE
    assert "".join(read.emitted) == (text + then)[:end] == text
    assert read.unread == then


@given(support.nearly_json() | support.json_texts(), st.data())
@example("", None)
@example("1.", None)
@example('{,"a":1}', None)
@example('["\\ud83d"]', None)
@example("{}}", None)
@example("-0E+0", None)
@example("١", None)
def test_exactly_json_is_accepted(text, data):
    assert accepts(data.draw(cuts(text)) if data else list(text)) is is_json(text)


@given(support.nearly_json(), st.data())
def test_cutting_the_text_changes_nothing(text, data):
    whole, cut = drive(json_value, [text]), drive(json_value, data.draw(cuts(text)))

    for attribute in ("state", "broken_in", "stack"):
        assert getattr(cut.result, attribute) == getattr(whole.result, attribute)
    assert "".join(cut.emitted) == "".join(whole.emitted)
    assert cut.unread == whole.unread
    assert "".join(cut.emitted) + cut.unread == text


@pytest.mark.skipif(not SUITE.exists(), reason="JSONTestSuite is not in ../shared/corpus")
@pytest.mark.parametrize("size", [1, 4, 1_000_000])
def test_the_json_test_suite(size):
    # Two deep texts are only named there: here are shorter ones, still deeper than any limit.
    # Some are not UTF-8: what the stream's decoder makes of such bytes is no JSON either.
    deep = {"n_structure_100000_opening_arrays": "[" * 5000}
    deep["n_structure_open_array_object"] = '[{"":' * 2500 + "\n"
    expected, accepted = {}, {}
    for case in map(json.loads, SUITE.read_text(encoding="utf-8").splitlines()):
        name = Path(case["file"]).stem
        text = base64.b64decode(case.get("input_b64", "")).decode(errors="replace")
        text = deep[name] if "input_file" in case else case.get("input", text)
        if case["expect"] != "implementation":
            expected[name] = case["expect"] == "accept"
            accepted[name] = accepts(pieces(text, size))

    assert accepted == expected
    assert len(accepted) == 283


@pytest.mark.parametrize(("state", "text"), [(s, text) for s in STATES for text in STATES[s]])
def test_the_state_says_where_the_text_was_cut(state, text):
    scanner = JsonScanner()
    passed = scanner.scan(text)
    whole = [end for end in range(1, passed + 1) if is_json(text[:end] + closers(text[:end]))]

    assert scanner.state is state
    assert scanner.stack == support.open_brackets(text)
    assert scanner.passed == passed
    assert scanner.settled == len(text[: max(whole, default=0)].rstrip())
    if scanner.stack:  # else the end of the input says more
        read = drive(json_value, [text])
        assert (read.result.state, "".join(read.emitted)) == (state, text[:passed])
    if passed == len(text):
        scanner.scan("\x00")
        assert scanner.broken_in is state


@pytest.mark.parametrize("text", BROKEN)
def test_the_character_that_breaks_it_stays_unread(text):
    passed, unread = text.split("ˇ")
    for chunks in ([passed + unread], list(passed + unread)):
        driver = Driver(json_value)
        driver.feed(*chunks)

        assert driver.result.problem
        assert (driver.result.state, driver.text, driver.src.unread) == (S.BROKEN, passed, unread)


@pytest.mark.parametrize("limit", [None, 1, 3, MAX_DEPTH])
@pytest.mark.parametrize("opener", ["[", '{"a":'])
def test_the_depth_limit_is_exact(limit, opener):
    options = {"max_depth": limit} if limit else {}
    deepest = opener * (limit or MAX_DEPTH)

    read = drive(lambda src, emit: json_value(src, emit, **options), [deepest])
    assert read.result.state in (S.AFTER_OPEN, S.AFTER_COLON)

    read = drive(lambda src, emit: json_value(src, emit, **options), ["[" + deepest])
    assert (read.result.state, len(read.result.stack)) == (S.BROKEN, limit or MAX_DEPTH)
    assert read.unread == opener


@pytest.mark.parametrize("size", [1, 1000, 10_000])
@pytest.mark.parametrize("excess", [0, 1])
def test_the_length_of_a_number_is_limited(size, excess):
    text = "[" + "1" * (MAX_TOKEN + excess)
    driver = Driver(json_value)
    driver.feed(*pieces(text, size))
    assert driver.running is not bool(excess)

    driver.feed("]")
    assert driver.result.state is (S.BROKEN if excess else S.DONE)
    assert driver.text == ("[" if excess else text + "]")


def test_strings_pass_by_a_sleeping_parser():
    driver = Driver(json_value)
    driver.feed('{"key', " goes", " on", '": "', "plain", "", ' text"', "}")

    assert driver.text == '{"key goes on": "plain text"}'
    assert driver.resumes == 4


@pytest.mark.parametrize("length", [1000, 4000])
@pytest.mark.parametrize("pattern", ["{},", '"plain",', '"\\u00e9\\\\",', "true,", "-1.5e6,"])
def test_no_character_is_scanned_more_often_than_it_can_be_held(pattern, length, monkeypatch):
    scan, scanned = JsonScanner.scan, []

    def counting(self, text, pos=0, *, final=False):
        scanned.append(len(text) - pos)
        return scan(self, text, pos, final=final)

    monkeypatch.setattr(JsonScanner, "scan", counting)
    drive(json_value, list(("[" + pattern * length)[:length]))

    assert 0 < sum(scanned) <= 8 * length


def test_value_three_ways():
    for text in ('{"a": [1, {"b": "\\u00e9"}]}', '"a\\"b"', "[]", "null"):
        three_ways(value, text, (S.DONE, text, ""))
    three_ways(value, "12", (S.DONE, "12", ""), at_end=True)
    three_ways(value, "12 ", (S.DONE, "12", " "))


@given(st.text() | support.NASTY, st.booleans())
@example("\ud83d", True)
def test_string_three_ways(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    three_ways(silent(json_scan.json_string), text, (json.loads(text), "", ""), then='"more')


@pytest.mark.parametrize("text", NO_STRINGS)
def test_no_string(text):
    for chunks in ([text], list(text)):
        with pytest.raises(MalformedJson) as caught:
            Driver(silent(json_scan.json_string)).feed(*chunks)

        assert (caught.value.kind, caught.value.span) == ("malformed_json", (0, 1))


@pytest.mark.parametrize("text", ["", '"a', '"a\\u00'])
def test_the_input_ends_before_the_string_is_read(text):
    with pytest.raises(MalformedJson) as caught:
        drive(silent(json_scan.json_string), [text])

    assert (caught.value.kind, caught.value.span) == ("truncated", (0, 1))


@given(st.lists(st.sampled_from(ESCAPES), max_size=6).map("".join))
@example("\\\\ud83d\\ude00")
@example("\\ud83d\\ud83d\\ude00")
def test_decoded_three_ways(text):
    expected = (True, json.loads(f'"{text}"'), "")
    three_ways(json_scan.json_decoded, text + '"', expected, then='"more')


@pytest.mark.parametrize("text", DECODED)
def test_decoded_holds_back_what_may_change_its_meaning(text):
    passed, held = text.split("ˇ")
    for chunks in ([passed + held], list(passed + held)):
        driver = Driver(json_scan.json_decoded)
        driver.feed(*chunks)

        assert driver.running
        assert (driver.text, driver.src.unread) == (json.loads(f'"{passed}"'), held)


def test_no_end_of_a_decoded_string_three_ways():
    three_ways(json_scan.json_decoded, "a\\x", (False, "a", "\\x"))
    three_ways(json_scan.json_decoded, "\\ud83d\n", (False, "\ud83d", "\n"))
    three_ways(json_scan.json_decoded, "a\\ud83d", (False, "a", "\\ud83d"), at_end=True)
    three_ways(json_scan.json_decoded, "a\\", (False, "a", "\\"), at_end=True)


def test_key_three_ways():
    three_ways(silent(json_scan.json_key, first=True), "}", (None, "", ""))
    three_ways(silent(json_scan.json_key, first=False), " \n}", (None, "", ""))
    three_ways(silent(json_scan.json_key, first=True), ' "\\u0041" : {', ("A", "", "{"))
    three_ways(silent(json_scan.json_key, first=False), ' , "":1', ("", "", "1"))


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind in KEYS for text in KEYS[kind]])
@pytest.mark.parametrize(("first", "comma"), [(True, ""), (False, ", ")])
def test_no_key(first, comma, kind, text):
    with pytest.raises(MalformedJson) as caught:
        drive(silent(json_scan.json_key, first=first), list(comma + text))

    assert caught.value.kind == kind


@pytest.mark.parametrize("text", ['"a": 1', ", }", ",, "])
def test_one_comma_stands_between_members(text):
    with pytest.raises(MalformedJson):
        Driver(silent(json_scan.json_key, first=False)).feed(text)


def test_space_three_ways():
    three_ways(silent(json_scan.json_space), " \t\r\nx", ("x", "", "x"))
    three_ways(silent(json_scan.json_space), "\xa0", ("\xa0", "", "\xa0"))
    three_ways(silent(json_scan.json_space), " ", ("", "", ""), at_end=True)


@pytest.mark.parametrize("size", [1, 10_000])
def test_the_length_of_a_string_is_limited_at_every_cut(size):
    text = '"' + "a" * MAX_TOKEN + '"'
    with pytest.raises(MalformedJson):
        drive(silent(json_string), [text[at : at + size] for at in range(0, len(text), size)])


@pytest.mark.parametrize("text", ["[nope]", "[1-2]", '{"a": tru}', "[01]"])
def test_the_problem_is_the_same_at_every_cut(text):
    whole, cut = drive(json_value, [text]).result, drive(json_value, list(text)).result
    assert whole.state is cut.state is JsonState.BROKEN
    assert whole.problem == cut.problem


@pytest.mark.parametrize("text", ['"abc"', '["abc", 1, {"d": "e"}]'])
def test_what_passes_in_a_sleep_is_counted(text):
    whole, cut = drive(json_value, [text]).result, drive(json_value, list(text)).result
    assert (cut.passed, cut.settled) == (whole.passed, whole.settled) == (len(text), len(text))


@pytest.mark.parametrize("text", ['"a\\', '"a\\u00', "tru", "-", "1."])
def test_a_scalar_that_the_input_cuts_is_not_broken(text):
    assert drive(json_value, [text]).result.state in (JsonState.STRING, JsonState.START)


def test_an_escape_that_begins_in_the_prompt_is_decoded():
    read = drive(json_decoded, ["x\\", '"y\\n"'], prompt=2)
    assert "".join(read.emitted) == '"y\n'


def test_half_a_pair_at_the_end_of_the_input_is_not_handed_on():
    read = drive(json_decoded, ["a\\ud83d"])
    assert (read.result, "".join(read.emitted), read.unread) == (False, "a", "\\ud83d")
