"""A format whose markers hold special tokens, for the rules of a grammar."""

from __future__ import annotations

from typing import NamedTuple

from deltaparse.partial.surrogates import replace_surrogates
from deltaparse.stream import Vocabulary, WireFormat
from deltaparse.stream.tokens.token_format import token_format, written_texts

from ..rules.rulebook import SpecialToken, Tokens

__all__ = ["WithTokens", "with_tokens"]


class WithTokens(NamedTuple):
    """A format and a prompt with a character for each special token, and what these stand for."""

    fmt: WireFormat
    prompt: str
    tokens: Tokens


def with_tokens(fmt: WireFormat, prompt: str, vocabulary: Vocabulary | None) -> WithTokens:
    """Put the special tokens of a vocabulary, where there is one, in a format and a prompt.

    Raises:
        UsageError: a marker that no text holds.
    """
    written_texts(fmt)
    if vocabulary is None:
        return WithTokens(fmt, prompt, {})
    made = token_format(fmt, vocabulary, "token")
    tokens = {char: SpecialToken(*made.tokens[char]) for char in made.marker_ids}
    return WithTokens(made.fmt, made.characters_in(replace_surrogates(prompt)), tokens)
