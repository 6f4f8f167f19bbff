"""Tokenizers that are objects: where in others they are, and what they are known by."""

from __future__ import annotations

import pytest

from deltaparse import UsageError, Vocabulary


class Encoding:
    """What tiktoken's encodings have."""

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
def test_a_tokenizer_in_others(name):
    held = Encoding()
    for _ in range(4):
        held = Holder(model=None, **{name: held}) if name != "model" else Holder(model=held)
        vocabulary = Vocabulary.load(held)
        assert {id: vocabulary[id] for id in (0, 1)} == {0: b"a", 1: b"<s>"}
        assert dict(vocabulary.special) == {"<s>": 1}


def test_what_holds_itself_holds_no_tokenizer():
    held = Holder()
    held.tokenizer = held
    with pytest.raises(UsageError, match="from a tokenizer or a path, not Holder"):
        Vocabulary.load(held)


@pytest.mark.parametrize(
    "methods",
    [
        *(["id_to_token"], ["get_vocab_size", "get_added_tokens_decoder"], ["id_to_piece"]),
        *(["is_special", "id_to_byte_piece"], ["encode_single_token"], []),
    ],
)
def test_some_of_the_methods_of_a_tokenizer_make_none(methods):
    held = Holder(**dict.fromkeys(methods, print), serialized_model_proto="no method")
    with pytest.raises(UsageError, match="from a tokenizer or a path, not Holder"):
        Vocabulary.load(held)
