"""A wire format whose markers hold special tokens: one character for each.

In such a format a special token is one lone surrogate, a character that no text holds, so whatever
looks for markers, or writes rules for them, takes a token for what it is: not what spells its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple

from deltaparse.partial import UsageError
from deltaparse.partial.surrogates import SURROGATE, replace_surrogates

from ..wire.format import WireFormat
from .vocabulary import Vocabulary

__all__ = ["MarkedFormat", "SpecialToken", "marked"]

FIRST, MOST = 0xD800, 0x800
"""The first surrogate, and how many there are."""

NO_MARKERS = {
    *("name_field", "arguments_field", "function_field", "id_field", "generated_id_field"),
    *("field_order", "code_block_language", "function", "argument", "method", "item"),
}
"""Fields of a format whose texts are no markers: keys in JSON, names of functions."""

APART = {"switches", "proved", "issues", "suggested"}
"""What a format says of itself."""


class SpecialToken(NamedTuple):
    """A special token: its id and its text."""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class MarkedFormat:
    """A format whose markers hold special tokens, each as one character.

    `tokens` has the token of each such character.
    """

    format: WireFormat
    tokens: Mapping[str, SpecialToken]

    def text(self, marked: str) -> str:
        """Write a text with its special tokens as their texts."""
        return SURROGATE.sub(lambda found: self.tokens[found[0]].text, marked)


def marked(fmt: WireFormat, vocabulary: Vocabulary, prompt: str = "") -> tuple[MarkedFormat, str]:
    """Put the special tokens of a vocabulary in a format's markers, and in a prompt.

    Raises:
        UsageError: the markers hold more special tokens than there are surrogates.
    """
    chars: dict[int, str] = {}
    tokens: dict[str, SpecialToken] = {}

    def char(id: int, text: str) -> str:
        if id not in chars:
            if len(chars) == MOST:
                raise UsageError(f"the markers of a format hold more than {MOST} special tokens")
            chars[id] = chr(FIRST + len(chars))
            tokens[chars[id]] = SpecialToken(id, text)
        return chars[id]

    def of(text: str, *, known: bool = False) -> str:
        stretches = vocabulary.spelled(replace_surrogates(text)).stretches
        return "".join(
            part.text
            if part.id is None or (known and part.id not in chars)
            else char(part.id, part.text)
            for part in stretches
        )

    def within(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(within, value))
        return of(value) if type(value) is str else value

    changes: dict[str, Any] = {}
    for part in fields(fmt):
        group = getattr(fmt, part.name)
        if part.name in APART:
            continue
        if is_dataclass(group) and not isinstance(group, type):
            texts = (field.name for field in fields(group) if field.name not in NO_MARKERS)
            changes[part.name] = replace(
                group, **{name: within(getattr(group, name)) for name in texts}
            )
        else:
            changes[part.name] = within(group)
    return MarkedFormat(replace(fmt, **changes), tokens), of(prompt, known=True)
