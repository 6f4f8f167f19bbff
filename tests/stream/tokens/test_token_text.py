"""Conversion of token spellings to bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import UsageError
from deltaparse.stream.tokens.token_text import BYTES, ByteLevelText, TextDecoder, _byte_table

BYTE_LEVEL = {"type": "ByteLevel"}
BYTE_FALLBACK = {"type": "ByteFallback"}
FUSE = {"type": "Fuse"}


def strip(content, start, stop):
    return {"type": "Strip", "content": content, "start": start, "stop": stop}


def replaced(literal, content):
    return {"type": "Replace", "pattern": {"String": literal}, "content": content}


def decoder(*steps):
    return TextDecoder({"type": "Sequence", "decoders": list(steps)}, "tokenizer.json")


def test_byte_table_equals_that_of_gpt_2():
    """Printable bytes are their own characters, all others have characters from 256 on."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(code): code for code in printed}
    table |= {chr(256 + at): code for at, code in enumerate(sorted({*range(256)} - {*printed}))}
    assert _byte_table() == BYTES == table
    assert BYTES["Ġ"] == 32


@given(st.binary())
def test_any_bytes_round_trip(data):
    chars = {code: char for char, code in BYTES.items()}
    assert ByteLevelText()("".join(chars[code] for code in data)) == data


@pytest.mark.parametrize("text", ["東", "Ġ東", "a b", "\ud800"])
def test_text_outside_of_the_table_is_its_utf8(text):
    assert ByteLevelText()(text) == text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    ("text", "start", "stop", "left"),
    [
        ("__a__", 1, 1, b"_a_"),
        ("__a__", 9, 9, b"a"),
        ("a", 1, 1, b"a"),
        ("ab", 0, 2, b"ab"),
        ("a_", 0, 2, b"a"),
        ("____", 1, 1, b"__"),
        ("____", 9, 9, b""),
        ("", 1, 1, b""),
    ],
)
def test_strip_removes_at_most_the_existing_characters(text, start, stop, left):
    assert decoder(strip("_", start, stop))(text) == left


def test_steps_after_fuse_do_not_apply_to_tokens():
    assert decoder(FUSE, strip(" ", 9, 9))(" a ") == b" a "
    assert decoder(FUSE, BYTE_FALLBACK, strip(" ", 9, 9))(" a ") == b" a "
    assert decoder(BYTE_LEVEL, strip("a", 9, 9))("a") == b"a"
    assert decoder(BYTE_FALLBACK, strip(" ", 9, 9))(" a ") == b"a"
    assert decoder(strip(" ", 9, 9), FUSE)(" a ") == b"a"


def test_replacement_applies_within_tokens_only():
    assert decoder(replaced("ab", "c"), FUSE)("xabab") == b"xcc"
    assert decoder(FUSE, replaced("a", "c"))("xa") == b"xc"
    for fuses in (FUSE, BYTE_LEVEL):
        with pytest.raises(UsageError, match=r"replaces \{'String': 'ab'\}"):
            decoder(fuses, replaced("ab", "c"))


@pytest.mark.parametrize(
    "step",
    [
        {"type": "Replace", "pattern": {"Regex": "a"}, "content": "b"},
        {"type": "Replace", "pattern": {"String": "a"}},
        {"type": "Replace", "pattern": {"String": "a"}, "content": None},
        {"type": "Replace", "pattern": "a", "content": "b"},
        {"type": "Replace", "content": "b"},
    ],
)
def test_replacement_must_be_a_literal(step):
    with pytest.raises(UsageError, match="a decoder that replaces"):
        decoder(step)


def test_unknown_or_missing_decoder_is_refused():
    with pytest.raises(UsageError, match=r"tokenizer\.json: .* has the decoder WordPiece"):
        decoder({"type": "WordPiece"})
    with pytest.raises(UsageError, match="the tokenizer has no decoder"):
        TextDecoder(None, "tokenizer.json")
