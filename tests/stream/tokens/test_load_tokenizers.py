"""Tokenizer objects and their wrappers, recognized by their methods."""

from __future__ import annotations

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models

from deltaparse import UsageError, Vocabulary


class Encoding:
    """The methods of an encoding of tiktoken."""

    n_vocab = 2
    special_tokens_set = frozenset({"<s>"})

    def encode_single_token(self, text):
        return ["a", "<s>"].index(text)

    def decode_single_token_bytes(self, id):
        return [b"a", b"<s>"][id]


class Holder:
    def __init__(self, **held):
        vars(self).update(held)


@pytest.mark.parametrize(
    "name",
    [
        *("backend_tokenizer", "instruct_tokenizer", "tokenizer", "_tokenizer"),
        *("model", "_model", "sp_model"),
    ],
)
def test_tokenizer_is_found_in_wrappers(name):
    held = Encoding()
    for _ in range(4):
        held = Holder(model=None, **{name: held}) if name != "model" else Holder(model=held)
        vocabulary = Vocabulary.load(held)
        assert {id: vocabulary[id] for id in (0, 1)} == {0: b"a", 1: b"<s>"}
        assert dict(vocabulary.special) == {"<s>": 1}


def test_wrapper_of_itself_is_refused():
    held = Holder()
    held.tokenizer = held
    with pytest.raises(UsageError, match=r"source must be a tokenizer, .* not Holder"):
        Vocabulary.load(held)


@pytest.mark.parametrize(
    "methods",
    [
        *(["id_to_token"], ["get_vocab_size", "get_added_tokens_decoder"], ["id_to_piece"]),
        *(["is_special", "id_to_byte_piece"], ["encode_single_token"], []),
    ],
)
def test_object_with_some_methods_of_a_tokenizer_is_refused(methods):
    held = Holder(**dict.fromkeys(methods, print), serialized_model_proto="no method")
    with pytest.raises(UsageError, match=r"source must be a tokenizer, .* not Holder"):
        Vocabulary.load(held)


def test_unknown_ids_of_a_tokenizer_are_refused():
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0, "b": 1}, merges=[]))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>"])
    vocabulary = Vocabulary.load(tokenizer)
    assert (len(vocabulary), list(vocabulary)) == (3, [0, 1, 2])
    for id in (3, 2**31, 2**70, -1):
        assert id not in vocabulary
        with pytest.raises(UsageError, match=f"token id {id}"):
            vocabulary[id]


class Slow(Holder):
    """The methods of a tokenizer of transformers written in Python."""

    texts = ()

    def __len__(self):
        return len(self.texts)

    def convert_ids_to_tokens(self, ids):
        return [self.texts[id] for id in ids]


def test_slow_tokenizer_may_have_gaps_and_no_added_tokens():
    vocabulary = Vocabulary.load(Slow(texts=[b"a", None, b"b"]))
    assert {id: vocabulary[id] for id in vocabulary} == {0: b"a", 2: b"b"}
    assert dict(vocabulary.special) == {}


def test_added_token_of_a_slow_tokenizer_keeps_its_text():
    added = {1: AddedToken("<a\u2581b>", special=False)}
    vocabulary = Vocabulary.load(Slow(texts=[b"a", "<a\u2581b>"], added_tokens_decoder=added))
    assert dict(vocabulary.special) == {"<a\u2581b>": 1}
    assert vocabulary[1] == "<a\u2581b>".encode()


@pytest.mark.parametrize("texts", [["a"], [b"a", "b"], ["a", b"b"]])
def test_tokens_without_bytes_are_refused(texts):
    with pytest.raises(UsageError, match="unknown spelling of bytes"):
        Vocabulary.load(Slow(texts=texts))


def test_special_tokens_are_skipped_unless_flagged_otherwise():
    class Tekkenizer:
        num_special_tokens, n_words = 3, 3
        _all_special_tokens = ({"rank": 0}, {"rank": 1, "is_control": False})

        def is_special(self, id):
            raise AssertionError

        def id_to_piece(self, id):
            return f"<{id}>"

        id_to_byte_piece = is_special

    assert Vocabulary.load(Tekkenizer()).skipped_ids == {0, 2}
