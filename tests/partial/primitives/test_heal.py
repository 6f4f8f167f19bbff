"""Healed JSON, compared with the complete text and with a simple completion."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from deltaparse.partial import (
    MAX_DEPTH,
    JsonState,
    JsonValues,
    Repairs,
    UsageError,
    escape_surrogates,
    heal_json,
    sound_json,
)
from deltaparse.partial.json_text.lexer import HALF_PAIR

from ...support import NASTY, certain, closers, is_json, json_texts, nearly_json, open_brackets

MISSING = object()
S = JsonState


def agrees(part, whole):
    """Return True if `part` is a possible incomplete state of `whole`."""
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


def has_twins(text):
    """Return True if an object in JSON has a duplicate key."""
    twins = []

    def pairs(members):
        twins.extend(range(len(members) - len(dict(members))))
        return dict(members)

    if text:
        json.loads(text, object_pairs_hook=pairs)
    return bool(twins)


def obvious(text):
    """Return the value after adding a quote and closing brackets, or `MISSING`."""
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
        assert json.loads(sound_json(healed.text)) == healed.value
        assert agrees(healed.value, json.loads(sound_json(text)))
    else:
        assert healed.value is None
    assert healed.end == certain(text)[cut]
    assert list(healed.stack) == open_brackets(text[:cut])


@given(json_texts(), st.data())
@example('{"a": ["x"', None)
@example('["\\\\', None)
def test_healed_value_has_all_certain_parts(text, data):
    text = text[: data.draw(st.integers(0, len(text)))] if data else text
    assume(not HALF_PAIR.search(text))  # The second half may follow, so the first half is buffered.
    value = obvious(sound_json(text))

    assert value is MISSING or heal_json(text).value == value


@given(json_texts(), st.data())
def test_more_text_retracts_no_value(text, data):
    cut = data.draw(st.integers(0, len(text)))
    less, more = heal_json(text[: max(cut - 1, 0)]), heal_json(text[:cut])

    assert more.end >= less.end
    assert not less.text or agrees(less.value, more.value)


@given(json_texts(), NASTY)
@example("[1] ", "]")
@example("{}", "{}")
@example("true", "x")
def test_whole_json_is_returned_as_it_is(text, then):
    whole = text + "\n" if text[-1].isdigit() else text  # Otherwise the number might continue.
    healed = heal_json(whole + then)

    assert healed.text == escape_surrogates(text.strip())
    assert (healed.end, healed.state, healed.stack) == (len(text.rstrip()), S.DONE, ())


@given(json_texts(), st.data())
def test_healing_is_idempotent(text, data):
    healed = heal_json(text[: data.draw(st.integers(0, len(text)))])

    assume(not healed.text[-1:].isdigit())  # A number at the end may continue.
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
        ('{"a":"x\\ud83dy', {"a": "x\ufffdy"}),
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
def test_healed_value_of_incomplete_text(text, value):
    healed = heal_json(text)

    assert bool(healed.text) is (value is not MISSING)
    assert healed.value == (None if value is MISSING else value)


def test_state_stack_and_end_describe_the_cut():
    healed = heal_json(' {"a": [1, "x\\u00')

    assert healed.text == '{"a": [1, "x"]}'
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


def test_end_of_broken_text_is_stable():
    for text in ("[1, 2x", "[2x", '{"a": "b\n', "[tru1"):
        end = heal_json(text).end
        assert heal_json(text[:end]).end == end


def test_deep_nesting_is_healed_from_deep_down():
    def deep(levels):
        return deep(levels - 1) if levels else heal_json("[" * 512)

    assert deep(450).end == 512
    healed = heal_json('[{"a": [1, 0.1, "x", null,' + "[" * 1000, max_depth=2000)
    assert healed.value[0]["a"][:4] == [1, 0.1, "x", None]


# PRIMITIVES: a text cut in each state, completed around the marker M, its certain part in compact
# spelling, and the path of the cut.
TABLE = [
    ("", "", "", S.START, ()),
    ("  ", "", "", S.START, ()),
    ("{", '{"M":1}', "{", S.AFTER_OPEN, (None,)),
    ("[", '["M"]', "[", S.AFTER_OPEN, (0,)),
    ('{"co', '{"coM":1}', '{"co', S.KEY, (None,)),
    ('{"co\\', '{"coM":1}', '{"co', S.KEY, (None,)),
    ('{"a"', '{"a":"M"}', '{"a"', S.AFTER_KEY, ("a",)),
    ('{"a":', '{"a":"M"}', '{"a":', S.AFTER_COLON, ("a",)),
    ('{"a":"he', '{"a":"heM"}', '{"a":"he', S.STRING, ("a",)),
    ('{"a":"x\\', '{"a":"xM"}', '{"a":"x', S.STRING, ("a",)),
    *[('{"a":"x' + cut, '{"a":"xM"}', '{"a":"x', S.STRING, ("a",)) for cut in ("\\u", "\\u004")],
    ('{"a":"x\\ud83d', '{"a":"xM"}', '{"a":"x', S.STRING, ("a",)),
    ('{"a":"x\\ud83d\\', '{"a":"xM"}', '{"a":"x', S.STRING, ("a",)),
    ('{"a":"x\\ud83d\\ude0', '{"a":"xM"}', '{"a":"x', S.STRING, ("a",)),
    ('{"a":"x\\ud83d\\ude00', '{"a":"x\\ud83d\\ude00M"}', '{"a":"x😀', S.STRING, ("a",)),
    ('{"a":"x\\ud83dy', '{"a":"x\\ud83dyM"}', '{"a":"x\\ud83dy', S.STRING, ("a",)),
    *[
        ('{"a":' + cut, '{"a":"M"}', '{"a":', S.AFTER_COLON, ("a",))
        for cut in ("-", "1", "12", "1.", "1.5", "1e", "1e+", "1e5", "t", "tru", "nul")
    ],
    ('{"a":true', '{"a":true,"M":1}', '{"a":true', S.AFTER_VALUE, ("a",)),
    ('{"a":1 ', '{"a":1 ,"M":1}', '{"a":1', S.AFTER_VALUE, ("a",)),
    ("[{}", '[{},"M"]', "[{}", S.AFTER_VALUE, (0,)),
    ("[1,", '[1,"M"]', "[1,", S.AFTER_COMMA, (1,)),
    ('{"a":1,', '{"a":1,"M":1}', '{"a":1,', S.AFTER_COMMA, (None,)),
    ('[1, 2, {"a": ["x', '[1, 2, {"a": ["xM"]}]', '[1,2,{"a":["x', S.STRING, (2, "a", 0)),
    ('"abc', '"abcM"', '"abc', S.STRING, ()),
    ("12", "", "", S.START, ()),
    ("tru", "", "", S.START, ()),
    ('{"a":1} trailing', '{"a":1}', '{"a":1}', S.DONE, ()),
]


@pytest.mark.parametrize(("text", "marked", "safe", "state", "path"), TABLE)
def test_the_truth_table(text, marked, safe, state, path):
    healed = heal_json(text, marker="M")

    assert (healed.text, healed.safe, healed.state, healed.path) == (marked, safe, state, path)
    assert healed.value == heal_json(text).value


def test_half_a_pair_does_not_stand_before_the_marker():
    for text in ('{"a\\ud83d', '{"a\\ud83d\\'):
        assert heal_json(text, marker="M").text == '{"aM":1}'


@given(json_texts(), st.data())
def test_marker_is_at_the_cut(text, data):
    cut = data.draw(st.integers(0, len(text)))
    marked = heal_json(text[:cut], marker="@HERE@")

    assume(marked.text and marked.state is not S.DONE)
    assert is_json(marked.text)
    assert marked.text.count("@HERE@") == 1
    head = marked.text.partition("@HERE@")[0]
    assert marked.certain.startswith(head.rstrip('",:')) or head.startswith(marked.certain)


@given(json_texts(), st.data())
def test_safe_prefix_is_never_retracted(text, data):
    cut = data.draw(st.integers(0, len(text)))
    less, more = heal_json(text[:cut]), heal_json(text)

    assert more.safe.startswith(less.safe)
    values = JsonValues()
    values.feed(text[:cut])
    assert less.path == values.path


@pytest.mark.parametrize("marker", ['"', "\\", "\n", "a\x00"])
def test_a_marker_is_plain(marker):
    with pytest.raises(UsageError, match="plain"):
        heal_json("{", marker=marker)
    assert heal_json("[", marker="é😀").text == '["é😀"]'


@pytest.mark.parametrize(
    ("text", "value", "args"),
    [
        ('{"name": "pyt', {}, {}),
        ('{"name": "py", "args": ', {"name": "py"}, {}),
        ('{"name": "py", "args": {"co', {"name": "py", "args": {}}, {("args",): '{"co'}),
        ('{"args": {"a": "x', {"args": {"a": "x"}}, {("args",): '{"a":"x'}),
        ('{"args": {"a": 1}, "name": "p', {"args": {"a": 1}}, {("args",): '{"a":1}'}),
        ('{"args": [1, 2', {"args": [1]}, {("args",): "[1,"}),
        ('{"x": {"args": "a', {"x": {}}, {}),
        ('{"x": {"args": 1}, "args": tr', {"x": {"args": 1}}, {}),
    ],
)
def test_under_chosen_paths_only(text, value, args):
    healed = heal_json(text, args_paths=[["args"]])

    assert (healed.value, healed.args) == (value, args)


def test_the_whole_is_a_path_too():
    healed = heal_json('{"a": "b', args_paths=[[]])
    assert (healed.value, healed.args) == ({"a": "b"}, {(): '{"a":"b'})


@pytest.mark.parametrize("char", "[]{}:,")
def test_brackets_in_strings_are_not_part_of_the_path(char):
    assert heal_json(f'["x{char}').path == (0,)
    assert heal_json(f'{{"a": ["b", "x{char}').path == ("a", 1)
    assert heal_json(f'["x{char}', args_paths=[[0]]).args == {(0,): f'"x{char}'}


def test_several_paths_with_indices():
    text = '[{"f": {"x": 1}}, {"f": {"x": "y'
    healed = heal_json(text, args_paths=[[0, "f"], [1, "f"]])
    assert healed.args == {(0, "f"): '{"x":1}', (1, "f"): '{"x":"y'}
    assert healed.value == [{"f": {"x": 1}}, {"f": {"x": "y"}}]
    assert heal_json(text, args_paths=[[0], [2]]).value == [{"f": {"x": 1}}, {"f": {}}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 12', {"a": 12}),
        ('{"a": 1.', {"a": 1}),
        ('{"a": 1e+', {"a": 1}),
        ('{"a": -', {}),
        ("[1, 2", [1, 2]),
        ("[2", [2]),
        ("12", 12),
        ('{"a": tru', {}),
        ('{"a": "1', {"a": "1"}),
        ('{"a": 1x', {}),
        ('[{"a": 12', [{"a": 12}]),
        ('{"a": [1, 2', {"a": [1, 2]}),
        ("[01]", []),
        ("[]1", []),
    ],
)
def test_eager_numbers(text, value):
    assert heal_json(text, eager_numbers=True).value == value


def test_a_number_is_whole_when_no_more_comes():
    assert (heal_json("12", final=True).value, heal_json("12").value) == (12, None)
    assert heal_json("[12", final=True).value == []


@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ("{'a': 'b", {"a": "b"}, ("single_quotes",)),
        ('{a: [True, "x', {"a": [True, "x"]}, ("unquoted_keys", "python_literals")),
        ("[1, 2,", [1, 2], ()),
        ("[1, 2,]", [1, 2], ("trailing_commas",)),
        ('{"a": Tru', {}, ()),
        ('{"a": "x\ny', {"a": "x\ny"}, ("control_characters",)),
    ],
)
def test_nearly_json_is_repaired_and_healed(text, value, repairs):
    healed = heal_json(text, repairs=Repairs())

    assert (healed.value, healed.repairs, healed.problem) == (value, repairs, "")


@given(nearly_json(), st.data())
@example("{'a': 'b'}", None)
@example('{"a": True}', None)
def test_nearly_json_is_healed_at_every_cut(text, data):
    whole = heal_json(text, repairs=Repairs())
    for cut in [data.draw(st.integers(0, len(text)))] if data else range(len(text)):
        healed = heal_json(text[:cut], repairs=Repairs())

        assert is_json(healed.text) or not healed.text
        # For a duplicate key the last value counts, and it may be missing.
        if not healed.problem and not has_twins(whole.text):
            assert agrees(healed.value, whole.value) or not healed.text


PIECES = [*"[{]},:10-.e/#*\n '\"ax\\", "//", "/*", "*/", "1.5", "true", "True", "NaN", "\\x41"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.sampled_from("[{"))
@example("1#c\n{", "[")
@example("0/[", "[")
@example("0/*c*/2", "[")
@example("1,/2", "[")
@example("1/*2/", "[")
@example("1,#c\n/2", "[")
@example("'a':1//\n'", "{")
def test_safe_prefix_with_repairs_is_never_retracted(text, bracket):
    text = bracket + text
    safe = [heal_json(text[:end], repairs=Repairs()).safe for end in range(len(text) + 1)]
    for before, after in pairwise(safe):
        assert after.startswith(before)


@pytest.mark.parametrize("repairs", [None, Repairs()], ids=["strict", "repairs"])
def test_text_after_a_complete_value_is_ignored(repairs):
    assert heal_json("12/", repairs=repairs).value == 12


def test_invalid_text_is_a_problem():
    healed = heal_json('{"a": nope}')
    assert (healed.problem, healed.end, healed.value) == ("'n' begins no value", 6, {})


@pytest.mark.parametrize(
    ("text", "certain"), [("[12x", "["), ("[1, 2x", "[1, "), ('{"a": 1x', '{"a": '), ("[tx", "[")]
)
def test_invalid_number_is_not_certain(text, certain):
    healed = heal_json(text, args_paths=[[]])

    assert (healed.certain, healed.end) == (certain, len(certain))
    assert healed.args == {(): healed.safe}


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("[1#c\n", "[1"),
        ("[1#c\n{", "[1"),
        ("[1/**/x", "[1"),
        ("[0/", "["),
        ("[0/[", "["),
        ("[0/*", "[0"),
        ("[1 x", "[1"),
        ("[1x", "["),
        ("[true/x", "[true"),
    ],
)
def test_a_number_is_whole_where_a_comment_ends_it(text, safe):
    healed = heal_json(text, repairs=Repairs())
    assert (healed.safe, healed.text) == (safe, safe + "]")


@given(nearly_json(), st.data())
def test_3_safe_prefixes_are_never_retracted(text, data):
    first = data.draw(st.integers(0, len(text)))
    second = data.draw(st.integers(first, len(text)))
    repairs = data.draw(st.sampled_from([None, Repairs()]))
    safe = [heal_json(text[:at], repairs=repairs).safe for at in (first, second)]
    assert safe[1].startswith(safe[0])
