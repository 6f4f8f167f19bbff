r"""Text from chunks that were cut anywhere: UTF-8 bytes, or strings that hold surrogates.

Whoever reads bytes from a socket, or makes them token by token, cuts them within characters. So
are strings cut: a tokenizer that falls back to bytes, or a language with UTF-16 strings, yields
surrogates, of which two make a character (see `surrogates`).

The decoder must never emit half a character, must not lose one that was merely cut, and must not
let one bad byte end a stream. Python's own incremental decoder does that for bytes, and is not
used: it takes no strings, which a caller may mix with bytes, and it does not say how many U+FFFD
it made and where. The issue `invalid_text` reports that, and it cannot be counted afterwards, for
a model may write U+FFFD itself.

So bytes are decoded strictly first, in one call of C. Only where that fails they are decoded twice
more, to replace what is wrong and to mark it: "surrogateescape" puts a surrogate where "replace"
puts U+FFFD, so the first and the last mark are the places of the first and the last replacement.
Strings go through UTF-16 and back, which joins pairs and leaves halves that stand alone. While
nothing waits, a string that `is_whole` passes as it is, which most chunks do.
"""

from __future__ import annotations

from codecs import utf_8_decode

from .errors import UsageError
from .surrogates import REPLACEMENT, SURROGATE, is_whole, replace_surrogates

__all__ = ["TextDecoder"]

BYTES = (bytes, bytearray, memoryview)
FIRST_HIGH, LAST_HIGH = "\ud800", "\udbff"


class TextDecoder:
    r"""Decodes chunks, each a `str`, or UTF-8 in `bytes`, `bytearray` or `memoryview`.

    The text that `feed` and `finish` return, joined, does not depend on where the chunks were cut.
    Bytes that are not UTF-8 become U+FFFD, as in `bytes.decode("utf-8", "replace")` of the whole;
    a surrogate that stands alone becomes one U+FFFD. Half a character at the end of a chunk waits
    for the next chunk, and becomes U+FFFD where a string follows bytes or bytes follow a string.

    Attributes:
        waiting: whether half a character waits.
        offset: how many characters were returned so far. While the decoder is not `waiting`, a
            caller may use a string that `is_whole` without the decoder, and sets `offset` then.
        replaced: how many U+FFFD stand for something else; those that were in the input do not
            count.
        first_replaced: the offset of the first of them, in characters; None for none.
        last_replaced: the offset of the last of them.

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
        "last_replaced",
        "offset",
        "replaced",
        "waiting",
    )

    def __init__(self) -> None:
        self.offset = 0
        self.replaced = 0
        self.first_replaced: int | None = None
        self.last_replaced: int | None = None
        self.waiting = False
        self._bytes = b""
        self._high = ""

    def feed(self, chunk: str | bytes | bytearray | memoryview) -> str:
        """Decode the next chunk; return the text that is certain now, "" for an empty chunk.

        Raises:
            UsageError: the chunk is neither a string nor bytes.
        """
        if isinstance(chunk, str):
            if not self.waiting and (chunk.isascii() or is_whole(chunk)):
                self.offset += len(chunk)
                return chunk
            lost = self.finish() if self._bytes and chunk else ""
            text = lost + self._joined(chunk)
        elif isinstance(chunk, BYTES):
            data = bytes(chunk)
            lost = self.finish() if self._high and data else ""
            text = lost + self._decoded(data)
        else:
            raise UsageError(f"feed() takes str or bytes, not {type(chunk).__name__}")
        self.waiting = bool(self._bytes or self._high)
        return text

    def finish(self) -> str:
        """End the input; return U+FFFD for the half character that still waits, else ""."""
        if not self.waiting:
            return ""
        # Python lets two bytes of an encoded surrogate wait: each of them is replaced.
        text = self._bytes.decode(errors="replace") or REPLACEMENT
        self.waiting = False
        self._bytes = b""
        self._high = ""
        self._note(text, FIRST_HIGH)
        self.offset += len(text)
        return text

    def _joined(self, chunk: str) -> str:
        """Return a string with its surrogates joined in pairs or replaced."""
        text = self._high + chunk
        last = text[-1:]
        self._high = last if FIRST_HIGH <= last <= LAST_HIGH else ""
        text = text.removesuffix(self._high)
        marked = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        text = replace_surrogates(marked)
        if text != marked:
            self._note(text, marked)
        self.offset += len(text)
        return text

    def _decoded(self, chunk: bytes) -> str:
        """Return bytes as text, with what is not UTF-8 replaced."""
        data = self._bytes + chunk
        try:
            text, end = utf_8_decode(data, "strict", False)
        except UnicodeDecodeError:
            # (Not from one error to the next: each error holds a copy of `data`.)
            text, end = utf_8_decode(data, "replace", False)
            self._note(text, utf_8_decode(data, "surrogateescape", False)[0])
        self._bytes = data[end:]
        self.offset += len(text)
        return text

    def _note(self, text: str, marked: str) -> None:
        """Count what of `text` was replaced: `marked` is the same with surrogates there."""
        self.replaced += text.count(REPLACEMENT) - marked.count(REPLACEMENT)
        before, after = (len(SURROGATE.split(each, 1)[0]) for each in (marked, marked[::-1]))
        if self.first_replaced is None:
            self.first_replaced = self.offset + before
        self.last_replaced = self.offset + len(text) - after - 1
