"""Streamed compact JSON, compared with Python's spelling of the complete value."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deltaparse.partial import (
    CompactJson,
    compact_json,
    escape_surrogates,
    json_space,
    json_value,
    sound_json,
)

from ...support import NASTY, cuts, drive, json_texts, without_twins

SURROGATE = re.compile("[\ud800-\udfff]")


def compact(src, emit):
    yield from json_space(src)
    yield from json_value(src, CompactJson(emit).write)


# Numbers keep their spelling, and duplicate keys are kept.
@given(json_texts().filter(lambda text: not re.search(r"\d[eE.]|-0|\d{16}", text)), st.data())
def test_compact_json_equals_dumps(text, data):
    value = json.loads(text)
    assume(without_twins(text))
    assume("\ud83d\ude00" not in text)  # Unjoined halves of a pair do not occur.
    spelled = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    written = "".join(drive(compact, data.draw(cuts(text))).emitted)

    assert written == escape_surrogates(spelled)


@given(json_texts(), st.data())
def test_result_does_not_depend_on_chunks(text, data):
    whole = drive(compact, [text]).emitted

    assert "".join(drive(compact, data.draw(cuts(text))).emitted) == "".join(whole)
    assert compact_json("".join(whole)) == "".join(whole)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ('{ "a" :\t[ 1 , 2 ]\n}', '{"a":[1,2]}'),
        (r'"\u0041\/\n\u007f\u00e9"', '"A/\\n\x7fé"'),
        ("[1E5, -0, 1.50, 12345678901234567890]", "[1E5,-0,1.50,12345678901234567890]"),
        ('{"a": 1, "a": 2}', '{"a":1,"a":2}'),
        (r'"\ud83d\ude00"', '"😀"'),
        (r'"\ud83d\n\uDE00"', r'"\ud83d\n\ude00"'),
        ('"\ud83d"', r'"\ud83d"'),
        ('" a  b "', '" a  b "'),
        (r'["a", "\ud83d\ude00"]', '["a","😀"]'),
    ],
)
def test_the_spelling(text, spelled):
    halves = [[text[:at], text[at:]] for at in range(1, len(text))]
    for chunks in ([text], list(text), *halves):
        assert "".join(drive(compact, chunks).emitted) == spelled


@given(st.text() | NASTY)
def test_only_surrogates_are_escaped(text):
    escaped = escape_surrogates(text)

    assert not SURROGATE.search(escaped)
    assert SURROGATE.search(text) or escaped == text
    escaped.encode()


@given(json_texts())
def test_a_sound_text_has_a_value_that_can_be_sent(text):
    sound = sound_json(text)
    value = json.loads(sound)

    assert json.dumps(value, ensure_ascii=False).encode()
    if not re.search(r"\\u[dD][89a-fA-F]", escape_surrogates(text)):
        assert sound == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud83d\ude00"', "😀"),
        (r'"\ud83d"', "\ufffd"),
        (r'"\ude00\ud83d"', "\ufffd\ufffd"),
        (r'"\\ud83d"', "\\ud83d"),
        (r'"\\\ud83d"', "\\\ufffd"),
        ('"\ud83d\ude00"', "😀"),
    ],
)
def test_half_of_a_pair_is_replaced(text, value):
    assert json.loads(sound_json(text)) == value
