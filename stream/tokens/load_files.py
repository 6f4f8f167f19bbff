"""Loaders of vocabularies from files (`tokenizer.json`, tekken, tiktoken ranks) and folders."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from deltaparse.partial import UsageError

from .gguf_file import is_gguf
from .hub_names import not_fetched
from .piece_files import gguf_tokens, sentencepiece_tokens
from .token_source import Special, SpelledTokens, TokenSource
from .token_text import SPACE, TextDecoder

__all__ = ["added_token", "load_file"]

IN_A_FOLDER = (
    *("tokenizer.json", "tekken.json", "*.tiktoken", "tiktoken.model", "tokenizer.model"),
    "*.gguf",
)
"""The names of files with a vocabulary; in a folder the first one is loaded."""

RANK = re.compile(rb"[A-Za-z0-9+/]+=* \d+\r?\n")

OTHER = "not a tokenizer.json, tekken file, tiktoken ranks file or SentencePiece model"

TEKKEN_SPECIAL = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]"),
    *("[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
    "[TOOL_CONTENT]",
)
"""The special tokens of a tekken file without a list of them, built into its first readers."""


def load_file(path: Path) -> tuple[TokenSource, str]:
    """Load the vocabulary of a file or folder.

    Args:
        path: the file or folder.

    Returns:
        The tokens, and the name of the file.

    Raises:
        UsageError: no vocabulary was found, or it cannot be read.
    """
    if path.is_dir():
        path = _in_folder(path)
    # Before the file is read, because a GGUF file has gigabytes of weights.
    if is_gguf(path):
        return gguf_tokens(path), path.name
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = not_fetched(path) or error.strerror or error
        raise UsageError(f"{path}: {reason}") from error
    try:
        return _tokens(path, data), path.name
    # A more exact message than that of the next handler.
    except UsageError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path}: cannot read a vocabulary from it: {error!r}") from error


def added_token(text: str, *, skipped: bool, spaced: bool) -> Special:
    """Return an added token.

    Args:
        text: the text of the token.
        skipped: True if decoding drops the token by default.
        spaced: True if decoding replaces each `▁` with a space.
    """
    # Decoding never renders a skipped token, so its text stays unchanged.
    written = text.replace(SPACE, " ") if spaced and not skipped else text
    return Special(written, skipped)


def _in_folder(folder: Path) -> Path:
    found = (file for name in IN_A_FOLDER for file in sorted(folder.glob(name)))
    # Files of other formats describe the same tokens, so the first is enough.
    first = next(found, None)
    if first is None:
        raise UsageError(f"{folder}: no vocabulary found, expected {', '.join(IN_A_FOLDER)}")
    return first


def _tokens(path: Path, data: bytes) -> TokenSource:
    # JSON may follow a byte order mark, and files are recognized by content, not by name.
    if data[:64].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        document = json.loads(data)
        # Both keys are required, because a tokenizer.json may have one of them.
        if "vocab" in document and "config" in document:
            return _tekken(document)
        if "model" in document:
            return _tokenizer_json(document, path)
    # Only the first line is checked, because a file has hundreds of thousands of lines.
    elif RANK.match(data):
        return _ranked(data, _configured(path))
    # The first byte of a SentencePiece model is the key of its first piece.
    elif data[:1] == b"\n":
        return sentencepiece_tokens(data)
    raise UsageError(f"{path}: no vocabulary: {OTHER}")


def _tokenizer_json(document: Mapping[str, Any], path: Path) -> TokenSource:
    """Read a file of the library `tokenizers`, and the added tokens of its configuration."""
    decoder = TextDecoder(document.get("decoder"), str(path))
    vocab = document["model"]["vocab"]
    # A Unigram model has pairs of text and score.
    if isinstance(vocab, list):
        vocab = [text for text, _ in vocab]
    special = {
        token["id"]: added_token(
            token["content"], skipped=bool(token.get("special")), spaced=decoder.spaced
        )
        for token in document.get("added_tokens") or ()
    }
    # The file itself overrides its configuration.
    return SpelledTokens(vocab, _configured(path) | special, decoder)


def _configured(path: Path) -> dict[int, Special]:
    """Read the added tokens of `tokenizer_config.json` in the same folder, if it exists."""
    beside = path.with_name("tokenizer_config.json")
    if not beside.is_file():
        return {}
    tokens = json.loads(beside.read_bytes()).get("added_tokens_decoder") or {}
    # The ids are keys of a JSON object, so they are strings.
    return {
        int(id): Special(token["content"], bool(token.get("special")))
        for id, token in tokens.items()
    }


def _tekken(document: Mapping[str, Any]) -> TokenSource:
    """Read a file of mistral-common, whose special tokens have the first ids."""
    config = document["config"]
    count = config["default_num_special_tokens"]
    listed = document.get("special_tokens")
    if listed is None:
        listed = [{"rank": id, "token_str": text} for id, text in enumerate(TEKKEN_SPECIAL)]
    # Reserved ids are not listed, but mistral-common gives them this text.
    special = {id: Special(f"<SPECIAL_{id}>") for id in range(count)}
    for token in listed:
        special[token["rank"]] = Special(token["token_str"], bool(token.get("is_control", True)))
    # The file lists more tokens than the model uses.
    size = config["default_vocab_size"] - count
    ranked = {token["rank"] + count: token["token_bytes"] for token in document["vocab"][:size]}
    return EncodedTokens(ranked, special)


class EncodedTokens:
    """Tokens in base64, decoded on use because a vocabulary has hundreds of thousands."""

    def __init__(self, tokens: Mapping[int, str | bytes], special: Mapping[int, Special]) -> None:
        self._tokens = tokens
        self.special = special

    @property
    def ids(self) -> Collection[int]:
        """The ids that have a token."""
        return self._tokens.keys() | self.special.keys()

    def bytes_of(self, id: int) -> bytes | None:
        """Return the bytes of a token, None if the id has no token."""
        # A special token overrides an ordinary one with the same id.
        if id in self.special:
            return self.special[id].bytes
        encoded = self._tokens.get(id)
        return None if encoded is None else base64.b64decode(encoded)


def _ranked(data: bytes, special: Mapping[int, Special]) -> EncodedTokens:
    """Read a tiktoken ranks file, with the bytes and the id of one token in each line."""
    # Split by `bytes`, because decoding the file first would cost a copy.
    lines = (line.split() for line in data.splitlines())
    return EncodedTokens({int(line[1]): line[0] for line in lines if line}, special)
