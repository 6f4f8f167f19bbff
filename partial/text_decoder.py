"""Decode text from chunks that were cut at any place: UTF-8 bytes, or strings with surrogates.

Bytes from a socket or a tokenizer are cut inside characters. Strings are too: a tokenizer with byte
fallback, or a language with UTF-16 strings, yields surrogates, of which two form a character (see
`surrogates`).

The decoder never emits half a character, joins halves from two chunks, and survives invalid bytes.
Python's incremental decoder does this for bytes, but it takes no strings, and callers may mix
strings with bytes. It also does not report the number and place of U+FFFD replacements. The issue
`invalid_text` needs them, and they cannot be counted later, because a model may write U+FFFD.

So bytes are decoded strictly first, in one C call. Only if that fails are they decoded twice more,
to replace invalid bytes and to mark them: "surrogateescape" puts a surrogate where "replace" puts
U+FFFD. So the first and last mark are the places of the first and last replacement. Strings pass
through UTF-16 and back, which joins pairs and leaves single surrogates. While the decoder is not
waiting, a string without surrogates passes unchanged, as most chunks do.
"""

from __future__ import annotations

from codecs import utf_8_decode

from .errors import UsageError
from .surrogates import REPLACEMENT, SURROGATE, is_whole, replace_surrogates

__all__ = ["TextDecoder"]

BYTES = (bytes, bytearray, memoryview)
# The first half of a pair. Only this half can wait for the next chunk.
FIRST_HIGH, LAST_HIGH = "\ud800", "\udbff"


class TextDecoder:
    r"""Decoder of chunks, each a `str`, or UTF-8 in `bytes`, `bytearray` or `memoryview`.

    The joined result of `feed` and `finish` does not depend on the chunks. Invalid UTF-8 becomes
    U+FFFD, as in `bytes.decode("utf-8", "replace")` of all bytes. A
    single surrogate becomes one U+FFFD. Half a character at the end of a chunk waits for the next
    chunk. It becomes U+FFFD if a string follows bytes or bytes follow a string.

    Attributes:
        waiting: True while half a character waits.
        offset: the number of characters returned so far. While the decoder is not `waiting`, a
            caller may bypass it with a string that `is_whole`, and must then update `offset`.
        replaced: the number of replacements by U+FFFD, without U+FFFD in the input.
        first_replaced: the offset of the first replacement in characters, or None.
        last_replaced: the offset of the last replacement.

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
        """Decode the next chunk, and return the text that is certain now.

        Raises:
            UsageError: the chunk is neither a string nor bytes.
        """
        if isinstance(chunk, str):
            # Fast path: most chunks are complete strings and need no decoding.
            if not self.waiting and (chunk.isascii() or is_whole(chunk)):
                self.offset += len(chunk)
                return chunk
            # Bytes and strings cannot form a character together, so waiting bytes are invalid. An
            # empty chunk decides no character.
            lost = self.finish() if self._bytes and chunk else ""
            text = lost + self._joined(chunk)
        elif isinstance(chunk, BYTES):
            # A copy, because the caller may reuse a mutable buffer.
            data = bytes(chunk)
            lost = self.finish() if self._high and data else ""
            text = lost + self._decoded(data)
        else:
            raise UsageError(f"feed() takes str or bytes, not {type(chunk).__name__}")
        self.waiting = bool(self._bytes or self._high)
        return text

    def finish(self) -> str:
        """End the input, and return U+FFFD for half a character that waits, else ""."""
        # A second call must not count the same replacement again.
        if not self.waiting:
            return ""
        # Python's decoder keeps two bytes of an encoded surrogate, and each is replaced.
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
        # Only a first half may be completed. A second half at the end is already lost.
        self._high = last if FIRST_HIGH <= last <= LAST_HIGH else ""
        text = text.removesuffix(self._high)
        # UTF-16 joins adjacent halves in C, and keeps single surrogates visible for counting.
        marked = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        text = replace_surrogates(marked)
        # Pairs are joined without a replacement, so a difference means U+FFFD was inserted.
        if text != marked:
            self._note(text, marked)
        self.offset += len(text)
        return text

    def _decoded(self, chunk: bytes) -> str:
        """Return bytes as text, with invalid bytes replaced."""
        data = self._bytes + chunk
        # Valid UTF-8 is decoded in one call. Errors are rare, so they may cost more.
        try:
            text, end = utf_8_decode(data, "strict", False)
        except UnicodeDecodeError:
            # Decoding from error to error would be quadratic: each error holds a copy of `data`.
            text, end = utf_8_decode(data, "replace", False)
            self._note(text, utf_8_decode(data, "surrogateescape", False)[0])
        # At most three bytes remain, so the buffer cannot grow.
        self._bytes = data[end:]
        self.offset += len(text)
        return text

    def _note(self, text: str, marked: str) -> None:
        """Count the replacements in `text`, for which `marked` has surrogates."""
        self.replaced += text.count(REPLACEMENT) - marked.count(REPLACEMENT)
        # Splitting once from each end finds the first and last mark without a Python loop.
        before, after = (len(SURROGATE.split(each, 1)[0]) for each in (marked, marked[::-1]))
        # The first replacement of the stream is reported, not of the last chunk.
        if self.first_replaced is None:
            self.first_replaced = self.offset + before
        self.last_replaced = self.offset + len(text) - after - 1
