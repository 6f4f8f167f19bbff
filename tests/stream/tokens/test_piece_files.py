"""Broken or unsupported SentencePiece models and GGUF files."""

from __future__ import annotations

import pytest

from deltaparse import UsageError, Vocabulary
from deltaparse.stream.tokens.piece_files import gguf_tokens, sentencepiece_tokens

from ...strategies.gguf_files import gguf

TOKENS = ("tokenizer.ggml.tokens", 9, (8, ["<s>", "a", "\u2581b"]))
TYPES = ("tokenizer.ggml.token_type", 9, (5, [3, 1, 1]))


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def model(*pieces):
    return b"".join(field(1, piece) for piece in pieces)


PIECES = [field(1, b"<unk>") + b"\x18\x02", field(1, b"a") + b"\x15\0\0\0\0", field(1, b"b")]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.gguf"


def test_truncated_model_has_fewer_pieces_or_is_refused():
    whole, ends = model(*PIECES), {len(model(*PIECES[:count])): count for count in range(1, 4)}
    for cut in range(len(whole) + 1):
        if cut in ends:
            assert len(sentencepiece_tokens(whole[:cut]).ids) == ends[cut]
        else:
            with pytest.raises(ValueError, match=r"truncated at|invalid number at|no pieces"):
                sentencepiece_tokens(whole[:cut])


def test_unterminated_number_is_refused():
    with pytest.raises(ValueError, match="invalid number at"):
        sentencepiece_tokens(b"\xff" * 99)


def test_number_of_more_than_ten_bytes_is_refused():
    long, longer = b"\x10" + b"\xff" * 9 + b"\x01", b"\x10" + b"\xff" * 10 + b"\x01"
    assert len(sentencepiece_tokens(long + model(*PIECES)).ids) == 3
    with pytest.raises(ValueError, match="invalid number at"):
        sentencepiece_tokens(longer + model(*PIECES))


@pytest.mark.parametrize("size", [1, 127, 128, 129, 300])
def test_pieces_of_any_length_are_read(size):
    text = b"a" * size
    piece = b"\x0a" + length(size) + text
    tokens = sentencepiece_tokens(b"\x0a" + length(len(piece)) + piece)
    assert tokens.bytes_of(0) == text


def length(size):
    return bytes([size & 0x7F | 0x80, size >> 7])


OTHER_FIELDS = [b"\x08\x01", b"\x10\x01", b"\x11" + b"\n" * 8, b"\x15" + b"\n" * 4, b"\x12\1\n"]


@pytest.mark.parametrize("other", OTHER_FIELDS)
def test_other_fields_are_skipped(other):
    for data in (other + model(*PIECES), model(*PIECES[:2], other + PIECES[2])):
        tokens = sentencepiece_tokens(data)
        assert [tokens.bytes_of(id) for id in sorted(tokens.ids)] == [b"<unk>", b"a", b"b"]


@pytest.mark.parametrize("how", [3, 4, 6, 7])
def test_unknown_protobuf_field_is_rejected(how):
    with pytest.raises(ValueError, match="invalid field at byte 1"):
        sentencepiece_tokens(bytes([2 << 3 | how]) + model(*PIECES))


@pytest.mark.parametrize("piece", [b"", b"\x08\x01", field(1, b"a") + field(3, b"\x01")])
def test_piece_without_text_or_numeric_type_is_refused(piece):
    with pytest.raises(ValueError, match="piece 1 has no text"):
        sentencepiece_tokens(model(PIECES[2], piece))


@pytest.mark.parametrize("kind", ["bert", "rwkv", "no_vocab", "none"])
def test_tokenizers_without_bytes_are_refused(path, kind):
    path.write_bytes(gguf([TOKENS, TYPES, ("tokenizer.ggml.model", 8, kind)]))
    with pytest.raises(UsageError, match=f"tokenizers of the kind '{kind}'"):
        gguf_tokens(path)


@pytest.mark.parametrize(
    "odd", [("tokenizer.ggml.token_type", 4, 1), ("tokenizer.ggml.model", 4, 1)]
)
def test_value_of_another_type_is_refused(path, odd):
    path.write_bytes(gguf([TOKENS, odd]))
    with pytest.raises(UsageError, match=f"{odd[0]}.* has another type"):
        gguf_tokens(path)


@pytest.mark.parametrize("texts", [(4, [1]), (9, [(8, ["a"])]), (8, [])])
def test_tokens_of_other_types_are_refused(path, texts):
    for given in ((9, texts), (4, 1), (8, "a")):
        path.write_bytes(gguf([("tokenizer.ggml.tokens", *given)]))
        with pytest.raises(UsageError, match="the file has no vocabulary"):
            gguf_tokens(path)


@pytest.mark.parametrize("kind", [b"llama", b"\xff", b"new"])
def test_unknown_model_kind_is_read_as_pieces(path, kind):
    path.write_bytes(gguf([TOKENS, TYPES, ("tokenizer.ggml.model", 8, kind)]))
    vocabulary = Vocabulary.load(path)
    assert [vocabulary[id] for id in vocabulary] == [b"<s>", b"a", b" b"]
    assert dict(vocabulary.special) == {"<s>": 0}


@pytest.mark.parametrize("types", [[], [3, 1], [3, 1, 1, 2, 4, 5]])
def test_number_of_types_may_differ_from_number_of_tokens(path, types):
    path.write_bytes(gguf([TOKENS, (TYPES[0], 9, (5, types))]))
    tokens = gguf_tokens(path)
    assert [tokens.bytes_of(id) for id in range(4)] == [b"<s>", b"a", b" b", None]
    assert set(tokens.special) == ({0} if types else set())


def test_invalid_utf8_in_tokens_is_replaced(path):
    path.write_bytes(gguf([(TOKENS[0], 9, (8, [b"a\xff"]))]))
    assert gguf_tokens(path).bytes_of(0) == "a\ufffd".encode()
