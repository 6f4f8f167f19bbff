"""Streaming repair of JSON: listed repairs at every cut, and unchanged valid JSON."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deltaparse.partial import MAX_TOKEN, JsonState, Markers, Repairs, UnclosedString, repaired_json

from ...support import cuts, drive, is_json, json_texts, nearly_json


def repaired(texts, repairs=None):
    """Return the state, the written text, the unread text, and the repairs with offsets."""
    notes = []

    def steps(src, emit):
        lexer = yield from repaired_json(
            src, emit, lambda *note: notes.append(note), repairs=repairs or Repairs()
        )
        return lexer.state

    read = drive(steps, texts)
    return read.result, "".join(read.emitted), read.unread, notes


@given(
    json_texts().filter(lambda text: text.strip()[0] in "{["),
    st.sampled_from(["", " more", "}", ",", "'"]),
)
def test_json_passes_unchanged(text, then):
    assert repaired([text + then]) == (JsonState.DONE, text, then, [])


@given(st.data())
def test_result_does_not_depend_on_chunks(data):
    text = data.draw(nearly_json() | st.text("{}[]'\"\\,:/*#\n abTrueNone0.-x", max_size=20))
    assert repaired(data.draw(cuts(text))) == repaired([text])


@given(nearly_json() | st.text("{}[]'\"\\,:/*#\n abTrueNone0.-x", max_size=20))
def test_repaired_text_is_json(text):
    state, written, unread, notes = repaired([text])
    assume(state is JsonState.DONE)
    assert is_json(written)
    assert notes or written + unread == text


@given(st.text("{}[]'\"\\,:/*#\n abTrueNone0.-x", max_size=20))
def test_repaired_text_is_never_retracted(text):
    text = f"[{text}"
    whole = repaired([text])[1]
    for cut in range(len(text)):
        assert whole.startswith(repaired([text[:cut]])[1])


python_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab'\"\\\n\té😀", max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab'\" ", max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.lists(python_values, max_size=3) | st.dictionaries(st.text("ab'"), python_values, max_size=3)
)
def test_a_python_literal_becomes_the_json_of_its_value(value):
    state, written, _, _ = repaired(list(repr(value)))
    assert state is JsonState.DONE
    assert json.loads(written) == value


TABLE = [
    (
        "single_quotes",
        """['it\\'s "x"', '', 'a\\n\\u00e9']""",
        """["it's \\"x\\"", "", "a\\n\\u00e9"]""",
    ),
    ("python_literals", "[True, False, None]", "[true, false, null]"),
    ("control_characters", '["a\n\t\x00b"]', '["a\\n\\t\\u0000b"]'),
    ("invalid_escapes", r'["\d\'\x41\u12\ "]', r'["\\d' + "'" + r'A\\u12\\ "]'),
    ("invalid_escapes", r'["\x00\U0001f600"]', r'["\u0000\ud83d\ude00"]'),
    ("trailing_commas", '[1, {"a": 2 , } , ]', '[1, {"a": 2 } ]'),
    ("non_finite", "[NaN, Infinity, -Infinity]", "[null, null, null]"),
    ("comments", '{"a": /* 1 */ 2 // x\n # y\n}', '{"a":  2  }'),
    ("unquoted_keys", "{a: 1, $b_2: {c: 3}}", '{"a": 1, "$b_2": {"c": 3}}'),
]


@pytest.mark.parametrize(("name", "bad", "good"), TABLE, ids=range(len(TABLE)))
def test_each_repair(name, bad, good):
    state, written, _, notes = repaired([bad])
    assert (state, written) == (JsonState.DONE, good)
    assert {repair for repair, _ in notes} == {name}
    assert all(0 <= offset < len(bad) for _, offset in notes)
    assert repaired(list(bad)) == repaired([bad])


@pytest.mark.parametrize(("name", "bad", "_"), TABLE, ids=range(len(TABLE)))
def test_each_can_be_switched_off(name, bad, _):
    assert repaired([bad], Repairs(**{name: False}))[0] is JsonState.BROKEN


