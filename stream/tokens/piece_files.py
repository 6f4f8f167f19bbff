"""Vocabularies whose tokens have a type each: models of SentencePiece, and GGUF files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from deltaparse.partial import UsageError

from .token_source import Special, SpelledTokens
from .token_text import SPACE, ByteLevelText, PieceText, TokenText

__all__ = ["gguf_tokens", "sentencepiece_tokens"]

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5
"""Types of tokens, as SentencePiece counts them, and GGUF after it."""

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


def _gguf_fields(path: Path) -> Any:
    """Open a GGUF file, and return its fields by name.

    Raises:
        UsageError: the package that reads it is not installed, or it is no GGUF file.
    """
    try:
        from gguf import GGUFReader
    except ImportError:
        message = f"{path}: GGUF files are read by the package gguf: pip install deltaparse[gguf]"
        raise UsageError(message) from None
    try:
        return GGUFReader(path).fields
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except (ValueError, IndexError) as error:
        raise UsageError(f"{path}: not a GGUF file: {error}") from error


def gguf_tokens(path: Path) -> SpelledTokens:
    """Read the tokens of a GGUF file.

    Raises:
        UsageError: it cannot be read, has no tokens, or such that have no bytes of their own.
    """
    fields = _gguf_fields(path)
    if "tokenizer.ggml.tokens" not in fields:
        raise UsageError(f"{path}: no vocabulary in it")
    model = fields.get("tokenizer.ggml.model")
    kind = str(model.contents()) if model is not None else "llama"
    if kind in ("bert", "rwkv", "none", "no_vocab"):
        raise UsageError(f"{path}: a tokenizer of the kind {kind!r}, whose tokens are not read")
    types = fields.get("tokenizer.ggml.token_type")
    texts: Iterable[str] = fields["tokenizer.ggml.tokens"].contents()
    return _typed(
        list(texts),
        types.contents() if types is not None else (),
        ByteLevelText() if kind == "gpt2" else PieceText(),
    )


def _typed(texts: Sequence[str], types: Sequence[int], text: TokenText) -> SpelledTokens:
    """Make the tokens of spellings and their types; what is unused is padding."""
    tokens: list[str | None] = list(texts)
    special: dict[int, Special] = {}
    spaced = isinstance(text, PieceText)
    for id, kind in enumerate(types):
        if kind == UNUSED:
            tokens[id] = None
        elif kind == USER_DEFINED:
            written = texts[id].replace(SPACE, " ") if spaced else texts[id]
            special[id] = Special(written, skipped=False)
        elif kind in (UNKNOWN, CONTROL):
            special[id] = Special(texts[id])
    return SpelledTokens(tokens, special, text)
