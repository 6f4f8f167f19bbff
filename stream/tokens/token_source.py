"""Token sources of a vocabulary, one interface for all kinds of tokenizers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from .token_text import TokenText

__all__ = ["FixedTokens", "MoreTokens", "Special", "SpelledTokens", "TokenSource"]


@dataclass(frozen=True, slots=True)
class Special:
    """A token that a tokenizer never splits.

    Attributes:
        skipped: the flag "special" or "control" of tokenizers. If it is True, decoding with
            `skip_special_tokens=True`, as in servers, drops the token.
        text: the text of the token.
    """

    text: str
    # True by default, because sources without flags list control tokens only.
    skipped: bool = True

    @property
    def bytes(self) -> bytes:
        """The text as UTF-8."""
        # "surrogatepass", because a broken tokenizer file may contain half a character.
        return self.text.encode("utf-8", "surrogatepass")


# A protocol, so that each kind of tokenizer can read its tokens in its own way.
class TokenSource(Protocol):
    """The tokens of one tokenizer, read on first use."""

    @property
    def ids(self) -> Collection[int]:
        """The ids that have a token."""

    @property
    def special(self) -> Mapping[int, Special]:
        """The tokens that are never split, by id."""

    def bytes_of(self, id: int) -> bytes | None:
        """Return the bytes of a token, None if the id has no token."""


class FixedTokens:
    """Tokens given as bytes."""

    def __init__(self, tokens: Mapping[int, bytes], special: Mapping[int, Special]) -> None:
        self._tokens = tokens
        self.special = special

    @property
    def ids(self) -> Collection[int]:
        """The ids that have a token."""
        return self._tokens.keys()

    def bytes_of(self, id: int) -> bytes | None:
        """Return the bytes of a token, None if the id has no token."""
        return self._tokens.get(id)


class SpelledTokens:
    """Tokens given in the spelling of their tokenizer.

    Args:
        tokens: the ids by spelling, or the spellings in the order of their ids.
        special: the tokens that are never split, spelled as their own text.
        text: converts a spelling to bytes.
    """

    def __init__(
        self,
        tokens: Mapping[str, int] | list[str | None],
        special: Mapping[int, Special],
        text: TokenText,
    ) -> None:
        self._tokens = tokens
        self._text = text
        self.special = special

    @property
    def ids(self) -> Collection[int]:
        """The ids that have a token."""
        return self._spellings.keys() | self.special.keys()

    def bytes_of(self, id: int) -> bytes | None:
        """Return the bytes of a token, None if the id has no token."""
        # Special tokens may be in the vocabulary too, but their texts are not spelled.
        if id in self.special:
            return self.special[id].bytes
        spelling = self._spellings.get(id)
        return None if spelling is None else self._text(spelling)

    # Built on first use, because most vocabularies are loaded for their special tokens alone.
    @cached_property
    def _spellings(self) -> Mapping[int, str]:
        if isinstance(self._tokens, Mapping):
            return {id: spelling for spelling, id in self._tokens.items()}
        return {id: text for id, text in enumerate(self._tokens) if text is not None}


class MoreTokens:
    """The tokens of another source with additional special tokens."""

    def __init__(self, source: TokenSource, special: Mapping[int, Special]) -> None:
        self._source = source
        # The given tokens override those of the source.
        self.special = {**source.special, **special}

    @property
    def ids(self) -> Collection[int]:
        """The ids that have a token."""
        ids = self._source.ids
        # The ids are copied only if needed, because a vocabulary has hundreds of thousands.
        more = [id for id in self.special if id not in ids]
        return dict.fromkeys((*ids, *more)).keys() if more else ids

    def bytes_of(self, id: int) -> bytes | None:
        """Return the bytes of a token, None if the id has no token."""
        return self.special[id].bytes if id in self.special else self._source.bytes_of(id)
