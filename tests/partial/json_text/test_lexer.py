"""The JSON lexer, compared with Python's parser and a tokenizer of complete text."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaparse.partial import JsonLexer, JsonState, json_value
from deltaparse.partial.json_text.lexer import MAX_DEPTH, MAX_TOKEN

from ... import support
from ...corpus import needs_corpus, rows
from ...support import Driver, closers, cuts, drive, is_json, json_texts, nearly_json

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
# The mark shows the end of the valid part.
BROKEN = ["ˇ]", "[1,ˇ]", "[ˇ}", "[1ˇ}", '{"a":1ˇ]', '{"a":1,ˇ}', "{ˇ1", '{"a" ˇ1', '{"a":ˇ}']
BROKEN += ['["" ˇ""]', "[ˇ-]", "[ˇ01]", "[ˇ-00]", "[ˇTrue]", "[ˇnulL]", "[1ˇx]", "[ˇ'a']"]
BROKEN += ['["aˇ\nb"]', '["aˇ\\x41"]', '{"ˇ\\u12g', "[{ˇ1", '[{"a":1,ˇ2', "[{ˇ["]


def chunks(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


def accepts(chunks):
    read = drive(json_value, chunks)
    return read.result.state is S.DONE and not read.unread.strip(" \t\n\r")


@given(support.json_texts(), st.data())
def test_certain_text_is_emitted_verbatim_immediately(text, data):
    driver, places = Driver(json_value), support.certain(text)
    fed = 0
    for chunk in data.draw(cuts(text)):
        driver.feed(chunk)
        fed += len(chunk)
        assert driver.text == text[: places[fed]]
    driver.close()

    assert driver.text == text
    assert (driver.result.state, driver.result.stack) == (S.DONE, "")


@given(support.json_texts(), st.text() | support.NASTY, st.data())
@example("[1]", "]", None)
@example('"\\\\"', '"', None)
@example("true", "e", None)
@example("1", " 1", None)
def test_text_after_the_value_stays_unread(text, then, data):
    if text[-1].isdigit():
        then = f",{then}"  # Other characters might belong to the number.
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
def test_result_does_not_depend_on_chunks(text, data):
    whole, cut = drive(json_value, [text]), drive(json_value, data.draw(cuts(text)))

    for attribute in ("state", "broken_in", "stack"):
        assert getattr(cut.result, attribute) == getattr(whole.result, attribute)
    assert "".join(cut.emitted) == "".join(whole.emitted)
    assert cut.unread == whole.unread
    assert "".join(cut.emitted) + cut.unread == text


@needs_corpus
@pytest.mark.parametrize("size", [1, 4, 1_000_000])
def test_the_json_test_suite(size):
    # Two deep texts are only named there, so shorter ones above all limits are used here.
    # Some are not UTF-8, and their decoded text is not JSON either.
    deep = {"n_structure_100000_opening_arrays": "[" * 5000}
    deep["n_structure_open_array_object"] = '[{"":' * 2500 + "\n"
    expected, accepted = {}, {}
    for case in rows("json/jsontestsuite.jsonl"):
        name = Path(case["file"]).stem
        text = base64.b64decode(case.get("input_b64", "")).decode(errors="replace")
        text = deep[name] if "input_file" in case else case.get("input", text)
        if case["expect"] != "implementation":
            expected[name] = case["expect"] == "accept"
            accepted[name] = accepts(chunks(text, size))

    assert accepted == expected
    assert len(accepted) == 283


@pytest.mark.parametrize(("state", "text"), [(s, text) for s in STATES for text in STATES[s]])
def test_the_state_says_where_the_text_was_cut(state, text):
    lexer = JsonLexer(tracks=True)
    passed = lexer.scan(text)
    whole = [end for end in range(1, passed + 1) if is_json(text[:end] + closers(text[:end]))]

    assert lexer.state is state
    assert list(lexer.stack) == support.open_brackets(text)
    assert lexer.passed == passed
    assert lexer.settled == len(text[: max(whole, default=0)].rstrip())
    if lexer.stack:  # Otherwise the end of the input may change the result.
        read = drive(json_value, [text])
        assert (read.result.state, "".join(read.emitted)) == (state, text[:passed])
    if passed == len(text):
        lexer.scan("\x00")
        assert lexer.broken_in is state


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
    lexer = lambda: JsonLexer(max_depth=limit) if limit else None  # noqa: E731
    deepest = opener * (limit or MAX_DEPTH)

    read = drive(lambda src, emit: json_value(src, emit, lexer()), [deepest])
    assert read.result.state in (S.AFTER_OPEN, S.AFTER_COLON)

    read = drive(lambda src, emit: json_value(src, emit, lexer()), ["[" + deepest])
    assert (read.result.state, len(read.result.stack)) == (S.BROKEN, limit or MAX_DEPTH)
    assert read.unread == opener


@pytest.mark.parametrize("size", [1, 1000, 10_000])
@pytest.mark.parametrize("excess", [0, 1])
def test_the_length_of_a_number_is_limited(size, excess):
    text = "[" + "1" * (MAX_TOKEN + excess)
    driver = Driver(json_value)
    driver.feed(*chunks(text, size))
    assert driver.running is not bool(excess)

    driver.feed("]")
    assert driver.result.state is (S.BROKEN if excess else S.DONE)
    assert driver.text == ("[" if excess else text + "]")


@given(st.data(), json_texts() | nearly_json(), st.booleans(), st.sampled_from([3, MAX_DEPTH]))
def test_runs_pass_the_same_text_as_the_loop(data, text, hold_commas, max_depth):
    settings = {"hold_commas": hold_commas, "max_depth": max_depth}
    # A tracking lexer reads token by token.
    lexers = JsonLexer(**settings), JsonLexer(**settings, tracks=True)
    held = ""
    for chunk in data.draw(cuts(text)):
        held += chunk
        passed = {lexer.scan(held) for lexer in lexers}
        assert len(passed) == 1
        held = held[passed.pop() :]
        first, second = ((x.state, x.stack, x.problem, x.broken_in) for x in lexers)
        assert first == second


@pytest.mark.parametrize("held_later", [False, True])
def test_a_run_takes_all_between_two_brackets(held_later, monkeypatch):
    text = '{"a": 1, "b": "\\n", "c": [true, -1.5e3, "x", {"d": null, "e'
    read, token = [], JsonLexer._token

    def noted(lexer, text, pos, *more, **words):
        read.append(text[pos])
        return token(lexer, text, pos, *more, **words)

    monkeypatch.setattr(JsonLexer, "_token", noted)
    lexer = JsonLexer(hold_commas=not held_later)
    lexer.hold(True)
    assert lexer.scan(text) == len(text)
    assert (read, lexer.state, lexer.stack) == (["{", "[", "{"], S.KEY, "{[{")


@pytest.mark.parametrize("before", ["[1 ", '{"a": true', '[{"a": []', '{"a": [{}'])
def test_commas_can_be_held_back_from_any_place_on(before):
    lexer = JsonLexer()
    assert lexer.scan(before) == len(before)
    for _ in range(2):
        lexer.hold(True)
        assert (lexer.scan(", "), lexer.state) == (0, S.AFTER_VALUE)
        lexer.hold(False)
        assert (lexer.scan(", "), lexer.state) == (2, S.AFTER_COMMA)
        lexer.go_back(S.AFTER_VALUE, lexer.stack)


@pytest.mark.parametrize("text", ["[1]", "[x", '{"a": x', '[{"\n'])
def test_a_value_that_has_ended_takes_no_more(text):
    lexer = JsonLexer()
    lexer.scan(text)
    ended = lexer.state, lexer.stack, lexer.problem, lexer.broken_in
    for more in (" ", '"a"', "1 ", "]", "[", ","):
        assert lexer.scan(more) == 0
        assert (lexer.state, lexer.stack, lexer.problem, lexer.broken_in) == ended


def test_strings_pass_by_a_waiting_reader():
    driver = Driver(json_value)
    driver.feed('{"key', " goes", " on", '": "', "plain", "", ' text"', "}")

    assert driver.text == '{"key goes on": "plain text"}'
    assert driver.resumes == 2


@pytest.mark.parametrize("length", [1000, 4000])
@pytest.mark.parametrize("pattern", ["{},", '"plain",', '"\\u00e9\\\\",', "true,", "-1.5e6,"])
def test_no_character_is_scanned_more_often_than_it_can_be_held(pattern, length, monkeypatch):
    scan, scanned = JsonLexer.scan, []

    def counting(self, text, pos=0, *, final=False):
        scanned.append(len(text) - pos)
        return scan(self, text, pos, final=final)

    monkeypatch.setattr(JsonLexer, "scan", counting)
    drive(json_value, list(("[" + pattern * length)[:length]))

    assert 0 < sum(scanned) <= 8 * length


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('["\\x41"]', "an escape"),
        ('{"\\u12g', "an escape"),
        ('["a\nb"]', "a control character"),
        ('{"\x1f', "a control character"),
        ('{"a" 1}', "'1' after key"),
        ("[nope]", "'n' begins no value"),
        ("[+1]", "'+' begins no value"),
        ("[01]", "'0' begins no value"),
        (f"[{'1' * MAX_TOKEN}2]", f"a number of more than {MAX_TOKEN} characters"),
        ("[é]", "'é' begins no value"),
    ],
)
def test_problem_names_the_error(text, problem):
    for chunks in ([text], list(text)):
        assert drive(json_value, chunks).result.problem == problem


def test_a_string_that_has_overrun_is_broken_for_good():
    lexer = JsonLexer()
    lexer.scan('["a')
    lexer.overruns()

    assert (lexer.state, lexer.broken_in, lexer.stack) == (S.BROKEN, None, "[")
    assert lexer.problem == "a string that does not end"


@pytest.mark.parametrize(
    ("text", "depth"),
    [("{}", 1), ('{"a": 1}', 1), ('{"a": {"b": 3}, "c": [1, 2]}', 2), ('{"a": {"b": []}}', 3)],
)
def test_a_small_object_is_read_as_any_other(text, depth):
    lexer = JsonLexer(tracks=True)
    assert lexer.scan(text + " ") == len(text)
    assert (lexer.state, lexer.passed, lexer.settled) == (S.DONE, len(text), len(text))
    assert lexer.opened == (text.rindex('"', 0, text.rindex('"')) if '"' in text else 0)
    for max_depth in (1, 2, 3):
        lexers = [JsonLexer(max_depth=max_depth, tracks=tracks) for tracks in (False, True)]
        ends = {(lexer.scan(text), lexer.state, lexer.stack) for lexer in lexers}
        assert len(ends) == 1
        assert (S.DONE in next(iter(ends))) is (max_depth >= depth)


def test_a_small_object_is_read_at_once(monkeypatch):
    monkeypatch.setattr(JsonLexer, "_token", None)
    lexer = JsonLexer()
    text = '{"a": {"b": -1.5e3}, "c": [true, null]}'

    assert lexer.scan(text + "]") == len(text)
    assert lexer.state is S.DONE
