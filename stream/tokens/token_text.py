"""Conversion of the spelling of a token to its bytes.

Tokenizers spell tokens in one of two ways. Byte-level tokenizers use a printable character for each
byte (the table of GPT-2: a space is `Ġ`). SentencePiece and its relatives write a space as `▁`, and
a byte that is not a character as `<0xE4>`. The decoder in `tokenizer.json`, a list of steps,
specifies the spelling of a tokenizer.

A decoder also has steps for a complete text, e.g. to remove the leading space. They do not apply to
single tokens, and are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from deltaparse.partial import UsageError

__all__ = ["ByteLevelText", "PieceText", "TextDecoder", "TokenText"]

TokenText = Callable[[str], bytes]
"""A function that converts the spelling of a token to bytes."""

SPACE = "\u2581"
"""The character that represents a space."""

BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")

SAME = ("!", "~"), ("\xa1", "\xac"), ("\xae", "\xff")
"""The ranges of characters that represent their own byte in the table of GPT-2."""


def _byte_table() -> dict[str, int]:
    same = {code for first, last in SAME for code in range(ord(first), ord(last) + 1)}
    table = {chr(code): code for code in same}
    others = (code for code in range(256) if code not in same)
    return table | {chr(256 + i): code for i, code in enumerate(others)}


# Computed once, because it is looked up for each character of each token.
BYTES = _byte_table()


class ByteLevelText:
    """A reader of tokens in which each character represents a byte."""

    def __call__(self, text: str) -> bytes:
        """Return the bytes of a token, its UTF-8 if it has characters outside of the table."""
        try:
            return bytes([BYTES[char] for char in text])
        # Added tokens are not spelled with the table.
        except KeyError:
            return _encoded(text)


class PieceText:
    """A reader of tokens in the spelling of SentencePiece."""

    def __call__(self, text: str) -> bytes:
        """Return the bytes of a token."""
        byte = BYTE.fullmatch(text)
        return bytes.fromhex(byte[1]) if byte else _encoded(text.replace(SPACE, " "))


class TextDecoder:
    """A reader of tokens according to the decoder of a `tokenizer.json`.

    Args:
        settings: the decoder, as JSON.
        where: the name of the file or object, for error messages.

    Raises:
        UsageError: with this decoder, the bytes of a token depend on its neighbors.
    """

    def __init__(self, settings: Mapping[str, Any] | None, where: str) -> None:
        self._where = where
        # Refused instead of guessed, because wrong bytes would be emitted as content.
        if settings is None:
            raise self._refused("has no decoder and joins its tokens with spaces")
        self._steps: list[tuple[str, Any]] = []
        fused = False
        for step in _flat(settings):
            kind = step.get("type")
            if kind in ("ByteLevel", "ByteFallback"):
                self._steps.append((kind, None))
                # Byte-level decoding joins the tokens, like "Fuse".
                fused = fused or kind == "ByteLevel"
            elif kind == "Fuse":
                fused = True
            elif kind == "Strip":
                # After "Fuse" it applies to the complete text, so no token is stripped.
                if not fused:
                    self._steps.append((kind, (step["content"], step["start"], step["stop"])))
            # Its other effect, on the leading space, applies to the complete text.
            elif kind == "Metaspace":
                self._steps.append(("Replace", (re.compile(re.escape(step["replacement"])), " ")))
            elif kind == "Replace":
                self._steps.append(("Replace", self._replacement(step, fused=fused)))
            else:
                raise self._refused(f"has the decoder {kind}")

    @property
    def spaced(self) -> bool:
        """True if `▁` represents a space."""
        # Tested by decoding, because steps of several kinds may replace the character.
        return self(SPACE) == b" "

    def __call__(self, text: str) -> bytes:
        """Return the bytes of a token."""
        for kind, details in self._steps:
            match kind:
                case "Replace":
                    pattern, content = details
                    # A function, because `sub` interprets backslashes in a string.
                    text = pattern.sub(lambda _, content=content: content, text)
                case "Strip":
                    text = _stripped(text, *details)
                case "ByteFallback":
                    # A byte is final, because later steps apply to characters.
                    if byte := BYTE.fullmatch(text):
                        return bytes.fromhex(byte[1])
                case _:
                    return ByteLevelText()(text)
        return _encoded(text)

    def _replacement(self, step: Mapping[str, Any], *, fused: bool) -> tuple[Any, str]:
        """Return the pattern and the replacement of a step."""
        pattern, content = step.get("pattern"), step.get("content")
        if isinstance(pattern, Mapping) and isinstance(content, str):
            literal = pattern.get("String")
            # In fused text, a longer literal may be split between two tokens.
            if isinstance(literal, str) and (len(literal) == 1 or not fused):
                return re.compile(re.escape(literal)), content
        raise self._refused(f"has a decoder that replaces {pattern!r}")

    def _refused(self, why: str) -> UsageError:
        return UsageError(
            f"{self._where}: the tokenizer {why}, so the bytes of a token depend on its neighbors"
        )


def _flat(settings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the steps of a decoder, including the steps of nested sequences."""
    if settings.get("type") != "Sequence":
        return [settings]
    return [step for inner in settings.get("decoders", ()) for step in _flat(inner)]


def _stripped(text: str, content: str, start: int, stop: int) -> str:
    """Remove a character, up to `start` times from the start and `stop` times from the end."""
    first = len(text) - len(text.lstrip(content))
    text = text[min(first, start) :]
    last = len(text) - len(text.rstrip(content))
    return text[: len(text) - min(last, stop)]


# "surrogatepass", because a broken tokenizer file may contain half a character.
def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
