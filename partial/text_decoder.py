"""Text out of pieces that were cut anywhere: UTF-8 bytes, or strings that hold surrogates.

Bytes are cut within characters by whoever reads them from a socket or makes them token by token.
Strings are, too: tokenizers that fall back to bytes, and languages whose strings are UTF-16, give
surrogates, of which two make a character, while one alone makes a text that cannot be encoded.
Half a character is never handed out; one whose other half does not come becomes U+FFFD.
"""

from __future__ import annotations

import re
from codecs import utf_8_decode

from .errors import UsageError

__all__ = ["TextDecoder", "is_whole"]

SURROGATE = re.compile("[\ud800-\udfff]")
BYTES = (bytes, bytearray, memoryview)
FIRST_HIGH, LAST_HIGH = "\ud800", "\udbff"
REPLACEMENT = "\ufffd"


class TextDecoder:
    r"""Makes text of pieces, each a `str`, or UTF-8 in `bytes`, `bytearray` or `memoryview`.

    What comes out does not depend on where bytes or strings were cut: bytes that are not UTF-8
    become U+FFFD as in `bytes.decode("utf-8", "replace")` of the whole, a surrogate alone becomes
    one. What `waiting` says to be there is half a character; it is lost where a string follows
    bytes or bytes a string.

    `replaced` counts the U+FFFD that stand for something else (those that came are not counted);
    `first_replaced` and `last_replaced` are the offsets of the first and the last of them, in
    characters of the text handed out. `given` is how many those were so far: a caller may let
    text that `is_whole` past the decoder while it is not `waiting`, and then sets `given`.

    >>> decoder = TextDecoder()
    >>> decoder.feed(b"caf\xc3"), decoder.feed(b"\xa9 \xff"), decoder.feed("?\ud83d")
    ('caf', 'é \ufffd', '?')
    >>> decoder.feed("\ude00"), decoder.replaced, decoder.first_replaced
    ('😀', 1, 5)
    """

    __slots__ = (
        "_bytes",
        "_high",
        "first_replaced",
        "given",
        "last_replaced",
        "replaced",
        "waiting",
    )

    def __init__(self) -> None:
        self.given = 0
        self.replaced = 0
        self.first_replaced: int | None = None
        self.last_replaced: int | None = None
        self.waiting = False
        self._bytes = b""
        self._high = ""

    def feed(self, piece: str | bytes | bytearray | memoryview) -> str:
        """Take the next piece; return the text that is certain now. An empty piece is none.

        Raises:
            UsageError: the piece is neither a string nor bytes.
        """
        if isinstance(piece, str):
            if not self.waiting and (piece.isascii() or is_whole(piece)):
                self.given += len(piece)
                return piece
            lost = self.finish() if self._bytes and piece else ""
            text = lost + self._joined(piece)
        elif isinstance(piece, BYTES):
            data = bytes(piece)
            lost = self.finish() if self._high and data else ""
            text = lost + self._decoded(data)
        else:
            raise UsageError(f"feed() takes str or bytes, not {type(piece).__name__}")
        self.waiting = bool(self._bytes or self._high)
        return text

    def finish(self) -> str:
        """Say that no more comes; return what stands for the half character that still waits."""
        if not self.waiting:
            return ""
        # Of two bytes of a surrogate, which Python lets wait, each is replaced.
        text = self._bytes.decode(errors="replace") or REPLACEMENT
        self.waiting = False
        self._bytes = b""
        self._high = ""
        self._note(text, FIRST_HIGH)
        self.given += len(text)
        return text

    def _joined(self, piece: str) -> str:
        """A string with its surrogates joined in pairs or replaced."""
        text = self._high + piece
        last = text[-1:]
        self._high = last if FIRST_HIGH <= last <= LAST_HIGH else ""
        text = text.removesuffix(self._high)
        marked = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        text = SURROGATE.sub(REPLACEMENT, marked)
        if text != marked:
            self._note(text, marked)
        self.given += len(text)
        return text

    def _decoded(self, piece: bytes) -> str:
        """Bytes as text, with what is not UTF-8 replaced."""
        data = self._bytes + piece
        try:
            text, end = utf_8_decode(data, "strict", False)
        except UnicodeDecodeError:
            # (Not from one error to the next: each holds a copy of `data`.)
            text, end = utf_8_decode(data, "replace", False)
            self._note(text, utf_8_decode(data, "surrogateescape", False)[0])
        self._bytes = data[end:]
        self.given += len(text)
        return text

    def _note(self, text: str, marked: str) -> None:
        """Note what of `text` was replaced: `marked` has surrogates there, and is `text` else."""
        self.replaced += text.count(REPLACEMENT) - marked.count(REPLACEMENT)
        before, after = (len(SURROGATE.split(each, 1)[0]) for each in (marked, marked[::-1]))
        if self.first_replaced is None:
            self.first_replaced = self.given + before
        self.last_replaced = self.given + len(text) - after - 1


def is_whole(text: str) -> bool:
    """Say whether `text` holds no surrogate, and so can be encoded."""
    # A search for them takes up to twenty times as long.
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
