"""Vocabularies of tokenizers, their files and model folders."""

from __future__ import annotations

import contextlib
import json
import pickle
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

import deltaparse as dp

from ... import vocabularies
from ...strategies.gguf_files import gguf

Load = dp.Vocabulary.load
TEXTS = ["Hello, world! Ünïcödé 東京 🙂\n\thello  world", "def f(x):\n    return {'a': [1, 2.5]}\n"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def byte_level():
    return vocabularies.trained(("<tool_call>", "«x»", "<|a b|>", "\n\n"))


def with_bytes():
    """Return a tokenizer like that of Llama 2: pieces with `▁` for spaces, and bytes."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    trainer = trainers.BpeTrainer(
        special_tokens=["<unk>", "<s>", *BYTES],
        vocab_size=400,
        limit_alphabet=40,
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    document = json.loads(tokenizer.to_str())
    document["added_tokens"] = document["added_tokens"][:2]
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.add_special_tokens([AddedToken("<tool▁call>")])
    tokenizer.add_tokens([AddedToken("▁▁", normalized=False), AddedToken("<tool_call>")])
    return tokenizer


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=120, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False)])
    return tokenizer


KINDS = {"byte_level": byte_level, "with_bytes": with_bytes, "unigram": unigram}


@pytest.fixture(params=KINDS)
def tokenizer(request):
    return KINDS[request.param]()


def joined(vocabulary, ids):
    return b"".join(vocabulary[id] for id in ids).decode()


def same(one, other):
    assert list(map(one.__getitem__, sorted(one))) == list(map(other.__getitem__, sorted(other)))
    assert sorted(one) == sorted(other)
    assert dict(one.special) == dict(other.special)
    assert one.skipped_ids == other.skipped_ids


def test_joined_tokens_equal_the_text(tokenizer):
    vocabulary = Load(tokenizer)
    known = "".join(char for text in TEXTS for char in text)
    for text in (*TEXTS, known + "<tool_call>" + known):
        ids = tokenizer.encode(text).ids
        written = joined(vocabulary, ids)
        if "<unk>" not in written:
            # The leading space of a text belongs to no token.
            assert written.replace(" ", "") == text.replace(" ", "")
            decoded = tokenizer.decode(ids, skip_special_tokens=False)
            assert written.removeprefix(" ") == decoded


@given(st.text(max_size=30))
def test_any_text_round_trips_through_byte_level_tokens(text):
    tokenizer = byte_level()
    assert joined(Load(tokenizer), tokenizer.encode(text).ids) == text


@given(st.text(max_size=30))
def test_any_text_round_trips_with_byte_fallback(text):
    tokenizer = with_bytes()
    written = joined(Load(tokenizer), tokenizer.encode(text).ids)
    assert written.replace(" ", "") == text.replace(" ", "").replace("▁", "")


def test_object_and_file_have_the_same_vocabulary(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.to_str(), encoding="utf-8")
    vocabulary = Load(tokenizer)
    same(vocabulary, Load(path))
    same(vocabulary, Load(str(tmp_path)))
    again = pickle.loads(pickle.dumps(vocabulary))
    same(vocabulary, again)


def test_tokenizer_of_transformers(tokenizer):
    from transformers import PreTrainedTokenizerFast

    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    same(Load(tokenizer), Load(fast))

    class Processor:
        def __init__(self, tokenizer):
            self.tokenizer = tokenizer

    same(Load(tokenizer), Load(Processor(fast)))


def test_tokens_never_split_are_special_without_a_flag():
    vocabulary = Load(byte_level())
    # Whitespace that is never split is not a marker.
    assert set(vocabulary.special) == {"<tool_call>", "«x»", "<|a b|>"}
    assert vocabulary.skipped_ids == set()
    assert vocabulary[vocabulary.find("«x»")] == "«x»".encode()
    assert vocabulary[vocabulary.find("<|a b|>")] == b"<|a b|>"


def test_space_character_in_added_tokens():
    vocabulary = Load(with_bytes())
    # A skipped token keeps its text, as in templates, while other tokens are decoded.
    assert vocabulary.find("<tool▁call>") is not None
    assert vocabulary.find("<tool▁call>") in vocabulary.skipped_ids
    assert b"  " in set(map(vocabulary.__getitem__, vocabulary))


@pytest.mark.parametrize(
    "decoder",
    [
        None,
        decoders.WordPiece(),
        decoders.BPEDecoder(),
        decoders.CTC(),
        decoders.Sequence([decoders.Fuse(), decoders.Replace("ab", "c")]),
    ],
)
def test_tokens_without_own_bytes_are_refused(decoder):
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    tokenizer.decoder = decoder
    with pytest.raises(dp.UsageError, match="a token depend on its neighbors"):
        Load(tokenizer)


def test_steps_of_a_decoder():
    tokenizer = Tokenizer(models.WordLevel({"_a": 0, " b": 1, "c": 2}, unk_token="c"))
    tokenizer.decoder = decoders.Sequence(
        [decoders.Strip(" ", 1, 0), decoders.Sequence([decoders.Replace("_", "-")])]
    )
    assert [Load(tokenizer)[id] for id in range(3)] == [b"-a", b"b", b"c"]


def test_threads_share_a_vocabulary():
    vocabulary, read = Load(byte_level()), []
    ids = sorted(vocabulary) * 3

    def reads():
        read.append([vocabulary[id] for id in ids])

    threads = [threading.Thread(target=reads) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read) == 4
    assert all(one == read[0] for one in read)


RANKS = b"YQ== 0\nYg== 1\n4oI= 2\n"


def test_ranks_of_tiktoken(tmp_path):
    path = tmp_path / "some.tiktoken"
    path.write_bytes(RANKS)
    vocabulary = Load(path)
    assert [vocabulary[id] for id in vocabulary] == [b"a", b"b", b"\xe2\x82"]
    more = Load(path, special={"<x>": 3})
    assert (more[3], more.find("<x>"), len(more), more[0]) == (b"<x>", 3, 4, b"a")
    with pytest.raises(dp.UsageError, match="token id 9"):
        more[9]


def test_folder_of_ranks_has_the_added_tokens_of_its_configuration(tmp_path):
    (tmp_path / "tiktoken.model").write_bytes(RANKS)
    added = {"5": {"content": "[BOS]", "special": True}, "7": {"content": "<think>"}}
    config = json.dumps({"added_tokens_decoder": added})
    (tmp_path / "tokenizer_config.json").write_text(config, encoding="utf-8")
    vocabulary = Load(tmp_path)
    assert dict(vocabulary.special) == {"[BOS]": 5, "<think>": 7}
    assert vocabulary.skipped_ids == {5}
    with pytest.raises(dp.UsageError, match="token id 6 has no token"):
        vocabulary[6]


def test_encoding_of_tiktoken():
    import tiktoken

    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    encoding = tiktoken.Encoding(
        "x", pat_str=".+", mergeable_ranks=ranks, special_tokens={"<s>": 300}
    )
    vocabulary = Load(encoding)
    assert (vocabulary[256], vocabulary[300], len(vocabulary)) == (b"ab", b"<s>", 258)
    assert [id in vocabulary for id in (299, 300, 301)] == [False, True, False]
    assert dict(vocabulary.special) == {"<s>": 300}

    class Model:
        model = encoding

    same(vocabulary, Load(Model()))


def test_tekken_file_with_a_list_of_special_tokens(tmp_path):
    document = {
        "config": {"default_vocab_size": 6, "default_num_special_tokens": 4},
        "vocab": [{"rank": rank, "token_bytes": "YQ=="} for rank in range(3)],
        "special_tokens": [
            {"rank": 0, "token_str": "<unk>", "is_control": True},
            {"rank": 1, "token_str": "[THINK]", "is_control": False},
        ],
    }
    (tmp_path / "tekken.json").write_text(json.dumps(document), encoding="utf-8")
    vocabulary = Load(tmp_path)
    assert [vocabulary[id] for id in range(6)] == [
        *(b"<unk>", b"[THINK]", b"<SPECIAL_2>", b"<SPECIAL_3>", b"a", b"a")
    ]
    assert vocabulary.skipped_ids == {0, 2, 3}
    assert len(vocabulary) == 6


class Tekkenizer:
    """The methods of the class of mistral-common."""

    num_special_tokens, n_words = 2, 4
    _all_special_tokens = ({"rank": 0, "is_control": True}, {"rank": 1, "is_control": False})

    def is_special(self, id):
        return id < 2

    def id_to_piece(self, id):
        return ["<s>", "[THINK]"][id]

    def id_to_byte_piece(self, id):
        return b"xyz"[id - 2 : id - 1]


def test_tokenizer_of_mistral_common():
    class Instruct:
        tokenizer = Tekkenizer()

    class MistralTokenizer:
        instruct_tokenizer = Instruct()

    vocabulary = Load(MistralTokenizer())
    assert [vocabulary[id] for id in vocabulary] == [b"<s>", b"[THINK]", b"x", b"y"]
    assert vocabulary.skipped_ids == {0}
    with pytest.raises(dp.UsageError):
        vocabulary[4]


def piece(text, kind=1):
    body = b"\x0a" + bytes([len(text.encode())]) + text.encode() + b"\x15\0\0\0\0"
    body += bytes([0x18, kind]) if kind != 1 else b""
    return b"\x0a" + bytes([len(body)]) + body


PIECES = [("<unk>", 2), ("<s>", 3), ("[X]", 4), ("▁▁", 4), ("<0xE2>", 6), ("▁a", 1), ("gone", 5)]
PIECE_BYTES = [b"<unk>", b"<s>", b"[X]", b"  ", b"\xe2", b" a"]


def check_pieces(vocabulary):
    assert [vocabulary[id] for id in vocabulary] == PIECE_BYTES
    assert set(vocabulary.special) == {"<unk>", "<s>", "[X]"}
    assert vocabulary.skipped_ids == {0, 1}
    with pytest.raises(dp.UsageError):
        vocabulary[6]


def test_sentencepiece_model(tmp_path):
    data = b"".join(piece(text, kind) for text, kind in PIECES) + b"\x12\x02\x18\x01"
    (tmp_path / "tokenizer.model").write_bytes(data)
    check_pieces(Load(tmp_path))

    class Processor:
        def serialized_model_proto(self):
            return data

    class Slow:
        sp_model = Processor()

        def convert_ids_to_tokens(self, ids):
            raise AssertionError

    check_pieces(Load(Slow()))


def fields(model, texts, types):
    return [
        ("general.name", 8, "x"),
        ("general.size", 10, 7),
        ("some.list", 9, (6, [1.0, 2.0])),
        ("nested", 9, (9, [(5, [1]), (8, ["a", "b"])])),
        ("tokenizer.ggml.model", 8, model),
        ("tokenizer.ggml.merges", 9, (8, ["a b", "c d"])),
        ("tokenizer.ggml.token_type", 9, (5, types)),
        ("tokenizer.ggml.tokens", 9, (8, texts)),
    ]


@pytest.mark.parametrize("order", "<>")
def test_gguf_file(tmp_path, order):
    texts, types = zip(*PIECES, strict=True)
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf(fields("llama", texts, types), order))
    check_pieces(Load(path))
    check_pieces(Load(tmp_path))
    check_pieces(Load(path.rename(tmp_path / "sha256-2af3")))  # as caches name it
    path.write_bytes(gguf(fields("gpt2", ["Ġa", "<x▁y>", "[PAD2]"], [1, 4, 5]), order))
    vocabulary = Load(path)
    assert [vocabulary[id] for id in vocabulary] == [b" a", "<x▁y>".encode()]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"GGUF", "truncated GGUF file"),
        (b"GGML" + b"\0" * 40, "does not start with GGUF"),
        (gguf([], version=1), "version 1"),
        (gguf([("a", 4, 1)]), "no vocabulary"),
        (gguf(fields("llama", ["a"], [1]))[:-20], "truncated GGUF file"),
        (gguf([])[:12] + b"\xff" * 30, "truncated GGUF file"),
        (gguf(fields("bert", ["a"], [1])), "'bert'"),
        (b"", "model.gguf"),
    ],
)
def test_invalid_gguf_files_are_refused(tmp_path, data, message):
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    with pytest.raises(dp.UsageError, match=message):
        Load(path)


@given(st.integers(0, 300), st.integers(0, 255))
def test_broken_gguf_file_is_read_or_refused(tmp_path_factory, at, byte):
    texts, types = zip(*PIECES, strict=True)
    data = bytearray(gguf(fields("llama", texts, types)))
    data[at % len(data)] = byte
    path = tmp_path_factory.mktemp("broken") / "model.gguf"
    path.write_bytes(data)
    message = ""
    with contextlib.suppress(dp.UsageError):
        message = f"{path} {len(Load(path)) <= len(PIECES)}"
    assert message in ("", f"{path} True")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("tokenizer.json", b"{}", "not a tokenizer.json"),
        ("tokenizer.json", b'{"model": {}}', "no decoder"),
        ("tokenizer.json", b'{"model": {}, "decoder": {"type": "ByteLevel"}}', "KeyError"),
        ("tokenizer.json", b"{", "cannot read a vocabulary"),
        ("tokenizer.model", b"\n\x05ab", "truncated at"),
        ("tokenizer.model", b"plain text", "not a tokenizer.json"),
        ("tokenizer.model", b"\n\x00", "has no text"),
        ("x.tiktoken", b"YQ== 0\nYQ==\n", "cannot read a vocabulary"),
    ],
)
def test_files_without_a_vocabulary_are_refused(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(dp.UsageError, match=message):
        Load(tmp_path / name)


def test_invalid_sources_are_refused(tmp_path):
    with pytest.raises(dp.UsageError, match="no vocabulary found"):
        Load(tmp_path)
    with pytest.raises(dp.UsageError, match="No such file"):
        Load(tmp_path / "none.json")
    with pytest.raises(dp.UsageError, match="hf download ours/model-8B "):
        Load("ours/model-8B")
    with pytest.raises(dp.UsageError, match="not int"):
        Load(7)
    assert len(Load({0: b"a"})) == 1
    assert Load({0: b"a"}, special={"<x>": 5}).find("<x>") == 5


def test_slow_tokenizer_of_transformers():
    class Slow:
        def __init__(self, texts, **more):
            self.texts = texts
            self.added_tokens_decoder = {1: AddedToken("<x>", special=True)}
            vars(self).update(more)

        def __len__(self):
            return len(self.texts)

        def convert_ids_to_tokens(self, ids):
            return [self.texts[id] for id in ids]

    assert [Load(Slow([b"a", "<x>"]))[id] for id in range(2)] == [b"a", b"<x>"]
    assert [Load(Slow(["Ġa", "<x>"], byte_decoder={"a": 1}))[id] for id in range(2)] == [
        *(b" a", b"<x>")
    ]
    with pytest.raises(dp.UsageError, match="unknown spelling of bytes"):
        Load(Slow(["▁a", "<x>"]))


@pytest.mark.costly
@pytest.mark.parametrize("name", vocabularies.FILES)
@vocabularies.needs_vocabularies
def test_real_vocabularies_have_all_bytes(name):
    vocabulary = vocabularies.vocabulary(name)
    assert len(vocabulary) > 32_000
    spelled = {vocabulary[id] for id in vocabulary}
    assert spelled >= {bytes([byte]) for byte in range(256)}
    assert {b"hello", b" the"} <= spelled
    assert vocabulary.special_ids <= set(vocabulary)


@pytest.mark.parametrize("name", vocabularies.CUTS)
@vocabularies.needs_vocabularies
def test_real_ranks_equal_those_of_tiktoken(name):
    import tiktoken

    vocabulary = vocabularies.vocabulary(name)
    special = vocabulary.special_ids
    ranks = {vocabulary[id]: id for id in vocabulary if id not in special}
    encoding = tiktoken.Encoding(
        name,
        pat_str=vocabularies.CUTS[name],
        mergeable_ranks=ranks,
        special_tokens=dict(vocabulary.special),
    )
    same(vocabulary, Load(encoding))
    text = "".join(TEXTS) + "".join(list(vocabulary.special)[:5])
    ids = encoding.encode(text, allowed_special="all")
    assert joined(vocabulary, ids) == text
    assert len(vocabulary.special_ids & set(ids)) == 5


@vocabularies.needs_vocabularies
def test_kinds_of_markers_in_real_vocabularies():
    kinds = {
        ("qwen", "<tool_call>"): "token",
        ("qwen", "<tool_call>\n"): "tokens",
        ("qwen", "<function="): "text",
        ("llama3", "<|python_tag|>"): "token",
        ("tekken", "[TOOL_CALLS]"): "token",
        ("mistral", "[TOOL_CALLS]"): "token",
        ("deepseek", "<｜User｜>"): "token",
        ("deepseek", "<｜DSML｜invoke"): "tokens",
        ("deepseek", "<tool_call>"): "text",
    }
    found = {(name, text): vocabularies.vocabulary(name).spelled(text).kind for name, text in kinds}
    assert found == kinds
