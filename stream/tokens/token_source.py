"""Where the tokens of a vocabulary come from: one small interface for all kinds of tokenizers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from .token_text import TokenText

__all__ = ["FixedTokens", "MoreTokens", "Special", "SpelledTokens", "TokenSource"]


@dataclass(frozen=True, slots=True)
class Special:
    """A token that a tokenizer keeps whole: its text, and whether decoding may leave it out.

    `skipped` is the flag that tokenizers call "special" or "control": decoding with
    `skip_special_tokens=True`, which is what servers do, drops the token.
    """

    text: str
    skipped: bool = True

    @property
    def bytes(self) -> bytes:
        """Return the text as UTF-8."""
        return self.text.encode("utf-8", "surrogatepass")


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


class SpelledTokens:
    """Tokens by how their tokenizer spells them.

    Args:
        tokens: the ids by spelling, or the spellings in the order of their ids.
        special: the tokens that are kept whole, which stand for their own text.
        text: what makes bytes of a spelling.
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
        """Return what the token of an id stands for, None where there is none."""
        if id in self.special:
            return self.special[id].bytes
        spelling = self._spellings.get(id)
        return None if spelling is None else self._text(spelling)

    @cached_property
    def _spellings(self) -> Mapping[int, str]:
        if isinstance(self._tokens, Mapping):
            return {id: spelling for spelling, id in self._tokens.items()}
        return {id: text for id, text in enumerate(self._tokens) if text is not None}


class MoreTokens:
    """The tokens of another source, and special ones beside them."""

    def __init__(self, source: TokenSource, special: Mapping[int, Special]) -> None:
        self._source = source
        self.special = {**source.special, **special}

    @property
    def ids(self) -> Collection[int]:
        """The ids that have a token."""
        ids = self._source.ids
        more = [id for id in self.special if id not in ids]
        return dict.fromkeys((*ids, *more)).keys() if more else ids

    def bytes_of(self, id: int) -> bytes | None:
        """Return what the token of an id stands for, None where there is none."""
        return self.special[id].bytes if id in self.special else self._source.bytes_of(id)
