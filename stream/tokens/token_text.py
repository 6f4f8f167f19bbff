"""From how a tokenizer spells a token to the bytes that the token stands for.

Tokenizers write tokens as text in one of two ways. Byte-level ones give each byte a character that
can be printed (the table of GPT-2: a space is `Ġ`). Those made after SentencePiece write a space as
`▁`, and a byte that is no character by itself as `<0xE4>`. What of this holds for a tokenizer is
said by the decoder of its `tokenizer.json`, which is a list of steps.

A decoder also has steps for a whole text, such as the removal of the space that it begins with.
They say nothing of a token, and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from deltaparse.partial import UsageError

__all__ = ["ByteLevelText", "PieceText", "TextDecoder", "TokenText"]

TokenText = Callable[[str], bytes]
"""What makes bytes of how a token is spelled."""

SPACE = "\u2581"
"""The character that stands for a space."""

BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")

SAME = ("!", "~"), ("\xa1", "\xac"), ("\xae", "\xff")
"""The ranges of the characters that stand for their own byte, in the table of GPT-2."""


def _byte_table() -> dict[str, int]:
    same = {code for first, last in SAME for code in range(ord(first), ord(last) + 1)}
    table = {chr(code): code for code in same}
    others = (code for code in range(256) if code not in same)
    return table | {chr(256 + i): code for i, code in enumerate(others)}


BYTES = _byte_table()


class ByteLevelText:
    """Reads tokens in which each character stands for a byte."""

    def __call__(self, text: str) -> bytes:
        """Return the bytes of a token; what has other characters stands for itself."""
        try:
            return bytes([BYTES[char] for char in text])
        except KeyError:
            return _encoded(text)


class PieceText:
    """Reads tokens as SentencePiece writes them."""

    def __call__(self, text: str) -> bytes:
        """Return the bytes of a token."""
        byte = BYTE.fullmatch(text)
        return bytes.fromhex(byte[1]) if byte else _encoded(text.replace(SPACE, " "))


class TextDecoder:
    """Reads tokens as the decoder of a `tokenizer.json` says.

    Args:
        settings: the decoder, as JSON.
        where: what has it, for errors.

    Raises:
        UsageError: under this decoder, what a token stands for depends on the tokens next to it.
    """

    def __init__(self, settings: Mapping[str, Any] | None, where: str) -> None:
        self._where = where
        if settings is None:
            raise self._refused("no decoder, so that its tokens are joined with spaces")
        self._steps: list[tuple[str, Any]] = []
        fused = False
        for step in _flat(settings):
            kind = step.get("type")
            if kind in ("ByteLevel", "ByteFallback"):
                self._steps.append((kind, None))
                fused = fused or kind == "ByteLevel"
            elif kind == "Fuse":
                fused = True
            elif kind == "Strip":
                if not fused:
                    self._steps.append((kind, (step["content"], step["start"], step["stop"])))
            elif kind == "Metaspace":
                self._steps.append(("Replace", (re.compile(re.escape(step["replacement"])), " ")))
            elif kind == "Replace":
                self._steps.append(("Replace", self._replacement(step, fused=fused)))
            else:
                raise self._refused(f"the decoder {kind}")

    @property
    def spaced(self) -> bool:
        """Whether a special character stands for a space."""
        return self(SPACE) == b" "

    def __call__(self, text: str) -> bytes:
        """Return the bytes of a token."""
        for kind, details in self._steps:
            match kind:
                case "Replace":
                    pattern, content = details
                    text = pattern.sub(lambda _, content=content: content, text)
                case "Strip":
                    text = _stripped(text, *details)
                case "ByteFallback":
                    if byte := BYTE.fullmatch(text):
                        return bytes.fromhex(byte[1])
                case _:
                    return ByteLevelText()(text)
        return _encoded(text)

    def _replacement(self, step: Mapping[str, Any], *, fused: bool) -> tuple[Any, str]:
        """Read what is replaced, and with what."""
        pattern, content = step.get("pattern"), step.get("content")
        if isinstance(pattern, Mapping) and isinstance(content, str):
            literal = pattern.get("String")
            if isinstance(literal, str) and (len(literal) == 1 or not fused):
                return re.compile(re.escape(literal)), content
        raise self._refused(f"a decoder that replaces {pattern!r}")

    def _refused(self, why: str) -> UsageError:
        return UsageError(
            f"{self._where}: it has {why}: the bytes of a token depend on the tokens next to it"
        )


def _flat(settings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List the steps of a decoder, those of sequences in sequences too."""
    if settings.get("type") != "Sequence":
        return [settings]
    return [step for inner in settings.get("decoders", ()) for step in _flat(inner)]


def _stripped(text: str, content: str, start: int, stop: int) -> str:
    """Take up to `start` of a character away from the beginning, and up to `stop` from the end."""
    first = len(text) - len(text.lstrip(content))
    text = text[min(first, start) :]
    last = len(text) - len(text.rstrip(content))
    return text[: len(text) - min(last, stop)]


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
