"""Bytes, special tokens and spellings of a vocabulary."""

from __future__ import annotations

import pickle

import pytest

import deltaparse as dp

TOKENS = {0: b"Hel", 1: b"lo", 2: b"\xc3", 3: b"\xa9", 5: b"<a>", 6: b"<a>b</a>", 7: b"\n\n"}


@pytest.fixture
def vocabulary():
    return dp.Vocabulary(TOKENS, special=[5, 6, 7])


def test_vocabulary_maps_ids_to_bytes(vocabulary):
    assert {id: vocabulary[id] for id in vocabulary} == TOKENS
    assert len(vocabulary) == 7
    assert [id in vocabulary for id in (0, 4, 7, 8, -1, True, "0")] == [
        *(True, False, True, False, False, False, False)
    ]


class Number:
    """An integer like a scalar of numpy or torch."""

    def __index__(self):
        return 5


def test_id_may_be_any_object_with_index(vocabulary):
    assert vocabulary[Number()] == b"<a>"
    with pytest.raises(dp.UsageError, match="must be an int"):
        vocabulary[1.0]


@pytest.mark.parametrize(
    ("id", "message"),
    [(4, "has no token"), (8, "is outside"), (-1, "is negative"), ("0", "'0'"), (True, "True")],
)
def test_id_without_a_token_is_refused(vocabulary, id, message):
    with pytest.raises(dp.UsageError, match=message):
        vocabulary[id]


def test_special_tokens_are_found_by_their_text(vocabulary):
    assert dict(vocabulary.special) == {"<a>": 5, "<a>b</a>": 6}
    assert vocabulary.special_ids == {5, 6}
    assert vocabulary.find("<a>") == 5
    assert vocabulary.find("Hel") is None
    assert vocabulary.special_text(6) == "<a>b</a>"
    assert vocabulary.special_text(0) is None


def test_text_is_split_at_the_longest_special_tokens(vocabulary):
    spelled = vocabulary.spelled(" <a>b</a><a>x<a>")
    assert [(part.text, part.id) for part in spelled.stretches] == [
        *((" ", None), ("<a>b</a>", 6), ("<a>", 5), ("x", None), ("<a>", 5))
    ]
    assert all(spelled.text[part.start : part.end] == part.text for part in spelled.stretches)
    assert (spelled.kind, spelled.ids) == ("tokens", (6, 5, 5))
    assert vocabulary.spelled("<a>").kind == "token"
    assert vocabulary.spelled("\n\n").kind == "text"
    assert vocabulary.spelled("").stretches == ()


def test_vocabulary_can_be_pickled(vocabulary):
    other = pickle.loads(pickle.dumps(vocabulary))
    assert [other[id] for id in other] == list(TOKENS.values())
    assert other.special == vocabulary.special
    assert repr(other) == "<Vocabulary of tokens: 7 tokens, 2 special>"


def test_special_tokens_are_given_as_ids_or_as_a_mapping(vocabulary):
    more = dp.Vocabulary(TOKENS, special={"<a>": 5, "<b>": 9})
    assert dict(more.special) == {"<a>": 5, "<b>": 9}
    assert (more[9], more[5], len(more)) == (b"<b>", b"<a>", 8)
    assert dict(dp.Vocabulary.load(TOKENS, special=[5, 6]).special) == dict(vocabulary.special)
    assert dict(dp.Vocabulary.load(vocabulary, special={"<c>": 8}).special)["<c>"] == 8
    assert dict(dp.Vocabulary(TOKENS, special=[2]).special) == {"\ufffd": 2}
    assert dp.Vocabulary.load(vocabulary) is vocabulary
    assert vocabulary.find("<c>") is None


@pytest.mark.parametrize(
    ("tokens", "special", "message"),
    [
        ({"0": b"a"}, (), "'0'"),
        ({-1: b"a"}, (), "-1"),
        ({0: "a"}, (), "not str"),
        ({0: b"a"}, (1,), "special token 1"),
        ({0: b"a"}, (True,), "special token True"),
        ({0: b"a"}, {"<x>": "1"}, "special token '1'"),
        ({0: b"a"}, {"<x>": -1}, "special token -1"),
        ({0: b"a"}, (-1,), "special token -1"),
    ],
)
def test_invalid_arguments_are_refused(tokens, special, message):
    with pytest.raises(dp.UsageError, match=message):
        dp.Vocabulary(tokens, special)


def test_empty_vocabulary_has_no_ids():
    with pytest.raises(dp.UsageError, match="0 is outside of the vocabulary"):
        dp.Vocabulary({})[0]
