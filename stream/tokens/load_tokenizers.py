"""Loaders of vocabularies from tokenizer objects, which are recognized by their methods.

The packages of tokenizers are not imported here, because a caller with a tokenizer has done so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from deltaparse.partial import UsageError

from .load_files import added_token
from .piece_files import sentencepiece_tokens
from .token_source import FixedTokens, Special, TokenSource
from .token_text import ByteLevelText, TextDecoder

__all__ = ["load_tokenizer"]

WITHIN = (
    "backend_tokenizer",
    "instruct_tokenizer",
    "tokenizer",
    "_tokenizer",
    "model",
    "_model",
    "sp_model",
)
"""The attributes of tokenizers, processors and their wrappers that hold the inner tokenizer."""

# Limited, because a wrapper may refer to itself.
DEEPEST = 4


def load_tokenizer(tokenizer: object) -> TokenSource | None:
    """Return the tokens of a tokenizer, None if its kind is unknown.

    Args:
        tokenizer: the tokenizer, or an object that wraps one.

    Raises:
        UsageError: its tokens have no bytes of their own.
    """
    return _found(tokenizer, DEEPEST)


def _found(tokenizer: object, deepest: int) -> TokenSource | None:
    # By methods, because the classes cannot be compared without importing their packages.
    for needed, read in KINDS:
        if all(callable(getattr(tokenizer, name, None)) for name in needed):
            return read(tokenizer)
    for name in WITHIN if deepest else ():
        inner = getattr(tokenizer, name, None)
        found = _found(inner, deepest - 1) if inner is not None else None
        if found is not None:
            return found
    # Last, because fast tokenizers have this method too, but an exact inner tokenizer as well.
    if callable(getattr(tokenizer, "convert_ids_to_tokens", None)):
        return _slow(tokenizer)
    return None


class _FastIds(Collection[int]):
    """The ids of a `tokenizers.Tokenizer`, tested one by one because listing copies them all."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __len__(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def __contains__(self, id: object) -> bool:
        try:
            return self._tokenizer.id_to_token(id) is not None
        # The library takes unsigned integers only.
        except (OverflowError, TypeError):
            return False

    def __iter__(self) -> Iterator[int]:
        # Sorted, because the vocabulary of the library has no fixed order.
        return iter(sorted(self._tokenizer.get_vocab().values()))


class FastTokens:
    """The tokens of a `tokenizers.Tokenizer`."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        # The decoder is an opaque object, but its pickled state is the JSON of `tokenizer.json`.
        decoder = tokenizer.decoder
        settings = json.loads(decoder.__getstate__()) if decoder is not None else None
        self._text = TextDecoder(settings, type(tokenizer).__name__)
        self.special = _added(tokenizer.get_added_tokens_decoder(), spaced=self._text.spaced)

    @property
    def ids(self) -> Collection[int]:
        """The ids that have a token."""
        return _FastIds(self._tokenizer)

    def bytes_of(self, id: int) -> bytes | None:
        """Return the bytes of a token, None if the id has no token."""
        if id in self.special:
            return self.special[id].bytes
        # Checked first, because the library raises for some ids.
        return self._text(self._tokenizer.id_to_token(id)) if id in self.ids else None


def _added(tokens: Mapping[int, Any], *, spaced: bool) -> dict[int, Special]:
    return {
        id: added_token(token.content, skipped=token.special, spaced=spaced)
        for id, token in tokens.items()
    }


class TekkenTokens:
    """The tokens of mistral-common's `Tekkenizer`."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        # Without the list, all special tokens count as control tokens.
        listed = getattr(tokenizer, "_all_special_tokens", ())
        shown = {token["rank"] for token in listed if not token.get("is_control", True)}
        self.special = {
            id: Special(tokenizer.id_to_piece(id), id not in shown)
            for id in range(tokenizer.num_special_tokens)
        }

    @property
    def ids(self) -> Collection[int]:
        """The ids that have a token."""
        return range(self._tokenizer.n_words)

    def bytes_of(self, id: int) -> bytes | None:
        """Return the bytes of a token, None if the id has no token."""
        if id in self.special:
            return self.special[id].bytes
        return bytes(self._tokenizer.id_to_byte_piece(id)) if id in self.ids else None


class TiktokenTokens:
    """The tokens of an `Encoding` of tiktoken."""

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding
        texts = encoding.special_tokens_set
        self.special = {encoding.encode_single_token(text): Special(text) for text in texts}

    @property
    def ids(self) -> Collection[int]:
        """The ids that have a token."""
        # The range has gaps before the special tokens.
        ids = range(self._encoding.n_vocab)
        return dict.fromkeys(id for id in ids if self.bytes_of(id) is not None).keys()

    def bytes_of(self, id: int) -> bytes | None:
        """Return the bytes of a token, None if the id has no token."""
        try:
            return bytes(self._encoding.decode_single_token_bytes(id))
        # tiktoken raises KeyError for ids in the gaps, and OverflowError for negative ones.
        except (KeyError, OverflowError):
            return None


def _sentencepiece(processor: Any) -> TokenSource:
    return sentencepiece_tokens(processor.serialized_model_proto())


def _slow(tokenizer: Any) -> TokenSource:
    """Read a tokenizer of transformers written in Python."""
    named = getattr(tokenizer, "added_tokens_decoder", None) or {}
    count = len(tokenizer)
    # One call for all ids, because each call has a cost of its own.
    texts = tokenizer.convert_ids_to_tokens(list(range(count)))
    special = _added(named, spaced=False)
    own = {id: text for id, text in enumerate(texts) if text is not None and id not in special}
    # Byte-level tokenizers have the table of GPT-2 under this name.
    if getattr(tokenizer, "byte_decoder", None):
        own = {id: ByteLevelText()(text) for id, text in own.items()}
    elif not all(isinstance(text, bytes) for text in own.values()):
        # Without `byte_decoder`, the spelling of bytes depends on the class.
        kind = type(tokenizer).__name__
        raise UsageError(f"{kind}: unknown spelling of bytes. Load its tokenizer.json instead")
    return FixedTokens(own | {id: token.bytes for id, token in special.items()}, special)


# Methods that are distinctive: wrappers have other methods of these classes, but not all of them.
KINDS: tuple[tuple[tuple[str, ...], Callable[[Any], TokenSource]], ...] = (
    (("id_to_token", "get_added_tokens_decoder", "get_vocab_size"), FastTokens),
    (("id_to_byte_piece", "is_special", "id_to_piece"), TekkenTokens),
    (("decode_single_token_bytes", "encode_single_token"), TiktokenTokens),
    (("serialized_model_proto",), _sentencepiece),
)
"""The methods that identify each kind of tokenizer, and the reader of the kind."""
