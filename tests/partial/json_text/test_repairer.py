"""Each repair in keys, in values and in a format's quotes, for all chunkings."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from deltaparse.partial import MAX_TOKEN, JsonState, Markers, Repairs, UnclosedString, repaired_json

from ...support import Driver, drive

S = JsonState
QUOTE = "<|'|>"


BEHIND_COMMA = "a trailing comma"


def repaired(chunks, quote="", overrun=None, **switched):
    """Return the state or problem, written text, unread text, and names of repairs."""
    notes = []

    def steps(src, emit):
        lexer = yield from repaired_json(
            src,
            emit,
            lambda name, _: notes.append(name),
            repairs=replace(Repairs(), **switched),
            quote=quote,
            overrun=overrun,
        )
        return lexer.state if lexer.state is not S.BROKEN else lexer.problem

    read = drive(steps, chunks)
    return read.result, "".join(read.emitted), read.unread, notes


def at_each_cut(text, quote="", overrun=None, **switched):
    """Return the same, after checking that it does not depend on the chunks."""
    whole = repaired([text], quote, overrun, **switched)
    assert repaired(list(text), quote, overrun, **switched) == whole
    for cut in range(len(text)):
        assert repaired([text[:cut], text[cut:]], quote, overrun, **switched) == whole
    return whole


@pytest.mark.parametrize(
    "comment", ["# x\n", "// x\n", "/* x */", "/**/", "#\n", "//\n", "/* # // */"]
)
def test_comments_may_stand_between_any_two_tokens(comment):
    tokens = ["[", "{", '"a"', ":", "1 ", ",", '"b"', ":", "[", "]", "}", ",", "2", "]"]
    json = '[{"a":1 , "b":[]}, 2]'
    for at in range(1, len(tokens)):
        text = "".join([*tokens[:at], comment, *tokens[at:]])
        state, written, unread, notes = at_each_cut(text)
        assert (state, unread, notes) == (S.DONE, "", ["comments"])
        assert written.replace(" ", "") == json.replace(" ", "")


def test_a_comment_that_does_not_end_goes_up_to_the_end():
    for comment in ("# x", "// x", "/* x *", "//"):
        assert at_each_cut(f"[1 {comment}") == (S.AFTER_VALUE, "[1 ", "", ["comments"])
    assert at_each_cut("[1 /") == (S.AFTER_VALUE, "[1 ", "/", [])
    assert at_each_cut("[1 /x]") == ("'/' after value", "[1 ", "/x]", [])


@pytest.mark.parametrize(
    ("odd", "name", "written"),
    [
        ("\n", "control_characters", "\\n"),
        ("\x01", "control_characters", "\\u0001"),
        ("\\x41", "invalid_escapes", "A"),
        ("\\'", "invalid_escapes", "'"),
        ("\\d", "invalid_escapes", "\\\\d"),
    ],
)
def test_string_repairs_apply_to_keys(odd, name, written):
    text = '{"x%s": "y%s"}'
    assert at_each_cut(text % (odd, odd)) == (S.DONE, text % (written, written), "", [name] * 2)
    assert at_each_cut(text % (odd, odd), **{name: False})[:3] == (
        "an escape" if odd[0] == "\\" else "a control character",
        '{"x',
        (text % (odd, odd))[3:],
    )


@pytest.mark.parametrize(
    ("text", "quote", "written", "notes"),
    [
        ("{'a:b': 1, c: 2}", "", '{"a:b": 1, "c": 2}', ["single_quotes", "unquoted_keys"]),
        ("{'a:b': 1, c: 2}", QUOTE, '{"a:b": 1, "c": 2}', ["single_quotes", "unquoted_keys"]),
        ("{a b:1,c:{d/e:[2]}}", QUOTE, '{"a b":1, "c":{"d/e":[2]}}', ["unquoted_keys"] * 3),
        ("[True, None]", QUOTE, "[true, null]", ["python_literals"] * 2),
        (f'{{a:{QUOTE}"x"{QUOTE}}}', QUOTE, '{"a":"\\"x\\""}', ["unquoted_keys"]),
        (f"{{{QUOTE}a{QUOTE}:1}}", QUOTE, '{"a":1}', []),
        ("{a_b: 1}", "", '{"a_b": 1}', ["unquoted_keys"]),
    ],
)
def test_keys_with_and_without_quotes(text, quote, written, notes):
    assert at_each_cut(text, quote) == (S.DONE, written, "", notes)


@pytest.mark.parametrize("quote", ["", QUOTE])
def test_keys_without_quotes_can_be_refused(quote):
    found = at_each_cut("{a: 1}", quote, unquoted_keys=False)
    assert found == ("'a' after open", "{", "a: 1}", [])


@pytest.mark.parametrize("text", ["{-", "{-a", "{-a: 1}", "{--", "{-1: 2}"])
def test_no_key_begins_with_a_minus(text):
    assert at_each_cut(text) == ("'-' after open", "{", text[1:], [])
    assert at_each_cut('{"a": 1, ' + text[1:]) == (BEHIND_COMMA, '{"a": 1, ', text[1:], [])


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "True", "None"])
def test_a_word_that_the_input_cuts_is_not_broken(word):
    for end in range(1, len(word)):
        assert at_each_cut("[" + word[:end]) == (S.AFTER_OPEN, "[", word[:end], [])
        assert at_each_cut('{"a":' + word[:end]) == (S.AFTER_COLON, '{"a":', word[:end], [])
    assert at_each_cut(f"[{word}]")[0] is S.DONE


@pytest.mark.parametrize("comment", ["// x\n", "/* x */", "/*//*/"])
def test_comment_after_a_comma_is_not_an_unquoted_key(comment):
    for text in ("{a:1,%sb:2}", "{a:1, %s b:2}", "{%sa:1,b:2}"):
        state, written, unread, notes = at_each_cut(text % comment, QUOTE)
        assert (state, unread) == (S.DONE, "")
        assert written.replace(" ", "") == '{"a":1,"b":2}'
        assert sorted(notes) == ["comments", "unquoted_keys", "unquoted_keys"]
    assert at_each_cut(f"{{a:1,{comment}}}", QUOTE)[:3] == (S.DONE, '{"a":1}', "")
    assert at_each_cut("{a:1,#:2}", QUOTE)[1].replace(" ", "") == '{"a":1,"#":2}'


@pytest.mark.parametrize(
    ("odd", "problem"), [("\\d", "an escape"), ("\x01", "a control character")]
)
@pytest.mark.parametrize("begun", ["['a", "{'a"])
def test_single_quoted_string_breaks_at_unrepaired_character(begun, odd, problem):
    found = at_each_cut(begun + odd + "']", invalid_escapes=False, control_characters=False)
    assert found == (problem, begun.replace("'", '"'), odd + "']", ["single_quotes"])


def test_half_a_quote_at_the_end_is_not_text():
    for end in range(1, len(QUOTE)):
        text = f"[{QUOTE}ab{QUOTE[:end]}"
        assert at_each_cut(text, QUOTE) == (S.STRING, '["ab', QUOTE[:end], [])
    assert at_each_cut(f"[{QUOTE}ab<|.", QUOTE) == (S.STRING, '["ab<|.', "", [])


@pytest.mark.parametrize("quote", ["'", QUOTE])
def test_a_string_in_other_quotes_may_overrun(quote):
    overrun = UnclosedString(Markers(["<a>"]), lambda _: "<a>!")
    broken, notes = "a string that does not end", ["single_quotes"] if quote == "'" else []
    found = at_each_cut(f"[{quote}x<a>y<a>!{quote}]", QUOTE, overrun)
    assert found == (broken, '["x<a>y', f"<a>!{quote}]", notes)
    found = at_each_cut(f"[{quote}x<a>y<{quote}]", QUOTE, overrun)
    assert found == (S.DONE, '["x<a>y<"]', "", notes)
    assert at_each_cut(f"[{quote}x<a>y", QUOTE, overrun) == (S.STRING, '["x<a>y', "", notes)
    overrun = UnclosedString(Markers(["a"]), lambda quote: f"a(?:{re.escape(quote)})?!")
    for proof in ("a!", f"a{quote}!"):
        found = at_each_cut(f"[{quote}xa{proof}{quote}]", QUOTE, overrun)
        assert found == (broken, '["xa', f"{proof}{quote}]", notes)


def test_end_of_input_ends_a_top_level_word():
    assert at_each_cut("True") == (S.DONE, "true", "", ["python_literals"])
    assert at_each_cut("-Infinity") == (S.DONE, "null", "", ["non_finite"])
    assert at_each_cut("Tru") == ("'T' begins no value", "", "Tru", [])
    assert at_each_cut("[Trux") == ("'T' begins no value", "[", "Trux", [])


def test_text_in_single_quotes_passes_by():
    driver = Driver(lambda src, emit: repaired_json(src, emit, lambda *_: None))
    driver.feed("['a", "b", "?<c", ' "d', "é")

    assert (driver.text, driver.resumes) == ('["ab?<c \\"dé', 2)
    assert driver.src.waiter.lane.exact("?<#") is None


@pytest.mark.parametrize("quote", ["", QUOTE])
@pytest.mark.parametrize("before", ['["a" ', '{"a" ', '{"a": 1 '])
@pytest.mark.parametrize("odd", ["'b'", "True", "NaN", "b", f"{QUOTE}b{QUOTE}"])
def test_misplaced_value_is_not_repaired(before, odd, quote):
    problem, written, unread, notes = at_each_cut(before + odd + ": 1", quote)
    place = "after key" if before == '{"a" ' else "after value"
    assert problem.endswith(place)
    assert (written, unread, notes) == (before, odd + ": 1", [])


def test_the_longest_word():
    for excess in (0, 1):
        word = "a" * (MAX_TOKEN + excess)
        for chunks in ([f"{{{word}:1}}"], ["{" + word, ":1}"], ["{" + word[:-1], word[-1:], ":1}"]):
            expected = ("'a' after open", "{", word + ":1}", [])
            if not excess:
                expected = (S.DONE, f'{{"{word}":1}}', "", ["unquoted_keys"])
            assert repaired(chunks) == expected
