"""The texts in a wire format, and which of them are markers that matter outside of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields

from deltaparse.stream import WireFormat
from deltaparse.stream.wire.format import marker_fields

__all__ = ["confusing", "preserved_tokens", "texts_of"]

# The fields of texts that a parser looks for while it reads text or values of any kind.
LOOKED_FOR = frozenset(
    {"start", "end", "ends", "section_start", "section_end", "per_call_start", "per_call_end"}
    | {"close", "name_prefix", "value_suffix"}
)
BESIDE_WORDS = frozenset({"alternatives", "code_block_marker", "recipient", "type_suffix"})
"""Fields of markers that hold words too, which are ordinary tokens: no tokenizer drops them."""
WORDS = re.compile(r"[\w\s:=]+")
USUAL = WireFormat()


def texts_of(fmt: WireFormat) -> Iterator[tuple[str, str, str]]:
    """The texts that a format has beyond an empty one, white space apart: group, field, text."""
    for group, markers in marker_fields().items():
        values, usual = getattr(fmt, group), getattr(USUAL, group)
        for part in fields(values) if markers else ():
            value = getattr(values, part.name)
            texts = value if isinstance(value, tuple) else (value,)
            if value != getattr(usual, part.name):
                # An enum's member is a str too, and no text.
                shown = [text for text in texts if type(text) is str and text.strip()]
                yield from ((group, part.name, text) for text in shown)


def preserved_tokens(fmt: WireFormat) -> tuple[str, ...]:
    """The markers that a tokenizer must not drop, each once."""
    written = marker_fields()
    texts = (
        text.strip()
        for group, name, text in texts_of(fmt)
        if group != "turn" and name in written.get(group, ())
        if name not in BESIDE_WORDS or not WORDS.fullmatch(text)
    )
    # A mark of punctuation alone is no token that could be dropped.
    return tuple(dict.fromkeys(text for text in texts if any(map(str.isalnum, text))))


def confusing(fmt: WireFormat) -> set[str]:
    """The texts that content, reasoning or a value must not hold in order to come back."""
    found = {text.strip() for _, name, text in texts_of(fmt) if name in LOOKED_FOR | {"headers"}}
    return found | {text.strip() for text in fmt.reasoning.alternatives}
