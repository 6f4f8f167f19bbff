"""Texts of a wire format, and selections of its markers for tokenizers and proofs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields

from deltaparse.stream import WireFormat
from deltaparse.stream.wire.format import marker_fields

__all__ = ["confusing", "preserved_tokens", "texts_of"]

# Fields of markers that a parser searches for in content, reasoning and values.
LOOKED_FOR = frozenset(
    {"start", "end", "ends", "section_start", "section_end", "per_call_start", "per_call_end"}
    | {"close", "name_prefix", "value_suffix"}
)
ADJACENT_WORDS = frozenset({"alternatives", "code_block_marker", "recipient", "type_suffix"})
"""Fields that hold markers or plain words. Tokenizers never drop plain words."""
WORDS = re.compile(r"[\w\s:=]+")
USUAL = WireFormat()


def texts_of(fmt: WireFormat) -> Iterator[tuple[str, str, str]]:
    """Yield the group, field and text of each non-blank marker that differs from the default."""
    for group, markers in marker_fields().items():
        values, usual = getattr(fmt, group), getattr(USUAL, group)
        for part in fields(values) if markers else ():
            value = getattr(values, part.name)
            texts = value if isinstance(value, tuple) else (value,)
            if value != getattr(usual, part.name):
                # The exact type excludes enum members, which are instances of str but not markers.
                shown = [text for text in texts if type(text) is str and text.strip()]
                yield from ((group, part.name, text) for text in shown)


def preserved_tokens(fmt: WireFormat) -> tuple[str, ...]:
    """Return the distinct markers that a tokenizer must not drop."""
    written = marker_fields()
    texts = (
        text.strip()
        for group, name, text in texts_of(fmt)
        if group != "turn" and name in written.get(group, ())
        if name not in ADJACENT_WORDS or not WORDS.fullmatch(text)
    )
    # Punctuation alone is never a special token, so tokenizers do not drop it.
    return tuple(dict.fromkeys(text for text in texts if any(map(str.isalnum, text))))


def confusing(fmt: WireFormat) -> set[str]:
    """Return the texts that prevent content, reasoning or a value from being parsed back."""
    found = {text.strip() for _, name, text in texts_of(fmt) if name in LOOKED_FOR | {"headers"}}
    return found | {text.strip() for text in fmt.reasoning.alternatives}