@pytest.mark.parametrize(
    "text",
    [
        "[1,,2]",
        '{"a" 1}',
        "[tru]",
        "[.5]",
        "[01]",
        "[Truest]",
        "{1: 2}",
        '["a" "b"]',
        "[/x]",
        "{a b: 1}",
    ],
)
def test_unlisted_errors_break_the_text(text):
    assert repaired([text])[0] is JsonState.BROKEN


def test_repairs_are_reported_where_they_are_made():
    notes = repaired(["{'a': True,}"])[3]
    assert notes == [("single_quotes", 1), ("python_literals", 6), ("trailing_commas", 10)]
    many = repaired(['["' + "\n" * 1000 + '"]'])[3]
    assert Counter(name for name, _ in many) == {"control_characters": 1000}


def test_a_long_comment_is_not_kept():
    sizes = []

    def steps(src, emit):
        for _ in repaired_json(src, emit, lambda *_: None):
            sizes.append(len(src.text))
            yield

    drive(steps, ["[1 /*", *["x" * 10] * 1000, "*/]"])
    assert max(sizes) < 100


@pytest.mark.parametrize("spaces", [MAX_TOKEN - 1, MAX_TOKEN, MAX_TOKEN + 1])
def test_a_comma_is_held_only_so_long_at_every_cut(spaces):
    text = "[1," + " " * spaces + "]"
    assert repaired(list(text)) == repaired([text])


@pytest.mark.parametrize(
    ("bad", "good", "others"),
    [
        ("[1, 2, /*c*/]", "[1, 2]", ["trailing_commas"]),
        ('{"a": 1, // x\n}', '{"a": 1}', ["trailing_commas"]),
        ('{"a": 1, # x\n // y\n "b": 2}', '{"a": 1, "b": 2}', []),
        ("[1, /* x */ True, ]", "[1, true]", ["python_literals", "trailing_commas"]),
        (
            "{'a': 1, b: 2,}",
            '{"a": 1, "b": 2}',
            ["single_quotes", "unquoted_keys", "trailing_commas"],
        ),
    ],
)
def test_commas_and_comments(bad, good, others):
    for chunks in ([bad], list(bad)):
        state, written, _, notes = repaired(chunks)
        assert (state, written) == (JsonState.DONE, good)
        # Each repair is reported with its offset.
        places = [found.start() for found in re.finditer(r"/[*/]|#", bad)]
        assert [offset for name, offset in notes if name == "comments"] == places
        assert [name for name, _ in notes if name != "comments"] == others


@pytest.mark.parametrize(
    ("text", "state", "written"),
    [
        ('["\\x4', JsonState.STRING, '["'),
        ('{"\\x4', JsonState.KEY, '{"'),
        ("[Tru", JsonState.AFTER_OPEN, "["),
        ("{a", JsonState.AFTER_OPEN, "{"),
        ('{"a":Non', JsonState.AFTER_COLON, '{"a":'),
        ("[1 /", JsonState.AFTER_VALUE, "[1 "),
        ("[1, ", JsonState.AFTER_VALUE, "[1"),
    ],
)
def test_truncated_repair_is_not_made(text, state, written):
    for chunks in ([text], list(text)):
        assert repaired(chunks)[:2] == (state, written)


@pytest.mark.parametrize("marker", ["#", "//", "None", ","])
def test_overrun_string_is_not_repaired(marker):
    overrun, notes = UnclosedString(Markers([marker]), lambda _: marker), []

    def steps(src, emit):
        return repaired_json(src, emit, lambda *note: notes.append(note), overrun=overrun)

    read = drive(steps, [f'["a{marker}b\n]'])
    lexer = read.result
    assert (lexer.state, lexer.broken_in) == (JsonState.BROKEN, None)
    assert lexer.problem == "a string that does not end"
    assert ("".join(read.emitted), read.unread, notes) == ('["a', f"{marker}b\n]", [])
