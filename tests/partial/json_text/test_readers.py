"""The JSON sub-parsers, compared with Python's parser."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaparse.partial import (
    MAX_TOKEN,
    JsonFault,
    JsonLexer,
    JsonState,
    Markers,
    UnclosedString,
    Window,
    json_decoded,
    json_key,
    json_space,
    json_string,
    json_value,
    replace_surrogates,
)

from ... import support
from ...support import Driver, drive, silent, three_ways

S = JsonState
KEYS = {"truncated": ["", '"', '"a\\', '"a" '], "malformed_json": ["1", '"a" 1', '"a"}', ","]}
NO_STRINGS = ["a", 'a"', 'ab" ', '"a\nb"', '"a\\x"', '"' + "a" * 2 * MAX_TOKEN]
ESCAPES = ["\\ud83d", "\\uDE00", "\\\\", "\\/", '\\"', "\\n", "\\u0041", "😀", "\ud83d", "u", "d8"]
# The mark shows the end of the emitted text, without half of a surrogate pair.
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
    read = replace_surrogates(json.loads(text)) if ascii_only else json.loads(text)
    three_ways(silent(json_string), text, (read, "", ""), then='"more')


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
def test_decoded_string_buffers_incomplete_escapes(text):
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
def test_members_need_exactly_one_comma(text):
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


# A string has overrun at a marker if invalid text follows the quote after it.
MARKERS = ["x", "tx"]
OVERRUN = UnclosedString(Markers(MARKERS), lambda quote: f"t?x{quote}!")
BITS = 'tx"!\\,'


def proofs(text):
    """Return the places of overruns in JSON: inside a string, but not inside an escape."""
    for at in range(len(text)):
        lexer = JsonLexer(tracks=True)
        in_string = lexer.scan(text[:at]) == at and lexer.state in (S.STRING, S.KEY)
        if in_string and text.startswith(('x"!', 'tx"!'), at):
            yield at


@pytest.mark.parametrize("begun", ['["', '{"', '{"a":"b,'])
def test_a_value_ends_where_a_string_has_overrun(begun):
    for bits in product(BITS, repeat=4):
        text = begun + "".join(bits)
        plain = drive(json_value, [text])
        end = next(proofs(text), None)
        for chunks in ([text], list(text), [begun, text[len(begun) :]]):
            read = drive(lambda src, emit: json_value(src, emit, overrun=OVERRUN), chunks)
            lexer = read.result
            if end is None:
                assert (read.unread, lexer.state) == (plain.unread, plain.result.state), chunks
                assert lexer.problem == plain.result.problem
            else:
                assert (read.unread, lexer.state) == (text[end:], S.BROKEN), chunks
                assert (lexer.problem, lexer.broken_in) == ("a string that does not end", None)
            assert "".join(read.emitted) + read.unread == text


def test_overrun_string_is_not_a_string():
    for bits in product(BITS, repeat=4):
        text = '"' + "".join(bits).replace("t", ",")
        plain = drive(silent(json_string), [text])
        for chunks in ([text], list(text)):
            read = drive(silent(json_string, OVERRUN), chunks)
            if isinstance(plain.result, str) and any(proofs(text)):
                fault = JsonFault("a string that does not end", cut=False)
                assert (read.result, read.unread) == (fault, text), chunks
            else:
                assert (read.result, read.unread) == (plain.result, plain.unread), chunks


def test_decoded_text_ends_where_it_has_overrun():
    for bits in product(BITS, repeat=4):
        text = "".join(bits)
        end = next((at - 1 for at in proofs('"' + text)), None)
        plain = drive(json_decoded, [text])
        for chunks in ([text], list(text), [text[:1], text[1:]]):
            read = drive(lambda src, emit: json_decoded(src, emit, OVERRUN), chunks)
            if end is None:
                assert (read.result, read.unread) == (plain.result, plain.unread), chunks
                assert "".join(read.emitted) == "".join(plain.emitted)
            else:
                assert (read.result, read.unread) == (False, text[end:]), chunks
                assert "".join(read.emitted) == json.loads(f'"{text[:end]}"')
            assert all(read.emitted)


def test_marker_without_proof_is_decoded_when_certain():
    driver = Driver(lambda src, emit: json_decoded(src, emit, OVERRUN))
    driver.feed("x")
    assert driver.emitted == []
    driver.feed(',x"')
    assert driver.text == "x,"
    driver.feed(",")
    assert (driver.text, driver.result, driver.src.unread) == ("x,x", True, ",")


@pytest.mark.parametrize("text", ["\\ud83d\\ude00x", "a\\ud83d\\ude00", "\\u00e9dex", "\\\\d"])
def test_no_marker_begins_in_an_escape(text):
    overrun = UnclosedString(Markers(["de", "u", "d", "e9"]), lambda _: "(?!)")
    for chunks in ([text + '"'], [*text, '"']):
        read = drive(lambda src, emit: json_decoded(src, emit, overrun), chunks)
        assert "".join(read.emitted) == json.loads(f'"{text}"')


def test_the_length_of_a_string_is_that_of_the_string():
    src = Window("x" * MAX_TOKEN + '"a')
    src.pos = MAX_TOKEN
    steps = json_string(src)
    next(steps)
    src.feed('"')
    with pytest.raises(StopIteration) as done:
        next(steps)
    assert done.value.value == "a"


@pytest.mark.parametrize("size", [1, 10_000])
def test_the_longest_string(size):
    text = '"' + "a" * (MAX_TOKEN - 1) + '"'
    chunks = [text[at : at + size] for at in range(0, len(text), size)]

    assert drive(silent(json_string), chunks).result == text[1:-1]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('x"a":1', JsonFault("no comma", cut=False)),
        ("", JsonFault("no comma", cut=True)),
        (",", JsonFault("no string", cut=True)),
        (',"a', JsonFault("no whole string", cut=True)),
        (",x", JsonFault("no whole string", cut=False)),
        (',"a\n"', JsonFault("no whole string", cut=False)),
        (',"a"1', JsonFault("no colon", cut=False, read='"a"')),
        (',"é" ', JsonFault("no colon", cut=True, read='"é"')),
    ],
)
def test_invalid_member_returns_its_fault(text, fault):
    for chunks in ([text], list(text)):
        assert drive(silent(json_key, first=False), chunks).result == fault
    src = Window(text, closed=True)
    with pytest.raises(StopIteration) as done:
        next(json_key(src, first=False))
    assert done.value.value == fault


@pytest.mark.parametrize("text", ["[1, 2, true]", "[11,1 ]", '{"a": 1, "t": [1]}'])
def test_a_marker_may_begin_like_a_value(text):
    overrun = UnclosedString(Markers(["1", "tr"]), lambda _: "(?!)")

    def steps(src, emit):
        return json_value(src, emit, JsonLexer(hold_commas=True), overrun)

    for chunks in ([text], list(text), [text[:3], text[3:]]):
        read = drive(steps, chunks)
        assert (read.result.state, "".join(read.emitted), read.unread) == (S.DONE, text, "")


def test_only_strings_can_overrun():
    overrun = UnclosedString(Markers(["1", "tr", "x"]), lambda _: "1|tr|x")
    for text in ("[1, 2, true]", "[11,1 ]", "[true]"):
        for chunks in ([text], list(text)):
            read = drive(lambda src, emit: json_value(src, emit, overrun=overrun), chunks)
            assert (read.result.state, "".join(read.emitted)) == (S.DONE, text)
    src = Window('x"!"')
    src.pos = 1
    with pytest.raises(StopIteration) as done:
        next(json_string(src, OVERRUN))
    assert done.value.value == "!"


def test_a_string_has_overrun_in_a_text_that_came_whole():
    src, emitted = Window('["ax"! and more', closed=True), []
    with pytest.raises(StopIteration) as done:
        next(json_value(src, emitted.append, overrun=OVERRUN))
    assert (done.value.value.state, src.unread) == (S.BROKEN, 'x"! and more')
    assert "".join(emitted) == '["a'


@pytest.mark.parametrize(("text", "parts"), [("12 ", ["12"]), ("true", ["true"]), ("[12]", None)])
def test_incomplete_tokens_are_not_emitted(text, parts):
    emitted = drive(json_value, list(text)).emitted
    assert emitted == (parts or ["[", "12]"])


@pytest.mark.parametrize("size", [1, 3, 100])
def test_prompt_part_of_a_value_is_not_emitted(size):
    text = '{"a": [1, "bc", true], "d": "e"}'
    for prompt in range(len(text)):
        chunks = [text[:prompt], *(text[at : at + size] for at in range(prompt, len(text), size))]
        read = drive(json_value, chunks, prompt=prompt)
        assert ("".join(read.emitted), read.result.state) == (text[prompt:], S.DONE)


@pytest.mark.parametrize("begun", ['["', '{"a": "'])
def test_only_the_rest_of_a_long_string_is_left_to_the_lane_of_strings(begun):
    overrun = UnclosedString(Markers(["<a>"]), lambda _: "(?!)")
    driver = Driver(lambda src, emit: json_value(src, emit, overrun=overrun))
    driver.feed(begun)
    assert driver.src.waiter.lane is not overrun.lane
    driver.feed(*"abcdef")
    assert driver.src.waiter.lane is overrun.lane
    driver.feed("g", '"')
    assert driver.src.waiter.lane is not overrun.lane
    assert driver.text == f'{begun}abcdefg"'


def test_the_lane_of_a_value_is_kept_and_no_mark_stops_there():
    driver = Driver(json_value)
    driver.feed("[")
    lane = driver.src.waiter.lane
    for number in ("1", "23"):
        driver.feed(*number, ", ")
        assert driver.src.waiter.lane is lane
    assert (driver.text, driver.resumes) == ("[1, 23, ", 1)
    assert lane.exact('"?<", ') is None


@pytest.mark.parametrize("markers", [["x"], ["x", "<"]])
def test_where_no_marker_begins_the_reader_is_not_resumed(markers):
    overrun = UnclosedString(Markers(markers), lambda _: "(?!)")
    driver = Driver(lambda src, emit: json_value(src, emit, overrun=overrun))
    driver.feed('["a', "b", '", tr', "ue, 1", "2, ", '"')
    assert (driver.text, driver.resumes) == ('["ab", true, 12, "', 1)
    driver.feed("x", "yz", '", 3')
    assert (driver.text, driver.resumes) == ('["ab", true, 12, "xyz", ', 2)


def test_a_value_whose_end_was_seen_is_not_read_again():
    class Counting(JsonLexer):
        scans = 0

        def scan(self, text, pos=0, *, final=False):
            self.scans += 1
            return super().scan(text, pos, final=final)

    lexer = Counting()
    driver = Driver(lambda src, emit: json_value(src, emit, lexer))
    driver.feed('{"a": [1, ')
    lane, text = driver.src.waiter.lane, '"b"]} and more'
    assert lane.exact(text) is text
    assert lane.split(text) == -1
    driver.src.waiter.lane, scans = None, lexer.scans
    driver.feed(text)

    assert (driver.result.state, driver.result.stack) == (S.DONE, "")
    assert (driver.text, driver.src.unread) == ('{"a": [1, "b"]}', " and more")
    assert lexer.scans == scans
