"""Defaults of tokenizer files."""

from __future__ import annotations

import json

import pytest

from deltaparse import UsageError, Vocabulary

# The special tokens of mistral-common when tekken files did not list them.
BUILT_IN = [
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]"),
    *("[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
    "[TOOL_CONTENT]",
]


def test_tekken_file_without_a_list_has_built_in_special_tokens(tmp_path):
    document = {
        "config": {"default_vocab_size": 24, "default_num_special_tokens": 22},
        "vocab": [{"rank": rank, "token_bytes": "YQ=="} for rank in range(3)],
    }
    (tmp_path / "tekken.json").write_text(json.dumps(document), encoding="utf-8")
    vocabulary = Vocabulary.load(tmp_path)
    more = ["<SPECIAL_20>", "<SPECIAL_21>"]
    assert list(vocabulary.special.items()) == [
        (text, id) for id, text in enumerate([*BUILT_IN, *more])
    ]
    assert vocabulary.skipped_ids == set(range(22))
    assert [vocabulary[id] for id in (22, 23)] == [b"a", b"a"]


@pytest.mark.parametrize("before", ["", "\n\t ", "\ufeff", "\ufeff  "])
@pytest.mark.parametrize(
    "more", [{}, {"added_tokens": None}, {"vocab": []}, {"config": {}}, {"vocab_size": 1}]
)
def test_tokenizer_json_is_recognized_by_its_model(tmp_path, before, more):
    document = {"model": {"vocab": {"a": 0, "\u0120b": 1}}, "decoder": {"type": "ByteLevel"}}
    path = tmp_path / "some.json"
    path.write_text(before + json.dumps(document | more), encoding="utf-8")
    vocabulary = Vocabulary.load(path)
    assert [vocabulary[id] for id in vocabulary] == [b"a", b" b"]


@pytest.mark.parametrize("name", ["none.json", "none"])
def test_missing_file_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match=f"^{tmp_path / name}: No such file or directory$"):
        Vocabulary.load(tmp_path / name)


def test_ranks_may_have_empty_lines(tmp_path):
    path = tmp_path / "some.tiktoken"
    path.write_bytes(b"YQ== 0\n\n  \r\nYg== 1\n")
    vocabulary = Vocabulary.load(path)
    assert [vocabulary[id] for id in vocabulary] == [b"a", b"b"]
