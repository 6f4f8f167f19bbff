"""Formats with special tokens in their markers, for grammar rules."""

from __future__ import annotations

from typing import NamedTuple

from deltaparse.partial.surrogates import replace_surrogates
from deltaparse.stream import Vocabulary, WireFormat
from deltaparse.stream.tokens.token_format import token_format, written_texts

from ..rules.rulebook import SpecialToken, Tokens

__all__ = ["WithTokens", "with_tokens"]


class WithTokens(NamedTuple):
    """A format and a prompt with one character for each special token, and their meaning."""

    fmt: WireFormat
    prompt: str
    tokens: Tokens


def with_tokens(fmt: WireFormat, prompt: str, vocabulary: Vocabulary | None) -> WithTokens:
    """Replace the vocabulary's special tokens in a format and a prompt by characters.

    Args:
        fmt: the format.
        prompt: the rendered prompt.
        vocabulary: the model's tokens; None leaves the format and the prompt unchanged.

    Raises:
        UsageError: text cannot contain one of the markers.
    """
    written_texts(fmt)
    if vocabulary is None:
        return WithTokens(fmt, prompt, {})
    made = token_format(fmt, vocabulary, "token")
    tokens = {char: SpecialToken(*made.tokens[char]) for char in made.marker_ids}
    return WithTokens(made.fmt, made.characters_in(replace_surrogates(prompt)), tokens)
