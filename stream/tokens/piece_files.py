"""Vocabularies whose tokens have a type each: models of SentencePiece, and GGUF files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from deltaparse.partial import UsageError

from .gguf_file import read_gguf
from .token_source import Special, SpelledTokens
from .token_text import SPACE, ByteLevelText, PieceText, TokenText

__all__ = ["gguf_tokens", "sentencepiece_tokens"]

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5
"""Types of tokens, as SentencePiece counts them, and GGUF after it."""

TOKENS = "tokenizer.ggml.tokens"
TYPES = "tokenizer.ggml.token_type"
MODEL = "tokenizer.ggml.model"

NO_BYTES = ("bert", "rwkv", "no_vocab", "none")
"""Models of tokenizers in GGUF files whose tokens are no bytes, or are written otherwise."""

VARINT, FIXED_64, LENGTH, FIXED_32 = 0, 1, 2, 5
"""How protocol buffers write a field."""

PIECES, PIECE, TYPE = 1, 1, 3
"""The fields that are read: the pieces of a model, and the text and the type of a piece."""


def sentencepiece_tokens(data: bytes) -> SpelledTokens:
    """Read a model of SentencePiece.

    Raises:
        ValueError: it is none.
    """
    texts: list[str] = []
    types: list[int] = []
    for field, value in _fields(data):
        if field == PIECES and isinstance(value, bytes):
            piece = dict(_fields(value))
            text, kind = piece.get(PIECE), piece.get(TYPE, NORMAL)
            if not isinstance(text, bytes) or not isinstance(kind, int):
                raise ValueError(f"piece {len(texts)} has no text")
            texts.append(text.decode())
            types.append(kind)
    if not texts:
        raise ValueError("no pieces in it")
    return _typed(texts, types, PieceText())


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Read the fields of a message of protocol buffers: the number and the value of each."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        field, how = key >> 3, key & 7
        if how == VARINT:
            value, at = _varint(data, at)
            yield field, value
            continue
        if how == LENGTH:
            length, at = _varint(data, at)
        elif how in (FIXED_64, FIXED_32):
            length = 8 if how == FIXED_64 else 4
        else:
            raise ValueError(f"no field begins at {at}")
        if at + length > end:
            raise ValueError(f"cut at {end}")
        yield field, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError(f"no number at {at}")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def gguf_tokens(path: Path) -> SpelledTokens:
    """Read the tokens of a GGUF file.

    Raises:
        UsageError: it cannot be read, has no tokens, or such that have no bytes of their own.
    """
    found = read_gguf(path, {TOKENS, TYPES, MODEL})
    texts, types, model = found.get(TOKENS), found.get(TYPES, []), found.get(MODEL, b"llama")
    if not (isinstance(texts, list) and texts and isinstance(texts[0], bytes)):  # all are alike
        raise UsageError(f"{path}: no vocabulary in it")
    if not isinstance(types, list) or not isinstance(model, bytes):
        raise UsageError(f"{path}: not a GGUF file: {TYPES} or {MODEL} is of another type")
    model = model.decode("utf-8", "replace")
    if model in NO_BYTES:
        raise UsageError(f"{path}: a tokenizer of the kind {model!r}, whose tokens are not read")
    return _typed(
        [text.decode("utf-8", "replace") for text in texts],
        types,
        ByteLevelText() if model == "gpt2" else PieceText(),
    )


def _typed(texts: Sequence[str], types: Sequence[int], text: TokenText) -> SpelledTokens:
    """Make the tokens of spellings and their types; what is unused is padding."""
    tokens: list[str | None] = list(texts)
    special: dict[int, Special] = {}
    spaced = isinstance(text, PieceText)
    for id, kind in enumerate(types[: len(texts)]):
        if kind == UNUSED:
            tokens[id] = None
        elif kind == USER_DEFINED:
            written = texts[id].replace(SPACE, " ") if spaced else texts[id]
            special[id] = Special(written, skipped=False)
        elif kind in (UNKNOWN, CONTROL):
            special[id] = Special(texts[id])
    return SpelledTokens(tokens, special, text)
