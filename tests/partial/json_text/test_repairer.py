"""Each repair where it stands: in keys and values, in quotes of a format, cut anywhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deltaparse.partial import JsonState, Repairs, repaired_json

from ...support import drive

S = JsonState
QUOTE = "<|'|>"


def repaired(chunks, quote="", **switched):
    """State, written text, unread text, and the names of the repairs."""
    notes = []

    def steps(src, emit):
        lexer = yield from repaired_json(
            src,
            emit,
            lambda name, _: notes.append(name),
            repairs=replace(Repairs(), **switched),
            quote=quote,
        )
        return lexer.state

    read = drive(steps, chunks)
    return read.result, "".join(read.emitted), read.unread, notes


def at_each_cut(text, quote="", **switched):
    """The same, which is the same however the text is cut."""
    whole = repaired([text], quote, **switched)
    assert repaired(list(text), quote, **switched) == whole
    for cut in range(len(text)):
        assert repaired([text[:cut], text[cut:]], quote, **switched) == whole
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
    assert at_each_cut("[1 /x]") == (S.BROKEN, "[1 ", "/x]", [])


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
def test_what_is_odd_in_a_string_is_odd_in_a_key(odd, name, written):
    text = '{"x%s": "y%s"}'
    assert at_each_cut(text % (odd, odd)) == (S.DONE, text % (written, written), "", [name] * 2)
    assert at_each_cut(text % (odd, odd), **{name: False})[:3] == (
        S.BROKEN,
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
    assert found == (S.BROKEN, "{", "a: 1}", [])


@pytest.mark.parametrize("text", ["{-", "{-a", "{-a: 1}", "{--", "{-1: 2}"])
def test_no_key_begins_with_a_minus(text):
    assert at_each_cut(text) == (S.BROKEN, "{", text[1:], [])
    assert at_each_cut('{"a": 1, ' + text[1:]) == (S.BROKEN, '{"a": 1, ', text[1:], [])


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "True", "None"])
def test_a_word_that_the_input_cuts_is_not_broken(word):
    for end in range(1, len(word)):
        assert at_each_cut("[" + word[:end]) == (S.AFTER_OPEN, "[", word[:end], [])
        assert at_each_cut('{"a":' + word[:end]) == (S.AFTER_COLON, '{"a":', word[:end], [])
        assert at_each_cut(f"[{word[:end]}x")[0] is S.BROKEN or word[:end] == "-"
    assert at_each_cut(f"[{word}]")[0] is S.DONE
