"""Loaders of SentencePiece models and GGUF files, whose tokens have types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from deltaparse.partial import UsageError

from .gguf_file import read_gguf
from .token_source import Special, SpelledTokens
from .token_text import SPACE, ByteLevelText, PieceText, TokenText

__all__ = ["gguf_tokens", "sentencepiece_tokens"]

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5
"""The numbers of token types in SentencePiece and GGUF."""

TOKENS = "tokenizer.ggml.tokens"
TYPES = "tokenizer.ggml.token_type"
MODEL = "tokenizer.ggml.model"

NO_BYTES = ("bert", "rwkv", "no_vocab", "none")
"""Tokenizer models of GGUF files whose tokens have no bytes, or another spelling."""

# Parsed here, because the package of protocol buffers is not a dependency.
VARINT, FIXED_64, LENGTH, FIXED_32 = 0, 1, 2, 5
"""The wire types of protocol buffers."""

PIECES, PIECE, TYPE = 1, 1, 3
"""The numbers of the fields: the pieces of a model, and the text and type of a piece."""


def sentencepiece_tokens(data: bytes) -> SpelledTokens:
    """Read a SentencePiece model.

    Args:
        data: the content of the file.

    Raises:
        ValueError: `data` is not a SentencePiece model.
    """
    texts: list[str] = []
    types: list[int] = []
    for field, value in _fields(data):
        # Other fields, e.g. the settings of the training, are not needed.
        if field == PIECES and isinstance(value, bytes):
            piece = dict(_fields(value))
            text, kind = piece.get(PIECE), piece.get(TYPE, NORMAL)
            if not isinstance(text, bytes) or not isinstance(kind, int):
                raise ValueError(f"piece {len(texts)} has no text")
            texts.append(text.decode())
            types.append(kind)
    # Any text without an invalid field would otherwise be an empty model.
    if not texts:
        raise ValueError("it has no pieces")
    return _typed(texts, types, PieceText())


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and value of each field of a protocol buffers message."""
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
            raise ValueError(f"invalid field at byte {at}")
        # A slice after the end would be short without an error.
        if at + length > end:
            raise ValueError(f"truncated at byte {end}")
        yield field, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        # A number has at most 64 bits, so more bytes are not a number.
        if at >= len(data) or shift > 63:
            raise ValueError(f"invalid number at byte {at}")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        # The highest bit of a byte means that another byte follows.
        if byte < 0x80:
            return value, at
        shift += 7


def gguf_tokens(path: Path) -> SpelledTokens:
    """Read the tokens of a GGUF file.

    Args:
        path: the file.

    Raises:
        UsageError: the file cannot be read, or has no tokens, or tokens without bytes of their own.
    """
    found = read_gguf(path, {TOKENS, TYPES, MODEL})
    texts, types, model = found.get(TOKENS), found.get(TYPES, []), found.get(MODEL, b"llama")
    # One item is enough, because the items of an array have the same type.
    if not (isinstance(texts, list) and texts and isinstance(texts[0], bytes)):
        raise UsageError(f"{path}: the file has no vocabulary")
    if not isinstance(types, list) or not isinstance(model, bytes):
        raise UsageError(f"{path}: not a GGUF file: {TYPES} or {MODEL} has another type")
    model = model.decode("utf-8", "replace")
    # The bytes of these tokens cannot be determined from their texts.
    if model in NO_BYTES:
        raise UsageError(f"{path}: tokenizers of the kind {model!r} are not supported")
    # Replaced, because one invalid text must not make the vocabulary unusable.
    return _typed(
        [text.decode("utf-8", "replace") for text in texts],
        types,
        ByteLevelText() if model == "gpt2" else PieceText(),
    )


def _typed(texts: Sequence[str], types: Sequence[int], text: TokenText) -> SpelledTokens:
    """Return tokens with the given spellings and types. Unused tokens are padding."""
    tokens: list[str | None] = list(texts)
    special: dict[int, Special] = {}
    spaced = isinstance(text, PieceText)
    # Sliced, because a broken file may have more types than tokens.
    for id, kind in enumerate(types[: len(texts)]):
        if kind == UNUSED:
            tokens[id] = None
        # Decoding keeps user-defined tokens, so they are spelled like ordinary ones.
        elif kind == USER_DEFINED:
            written = texts[id].replace(SPACE, " ") if spaced else texts[id]
            special[id] = Special(written, skipped=False)
        elif kind in (UNKNOWN, CONTROL):
            special[id] = Special(texts[id])
    return SpelledTokens(tokens, special, text)
