"""Where the tokens of a vocabulary come from: one small interface for all kinds of tokenizers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

__all__ = ["FixedTokens", "Special", "TokenSource"]


@dataclass(frozen=True, slots=True)
class Special:
    """A token that a tokenizer keeps whole: its text, and whether decoding may leave it out.

    `skipped` is the flag that tokenizers call "special" or "control": decoding with
    `skip_special_tokens=True`, which is what servers do, drops the token.
    """

    text: str
    skipped: bool = True


class TokenSource(Protocol):
    """The tokens of one tokenizer; nothing of it is read before it is asked for."""

    @property
    def ids(self) -> Collection[int]:
        """The ids that have a token."""

    @property
    def special(self) -> Mapping[int, Special]:
        """The tokens that are kept whole."""

    def bytes_of(self, id: int) -> bytes | None:
        """Return what the token of an id stands for, None where there is none."""


class FixedTokens:
    """Tokens whose bytes are known."""

    def __init__(self, tokens: Mapping[int, bytes], special: Mapping[int, Special]) -> None:
        self._tokens = tokens
        self.special = special

    @property
    def ids(self) -> Collection[int]:
        """The ids that have a token."""
        return self._tokens.keys()

    def bytes_of(self, id: int) -> bytes | None:
        """Return what the token of an id stands for, None where there is none."""
        return self._tokens.get(id)
